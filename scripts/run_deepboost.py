"""DeepBoost's Tables 1 to 3 and the data of its Figures 3 and 4.

    python scripts/run_deepboost.py                      all tables, all sets that are present
    python scripts/run_deepboost.py --tables 2 --sets ionosphere german
    python scripts/run_deepboost.py --quick              three runs and small grids, about a minute

Protocol: ten random folds; run i tests on fold i, validates on fold i + 1 (mod 10) and trains on
the other eight; of a method's settings those with the least validation error count, and where
several tie (many do on small folds) their test errors are averaged. 100 rounds. A run that was
stopped goes on where it was; the results of each set, table and method are kept in --out. Writes
<out>.json, <out>.csv, and <out>_figures.json; plot_boosting.py draws the last.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from _boosting_data import binary, load_table
from _results import Record, provenance, published, write_csv, write_json
from joblib import Parallel, delayed
from mddf.baselines import DeepBoostClassifier
from mddf.baselines.margins import margin_report
from scipy.stats import ttest_rel
from tqdm import tqdm

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


def settings_of(table, method, quick):
    """Every setting of a method's grid, as parameters of DeepBoostClassifier."""
    if table == 1:
        betas = [2.0**-k for k in range(7)]
        lambdas = [1e-4, 0.005, 0.01, 0.05, 0.1, 0.5]
        if method == "AdaBoost-H1":
            depths = [{"hypotheses": "trees", "max_depth": 1}]
        else:
            depths = [{"hypotheses": "stumps"}]
    else:
        betas = lambdas = [10.0**-k for k in range(3, 8)]
        depths = [{"max_depth": depth} for depth in ((2, 4) if quick else range(1, 7))]
    if quick:
        betas, lambdas = betas[::3], lambdas[::2]
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


def one_setting(params, table, rounds, X, y, train, validation, test):
    """Errors and tree counts of one setting in one run."""
    model = DeepBoostClassifier(rounds, **params).fit(X[train], y[train])
    sizes = tree_sizes(model, table)
    return {
        "validation": float(np.mean(model.predict(X[validation]) != y[validation])),
        "test": float(np.mean(model.predict(X[test]) != y[test])),
        "tree_size": float(sizes.mean()) if len(sizes) else 0.0,
        "n_trees": len(sizes),
    }


def one_run(run, grid, table, rounds, X, y, fold):
    """One rotation of the folds: the settings of least validation error, averaged."""
    test, validation = fold == run, fold == (run + 1) % 10
    train = ~(test | validation)
    results = [one_setting(p, table, rounds, X, y, train, validation, test) for p in grid]
    least = min(result["validation"] for result in results)
    tied = [k for k, result in enumerate(results) if result["validation"] == least]
    mean = {key: float(np.mean([results[k][key] for k in tied])) for key in results[0]}
    return {**mean, "n_tied": len(tied), "n_settings": len(grid), "first_setting": grid[tied[0]]}


def figures(X, y, fold, rounds, chosen):
    """Tree sizes of DeepBoost and margins of three methods on the training rows of run 0."""
    train = (fold != 0) & (fold != 1)
    out = {}
    for method, params in chosen.items():
        model = DeepBoostClassifier(rounds, **params).fit(X[train], y[train])
        report = margin_report(model.margins(X[train], y[train]))
        out[method] = {
            "setting": params,
            "tree_sizes": tree_sizes(model, 2).tolist(),
            "margins": report.margins.tolist(),
            "summary": report.summary(),
        }
    return out


def print_table(rows, reference):
    """Each result beside the published one."""
    print(
        f"{'set':14s} {'table':5s} {'method':12s} {'error':>8s} {'std':>7s} {'size':>6s} "
        f"{'trees':>6s} {'tied':>6s} {'p':>7s} | published {'error':>7s} {'std':>8s} "
        f"{'size':>6s} {'trees':>6s}"
    )
    for row in rows:
        there = reference.get((row["table"], row["set"], row["method"]), {})
        cells = [there.get(k, "-") for k in ("error", "std", "avg_tree_size", "avg_num_trees")]
        p = "" if row["p_deepboost_better"] is None else f"{row['p_deepboost_better']:.3f}"
        print(
            f"{row['set']:14s} {row['table']:<5d} {row['method']:12s} {row['error']:8.4f} "
            f"{row['std']:7.4f} {row['tree_size']:6.2f} {row['n_trees']:6.1f} "
            f"{row['n_tied']:6.1f} {p:>7s} | {'':9s} {cells[0]:>7s} {cells[1]:>8s} "
            f"{cells[2]:>6s} {cells[3]:>6s}"
        )


