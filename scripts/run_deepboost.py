"""DeepBoost's Tables 1 to 3 and the data of its Figures 3 and 4.

    python scripts/run_deepboost.py                      all tables, all sets that are present
    python scripts/run_deepboost.py --tables 2 --datasets ionosphere german
    python scripts/run_deepboost.py --runs 2 --thin 2    two of the ten runs, coarser grids
    python scripts/run_deepboost.py --quick              three runs, coarser grids, two sets

Protocol: ten random folds; run i tests on fold i, validates on fold i + 1 (mod 10) and trains on
the other eight; of a method's settings those with the least validation error count, and where
several tie (many do on small folds) their test errors are averaged. 100 rounds. Missing numbers
become the medians of the training rows. Times are CPU seconds of all fits of a run. Every run is a
file of its own in --out; a computation that was stopped goes on where it was, and more --runs may
be added later. plot_boosting.py draws tree sizes and margins of run 0 of Table 2.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
from _lab import cli, data, tables
from _lab.running import conduct
from joblib import Parallel, delayed
from mddf.baselines import DeepBoostClassifier
from scipy.stats import ttest_rel

from mddf.analysis import margin_report

SETS = ("breastcancer", "ionosphere", "german", "diabetes", "ocr17", "ocr49", "ocr17-mnist",
        "ocr49-mnist")  # fmt: skip
QUICK_SETS = ("breastcancer", "ionosphere")
STAND_INS = ("breast_cancer", "digits-17", "digits-49")
METHODS = {
    1: ("AdaBoost-H1", "AdaBoost-H2", "AdaBoost-L1", "DeepBoost"),
    2: ("AdaBoost", "AdaBoost-L1", "DeepBoost"),
    3: ("LogReg", "LogReg-L1", "DeepBoost"),
}


def parse(argv=None):
    return cli.study(
        __doc__,
        "deepboost",
        quick={"runs": 3, "thin": 2},
        checks={"tables": lambda text: int(cli.among("123")(text))},
        **{"datasets": None, "tables": [1, 2, 3], "rounds": 100, "runs": 10, "thin": 1, "seed": 0},
    ).read(argv)


def settings_of(table, method, thin=1):
    """Every setting of a method's grid, as parameters of DeepBoostClassifier.

    With `thin` k only every k-th value of beta, lambda and the depth is in the grid.
    """
    if table == 1:
        betas = [2.0**-k for k in range(7)]
        lambdas = [1e-4, 0.005, 0.01, 0.05, 0.1, 0.5]
        if method == "AdaBoost-H1":
            depths = [{"hypotheses": "trees", "max_depth": 1}]
        else:
            depths = [{"hypotheses": "stumps"}]
    else:
        betas = lambdas = [10.0**-k for k in range(3, 8)]
        depths = [{"max_depth": depth} for depth in range(thin, 7, thin)]
    betas, lambdas = betas[::thin], lambdas[::thin]
    if method in ("AdaBoost", "AdaBoost-H1", "AdaBoost-H2", "LogReg"):
        betas = [0.0]
    if method != "DeepBoost":
        lambdas = [0.0]
    loss = "logistic" if table == 3 else "exponential"
    return [
        {"loss": loss, "beta": beta, "lambda_": lambda_, **depth}
        for depth, beta, lambda_ in product(depths, betas, lambdas)
    ]


def folds_of(n_rows, seed):
    """Ten random folds as one number per row."""
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(n_rows)
    fold = np.empty(n_rows, dtype=int)
    fold[order] = np.arange(n_rows) % 10
    return fold


def tree_sizes(model, table):
    """Sizes of the trees with a weight: nodes, in Table 1 levels."""
    sizes = model.ensembles_[0].voters.sizes[model.estimator_weights_ != 0]
    return np.where(sizes > 3, 2, 1) if table == 1 else sizes


def one_setting(params, table, rounds, train, validation, test):
    """Errors and tree counts of one setting in one run."""
    start = time.process_time()
    model = DeepBoostClassifier(rounds, **params).fit(*train)
    sizes = tree_sizes(model, table)
    return {
        "seconds": time.process_time() - start,
        "validation": 1 - model.score(*validation),
        "test": 1 - model.score(*test),
        "tree_size": float(sizes.mean()) if len(sizes) else 0.0,
        "n_trees": len(sizes),
    }


def parts_of(run, X, y, fold):
    """Training, validation and test rows of a rotation of the folds, each as (X, y)."""
    test, validation = fold == run, fold == (run + 1) % 10
    masks = (~(test | validation), validation, test)
    parts = data.fill_missing(*(X[m] for m in masks))
    return list(zip(parts, (y[m] for m in masks), strict=True))


def one_run(options, set, table, method, seed):
    """One rotation of the folds: the settings of least validation error, averaged."""
    run, rounds, grid = seed, options.rounds, settings_of(table, method, options.thin)
    X, y = options.sets[set]
    parts = parts_of(run, X, y, folds_of(len(y), options.seed))
    results = Parallel(n_jobs=options.n_jobs)(
        delayed(one_setting)(params, table, rounds, *parts) for params in grid
    )
    least = min(result["validation"] for result in results)
    tied = [k for k, result in enumerate(results) if result["validation"] <= least + 1e-9]
    mean = {key: float(np.mean([results[k][key] for k in tied])) for key in results[0]}
    mean["seconds"] = sum(result["seconds"] for result in results)
    first = grid[tied[0]]
    if table == 2 and run == 0:  # for the figures
        model = DeepBoostClassifier(rounds, **first).fit(*parts[0])
        mean["tree_sizes"] = tree_sizes(model, 2).tolist()
        mean["margins"] = margin_report(model.margins(*parts[0])).margins.round(6).tolist()
    return {**mean, "n_tied": len(tied), "n_settings": len(grid), "first_setting": first}


def against_deepboost(frame):
    """One-sided paired t-test that DeepBoost is better, of each set, table and method."""
    found = {}
    for (name, table), group in frame.groupby(["set", "table"]):
        wide = group.pivot_table("test", "seed", "method")
        for method in wide.columns.drop("DeepBoost", errors="ignore"):
            both = wide.reindex(columns=["DeepBoost", method]).dropna()
            if len(both) > 1 and (both["DeepBoost"] != both[method]).any():
                test = ttest_rel(both["DeepBoost"], both[method], alternative="less")
                found[name, table, method] = float(test.pvalue)
    return found


def report(frame):
    """A table for each of the paper's, with the published values beside."""
    numbers = ["test", "tree_size", "n_trees", "n_tied", "n_settings", "seconds"]
    frame = tables.in_order(frame, "method", [m for names in METHODS.values() for m in names])
    frame = tables.in_order(frame, "set", SETS)
    rows = tables.means(frame, ["table", "set", "method"], numbers)
    p = against_deepboost(frame)
    rows["p"] = [
        p.get(key) for key in zip(rows["set"], rows["table"], rows["method"], strict=True)
    ]
    return [one_table(number, group) for number, group in rows.groupby("table")]


