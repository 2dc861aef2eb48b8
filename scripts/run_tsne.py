"""t-SNE of the layers' features of training and test rows (mdDF, Fig. 7).

    python scripts/run_tsne.py --datasets satimage letter
    python scripts/run_tsne.py --quick        the bundled digits, few trees, 2 layers, 300 rows

A cascade is grown on the training set; its layer features (the class vectors, mean over the
layer's forests) of training rows are out-of-fold, those of test rows are what `transform` gives.
Of either part, --rows random rows, the same ones for all layers, are embedded in the plane by
scikit-learn's TSNE, and so are the raw features (scaled to unit variance). Beside each embedding
stands the ratio of intra-class to inter-class variance, in the plane and in the layer's own
features: the mean over rows of the squared distance to the class's mean, over that of the class's
mean to the mean of all. t-SNE draws anew for each layer and does not keep distances; the ratio in
the layer's features does not depend on it.

A file for each set in --out; what is there already is not computed again. Draw with plot_tsne.py.
"""

from __future__ import annotations

import numpy as np
from _lab import cli, data, models, tables
from _lab.running import conduct
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits


def parse(argv=None):
    return cli.study(
        __doc__,
        "tsne",
        quick={"datasets": ["digits"], "n_estimators": 5, "n_layers": 2, "rows": 300},
        checks={"method": ("mddf", "gcforest")},
        **{"datasets": ["satimage"], "method": "mddf", "n_estimators": 100, "n_layers": 4},
        **{"rows": 1500, "perplexity": 30.0, "seed": 0},
    ).read(argv)


def variance_ratio(X, y) -> float:
    """Intra-class over inter-class variance.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)

    Returns
    -------
    float
        Sum of squared distances of the rows from their class's mean, over that of the means of
        the rows' classes from the mean of all rows; infinite where the means agree.
    """
    classes, codes = np.unique(y, return_inverse=True)
    means = np.stack([X[codes == code].mean(axis=0) for code in range(len(classes))])[codes]
    between = np.square(means - X.mean(axis=0)).sum()
    return float(np.square(X - means).sum() / between) if between > 0 else float("inf")


def features_of(split, options):
    """Features of training and test rows: the raw ones, then those of each layer."""
    budget, method = models.Budget(options.n_estimators, options.n_layers), options.method
    model = models.build(
        models.METHODS[method], options.seed, budget=budget, n_jobs=options.n_jobs
    )
    model.set_params(early_stopping=False, transform_layers="all")
    numbers = data.to_scaled().fit(split.X)
    train, test = model.fit_transform(split.X, split.y), model.transform(split.X_test)
    n_classes = len(model.classes_)
    for part, X, layers in (("train", split.X, train), ("test", split.X_test, test)):
        of_layers = np.split(layers, layers.shape[1] // n_classes, axis=1)
        yield part, [numbers.transform(X), *of_layers]


def embed(options, set, method, seed) -> dict:
    """Embeddings, labels and ratios of both parts; the first of each list is of the raw ones."""
    split = data.split(data.Source(set, options.data_home), seed)
    random = np.random.default_rng(options.seed)
    found = {}
    for part, features in features_of(split, options):
        y = {"train": split.y, "test": split.y_test}[part]
        rows = np.sort(random.permutation(len(y))[: options.rows])
        tsne = TSNE(
            perplexity=min(options.perplexity, (len(rows) - 1) / 3),
            init="pca",
            random_state=options.seed,
            n_jobs=options.n_jobs,
        )
        with threadpool_limits(options.n_jobs):  # TSNE's own n_jobs leaves out its descent
            planes = [tsne.fit_transform(X[rows].astype(np.float32)) for X in features]
        found[part] = {
            "labels": y[rows].tolist(),
            "planes": [plane.round(3).tolist() for plane in planes],
            "in_plane": [variance_ratio(plane, y[rows]) for plane in planes],
            "in_features": [variance_ratio(X, y) for X in features],
        }
    return found


def report(frame):
    """The ratios of each set."""
    rows = {
        (row["set"], f"{part}, {title}"): row[part][kind]
        for row in frame.to_dict("records")
        for part in ("train", "test")
        for kind, title in (("in_plane", "t-SNE plane"), ("in_features", "features"))
    }
    shown = tables.pd.DataFrame.from_dict(rows, orient="index")
    shown.columns = ["raw", *(f"layer {layer}" for layer in shown.columns[1:])]
    shown.index = tables.pd.MultiIndex.from_tuples(rows, names=["set", "part"])
    title = "ratio of intra-class to inter-class variance"
    return [tables.Table("ratios", title, shown.map("{:.3f}".format), shown.reset_index())]


def main(argv=None) -> int:
    options = parse(argv)
    keys = {"set": options.datasets, "method": [options.method], "seed": [options.seed]}
    names = ("n_estimators", "n_layers", "rows", "perplexity")
    return conduct(options, keys, embed, report, settings=names)


if __name__ == "__main__":
    raise SystemExit(main())
