"""QuadBoost's Tables 1 and 2: six algorithms on 25 sets, and how they compare.

    python scripts/run_quadboost.py                  all sets that are present
    python scripts/run_quadboost.py --sets heart vote
    python scripts/run_quadboost.py --adaboost-rounds 50000    leaves out larger values of its grid
    python scripts/run_quadboost.py --quick          four sets, fewer rounds, about a minute

Protocol: half of the rows, at most 500, train; the rest test. Features become
tanh((x - mean) / std) with training statistics; the voters of all algorithms are 10 stumps per
feature and their complements. Hyperparameters: 10 values each on logarithmic grids, by the error
in 5-fold cross-validation on the training rows, the first in grid order where several tie; one run
serves all smaller numbers of rounds. Sets with more than two classes: the largest class against
the rest (the paper does not say what it did). Times are CPU seconds. A run that was stopped goes
on where it was. Writes <out>.json, <out>_table1.csv and <out>_table2.csv.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _boosting_data import binary, fill_missing, load_tables
from _results import Record, aligned, provenance, published, write_csv
from mddf.baselines import AdaBoostClassifier, LPBoostClassifier, QuadBoostClassifier
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from mddf.analysis import poisson_binomial_test, sign_test

# Published name -> name of the loader.
SETS = {
    "australian": "australian",
    "balance": "balance",
    "breast": "breastcancer",
    "bupa": "bupa",
    "car": "car",
    "cmc": "cmc",
    "credit": "credit",
    "cylinder": "cylinder",
    "ecoli": "ecoli",
    "flags": "flags",
    "glass": "glass",
    "heart": "heart",
    "hepatitis": "hepatitis",
    "horse": "horse",
    "ionosphere": "ionosphere",
    "letter_ab": "letter-ab",
    "monks": "monks-1",
    "optdigits": "optdigits",
    "pima": "pima",
    "tictactoe": "tictactoe",
    "titanic": "titanic",
    "vote": "vote",
    "wine": "wine",
    "yeast": "yeast",
    "zoo": "zoo",
}
BUNDLED = {name: name for name in ("breast_cancer", "wine", "digits")}
QUICK_SETS = ("heart", "ionosphere", "pima", "vote")


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
    X_train, X_test = fill_missing(X[train], X[test])
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


def tune_and_test(algorithm, X, y, X_test, y_test, seed):
    """Cross-validate, fit on all training rows with the best, predict the test rows."""
    values, rounds, make = algorithm
    start = time.process_time()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    mean_errors = np.zeros((len(values), len(rounds)))
    for k, value in enumerate(values):
        for train, held in folds:
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


def table_one(results, names, methods):
    """Risks per set and mean times, as rows."""
    rows = [
        {"set": name, **{m: results[f"{name}/{m}"]["risk"] for m in methods}} for name in names
    ]
    for label, key in (("mean_running_time_s", "seconds"), ("mean_fit_time_s", "fit_seconds")):
        means = {m: np.mean([results[f"{n}/{m}"][key] for n in names]) for m in methods}
        rows.append({"set": label, **means})
    return rows


def table_two(results, names, methods):
    """Poisson binomial and sign test of every pair of algorithms, as rows."""
    rows = []
    for first in methods:
        for second in methods:
            counts = []
            for name in names:
                one, two = (results[f"{name}/{m}"]["right"] for m in (first, second))
                pairs = list(zip(one, two, strict=True))
                counts.append((pairs.count(("1", "0")), pairs.count(("0", "1"))))
            only_first, only_second = np.transpose(counts)
            wins, losses = np.sum(only_first > only_second), np.sum(only_first < only_second)
            p = min(sign_test(int(wins), int(losses)), sign_test(int(losses), int(wins)))
            rows.append(
                {
                    "row_algorithm": first,
                    "column_algorithm": second,
                    "prob_row_better": poisson_binomial_test(only_first, only_second),
                    "wins": int(wins),
                    "losses": int(losses),
                    "sign_test_p": p,
                }
            )
    return rows


def print_tables(one, two, methods):
    """Each number with the published one in parentheses."""
    there = {row["dataset"]: row for row in published("quadboost_table1.tsv")}
    lines = [("set", *methods)]
    for row in one:
        beside = there.get(row["set"], {})
        lines.append((row["set"], *(f"{row[m]:.3f} ({beside.get(m, '-')})" for m in methods)))
    print("\nTable 1: test risk (published)\n")
    print(aligned(lines))
    pairs = {
        (row["row_algorithm"], row["column_algorithm"]): row
        for row in published("quadboost_table2.tsv")
    }
    lines = [("", *methods)]
    for first in methods:
        cells = []
        for row in (row for row in two if row["row_algorithm"] == first):
            beside = pairs.get((first, row["column_algorithm"]), {})
            star = "*" if row["sign_test_p"] <= 0.05 else ""
            star_there = "*" if beside.get("sign_test_star_p05") == "1" else ""
            number = beside.get("prob_row_better", "-")
            cells.append(f"{row['prob_row_better']:.2f}{star} ({number}{star_there})")
        lines.append((first, *cells))
    print("\nTable 2: P(row better than column), * sign test p <= .05 (published)\n")
    print(aligned(lines))


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", nargs="+", choices={**SETS, **BUNDLED}, help=f"default: {', '.join(SETS)}"
    )
    parser.add_argument("--seed", type=int, default=0, help="of splits and folds (default: 0)")
    parser.add_argument("--adaboost-rounds", type=int, default=1_000_000,
                        help="the most rounds in AdaBoost's grid, at least 100")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="four sets, at most 1000 rounds")
    parser.add_argument("--out", help="path without suffix (default: results/quadboost...)")
    return parser.parse_args(argv)


def main(argv=None):
    arguments = parse(argv)
    out = arguments.out or f"results/quadboost{'_quick' if arguments.quick else ''}"
    known = {name: (loaded,) for name, loaded in {**SETS, **BUNDLED}.items()}
    tables = load_tables(arguments.sets, QUICK_SETS if arguments.quick else SETS, known, BUNDLED)
    settings = {key: vars(arguments)[key] for key in ("seed", "quick", "adaboost_rounds")}
    record = Record(f"{out}.json", settings, provenance(arguments, tables))
    methods = algorithms(arguments.quick, arguments.adaboost_rounds)
    tasks = [(name, method) for name in tables for method in methods]
    for name, method in (bar := tqdm(tasks)):
        bar.set_description(f"{name} {method}")
        sample = split(tables[name].X, binary(tables[name]), arguments.seed)
        record.get(
            f"{name}/{method}",
            lambda sample=sample, method=method: tune_and_test(
                methods[method], *sample, arguments.seed
            ),
        )
    one = table_one(record.results, tables, list(methods))
    two = table_two(record.results, tables, list(methods))
    if arguments.quick:
        print(
            "--quick: at most 1000 rounds and coarser grids; the published numbers have the whole"
        )
    print_tables(one, two, list(methods))
    write_csv(f"{out}_table1.csv", one)
    write_csv(f"{out}_table2.csv", two)
    print(f"written to {out}.json, {out}_table1.csv, {out}_table2.csv")


if __name__ == "__main__":
    main()
