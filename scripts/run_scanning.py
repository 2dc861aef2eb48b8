"""What multi-grained scanning adds: forests and cascades on images as they are and scanned.

    python scripts/run_scanning.py                       MNIST, 6000 training images, 3 seeds
    python scripts/run_scanning.py --train 60000 --seeds 0
    python scripts/run_scanning.py --models forest       without the cascades
    python scripts/run_scanning.py --quick               scikit-learn's digits, a minute

Protocol: each seed draws a stratified subset of the training images and seeds everything else;
the test set is used whole, and only to score. A model sees either the pixels, or all scanned
columns at once, or (cascades) one window size per layer in turn, with the same settings otherwise.
Windows of 7, 10 and 13 pixels, 2 apart, as in the authors' settings for MNIST. With fewer images
than the set has, the time for all of them is estimated: in proportion to n log n. A run that was
stopped goes on with the next seed. Writes <out>.json, with its provenance, and <out>.csv.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from _results import Record, aligned, provenance, published, write_csv
from _study import count
from mddf.baselines import MultiGrainedScanner
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def make_forest(n_estimators, seed, n_jobs, grains):
    from mddf import RandomForestClassifier

    return RandomForestClassifier(n_estimators, random_state=seed, n_jobs=n_jobs)


def make_gcforest(n_estimators, seed, n_jobs, grains):
    from mddf.baselines import GCForestClassifier

    # Forests and folds as MDDFClassifier has them.
    forests = ["random", "random", "completely-random", "completely-random"]
    return GCForestClassifier(
        n_estimators=n_estimators,
        forests=forests,
        cv=5,
        grains=grains,
        random_state=seed,
        n_jobs=n_jobs,
    )


def make_mddf(n_estimators, seed, n_jobs, grains):
    from mddf import MDDFClassifier

    return MDDFClassifier(
        n_estimators=n_estimators, grains=grains, random_state=seed, n_jobs=n_jobs
    )


FULL = {
    "train": 6000,
    "seeds": [0, 1, 2],
    "trees": 100,
    "windows": [7, 10, 13],
    "stride": 2,
    "scanner_trees": 100,
}
QUICK = {
    "train": 300,
    "seeds": [0, 1],
    "trees": 20,
    "windows": [2, 3, 4],
    "stride": 1,
    "scanner_trees": 20,
}
MODELS = {"forest": make_forest, "gcforest": make_gcforest, "mddf": make_mddf}


def load_images(quick):
    """Training images and classes, test images and classes."""
    if quick:
        digits = load_digits()
        images = digits.images.astype(np.uint8)
        return images[:900], digits.target[:900], images[900:], digits.target[900:]
    from mddf.datasets import load

    data = load("mnist")
    train, test = (X.reshape(-1, 28, 28) for X in (data.X_train, data.X_test))
    return train, np.asarray(data.y_train), test, np.asarray(data.y_test)


def subset(y, n, seed):
    """A stratified choice of n rows; all of them if there are no more."""
    if n >= len(y):
        return np.arange(len(y))
    rows, _ = train_test_split(np.arange(len(y)), train_size=n, stratify=y, random_state=seed)
    return np.sort(rows)


def peak_gigabytes():
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(function, *arguments):
    """Result of a call, and the wall and CPU seconds it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def scan(images, arguments, seed):
    """Scanned training and test images, and what that took."""
    X, y, X_test, _ = images
    scanner = MultiGrainedScanner(
        arguments.windows,
        strides=arguments.stride,
        n_estimators=arguments.scanner_trees,
        max_windows=arguments.max_windows,
        cv=arguments.cv,
        n_jobs=arguments.n_jobs,
        random_state=seed,
        verbose=True,
    )
    train, fit = timed(scanner.fit_transform, X, y)
    test, transform = timed(scanner.transform, X_test)
    costs = {"fit": fit, "transform": transform, "peak_gb": peak_gigabytes()}
    return train, test, scanner.grains_, costs


def one_seed(data, arguments, seed):
    """Accuracy and time of every model on every input."""
    X, y, X_test, y_test = data
    rows = subset(y, arguments.train, seed)
    X, y = X[rows], y[rows]
    train, test, grains, costs = scan((X, y, X_test, y_test), arguments, seed)
    flat = X.reshape(len(X), -1), X_test.reshape(len(X_test), -1)
    inputs = {
        "pixels": (*flat, None),
        "all grains": (train, test, None),
        "a grain a layer": (train, test, grains),
    }
    found = {"scanner": costs, "n_train": len(X), "models": {}}
    for name in arguments.models:
        for given, (A, B, columns) in inputs.items():
            if columns is not None and name == "forest":
                continue
            model = MODELS[name](arguments.trees, seed, arguments.n_jobs, columns)
            _, seconds = timed(model.fit, A, y)
            accuracy = float(model.score(B, y_test))
            print(f"seed {seed}  {name:9s} {given:16s} {100 * accuracy:.2f} %", flush=True)
            found["models"][f"{name}/{given}"] = {"accuracy": accuracy, **seconds}
    found["peak_gb"] = peak_gigabytes()
    return found


