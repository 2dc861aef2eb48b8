"""Reproduce Tables 1 to 3 and Figures 3 and 4 of the DeepBoost paper.

    python scripts/reproduce/deepboost.py                    all tables, all sets that are present
    python scripts/reproduce/deepboost.py --tables 2 --datasets ionosphere german
    python scripts/reproduce/deepboost.py --runs 2 --thin 2  two of the ten runs, coarser grids
    python scripts/reproduce/deepboost.py --plot             draw run 0 of Table 2: deepboost-SET

Run i of ten tests on fold i, validates on fold i + 1 and trains on the other folds. The settings
of a method with the least validation error are selected; test errors of ties are averaged.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import ttest_rel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, cli, data, pictures, tables
from _lab.study import Study
from mddf.baselines import DeepBoostClassifier

from mddf.analysis import margin_report

SETS = ("breastcancer", "ionosphere", "german", "diabetes", "ocr17", "ocr49", "ocr17-mnist",
        "ocr49-mnist")  # fmt: skip
METHODS = {
    1: ("AdaBoost-H1", "AdaBoost-H2", "AdaBoost-L1", "DeepBoost"),
    2: ("AdaBoost", "AdaBoost-L1", "DeepBoost"),
    3: ("LogReg", "LogReg-L1", "DeepBoost"),
}


def settings_of(table, method, thin=1):
    """Return all settings of a method's grid, as parameters of DeepBoostClassifier.

    With `thin` k only every k-th value of beta, lambda and the depth is in the grid.
    """
    if table == 1:
        betas, lambdas = [2.0**-k for k in range(7)], [1e-4, 0.005, 0.01, 0.05, 0.1, 0.5]
        stumps = method != "AdaBoost-H1"
        depths = [{"hypotheses": "stumps"} if stumps else {"hypotheses": "trees", "max_depth": 1}]
    else:
        betas = lambdas = [10.0**-k for k in range(3, 8)]
        depths = [{"max_depth": depth} for depth in range(thin, 7, thin)]
    betas = betas[::thin] if method in ("DeepBoost", "AdaBoost-L1", "LogReg-L1") else [0.0]
    lambdas = lambdas[::thin] if method == "DeepBoost" else [0.0]
    loss = "logistic" if table == 3 else "exponential"
    return [
        {"loss": loss, "beta": beta, "lambda_": lambda_, **depth}
        for depth, beta, lambda_ in product(depths, betas, lambdas)
    ]


def parts_of(X, y, run, seed):
    """Return training, validation and test rows of a rotation of ten folds, each as (X, y)."""
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(len(y))
    test, validation = order[run::10], order[(run + 1) % 10 :: 10]
    train = np.setdiff1d(order, np.concatenate([test, validation]))
    numbers = data.to_numbers().fit(X[train])
    rows = (train, np.sort(validation), np.sort(test))
    return [(numbers.transform(X[r]), y[r]) for r in rows]


def tree_sizes(model, table):
    """Return the sizes of trees with a non-zero weight: levels in Table 1, nodes elsewhere."""
    sizes = model.ensembles_[0].learners.sizes[model.estimator_weights_ != 0]
    return np.where(sizes > 3, 2, 1) if table == 1 else sizes


def measure_setting(params, table, rounds, *, train, validation, test):
    """Measure errors and tree sizes of a setting in a run."""
    seconds, _, model = bench.cost(DeepBoostClassifier(rounds, **params).fit, *train)
    sizes = tree_sizes(model, table)
    return {
        "seconds": seconds,
        "validation": 1 - model.score(*validation),
        "test": 1 - model.score(*test),
        "tree_size": float(sizes.mean()) if len(sizes) else 0.0,
        "n_trees": len(sizes),
    }


def cell(options, set, table, method, seed):
    """Average the settings of least validation error in one rotation of the folds."""
    train, validation, test = parts_of(
        *data.two_classes(set, options.data_home), seed, options.seed
    )
    grid = settings_of(table, method, options.thin)
    results = tables.pd.DataFrame(Parallel(n_jobs=options.n_jobs)(
        delayed(measure_setting)(
            params, table, options.rounds, train=train, validation=validation, test=test
        )
        for params in grid
    ))  # fmt: skip
    tied = results[results["validation"] <= results["validation"].min() + 1e-9]
    first = grid[tied.index[0]]
    result = {**tied.mean(), "seconds": results["seconds"].sum(), "n_tied": len(tied),
             "n_settings": len(grid), "first_setting": first}  # fmt: skip
    if table == 2 and seed == 0:  # for the figures
        model = DeepBoostClassifier(options.rounds, **first).fit(*train)
        result["tree_sizes"] = tree_sizes(model, 2).tolist()
        result["margins"] = margin_report(model.margins(*train)).margins.round(6).tolist()
    return result


def keys(options):
    return [
        {"set": name, "table": table, "method": method, "seed": run}
        for name, table in product(options.datasets, options.tables)
        for method, run in product(METHODS[table], range(options.runs))
    ]


def p_value(group):
    """Return p-values of a paired t test that DeepBoost is better, for each method."""
    wide = group.pivot_table("test", "seed", "method")
    p_values = {}
    for method in wide.columns.drop("DeepBoost", errors="ignore"):
        ours, theirs = wide.reindex(columns=["DeepBoost", method]).dropna().to_numpy().T
        if len(ours) > 1 and (ours != theirs).any():
            p_values[method] = ttest_rel(ours, theirs, alternative="less").pvalue
    return group["method"].map(p_values)


def report(frame, options):
    frame = frame.assign(test=100 * frame["test"])
    groups = frame.groupby(["table", "set"], group_keys=False, sort=False)
    frame["p"] = tables.pd.concat([p_value(group) for _, group in groups])
    rows = tables.means(frame, ["table", "set", "method"])
    # Standard deviation of the folds with divisor n, as in the paper.
    rows["test_std"] = rows["test_std"].fillna(0) * np.sqrt(1 - 1 / rows["n_seeds"])
    return [one_table(number, group) for number, group in rows.groupby("table")]


def one_table(number, rows):
    published = tables.published(f"deepboost_table{number}.tsv")
    published = published.rename(columns={"std": "error_std"})
    published[["error", "error_std"]] = 100 * published[["error", "error_std"]].astype(float)
    rows = rows.merge(published, on=["set", "method"], how="left")
    layout = """set method error_%=test:.2f± published=error:.2f± size=tree_size:.1f
    (publ.)=avg_tree_size trees=n_trees:.1f (publ.)_=avg_num_trees tied=n_tied:.1f
    of=n_settings:.0f p:.2f s/run=seconds:.1f"""
    runs = rows["n_seeds"].min()
    return tables.columns(
        f"table{number}", f"Table {number}, {runs} of 10 runs", rows, layout, n_index=2
    )


def draw(frame, options):
    """Draw tree sizes of DeepBoost, and cumulative margins of the methods (Figures 3 and 4)."""
    if "margins" not in frame or not len(frame := frame.dropna(subset="margins")):
        raise SystemExit(
            "no run 0 of Table 2: python scripts/reproduce/deepboost.py --tables 2 makes it"
        )
    for name, rows in frame.groupby("set"):
        figure, ((left, right),) = pictures.panels([3.4], 2, 3.7)
        for row, style in zip(rows.to_dict("records"), pictures.STYLES, strict=False):
            if row["method"] == "DeepBoost":
                sizes, counts = np.unique(row["tree_sizes"], return_counts=True)
                left.bar(sizes, counts, width=1.5, color="0.5")
                left.set_xticks(sizes[:: len(sizes) // 12 + 1])  # below bars, at most twelve
            shares = np.linspace(0, 100, len(row["margins"]) + 1)[1:]
            right.step(row["margins"], shares, label=row["method"], markevery=0.12, **style)
        left.set(xlabel="nodes", ylabel="trees", title=f"DeepBoost on {name}")
        right.set(xlabel="normalised margin", ylabel="share of training rows (%)", title="margins")
        handles = right.get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=len(rows))  # hides no curve
        chosen = "; ".join(f"{m}: {parameters(s)}" for m, s in
                           zip(rows["method"], rows["first_setting"], strict=True))  # fmt: skip
        caption = (
            f"{name}, first of ten runs, {len(rows['margins'].iloc[0])} training rows. "
            f"Settings of least validation error: {chosen}. Left: sizes of the trees with a "
            "weight. Right: cumulative margins of the training rows, over the sum of the weights."
        )
        pictures.save(figure, options, f"deepboost-{name}", caption)


def parameters(setting) -> str:
    """Describe a setting, such as "beta 0.001, lambda 1e-05, depth 4", without zeros."""
    names = {"beta": "beta", "lambda_": "lambda", "max_depth": "depth"}
    return ", ".join(f"{names[k]} {setting[k]:g}" for k in names if setting.get(k))


study = Study(
    globals(), "deepboost", keys, ("rounds", "seed", "thin"),
    datasets=list(SETS), tables=[1, 2, 3], rounds=100, runs=10, thin=1, seed=0,
    checks={"tables": lambda text: int(cli.among([*"123"])(text))},
    quick={"runs": 3, "thin": 2, "datasets": ["breast_cancer", "digits-49"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
