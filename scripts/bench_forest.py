"""Compare the forests with scikit-learn's: time, accuracy, model size.

    python scripts/bench_forest.py --quick    two minutes; bundled data if no other is there
    python scripts/bench_forest.py            all data sets; takes about an hour and a half
    python scripts/bench_forest.py --only letter adult --repeats 7
    python scripts/bench_forest.py --extras   threads, single rows, memory, growth with rows

Real sets are looked for in --data-home or MDDF_DATA_HOME. Both sides get the same numbers
(categories as ordinal codes), the same trees and one core; they run in turns in one process, and
the ratio is the median over the repeats of scikit-learn's CPU time through mddf's. Fit includes
binning, prediction starts from floats.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import math
import pickle
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean, median

import numpy as np
from _measure import BUNDLED, cpu_seconds, load
from _results import provenance, write_json
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble import RandomForestClassifier as ScikitRandomForest
from sklearn.utils.validation import validate_data

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier

KINDS = {
    "random": (RandomForestClassifier, ScikitRandomForest),
    "completely random": (
        CompletelyRandomForestClassifier,
        lambda n, **options: ExtraTreesClassifier(n, max_features=1, **options),
    ),
}
REAL = ("adult", "letter", "satimage", "mnist")
# The ratios that the project aims at: fit random, fit completely random, predict_proba.
AIMS = {
    "adult": (8, 6, 3),
    "letter": (8, 6, 3),
    "satimage": (8, 6, 3),
    "synthetic": (12, 6, 3),
    "mnist": (5, 3, 3),
}


def n_nodes(model):
    if hasattr(model, "_trees"):
        return sum(block.n_nodes for block in model._trees)
    return sum(tree.tree_.node_count for tree in model.estimators_)


def compare(name, kind, data, repeats, seeds, n_trees):
    """Fit and predict in turns; returns a dict of what was measured."""
    X, y, X_test, y_test = data
    ours, theirs = KINDS[kind]
    fit_ratio, predict_ratio, seconds, accuracy = [], [], {}, {"mddf": [], "scikit-learn": []}
    for seed in range(max(repeats, seeds)):
        times = {}
        for side, make in (("mddf", ours), ("scikit-learn", theirs)):
            model = make(n_trees, random_state=seed)
            fit, _ = cpu_seconds(lambda model=model: model.fit(X, y), least=0)
            predict, probabilities = cpu_seconds(model.predict_proba, X_test)
            times[side] = (fit, predict)
            predicted = model.classes_[probabilities.argmax(axis=1)]
            accuracy[side].append(float(np.mean(predicted == y_test)))
            if seed == 0:
                bytes_per_node = len(pickle.dumps(model)) / n_nodes(model)
                seconds[side] = {"nodes": n_nodes(model), "bytes_per_node": bytes_per_node}
            seconds[side].setdefault("fit", []).append(fit)
            seconds[side].setdefault("predict", []).append(predict)
        if seed < repeats:
            fit_ratio.append(times["scikit-learn"][0] / times["mddf"][0])
            predict_ratio.append(times["scikit-learn"][1] / times["mddf"][1])
    return {
        "set": name,
        "kind": kind,
        "n_trees": n_trees,
        "repeats": repeats,
        "fit_ratio": median(fit_ratio),
        "fit_ratio_range": [min(fit_ratio), max(fit_ratio)],
        "predict_ratio": median(predict_ratio),
        "predict_ratio_range": [min(predict_ratio), max(predict_ratio)],
        "accuracy": {side: mean(values) for side, values in accuracy.items()},
        "n_seeds": len(accuracy["mddf"]),
        "model": {
            side: {
                "nodes": part["nodes"],
                "pickle_bytes_per_node": part["bytes_per_node"],
                "fit_seconds": median(part["fit"]),
                "predict_seconds": median(part["predict"]),
            }
            for side, part in seconds.items()
        },
    }


def show(result):
    aims = AIMS.get(result["set"])
    fit_aim = f"/{aims[0 if result['kind'] == 'random' else 1]}" if aims else ""
    predict_aim = f"/{aims[2]}" if aims else ""
    ours, theirs = result["model"]["mddf"], result["model"]["scikit-learn"]
    accuracy = result["accuracy"]
    print(
        f"{result['set']:13s} {result['kind']:17s} "
        f"{ours['fit_seconds']:8.3f} {theirs['fit_seconds']:8.3f} "
        f"{result['fit_ratio']:6.2f}{fit_aim:4s} "
        f"{ours['predict_seconds']:8.4f} {theirs['predict_seconds']:8.4f} "
        f"{result['predict_ratio']:6.2f}{predict_aim:3s} "
        f"{100 * accuracy['mddf']:6.2f} {100 * accuracy['scikit-learn']:6.2f} "
        f"{ours['pickle_bytes_per_node']:6.1f} {theirs['pickle_bytes_per_node']:7.1f}",
        flush=True,
    )


def bench_threads(data, n_trees):
    """Wall time of a fit with one thread through that with two."""
    X, y, *_ = data
    ratios = {}
    for kind, (ours, _) in KINDS.items():
        walls = {1: [], 2: []}
        for seed in range(5):
            for n_jobs in walls:
                model = ours(n_trees, n_jobs=n_jobs, random_state=seed)
                start = time.perf_counter()
                model.fit(X, y)
                walls[n_jobs].append(time.perf_counter() - start)
        ratios[kind] = median(a / b for a, b in zip(walls[1], walls[2], strict=True))
    return ratios


def bench_single_row(data, n_trees):
    """Microseconds of predict_proba on one row, and of scikit-learn's validation alone."""
    X, y, X_test, _ = data
    result = {}
    for kind, (ours, _) in KINDS.items():
        model = ours(n_trees, random_state=0).fit(X, y)
        whole, check = [], []
        for i in range(400):
            row = X_test[i : i + 1]
            start = time.perf_counter()
            validate_data(model, row, reset=False, ensure_all_finite="allow-nan")
            middle = time.perf_counter()
            model.predict_proba(row)
            whole.append(time.perf_counter() - middle)
            check.append(middle - start)
        result[kind] = {
            "predict_proba_us": 1e6 * median(whole),
            "validation_us": 1e6 * median(check),
        }
    return result


