"""Time the boosting classifiers on one core against scikit-learn and against each other.

    python scripts/bench_boosting.py             sets that are not present are left out
    python scripts/bench_boosting.py --quick     fewer rounds
    python scripts/bench_boosting.py --only mnist stumps

Prints one line per comparison and whether the aim is met; writes results/bench_boosting.json.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _boosting_data import binary, load_table
from _results import provenance, write_json
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier, QuadBoostClassifier
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits


def seconds(model, X, y, repeats=1):
    """Least CPU time of some fits."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        model.fit(X, y)
        best = min(best, time.process_time() - start)
    return best


def scikit(depth, rounds):
    return ScikitAdaBoost(DecisionTreeClassifier(max_depth=depth), n_estimators=rounds)


def compare(name, ours, theirs, aim):
    """One result: seconds of both, their ratio, and whether it is at least the aim."""
    ratio = theirs / ours
    met = "met" if ratio >= aim else "NOT met"
    print(f"{name:58s} {ours:9.4f} s {theirs:9.4f} s  x{ratio:8.1f}  aim x{aim:g}: {met}")
    return {"name": name, "seconds": ours, "other_seconds": theirs, "ratio": ratio, "aim": aim}


def bench_ionosphere(results, quick):
    table = load_table("ionosphere") or load_table("breast_cancer")
    X, y = table.X[:281], binary(table)[:281]
    for loss in ("exponential", "logistic"):
        model = DeepBoostClassifier(100, loss=loss, max_depth=4)
        ours = seconds(model, X, y, 3 if quick else 5)
        name = f"DeepBoost {loss}, 100 rounds, {table.name} {X.shape}; limit .3 s"
        results.append(compare(name, ours, 0.3, 1.0))


def bench_mnist(results, quick):
    table = load_table("mnist-49") or load_table("digits-49")
    X, y, rounds = table.X[:11791], binary(table)[:11791], 10 if quick else 100
    model = DeepBoostClassifier(rounds, max_depth=4)
    ours = seconds(model, X, y)
    theirs = seconds(scikit(4, rounds), X, y)
    name = f"DeepBoost depth 4, {rounds} rounds, {table.name} {X.shape}; scikit-learn"
    results.append(compare(name, ours, theirs, 1.0))


def adult():
    """Adult's training part, categories as ordered codes for both libraries; None without it."""
    try:
        from mddf.datasets import load

        data = load("adult", download=False)
    except (ImportError, OSError, KeyError, ValueError, RuntimeError):
        return None
    frame = data.X_train.copy()
    words = frame.select_dtypes(exclude="number").columns
    frame[words] = OrdinalEncoder(encoded_missing_value=-1).fit_transform(frame[words])
    return np.nan_to_num(frame.to_numpy(dtype=np.float64), nan=-1.0), np.asarray(data.y_train)


def bench_stumps(results, quick):
    data = adult()
    name = "adult"
    if data is None:
        table = load_table("digits")
        data, name = (table.X, table.y > 4), "digits, 0-4 against 5-9"
    X, y = data
    rounds = 20 if quick else 100
    model = AdaBoostClassifier(rounds)
    ours = seconds(model, X, y, 3)
    theirs = seconds(scikit(1, rounds), X, y)
    label = f"AdaBoost stumps, {rounds} rounds, {name} {X.shape}; scikit-learn"
    results.append(compare(label, ours, theirs, 5.0))


def bench_quadboost(results, quick):
    """Equal voters and rounds: whole fits, and what the rounds take after the set-up.

    The set-up (validation, making the voters) is the same work for both and most of a short run;
    a fit of one round stands for it.
    """
    for name in ("ionosphere", "pima", "optdigits", "breast_cancer"):
        table = load_table(name)
        if table is None:
            continue
        X, y = table.X[:500], binary(table)[:500]  # the paper's largest training set

        def times(rounds, X=X, y=y):
            quad = QuadBoostClassifier(n_estimators=rounds, tol=0.0)
            ada = AdaBoostClassifier(rounds, voters="stumps")
            often = max(3 if quick else 5, min(100, 5000 // rounds))  # milliseconds need more
            return np.array([seconds(quad, X, y, often), seconds(ada, X, y, often)])

        set_up = times(1)
        for rounds in (100, 1000) if quick else (100, 1000, 10_000):
            fits = times(rounds)
            label = f"{rounds} rounds, {name} {X.shape}; AdaBoost"
            results.append(compare(f"QuadBoost, {label}", *fits, 10.0))
            alone = np.maximum(fits - set_up, 1e-6)
            results.append(compare(f"QuadBoost without set-up, {label}", *alone, 10.0))


def bench_grid(results, quick):
    """Table 2's grid on one small set, one fold: 6 depths x 5 beta x 5 lambda, 100 rounds."""
    if quick:
        return
    table = load_table("ionosphere") or load_table("breast_cancer")
    X, y = table.X[:281], binary(table)[:281]
    grid = [10.0**-k for k in range(3, 8)]
    start = time.perf_counter()
    for depth in range(1, 7):
        for beta in grid:
            for lambda_ in grid:
                DeepBoostClassifier(100, max_depth=depth, beta=beta, lambda_=lambda_).fit(X, y)
    ours = time.perf_counter() - start
    results.append(
        compare(f"DeepBoost, Table 2's 150 settings, {table.name}; limit 60 s", ours, 60.0, 1.0)
    )


BENCHES = {
    "ionosphere": bench_ionosphere,
    "mnist": bench_mnist,
    "stumps": bench_stumps,
    "quadboost": bench_quadboost,
    "grid": bench_grid,
}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no grid")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--out", default="results/bench_boosting.json")
    return parser.parse_args(argv)


def main(argv=None):
    arguments = parse(argv)
    results: list[dict] = []
    with threadpool_limits(1):
        for name in arguments.only:
            BENCHES[name](results, arguments.quick)
    write_json(arguments.out, {"provenance": provenance(arguments, {}), "results": results})


if __name__ == "__main__":
    main()
