"""Embed boosted features of training and test rows by t-SNE (mdDF's preprint, Fig. 7).

    python scripts/reproduce/tsne.py --datasets satimage letter
    python scripts/reproduce/tsne.py --plot         draw what was computed: tsne-SET for each set

Boosted features are the sum of the class vectors of the layers so far by their coefficients; those
of gcForest are the class vectors of the layer. --rows random training rows and test rows, the same
for all layers, are embedded in the plane. Raw features are scaled; layer features are not. The
table has the ratio of intra-class to inter-class variance in the plane and in the features: the
mean squared distance of rows to the mean of their class, divided by the mean squared distance of
the class means to the mean of all rows.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, models, pictures, tables
from _lab.study import Study

from mddf.representation import boosted_features

# The default of scikit-learn; not tuned.
PERPLEXITY = 30.0
PARTS = {"train": "training rows", "test": "test rows"}


def variance_ratio(X, y) -> float:
    """Return intra-class divided by inter-class variance; infinite if all class means agree."""
    table = tables.pd.DataFrame(X)
    means = table.groupby(np.asarray(y)).transform("mean").to_numpy()
    between = np.square(means - X.mean(axis=0)).sum()
    return float(np.square(X - means).sum() / between) if between > 0 else float("inf")


def cell(options, set, method, seed):
    """Return embeddings, labels and ratios of both parts; lists begin with the raw features."""
    split = data.split(data.Source(set, options.data_home), seed)
    model = models.cascade(options, method, seed, early_stopping=False)
    numbers = data.to_scaled().fit(split.X)
    layers = {
        "train": model.fit_transform(split.X, split.y),
        "test": model.transform(split.X_test),
    }
    random, parts = np.random.default_rng(seed), {}
    for part, X, y in (("train", split.X, split.y), ("test", split.X_test, split.y_test)):
        boosted = boosted_features(model, layers[part])
        features = [numbers.transform(X), *boosted.swapaxes(0, 1)]
        rows = np.sort(random.permutation(len(y))[: options.rows])
        # The columns of two classes have one direction. In a start by PCA, rounding would choose
        # the second one.
        tsne = TSNE(
            perplexity=min(PERPLEXITY, (len(rows) - 1) / 3), init="random",
            random_state=seed, n_jobs=1,
        )  # fmt: skip
        # One thread: TSNE's n_jobs does not limit its gradient descent, whose OpenMP threads spin
        # between thousands of short steps: --quick takes 8 CPU seconds with one thread, 67 to 140
        # with two.
        with threadpool_limits(1):
            planes = [tsne.fit_transform(X[rows].astype(np.float32)) for X in features]
        parts[part] = {
            "labels": y[rows].tolist(),
            "planes": [plane.round(3).tolist() for plane in planes],
            "in_plane": [variance_ratio(plane, y[rows]) for plane in planes],
            "in_features": [variance_ratio(X, y) for X in features],
        }
    return parts


def with_seeds(frame):
    """Add the seed to the names of methods if there are several seeds."""
    if frame["seed"].nunique() == 1:
        return frame
    return frame.assign(method=frame["method"] + "-seed" + frame["seed"].astype(str))


def report(frame, options):
    rows = tables.pd.DataFrame(
        {"set": row["set"], "method": models.title_of(row["method"]), "part": f"{part}, {title}"}
        | {f"layer {i}" if i else "raw": ratio for i, ratio in enumerate(row[part][kind])}
        for row in with_seeds(frame).to_dict("records")
        for part in PARTS
        for kind, title in (("in_plane", "t-SNE plane"), ("in_features", "features"))
    )
    display = rows.set_index(["set", "method", "part"]).map("{:.3f}".format)
    return [tables.Table("ratios", "ratio of intra-class to inter-class variance", display, rows)]


def draw(frame, options):
    """Draw a picture for each set: training rows above test rows, a column for each layer."""
    for row in with_seeds(frame).to_dict("records"):
        n_columns = len(row["train"]["planes"])
        figure, axes = pictures.panels([2.1, 2.1], n_columns, 1.75)
        for line, (part, title) in zip(axes, PARTS.items(), strict=True):
            embedding = row[part]
            for layer, (axis, plane) in enumerate(zip(line, embedding["planes"], strict=True)):
                name = f"layer {layer}" if layer else "raw features"
                pictures.scatter(axis, plane, embedding["labels"])
                axis.set_title(f"{name}, {embedding['in_plane'][layer]:.3f}")
            line[0].set_ylabel(title)
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, names, loc="outside right center", title="class",
            ncols=1 + (len(names) - 1) // 14, columnspacing=0.6, handletextpad=0.1,
        )  # fmt: skip
        caption = (
            f"t-SNE of {len(row['train']['labels'])} training and {len(row['test']['labels'])} "
            f"test rows of {row['set']}, {models.title_of(row['method'])}, seed {row['seed']}; "
            "boosted features of training rows are out-of-fold. Titles: ratio of intra-class to "
            "inter-class variance in the plane."
        )
        suffix = "" if row["method"] == "mddf" else f"-{row['method']}"
        pictures.save(figure, options, f"tsne-{row['set']}{suffix}", caption)


study = Study(
    globals(), "tsne", "set=datasets method=method seed=seed",
    ("n_estimators", "n_layers", "rows"),
    datasets=["satimage"], method="mddf", n_estimators=100, n_layers=4, rows=1500, seed=0,
    checks={"method": ("mddf", "mddf-paper", "gcforest")},
    quick={"datasets": ["digits"], "n_estimators": 5, "n_layers": 2, "rows": 300},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
