"""QuadBoost's Tables 1 and 2: six algorithms on 25 sets, and how they compare.

    python scripts/run_quadboost.py                  all sets that are present
    python scripts/run_quadboost.py --datasets heart vote
    python scripts/run_quadboost.py --adaboost-rounds 50000    leaves out larger values of its grid
    python scripts/run_quadboost.py --quick          four sets, fewer rounds, about a minute

Protocol: half of the rows, at most 500, train; the rest test. Features become
tanh((x - mean) / std) with training statistics; the voters of all algorithms are 10 stumps per
feature and their complements. Hyperparameters: 10 values each on logarithmic grids, by the error
in 5-fold cross-validation on the training rows, the first in grid order where several tie; one run
serves all smaller numbers of rounds. Sets with more than two classes: the largest class against
the rest (the paper does not say what it did). Times are CPU seconds. Every result is a file of its
own in --out; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
from _lab import cli, data, tables
from _lab.running import conduct
from mddf.baselines import AdaBoostClassifier, LPBoostClassifier, QuadBoostClassifier
from sklearn.model_selection import StratifiedKFold

from mddf.analysis import discordant_counts, poisson_binomial_test, sign_test

SETS = (
    "australian", "balance", "breastcancer", "bupa", "car", "cmc", "credit", "cylinder", "ecoli",
    "flags", "glass", "heart", "hepatitis", "horse", "ionosphere", "letter-ab", "monks-1",
    "optdigits", "pima", "tictactoe", "titanic", "vote", "wine", "yeast", "zoo",
)  # fmt: skip
PUBLISHED = {"breast": "breastcancer", "letter_ab": "letter-ab", "monks": "monks-1"}
STAND_INS = ("breast_cancer", "wine", "digits")
QUICK_SETS = ("heart", "ionosphere", "pima", "vote")


def parse(argv=None):
    return cli.study(__doc__, "quadboost", datasets=None, seed=0, adaboost_rounds=1_000_000).read(
        argv
    )


def rounds_grid(low, high, quick):
    """Ten numbers of rounds, log-spaced from 10^low to 10^high; --quick stops at 1000."""
    return np.unique(np.round(np.logspace(low, min(high, 3) if quick else high, 10)).astype(int))


def algorithms(quick, adaboost_rounds=1_000_000):
    """Name -> (settings, numbers of rounds, make a classifier of a setting and most rounds)."""
    cap = 1000 if quick else 100_000
    of_adaboost = rounds_grid(2, 6, quick)
    return {
        "QuadBoost-L1": (
            np.logspace(-4, 0, 10)[::-1],
            [cap],
            lambda v, n: QuadBoostClassifier("l1", lambda_=v, n_estimators=n, tol=1e-12),
        ),
        "QuadBoost-L2": (
            np.logspace(0, 3, 10)[::-1],
            rounds_grid(1, 5, quick),
            lambda v, n: QuadBoostClassifier("l2", lambda_=v, n_estimators=n),
        ),
        "QuadBoost-Linf": (
            np.logspace(-4, -1, 10),
            rounds_grid(0, 5, quick),
            lambda v, n: QuadBoostClassifier("linf", alpha_max=v, n_estimators=n),
        ),
        "QuadBoost": (
            [None],
            rounds_grid(0, 3, quick),
            lambda v, n: QuadBoostClassifier(n_estimators=n),
        ),
        "LPBoost": (
            np.logspace(-3, 3, 5 if quick else 10),
            [500],
            lambda v, n: LPBoostClassifier(C=v, voters="stumps", n_estimators=n),
        ),
        "AdaBoost": (
            [None],
            of_adaboost[of_adaboost <= adaboost_rounds],
            lambda v, n: AdaBoostClassifier(n, voters="stumps"),
        ),
    }


def split(X, y, seed):
    """Training and test rows after filling gaps and the tanh normalisation."""
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(len(y))
    n_train = min(500, (len(y) + 1) // 2)
    train, test = order[:n_train], order[n_train:]
    X_train, X_test = data.fill_missing(X[train], X[test])
    mean, std = X_train.mean(axis=0), X_train.std(axis=0)
    std[std == 0] = 1.0
    normalised = (np.tanh((part - mean) / std) for part in (X_train, X_test))
    return next(normalised), y[train], next(normalised), y[test]


def errors_by_rounds(model, rounds, X, y):
    """Error of a fitted classifier after each number of rounds."""
    ensemble = model.ensembles_[0]
    errors = []
    for n in rounds:
        f = ensemble.decision(X, min(int(n), ensemble.n_rounds))
        errors.append(np.mean((f > 0) != (y == model.classes_[1])))
    return errors


def tune_and_test(options, set, method, seed):
    """Cross-validate, fit on all training rows with the best, predict the test rows."""
    X, y, X_test, y_test = split(*options.sets[set], seed)
    values, rounds, make = algorithms(options.quick, options.adaboost_rounds)[method]
    start = time.process_time()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    mean_errors = np.zeros((len(values), len(rounds)))
    for (k, value), (train, held) in product(enumerate(values), folds):
        model = make(value, int(rounds[-1])).fit(X[train], y[train])
        mean_errors[k] += np.array(errors_by_rounds(model, rounds, X[held], y[held])) / 5
    k, t = np.unravel_index(np.argmin(np.round(mean_errors, 12)), mean_errors.shape)
    fit_start = time.process_time()
    model = make(values[k], int(rounds[t])).fit(X, y)
    fitted = time.process_time()
    right = model.predict(X_test) == y_test
    return {
        "risk": float(1 - right.mean()),
        "seconds": time.process_time() - start,
        "fit_seconds": fitted - fit_start,
        "value": None if values[k] is None else float(values[k]),
        "rounds": int(rounds[t]),
        "n_voters": int(np.count_nonzero(model.estimator_weights_)),
        "right": "".join("01"[int(r)] for r in right),
    }


def pairs(frame):
    """Poisson binomial and sign test of every pair of algorithms."""
    right = frame.pivot(index="set", columns="method", values="right").dropna()
    rows = []
    for first, second in product(right.columns if len(right) else [], repeat=2):
        only_first, only_second = np.transpose(
            [
                discordant_counts(["1"] * len(one), list(one), list(two))
                for one, two in zip(right[first], right[second], strict=True)
            ]
        )
        wins, losses = int((only_first > only_second).sum()), int((only_first < only_second).sum())
        rows.append(
            {
                "row_algorithm": first,
                "column_algorithm": second,
                "prob_row_better": poisson_binomial_test(only_first, only_second),
                "wins": wins,
                "losses": losses,
                "sign_test_p": min(sign_test(wins, losses), sign_test(losses, wins)),
            }
        )
    return tables.pd.DataFrame(rows)


def report(frame):
    """Tables 1 and 2, each number with the published one in brackets."""
    methods = [name for name in algorithms(False) if name in set(frame["method"])]
    wide = frame.pivot(index="set", columns="method", values="risk")[methods]
    there = tables.published("quadboost_table1.tsv")
    there = there.set_index(there["dataset"].replace(PUBLISHED)) if len(there) else there
    shown = wide.copy().astype(object)
    for name, method in product(wide.index, methods):
        beside = there[method].get(name, "-") if method in there else "-"
        risk = wide.loc[name, method]
        shown.loc[name, method] = "" if risk != risk else f"{risk:.3f} ({beside})"
    for label, column in (("mean s, all", "seconds"), ("mean s, last fit", "fit_seconds")):
        shown.loc[label] = frame.groupby("method")[column].mean()[methods].map("{:.3f}".format)
    one = tables.Table("table1", "Table 1: test risk (published)", shown, wide.reset_index())
    two = pairs(frame)
    if two.empty:  # no set has all algorithms yet
        return [one]
    cells = two.set_index(["row_algorithm", "column_algorithm"])
    published = tables.published("quadboost_table2.tsv")
    known = published.set_index(["row_algorithm", "column_algorithm"]) if len(published) else {}

    def cell(first, second):
        row, beside = cells.loc[first, second], "-"
        if (first, second) in getattr(known, "index", ()):
            other = known.loc[first, second]
            beside = other["prob_row_better"] + "*" * int(other["sign_test_star_p05"])
        return f"{row['prob_row_better']:.2f}{'*' * int(row['sign_test_p'] <= 0.05)} ({beside})"

    shown = tables.pd.DataFrame({b: {a: cell(a, b) for a in methods} for b in methods})
    title = "Table 2: P(row better than column), * sign test p <= .05 (published)"
    return [one, tables.Table("table2", title, shown.rename_axis("algorithm"), two)]


def main(argv=None) -> int:
    options = parse(argv)
    names = options.datasets or (QUICK_SETS if options.quick else SETS)
    asked = {"asked": options.datasets is not None, "stand_ins": STAND_INS}
    found = data.present(names, options.data_home, **asked)
    options.sets = {name: (rows.X, data.binary(rows.y)) for name, rows in found.items()}
    keys = {"set": options.sets, "method": algorithms(options.quick), "seed": [options.seed]}
    names = ("seed", "quick", "adaboost_rounds")
    notes = ["--quick: at most 1000 rounds and coarser grids"] * options.quick
    return conduct(options, keys, tune_and_test, report, settings=names, notes=notes)


if __name__ == "__main__":
    raise SystemExit(main())
