"""Time the boosting classifiers on one core against scikit-learn and against each other.

    python scripts/bench_boosting.py             sets that are not present are left out
    python scripts/bench_boosting.py --quick     fewer rounds
    python scripts/bench_boosting.py --only mnist stumps

One line per comparison: seconds of both, their ratio, and the ratio aimed at.
"""

from __future__ import annotations

import time

import numpy as np
from _lab import cli, data, measure, tables
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier, QuadBoostClassifier
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits


def seconds(model, X, y, repeats=1):
    """Least CPU time of some fits."""
    return measure.least_seconds(lambda: model.fit(X, y), repeats)


def table(*names):
    """The first of some sets whose files are there: its name, numbers, and labels in {0, 1}."""
    for name in names:
        for rows in data.present([name]).values():
            return name, rows.X, data.binary(rows.y)
    return None


def scikit(depth, rounds):
    return ScikitAdaBoost(DecisionTreeClassifier(max_depth=depth), n_estimators=rounds)


def compare(name, ours, theirs, aim):
    """One result: seconds of both, their ratio, and whether it is at least the aim."""
    ratio = theirs / ours
    print(f"x{ratio:8.1f}  aim x{aim:g}  {name}", flush=True)
    return {
        "what": name,
        "seconds": ours,
        "other": theirs,
        "ratio": ratio,
        "aim": aim,
        "met": "yes" if ratio >= aim else "no",
    }


def bench_ionosphere(results, quick):
    chosen, X, y = table("ionosphere", "breast_cancer")
    X, y = X[:281], y[:281]
    for loss in ("exponential", "logistic"):
        model = DeepBoostClassifier(100, loss=loss, max_depth=4)
        ours = seconds(model, X, y, 3 if quick else 5)
        name = f"DeepBoost {loss}, 100 rounds, {chosen} {X.shape}; limit .3 s"
        results.append(compare(name, ours, 0.3, 1.0))


def bench_mnist(results, quick):
    chosen, X, y = table("mnist-49", "digits-49")
    X, y, rounds = X[:11791], y[:11791], 10 if quick else 100
    model = DeepBoostClassifier(rounds, max_depth=4)
    ours = seconds(model, X, y)
    theirs = seconds(scikit(4, rounds), X, y)
    name = f"DeepBoost depth 4, {rounds} rounds, {chosen} {X.shape}; scikit-learn"
    results.append(compare(name, ours, theirs, 1.0))


def bench_stumps(results, quick):
    adult = measure.load("adult", None)  # categories as codes for both libraries
    if adult is None:
        name, (_, X, y) = "digits", table("digits")
    else:
        name, X, y = "adult", np.nan_to_num(adult[0], nan=-1.0), adult[1]
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
        found = table(name)
        if found is None:
            continue
        X, y = found[1][:500], found[2][:500]  # the paper's largest training set

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
    chosen, X, y = table("ionosphere", "breast_cancer")
    X, y = X[:281], y[:281]
    grid = [10.0**-k for k in range(3, 8)]
    start = time.perf_counter()
    for depth in range(1, 7):
        for beta in grid:
            for lambda_ in grid:
                DeepBoostClassifier(100, max_depth=depth, beta=beta, lambda_=lambda_).fit(X, y)
    ours = time.perf_counter() - start
    results.append(
        compare(f"DeepBoost, Table 2's 150 settings, {chosen}; limit 60 s", ours, 60.0, 1.0)
    )


BENCHES = {
    "ionosphere": bench_ionosphere,
    "mnist": bench_mnist,
    "stumps": bench_stumps,
    "quadboost": bench_quadboost,
    "grid": bench_grid,
}


def parse(argv=None):
    checks = {"only": list(BENCHES)}
    return cli.study(__doc__, "bench_boosting", checks=checks, only=list(BENCHES)).read(argv)


def main(argv=None):
    options = parse(argv)
    results: list[dict] = []
    with threadpool_limits(1):
        for name in options.only:
            BENCHES[name](results, options.quick)
    numbers = tables.pd.DataFrame(results)
    form = {"seconds": "{:.4f}", "other": "{:.4f}", "ratio": "{:.1f}", "aim": "{:g}"}
    shown = numbers.assign(**{c: numbers[c].map(f.format) for c, f in form.items()})
    title = "CPU seconds on one core; ratio: other / ours"
    tables.show(options.out, [tables.Table("boosting", title, shown.set_index("what"), numbers)])


if __name__ == "__main__":
    main()