_MEMORY = """
import re, sys
import numpy as np
from mddf import CompletelyRandomForestClassifier, RandomForestClassifier

def status(field):
    text = open("/proc/self/status").read()
    return int(re.search(field + r":\\s+(\\d+)", text)[1]) * 1024

n, d, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
X = rng.integers(0, 256, (n, d)).astype(np.float64)
y = (X[:, 0] + X[:, 1] > 255).astype(int)
make = RandomForestClassifier if kind == "random" else CompletelyRandomForestClassifier
make(2).fit(X[:200], y[:200])
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
model = make(10, random_state=0).fit(X, y)
print(status("VmHWM") - before, sum(block.n_bytes for block in model._trees))
"""


def bench_memory(n, d):
    """Bytes that a fit needs beyond X at its peak, and those of the model, for both kinds."""
    result = {}
    for kind in KINDS:
        command = [sys.executable, "-P", "-c", _MEMORY, str(n), str(d), kind]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peak, model = map(int, done.stdout.split())
        result[kind] = {"peak": peak, "model": model, "per_cell": (peak - model) / (n * d)}
    return result


def bench_rows(most, n_trees):
    """Seconds per tree for growing numbers of rows, and the same divided by n log2 n."""
    X, y = make_classification(most, 50, n_informative=15, n_classes=3, random_state=0)
    result = []
    for n in (10_000, 31_623, 100_000, 316_228, 1_000_000):
        if n > most:
            break
        for kind, (ours, _) in KINDS.items():
            model = ours(n_trees, random_state=0)
            used, _ = cpu_seconds(lambda model=model, n=n: model.fit(X[:n], y[:n]), least=0)
            per = used / n_trees
            result.append({"rows": n, "kind": kind, "seconds_per_tree": per})
            print(
                f"  {n:9d} rows  {kind:17s} {1000 * per:9.2f} ms per tree, "
                f"{1e9 * per / (n * math.log2(n)):6.3f} ns per n log2 n"
            )
    return result


