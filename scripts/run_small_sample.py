"""Test accuracy of forests, boosting and cascades on shares of the training set (mdDF, Fig. 6).

    python scripts/run_small_sample.py --datasets satimage letter
    python scripts/run_small_sample.py --quick        the bundled digits, few trees, 2 seeds

For each seed, all methods train on the same stratified subsets, of which the larger ones hold the
smaller ones, and are tested on the whole test set. A cascade's layer has 4 x 5 x --n-estimators
trees, RandomForest as many in all, and XGBoost --rounds rounds (its trees are as many as the
classes in each round). Every result is a file of its own in --out; the same command goes on where
the last one stopped. Draw with plot_small_sample.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from _lab import cli, data, models, scores, tables
from _lab.running import conduct
from sklearn.utils import _safe_indexing

METHODS = ("rf", "xgboost", "gcforest", "mddf")


def parse(argv=None):
    options = cli.study(
        __doc__,
        "small-sample",
        quick={"datasets": ["digits"], "seeds": 2, "n_estimators": 5, "rounds": 10,
               "fractions": [0.02, 0.1, 0.5, 1.0]},
        checks={"methods": list(models.METHODS), "fractions": cli.share},
        **{"datasets": ["satimage", "letter"], "methods": list(METHODS), "seeds": 10},
        **{"n_estimators": 100, "n_layers": 4, "rounds": 300},
        fractions=[0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0],
    ).read(argv)  # fmt: skip
    for name in list(options.methods):
        if why := models.METHODS[name].missing():
            print(f"{name} left out: {why}")
            options.methods.remove(name)
    return options


def one(options, set, seed, fraction, method):
    """Fit on a subset, predict and score."""
    split = data.split(data.Source(set, options.data_home), seed)
    rows = data.nested_subsets(split.y, options.fractions, seed)[fraction]
    split = replace(split, X=_safe_indexing(split.X, rows), y=split.y[rows])
    budget = models.Budget(options.n_estimators, options.n_layers, rounds=options.rounds)
    common = {"budget": budget, "n_jobs": options.n_jobs, "n_rows": len(rows)}
    model = models.build(models.METHODS[method], seed, **common)
    return scores.evaluate(model, split, n_jobs=options.n_jobs)[0]


def report(frame):
    """Accuracies, and what mdDF has above each other method on the same subsets."""
    frame = tables.in_order(frame.sort_values("fraction", kind="stable"), "method", METHODS)
    frame["share"] = frame["set"] + frame["fraction"].map(", {:.0%}".format)
    shown = tables.pivot(frame, "accuracy", rows="share", show=partial(tables.spread, scale=100))
    shown = shown.sort_index(key=lambda names: names.str.split(",").str[0], kind="stable")
    sizes = frame.groupby("share")
    shown.insert(0, "rows", sizes["n_train"].first())
    shown.insert(1, "seeds", sizes["seed"].nunique())
    by = ["set", "fraction", "method"]
    title = "test accuracy in %, mean ± standard deviation over seeds"
    found = [
        tables.Table("accuracy", title, shown.rename(columns=models.title_of),
                     tables.means(frame, by, ["accuracy", "n_train", "fit_seconds"]))
    ]  # fmt: skip
    if "mddf" in shown and shown.shape[1] > 3:
        found.append(differences(frame, list(shown.index)))
    return found


def differences(frame, order):
    """Points of mdDF above each other method, and on how many subsets it is ahead."""
    wide = 100 * frame.pivot_table("accuracy", ["share", "seed"], "method", sort=False)
    gains = wide.drop(columns="mddf").rsub(wide["mddf"], axis=0)

    def show(values):
        values = values.dropna()
        if values.empty:
            return ""
        error = f" ± {values.sem():.2f}" if len(values) > 1 else ""
        return f"{values.mean():+.2f}{error} ({(values > 0).sum()} of {len(values)})"

    shown = gains.groupby("share").agg(show).reindex(order).rename(columns=models.title_of)
    title = "mdDF minus, in points: mean ± standard error over seeds (subsets where ahead)"
    return tables.Table("differences", title, shown)


def main(argv=None) -> int:
    options = parse(argv)
    keys = {"set": options.datasets, "seed": range(options.seeds), "fraction": options.fractions}
    names = ("n_estimators", "n_layers", "rounds")
    return conduct(options, {**keys, "method": options.methods}, one, report, settings=names)


if __name__ == "__main__":
    raise SystemExit(main())
