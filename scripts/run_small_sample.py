"""Test accuracy of forests, boosting and cascades on shares of the training set (mdDF, Fig. 6).

    python scripts/run_small_sample.py --datasets satimage letter
    python scripts/run_small_sample.py --quick        the bundled digits, few trees, 2 seeds
    python scripts/run_small_sample.py --plot         draw what was computed

For each seed, all methods train on the same stratified subsets, of which the larger ones hold the
smaller ones, and are tested on the whole test set. A cascade's layer has 4 x 5 x --n-estimators
trees, RandomForest as many in all, and XGBoost --rounds rounds (its trees are as many as the
classes in each round). "Ahead" is mdDF minus the other method on the same subsets, in points: mean
and standard error over seeds. The picture also takes the table, accuracy.csv.
"""

from __future__ import annotations

from dataclasses import replace

from _lab import cli, data, models, pictures, scores, tables
from _lab.study import Study
from sklearn.utils import _safe_indexing

KEY = ["set", "fraction", "method"]


def cell(options, set, seed, fraction, method):
    """Fit on a subset, predict and score."""
    split = data.split(data.Source(set, options.data_home), seed)
    rows = data.nested_subsets(split.y, options.fractions, seed)[fraction]
    split = replace(split, X=_safe_indexing(split.X, rows), y=split.y[rows])
    budget = models.Budget(options.n_estimators, options.n_layers, rounds=options.rounds)
    common = {"budget": budget, "n_jobs": options.n_jobs, "n_rows": len(rows)}
    model = models.build(models.METHODS[method], seed, **common)
    return scores.evaluate(model, split, n_jobs=options.n_jobs)[0]


def summary(frame):
    """Means in %, and what mdDF has above each method on the same subsets, with its error."""
    frame = frame.assign(accuracy=100 * frame["accuracy"])
    of_mddf = frame[frame["method"] == "mddf"].set_index(["set", "fraction", "seed"])["accuracy"]
    key = tables.pd.MultiIndex.from_frame(frame[["set", "fraction", "seed"]])
    frame["ahead"] = of_mddf.reindex(key).to_numpy() - frame["accuracy"]
    frame.loc[frame["method"] == "mddf", "ahead"] = None
    rows = tables.means(frame, KEY, ["accuracy", "ahead", "n_train", "fit_seconds"])
    rows["ahead_std"] /= rows["n_seeds"] ** 0.5
    return rows.sort_values(["set", "fraction"], kind="stable")


def report(frame, options):
    """A row for each share and method."""
    rows = summary(frame)
    shown = rows.assign(method=rows["method"].map(models.title_of))
    words = """set share=fraction:.0% method rows=n_train:.0f seeds=n_seeds:.0f
    accuracy_%=accuracy:.2f± mdDF_ahead_by=ahead:+.2f±"""
    title = "accuracy: mean ± standard deviation; mdDF minus the method: ± standard error"
    return [tables.columns("accuracy", title, shown, words, 3, rows)]


def draw(frame, options):
    """Accuracies above; below, by how much mdDF is ahead."""
    rows = frame if "ahead" in frame else summary(frame)
    rows = rows[rows.groupby("set")["method"].transform("nunique") > 1].assign(
        share=100 * rows["fraction"]
    )
    quantities = {"accuracy": "test accuracy (%)", "ahead": "mdDF ahead by\n(points)"}
    figure, axes = pictures.curves(rows, "share", quantities, heights=[3.0, 2.2], width=3.0)
    for above, below in axes.T:
        shares = rows["share"].unique()
        above.set_xscale("log")
        below.set_xticks(shares, [f"{share:g}" for share in shares])
        below.minorticks_off()
        below.set_xlabel("share of the training set (%)")
    least, most = rows["n_seeds"].min(), rows["n_seeds"].max()
    caption = (
        f"Mean over seeds ({most if least == most else f'{least} to {most}'}), for each seed the "
        "same stratified subsets for all methods; bands: standard deviation above, standard error "
        "of the paired difference below."
    )
    pictures.save(figure, options, "small-sample", caption)


def prepare(options, parser):
    """Methods that are not installed."""
    for name in list(options.methods):
        if why := models.METHODS[name].missing():
            print(f"{name} left out: {why}")
            options.methods.remove(name)


study = Study(
    globals(), "small-sample", "set=datasets seed=seeds fraction=fractions method=methods",
    ("n_estimators", "n_layers", "rounds"),
    datasets=["satimage", "letter"], methods=["rf", "xgboost", "gcforest", "mddf"], seeds=10,
    n_estimators=100, n_layers=4, rounds=300, fractions=[0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0],
    checks={"methods": list(models.METHODS), "fractions": cli.share},
    quick={"datasets": ["digits"], "seeds": 2, "n_estimators": 5, "rounds": 10,
           "fractions": [0.02, 0.1, 0.5, 1.0]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
