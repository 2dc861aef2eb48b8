"""DeepBoost's Tables 1 to 3 and the data of its Figures 3 and 4.

    python scripts/run_deepboost.py                      all tables, all sets that are present
    python scripts/run_deepboost.py --tables 2 --sets ionosphere german
    python scripts/run_deepboost.py --runs 2 --thin 2    two of the ten runs, coarser grids
    python scripts/run_deepboost.py --quick              three runs, coarser grids, two sets

Protocol: ten random folds; run i tests on fold i, validates on fold i + 1 (mod 10) and trains on
the other eight; of a method's settings those with the least validation error count, and where
several tie (many do on small folds) their test errors are averaged. 100 rounds. Missing numbers
become the medians of the training rows. Times are CPU seconds of all fits of a run. A computation
that was stopped goes on where it was, and more --runs may be added later; the results of each
table, set, method and run are kept in --out. Writes <out>.json, <out>.csv, and
<out>_figures.json; plot_boosting.py draws the last.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np
from _boosting_data import binary, fill_missing, load_tables
from _results import Record, aligned, provenance, published, write_csv, write_json
from _study import count
from joblib import Parallel, delayed
from mddf.baselines import DeepBoostClassifier
from scipy.stats import ttest_rel
from tqdm import tqdm

from mddf.analysis import margin_report

SETS = {
    "breastcancer": "breastcancer",
    "ionosphere": "ionosphere",
    "german": "german",
    "diabetes": "pima",
    "ocr17": "optdigits-17",
    "ocr49": "optdigits-49",
    "ocr17-mnist": "mnist-17",
    "ocr49-mnist": "mnist-49",
}
BUNDLED = {name: name for name in ("breast_cancer", "digits-17", "digits-49")}
QUICK_SETS = ("breastcancer", "ionosphere")
METHODS = {
    1: ("AdaBoost-H1", "AdaBoost-H2", "AdaBoost-L1", "DeepBoost"),
    2: ("AdaBoost", "AdaBoost-L1", "DeepBoost"),
    3: ("LogReg", "LogReg-L1", "DeepBoost"),
}


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
    return list(zip(fill_missing(*(X[m] for m in masks)), (y[m] for m in masks), strict=True))


def one_run(run, grid, table, rounds, X, y, fold, jobs=1):
    """One rotation of the folds: the settings of least validation error, averaged."""
    parts = parts_of(run, X, y, fold)
    results = Parallel(n_jobs=jobs)(
        delayed(one_setting)(params, table, rounds, *parts) for params in grid
    )
    least = min(result["validation"] for result in results)
    tied = [k for k, result in enumerate(results) if result["validation"] <= least + 1e-9]
    mean = {key: float(np.mean([results[k][key] for k in tied])) for key in results[0]}
    mean["seconds"] = sum(result["seconds"] for result in results)
    return {**mean, "n_tied": len(tied), "n_settings": len(grid), "first_setting": grid[tied[0]]}


def figures(X, y, fold, rounds, chosen):
    """Tree sizes of DeepBoost and margins of three methods on the training rows of run 0."""
    train = parts_of(0, X, y, fold)[0]
    out = {}
    for method, params in chosen.items():
        model = DeepBoostClassifier(rounds, **params).fit(*train)
        report = margin_report(model.margins(*train))
        out[method] = {
            "setting": params,
            "tree_sizes": tree_sizes(model, 2).tolist(),
            "margins": report.margins.tolist(),
            "summary": report.summary(),
        }
    return out


def print_tables(rows, thin):
    """Each table, results beside the published ones."""
    header = ("set", "method", "error %", "published", "size", "published", "trees", "published",
              "tied", "p", "s/run")  # fmt: skip
    for table in sorted({row["table"] for row in rows}):
        there = {(r["dataset"], r["method"]): r for r in published(f"deepboost_table{table}.tsv")}
        lines = [header]
        mine = [row for row in rows if row["table"] == table]
        for row in mine:
            beside = there.get((row["set"], row["method"]))
            p = row["p_deepboost_better"]
            lines.append(
                (
                    row["set"],
                    row["method"],
                    percent(row["error"], row["std"]),
                    percent(beside["error"], beside["std"]) if beside else "",
                    f"{row['tree_size']:.1f}",
                    beside["avg_tree_size"] if beside else "",
                    f"{row['n_trees']:.1f}",
                    beside["avg_num_trees"] if beside else "",
                    f"{row['n_tied']:.1f}/{row['n_settings']:.0f}",
                    "" if p is None else f"{p:.2f}",
                    f"{row['seconds']:.1f}",
                )
            )
        print(f"\nTable {table}, {mine[0]['n_runs']} of 10 runs, grid thinned by {thin}\n")
        print(aligned(lines))


def percent(mean, std):
    return f"{100 * float(mean):.2f} ± {100 * float(std):.2f}"


def summarise(name, table, runs_by_method):
    """One row per method: means over the runs, and the paired t-test against DeepBoost."""
    deep = [run["test"] for run in runs_by_method["DeepBoost"]]
    rows = []
    for method, runs in runs_by_method.items():
        errors = [run["test"] for run in runs]
        p = None
        if method != "DeepBoost" and len(errors) > 1 and errors != deep:
            p = float(ttest_rel(deep, errors, alternative="less").pvalue)
        keys = ("tree_size", "n_trees", "n_tied", "n_settings", "seconds")
        rows.append(
            {
                "set": name,
                "table": table,
                "method": method,
                "error": float(np.mean(errors)),
                "std": float(np.std(errors)),
                **{key: float(np.mean([run[key] for run in runs])) for key in keys},
                "n_runs": len(runs),
                "p_deepboost_better": p,
            }
        )
    return rows


def run_set(name, table, data, arguments, record):
    """All methods of a table on one set."""
    X, y = data.X, binary(data)
    fold = folds_of(len(y), arguments.seed)
    by_method = {}
    for method in METHODS[table]:
        grid = settings_of(table, method, arguments.thin)
        by_method[method] = [
            record.get(
                f"{table}/{name}/{method}/{run}",
                lambda run=run, grid=grid: one_run(
                    run, grid, table, arguments.rounds, X, y, fold, arguments.jobs
                ),
            )
            for run in range(arguments.runs)
        ]
    return by_method, (X, y, fold)


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tables", type=int, nargs="+", choices=(1, 2, 3), default=[1, 2, 3], help="default: all"
    )
    parser.add_argument(
        "--sets", nargs="+", choices=[*SETS, *BUNDLED], help=f"default: {', '.join(SETS)}"
    )
    parser.add_argument("--rounds", type=count, default=100, help="default: 100")
    parser.add_argument(
        "--runs", type=int, choices=range(1, 11), metavar="1..10", help="default: 10; --quick: 3"
    )
    parser.add_argument(
        "--thin",
        type=int,
        choices=(1, 2, 3),
        help="take every k-th value of beta, lambda and the depth (default: 1; --quick: 2)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the folds (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--quick", action="store_true", help="three runs, --thin 2, two sets")
    parser.add_argument("--out", help="path without suffix (default: results/deepboost...)")
    options = parser.parse_args(argv)
    options.runs = options.runs or (3 if options.quick else 10)
    options.thin = options.thin or (2 if options.quick else 1)
    return options


def main(argv=None):
    arguments = parse(argv)
    out = arguments.out or f"results/deepboost{'_quick' if arguments.quick else ''}"
    known = {name: (loaded,) for name, loaded in {**SETS, **BUNDLED}.items()}
    tables = load_tables(arguments.sets, QUICK_SETS if arguments.quick else SETS, known, BUNDLED)
    settings = {"rounds": arguments.rounds, "seed": arguments.seed, "thin": arguments.thin}
    record = Record(f"{out}.json", settings, provenance(arguments, tables))
    rows, drawn = [], {}
    for table, name in tqdm(list(product(arguments.tables, tables)), desc="tables x sets"):
        by_method, sample = run_set(name, table, tables[name], arguments, record)
        rows += summarise(name, table, by_method)
        if table == 2 and (name == "ionosphere" or not drawn):
            chosen = {method: runs[0]["first_setting"] for method, runs in by_method.items()}
            drawn = {"set": name, "n_runs": arguments.runs, "rounds": arguments.rounds}
            drawn["seed"] = arguments.seed
            drawn["methods"] = figures(*sample, arguments.rounds, chosen)
    print_tables(rows, arguments.thin)
    write_csv(f"{out}.csv", rows)
    write_json(f"{out}_figures.json", drawn)
    print(f"written to {out}.json, {out}.csv, {out}_figures.json")


if __name__ == "__main__":
    main()