def percent(mean, std):
    """Such as "5.01 ± 2.41"; nothing of nothing."""
    return f"{100 * float(mean):.2f} ± {100 * float(std):.2f}" if mean == mean else ""


def one_table(number, rows):
    """One of the tables."""
    there = tables.published(f"deepboost_table{number}.tsv")
    if len(there):
        there = there.rename(columns={"dataset": "set", "std": "error_std"})
        rows = rows.merge(there, on=["set", "method"], how="left")
        rows["published"] = [percent(*pair) for pair in rows[["error", "error_std"]].to_numpy()]
    # The folds' deviation, as the paper has it.
    rows["test_std"] = rows["test_std"].fillna(0) * np.sqrt(1 - 1 / rows["n_seeds"])
    rows["shown"] = [percent(*pair) for pair in rows[["test", "test_std"]].to_numpy()]
    ties = rows[["n_tied", "n_settings"]].to_numpy()
    rows["ties"] = [f"{tied:.1f}/{settings:.0f}" for tied, settings in ties]
    shown = """set method error_%=shown published size=tree_size:.1f (publ.)=avg_tree_size
    trees=n_trees:.1f (publ.)_=avg_num_trees tied=ties p:.2f s/run=seconds:.1f"""
    runs = rows["n_seeds"].min()
    return tables.columns(f"table{number}", f"Table {number}, {runs} of 10 runs", rows, shown, 2)


def main(argv=None) -> int:
    options = parse(argv)
    names = options.datasets or (QUICK_SETS if options.quick else SETS)
    asked = {"asked": options.datasets is not None, "stand_ins": STAND_INS}
    found = data.present(names, options.data_home, **asked)
    options.sets = {name: (rows.X, data.binary(rows.y)) for name, rows in found.items()}
    keys = [
        {"set": name, "table": table, "method": method, "seed": run}
        for name, table in product(options.sets, options.tables)
        for method, run in product(METHODS[table], range(options.runs))
    ]
    return conduct(options, keys, one_run, report, settings=("rounds", "seed", "thin"))


if __name__ == "__main__":
    raise SystemExit(main())