def summary(results):
    """Rows of the table: mean and standard deviation over seeds, and the gain over pixels."""
    rows = []
    for key in next(iter(results.values()))["models"]:
        name, given = key.split("/")
        accuracies = np.array([r["models"][key]["accuracy"] for r in results.values()])
        pixels = np.array([r["models"][f"{name}/pixels"]["accuracy"] for r in results.values()])
        gains = 100 * (accuracies - pixels)
        rows.append(
            {
                "model": name,
                "input": given,
                "accuracy": round(100 * accuracies.mean(), 3),
                "std": round(100 * accuracies.std(ddof=min(1, len(accuracies) - 1)), 3),
                "gain": round(gains.mean(), 3),
                "least_gain": round(gains.min(), 3),
                "fit_cpu_s": round(
                    np.mean([r["models"][key]["cpu_s"] for r in results.values()]), 1
                ),
                "seeds": len(accuracies),
            }
        )
    return rows


def report(rows, results):
    """Print the table and the costs."""
    header = ("model", "input", "accuracy %", "gain over pixels (least)", "fit, CPU s", "seeds")
    table = [
        (
            row["model"],
            row["input"],
            f"{row['accuracy']:.2f} ± {row['std']:.2f}",
            f"{row['gain']:+.2f} ({row['least_gain']:+.2f})",
            f"{row['fit_cpu_s']:.1f}",
            row["seeds"],
        )
        for row in rows
    ]
    print("\n" + aligned([header, *table]))
    for part in ("fit", "transform"):
        wall, cpu = (mean_seconds(results, part, clock) for clock in ("wall_s", "cpu_s"))
        print(f"scanner {part}: {wall:.0f} s, {cpu:.0f} s of CPU")
    print(f"peak memory: {max(r['peak_gb'] for r in results.values()):.2f} GB")


def mean_seconds(results, part, clock):
    return np.mean([r["scanner"][part][clock] for r in results.values()])


def estimate(rows, results, n_all):
    """Print how long all training images would take, in proportion to n log n."""
    n = next(iter(results.values()))["n_train"]
    if n >= n_all:
        return
    growth = n_all * np.log(n_all) / (n * np.log(n))
    scanning = mean_seconds(results, "fit", "cpu_s") * growth
    scanning += mean_seconds(results, "transform", "cpu_s") * np.log(n_all) / np.log(n)
    print(f"for all {n_all} images, as n log n: scanning {scanning / 3600:.2f} CPU hours")
    for row in rows:
        hours = row["fit_cpu_s"] * growth / 3600
        print(f"  {row['model']} on {row['input']}: {hours:.2f} CPU hours")


def compare_published():
    claims = [row for row in published("gcforest_claims.tsv") if row["dataset"] == "mnist"]
    if claims:
        print("published, gcForest on MNIST, 60000 images:")
    for row in claims:
        print(f"  {row['setting']}: {row['accuracy']} %")


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, kind, many, text in (
        ("train", count, False, "training images"),
        ("seeds", int, True, "seeds"),
        ("trees", count, False, "trees per forest of the models"),
        ("windows", count, True, "sides of the windows"),
        ("stride", count, False, "step from one window to the next"),
        ("scanner-trees", count, False, "trees per forest of the scanner"),
    ):
        key = name.replace("-", "_")
        shown, shown_quick = (
            " ".join(map(str, values[key])) if many else values[key] for values in (FULL, QUICK)
        )
        parser.add_argument(
            f"--{name}",
            type=kind,
            nargs="+" if many else None,
            help=f"{text} (default: {shown}; --quick: {shown_quick})",
        )
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=list(MODELS), help="default: all"
    )
    parser.add_argument(
        "--max-windows", type=count, help="windows per image and tree (default: all)"
    )
    parser.add_argument("--cv", type=int, default=3, help="folds of the scanner (default: 3)")
    parser.add_argument("--n-jobs", type=int, help="threads (default: 1)")
    parser.add_argument("--quick", action="store_true", help="scikit-learn's digits")
    parser.add_argument("--out", help="path without suffix (default: results/scanning...)")
    arguments = parser.parse_args(argv)
    for key, value in (QUICK if arguments.quick else FULL).items():
        if getattr(arguments, key) is None:
            setattr(arguments, key, value)
    arguments.out = arguments.out or f"results/scanning{'_quick' if arguments.quick else ''}"
    return arguments


def main(argv=None):
    arguments = parse(argv)
    data = load_images(arguments.quick)
    settings = {k: v for k, v in vars(arguments).items() if k not in ("out", "seeds", "n_jobs")}
    record = Record(f"{arguments.out}.json", settings, provenance(arguments))
    for seed in arguments.seeds:
        record.get(str(seed), lambda seed=seed: one_seed(data, arguments, seed))
    results = {str(seed): record.results[str(seed)] for seed in arguments.seeds}
    rows = summary(results)
    report(rows, results)
    if not arguments.quick:
        estimate(rows, results, len(data[1]))
        compare_published()
    write_csv(f"{arguments.out}.csv", rows)
    print(f"written to {arguments.out}.json, {arguments.out}.csv")


if __name__ == "__main__":
    main()