def run_extras(data_home, quick, n_trees):
    extras = {}
    name = "letter" if (data := load("letter", data_home)) else "digits"
    data = data or load("digits", data_home)
    extras["threads"] = bench_threads(data, 20 if quick else n_trees)
    for kind, ratio in extras["threads"].items():
        print(f"two threads, {name}, {kind}: {ratio:.2f} times as fast as one (aim 1.8)")
    extras["single_row"] = bench_single_row(data, 100)
    for kind, times in extras["single_row"].items():
        over = times["predict_proba_us"] - times["validation_us"]
        print(
            f"one row, 100 trees, {name}, {kind}: {times['predict_proba_us']:.0f} us, "
            f"{over:.0f} us over validation (aim 200)"
        )
    shape = (20_000, 100) if quick else (60_000, 784)
    if sys.platform == "linux":
        extras["memory"] = bench_memory(*shape)
        for kind, memory in extras["memory"].items():
            print(
                f"peak of a fit beyond X, {shape[0]} x {shape[1]}, {kind}: "
                f"{memory['peak'] / 2**20:.0f} MiB, "
                f"of which the model {memory['model'] / 2**20:.0f}; "
                f"the rest is {memory['per_cell']:.2f} bytes per cell"
            )
    print("growth with rows, 50 columns:")
    extras["rows"] = bench_rows(100_000 if quick else 1_000_000, 3 if quick else 10)
    return extras


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sets, fewer trees")
    sets = [*BUNDLED, *AIMS]
    parser.add_argument(
        "--only", nargs="+", choices=sets, metavar="SET", help=f"among {', '.join(sets)}"
    )
    parser.add_argument("--repeats", type=int, help="timed repeats (default 5)")
    parser.add_argument(
        "--seeds", type=int, help="seeds of the accuracies (default 10; large sets 5)"
    )
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument(
        "--extras", action="store_true", help="threads, single row, memory, growth"
    )
    parser.add_argument("--data-home", help="folder with the data sets")
    parser.add_argument("--out", default="results", help="folder for bench_forest.json")
    options = parser.parse_args()
    origin = provenance(options)
    print("  ".join(f"{name} {version}" for name, version in origin["versions"].items()))
    results, extras = [], {}
    if not options.extras or options.only:
        results = run_comparison(options)
    if options.extras or options.quick:
        extras = run_extras(options.data_home, options.quick, options.trees)
    path = Path(options.out) / "bench_forest.json"
    write_json(path, {"provenance": origin, "sets": results, "extras": extras})
    print(f"written to {path}")


def run_comparison(options):
    names = options.only or (
        [*BUNDLED, "satimage", "letter"] if options.quick else [*REAL[:3], "synthetic", "mnist"]
    )
    print(
        f"{options.trees} trees, one core, CPU seconds; ratio: scikit-learn / mddf, with its aim\n"
        f"{'':31s} {'fit':>8s} {'sklearn':>8s} {'ratio':>6s}     {'predict':>8s} {'sklearn':>8s} "
        f"{'ratio':>6s}    {'acc %':>6s} {'sklearn':>7s} {'B/node':>5s} {'sklearn':>7s}"
    )
    results = []
    for name in names:
        data = load(name, options.data_home)
        if data is None:
            continue
        large = data[0].size > 5e6
        repeats = options.repeats or (1 if options.quick and name == "letter" else 5)
        if options.quick:
            repeats = min(repeats, 3)
        seeds = options.seeds or (repeats if options.quick or large else 10)
        for kind in KINDS:
            results.append(compare(name, kind, data, repeats, seeds, options.trees))
            show(results[-1])
    return results


if __name__ == "__main__":
    main()
