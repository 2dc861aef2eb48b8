"""Time the boosting classifiers on one core against scikit-learn and against each other.

    python scripts/bench/boosting.py             sets that are not present are left out
    python scripts/bench/boosting.py --quick     bundled sets, fewer rounds
    python scripts/bench/boosting.py --cases mnist stumps

Both sides are measured in turns. The table has CPU seconds, their ratio, and the target ratio in
brackets. Two cases have a limit in seconds instead of a peer. QuadBoost and AdaBoost have the same
learners (10 stumps per feature) and rounds; "without set-up" subtracts the time of a fit of one
round, which is most of a short run.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, cli, data, tables
from _lab.study import Study
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier, QuadBoostClassifier


def scikit(depth, n):
    """Return AdaBoost of scikit-learn."""
    return ScikitAdaBoost(DecisionTreeClassifier(max_depth=depth), n_estimators=n)


def grid(n):
    """Return DeepBoost with all settings of Table 2 of its paper."""
    penalties = [10.0**-k for k in range(3, 8)]
    return [
        DeepBoostClassifier(n, max_depth=depth, beta=beta, lambda_=lambda_)
        for depth, beta, lambda_ in product(range(1, 7), penalties, penalties)
    ]


# Set, largest number of rows, our model for a number of rounds, the peer or a limit in seconds,
# and the target ratio.
CASES = {
    "exponential": ("ionosphere", 281, lambda n: DeepBoostClassifier(n, max_depth=4), 0.3, 1),
    "logistic": ("ionosphere", 281,
                 lambda n: DeepBoostClassifier(n, loss="logistic", max_depth=4), 0.3, 1),
    "grid": ("ionosphere", 281, grid, 60.0, 1),
    "mnist": ("mnist-49", 11791, lambda n: DeepBoostClassifier(n, max_depth=4),
              lambda n: scikit(4, n), 1),
    "stumps": ("adult", None, AdaBoostClassifier, lambda n: scikit(1, n), 5),
    **{
        f"quadboost-{name}": (name, 500, lambda n: QuadBoostClassifier(n_estimators=n, tol=0.0),
                              lambda n: AdaBoostClassifier(n, weak_learners="stumps"), 10)
        for name in ("ionosphere", "pima", "optdigits", "breast_cancer")
    },
}  # fmt: skip


def seconds(make, n_rounds, X, y):
    """Return the CPU seconds of a fit, or the sum for several models."""
    models = make(n_rounds)
    models = models if isinstance(models, list) else [models]
    return sum(bench.cost(model.fit, X, y, min_seconds=0.05)[0] for model in models)


def cell(options, set, rounds):
    name, n_rows, ours, peer, _ = CASES[set]
    name = options.on or name
    if set == "stumps":  # categories as codes for both libraries
        split = data.codes(name, options.data_home)
        X, y = np.nan_to_num(split.X, nan=-1.0), data.binary(split.y)
    else:
        X, y = data.two_classes(name, options.data_home)
    X, y = X[:n_rows], y[:n_rows]

    def side(make, _):
        whole, rest = make if isinstance(make, float) else seconds(make, rounds, X, y), None
        if set.startswith("quadboost"):
            rest = max(whole - seconds(make, 1, X, y), 1e-6)
        return {"s": whole, "rest_s": rest}

    times = bench.in_turns([partial(side, ours), partial(side, peer)], options.repeats)
    return {"on": name, "shape": f"{len(y)} x {X.shape[1]}", **times}


def report(frame, options):
    layout = """case=set rounds on shape s:.4f peer's=peer_s:.4f ratio=s_ratio
    without_set-up=rest_s_ratio"""
    aims = {(name,): {"s_ratio": case[-1], "rest_s_ratio": case[-1]}
            for name, case in CASES.items()}  # fmt: skip
    title = f"CPU seconds, one core, medians of {options.repeats}; ratio: peer / ours (aim)"
    rows = bench.with_aims(frame, ["set"], aims)
    return [tables.columns("boosting", title, rows, layout, n_index=2, numbers=frame)]


def keys(options):
    """Return the keys of all cases; QuadBoost is also measured with more rounds."""
    return [
        {"set": case, "rounds": n * options.rounds}
        for case in options.cases
        for n in ((1, 10, 100) if case.startswith("quadboost") and not options.quick else (1,))
    ]


study = Study(
    globals(), "bench_boosting", keys, ("on",), fresh=True, checks={"on": cli.dataset},
    cases=CASES, on=None, rounds=100, repeats=3,
    quick={"on": "breast_cancer", "rounds": 10, "repeats": 1,
           "cases": [name for name in CASES if name != "grid"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