def summarise(name, table, runs_by_method):
    """One row per method: means over the runs, and the paired t-test against DeepBoost."""
    deep = [run["test"] for run in runs_by_method["DeepBoost"]]
    rows = []
    for method, runs in runs_by_method.items():
        errors = [run["test"] for run in runs]
        p = None
        if method != "DeepBoost" and len(errors) > 1 and errors != deep:
            p = float(ttest_rel(deep, errors, alternative="less").pvalue)
        means = {key: np.mean([run[key] for run in runs]) for key in runs[0] if key != "test"
                 and key != "first_setting"}  # fmt: skip
        rows.append(
            {
                "set": name,
                "table": table,
                "method": method,
                "error": float(np.mean(errors)),
                "std": float(np.std(errors)),
                "tree_size": float(means["tree_size"]),
                "n_trees": float(means["n_trees"]),
                "n_tied": float(means["n_tied"]),
                "n_settings": int(means["n_settings"]),
                "n_runs": len(runs),
                "p_deepboost_better": p,
            }
        )
    return rows


def run_set(name, table, data, arguments, record):
    """All methods of a table on one set."""
    X, y = data.X, binary(data)
    fold = folds_of(len(y), arguments.seed)
    runs = range(3 if arguments.quick else 10)
    by_method = {}
    for method in METHODS[table]:
        grid = settings_of(table, method, arguments.quick)

        def compute(grid=grid):
            return Parallel(n_jobs=arguments.jobs)(
                delayed(one_run)(run, grid, table, arguments.rounds, X, y, fold) for run in runs
            )

        by_method[method] = record.get(f"{table}/{name}/{method}", compute)
    return by_method, (X, y, fold)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, nargs="+", choices=(1, 2, 3), default=[1, 2, 3])
    parser.add_argument("--sets", nargs="+", choices=[*SETS, *BUNDLED], default=None)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default=None, help="path without suffix")
    arguments = parser.parse_args()
    out = arguments.out or f"results/deepboost{'_quick' if arguments.quick else ''}"
    names = arguments.sets or (QUICK_SETS if arguments.quick else SETS)
    tables = {name: load_table({**SETS, **BUNDLED}[name]) for name in names}
    tables = {name: data for name, data in tables.items() if data is not None}
    if not tables:
        print("no published set is present: scikit-learn's bundled sets stand in")
        tables = {name: load_table(name) for name in BUNDLED}
    settings = {"rounds": arguments.rounds, "seed": arguments.seed, "quick": arguments.quick}
    record = Record(f"{out}.json", settings)
    rows, drawn = [], {}
    for table, name in tqdm(list(product(arguments.tables, tables)), desc="tables x sets"):
        by_method, sample = run_set(name, table, tables[name], arguments, record)
        rows += summarise(name, table, by_method)
        if table == 2 and (name == "ionosphere" or not drawn):
            chosen = {method: runs[0]["first_setting"] for method, runs in by_method.items()}
            drawn = {"set": name, "methods": figures(*sample, arguments.rounds, chosen)}
    reference = {
        (table, row["dataset"], row["method"]): row
        for table in (1, 2, 3)
        for row in published(f"deepboost_table{table}.tsv")
    }
    print_table(rows, reference)
    write_csv(f"{out}.csv", rows)
    write_json(f"{out}_figures.json", drawn)
    origin = {name: f"{data.source}, {data.X.shape[0]} x {data.X.shape[1]}"
              for name, data in tables.items()}  # fmt: skip
    write_json(f"{out}_provenance.json", {**provenance(arguments), "data": origin})


if __name__ == "__main__":
    main()
