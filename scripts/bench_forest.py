"""Compare the forests with scikit-learn's: time, accuracy, model size.

    python scripts/bench_forest.py --quick    two minutes; bundled data if no other is there
    python scripts/bench_forest.py            all data sets; takes about an hour and a half
    python scripts/bench_forest.py --datasets letter adult --repeats 7
    python scripts/bench_forest.py --extras   also threads, single rows, memory, growth with rows

Both sides get the same numbers
(categories as ordinal codes), the same trees and one core; they run in turns in one process, and
the ratio is the median over the repeats of scikit-learn's CPU time through mddf's. Fit includes
binning, prediction starts from floats. Of the made sets "curves" and "many curves", the targets
are numbers: these are for the regressors, and 100 R2 takes the place of accuracy.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import math
import pickle
import subprocess
import sys
import time
from statistics import mean, median

import numpy as np
from _lab import cli, measure, tables
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.ensemble import RandomForestClassifier as ScikitRandomForest
from sklearn.ensemble import RandomForestRegressor as ScikitRandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.utils.validation import validate_data

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

KINDS = {
    "random": (RandomForestClassifier, ScikitRandomForest),
    "completely random": (
        CompletelyRandomForestClassifier,
        lambda n, **options: ExtraTreesClassifier(n, max_features=1, **options),
    ),
}
REGRESSORS = {
    "random": (RandomForestRegressor, ScikitRandomForestRegressor),
    "completely random": (
        CompletelyRandomForestRegressor,
        lambda n, **options: ExtraTreesRegressor(n, max_features=1, **options),
    ),
}
# The ratios that the project aims at: fit random, fit completely random, predict_proba.
AIMS = {
    "adult": (8, 6, 3),
    "letter": (8, 6, 3),
    "satimage": (8, 6, 3),
    "synthetic": (12, 6, 3),
    "mnist": (5, 3, 3),
    "curves": (8, 6, 3),
    "many curves": (8, 6, 3),
}


def n_nodes(model):
    if hasattr(model, "_trees"):
        return sum(block.n_nodes for block in model._trees)
    return sum(tree.tree_.node_count for tree in model.estimators_)


def one(make, data, n_trees, seed):
    """Seconds to fit and predict, accuracy, and bytes per node."""
    X, y, X_test, y_test = data
    model = make(n_trees, random_state=seed)
    fit, _ = measure.cpu_seconds(model.fit, X, y, least=0)
    if hasattr(model, "predict_proba"):
        predict, probabilities = measure.cpu_seconds(model.predict_proba, X_test)
        score = np.mean(model.classes_[probabilities.argmax(axis=1)] == y_test)
    else:
        predict, means = measure.cpu_seconds(model.predict, X_test)
        score = r2_score(y_test, means)
    size = len(pickle.dumps(model)) / n_nodes(model) if seed == 0 else float("nan")
    return {
        "fit": fit,
        "predict": predict,
        "accuracy": 100 * float(score),
        "bytes": size,
    }


def kinds_for(name):
    """The forests of both sides that a set is for."""
    return REGRESSORS if "curves" in name else KINDS


def compare(name, kind, data, repeats, seeds, n_trees):
    """Fit and predict in turns; a row of the table. Seeds beyond the repeats only for accuracy."""
    pairs = [
        [one(make, data, n_trees, seed) for make in kinds_for(name)[kind]]
        for seed in range(max(repeats, seeds))
    ]
    row = {"set": name, "forest": kind}
    aims = AIMS.get(name, (None,) * 3)
    for key, aim in (("fit", aims[0 if kind == "random" else 1]), ("predict", aims[2])):
        ours, theirs = zip(*((a[key], b[key]) for a, b in pairs[:repeats]), strict=True)
        row[f"{key} s"], row[f"sklearn's {key} s"] = median(ours), median(theirs)
        row[f"{key} ratio"] = median(b / a for a, b in zip(ours, theirs, strict=True))
        row[f"{key} aim"] = aim
    for side, title in enumerate(("", "sklearn's ")):
        row[f"{title}accuracy %"] = mean(pair[side]["accuracy"] for pair in pairs)
        row[f"{title}bytes per node"] = pairs[0][side]["bytes"]
    return row


def bench_threads(data, n_trees):
    """Wall time of a fit with one thread through that with two."""
    X, y, *_ = data
    ratios = {}
    for kind, (ours, _) in KINDS.items():
        walls = {1: [], 2: []}
        for seed in range(5):
            for n_jobs in walls:
                model = ours(n_trees, n_jobs=n_jobs, random_state=seed)
                walls[n_jobs].append(measure.timed(model.fit, X, y)[1]["wall_s"])
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
    """Nanoseconds per tree over n log2 n for growing numbers n of rows."""
    X, y = make_classification(most, 50, n_informative=15, n_classes=3, random_state=0)
    for n in (10_000, 31_623, 100_000, 316_228, 1_000_000):
        if n > most:
            break
        for kind, (ours, _) in KINDS.items():
            model = ours(n_trees, random_state=0)
            used, _ = measure.cpu_seconds(model.fit, X[:n], y[:n], least=0)
            each = 1e9 * used / n_trees / (n * math.log2(n))
            yield f"{n} rows x 50, ns per tree and n log2 n", kind, f"{each:.3f}"


def extras(options):
    """Threads, single rows, memory and growth with rows, as lines of (what, forest, value)."""
    name = "letter" if (data := measure.load("letter", options.data_home)) else "digits"
    data = data or measure.load("digits", options.data_home)
    for kind, ratio in bench_threads(data, options.n_estimators).items():
        yield f"{name}, speed of two threads over one (aim 1.8)", kind, f"{ratio:.2f}"
    for kind, times in bench_single_row(data, 100).items():
        over = times["predict_proba_us"] - times["validation_us"]
        yield f"{name}, one row over validation, us (aim 200)", kind, f"{over:.0f}"
    shape = (20_000, 100) if options.quick else (60_000, 784)
    if sys.platform == "linux":
        for kind, memory in bench_memory(*shape).items():
            what = f"{shape[0]} x {shape[1]}, peak beyond X and model, bytes per cell"
            yield what, kind, f"{memory['per_cell']:.2f}"
    yield from bench_rows(100_000 if options.quick else 1_000_000, 3 if options.quick else 10)


def run_comparison(options):
    """A table of all sets that are there."""
    rows = []
    for name in options.datasets:
        data = measure.load(name, options.data_home)
        if data is None:
            continue
        large = options.quick or data[0].size > 5e6
        seeds = options.seeds or (options.repeats if large else 10)
        for kind in KINDS:
            rows.append(compare(name, kind, data, options.repeats, seeds, options.n_estimators))
            print(f"{name}, {kind}: fit ratio {rows[-1]['fit ratio']:.2f}", flush=True)
    numbers = tables.pd.DataFrame(rows)
    if numbers.empty:
        raise SystemExit("none of the sets is there")
    shown = numbers.set_index(["set", "forest"])
    shown = shown.drop(columns=["fit aim", "predict aim"]).map("{:.4g}".format)
    for key in ("fit", "predict"):
        aims = numbers[f"{key} aim"]
        shown[f"{key} ratio"] += [f" ({aim:g})" if aim == aim and aim else "" for aim in aims]
    title = (
        f"{options.n_estimators} trees, one core, CPU seconds, medians of {options.repeats}; "
        "ratio: sklearn / mddf (aim)"
    )
    return tables.Table("forest", title, shown, numbers)


def parse(argv=None):
    return cli.study(
        __doc__,
        "bench_forest",
        quick={"datasets": ["digits", "breast_cancer", "satimage", "letter"], "repeats": 3},
        checks={"datasets": str},
        **{"datasets": list(AIMS), "n_estimators": 100, "repeats": 5, "seeds": None},
        **{"extras": False, "only_extras": False},
    ).read(argv)


def main(argv=None):
    options = parse(argv)
    found = [] if options.only_extras else [run_comparison(options)]
    if options.extras or options.only_extras:
        shown = tables.pd.DataFrame(extras(options), columns=["what", "forest", "measured"])
        found.append(tables.Table("extras", "extras", shown.set_index(["what", "forest"])))
    tables.show(options.out, found)


if __name__ == "__main__":
    main()
