"""t-SNE of the layers' features of training and test rows (mdDF, Fig. 7).

    python scripts/run_tsne.py --datasets satimage letter
    python scripts/run_tsne.py --quick        the bundled digits, few trees, 2 layers, 300 rows

A cascade is grown on the training set; its layer features (the class vectors, mean over the
layer's forests) of training rows are out-of-fold, those of test rows are what `transform` gives.
Of either part, --rows random rows, the same ones for all layers, are embedded in the plane by
scikit-learn's TSNE, the raw features (scaled to unit variance) as layer 0. Beside each embedding
stands the ratio of intra-class to inter-class variance, in the plane and in the layer's own
features: the mean over rows of the squared distance to the class's mean, over that of the class's
mean to the mean of all. t-SNE draws anew for each layer and does not keep distances; the ratio in
the layer's features does not depend on it.

One .npz and one .json for each set; what is there already is not computed again. Draw with
plot_tsne.py.
"""

from __future__ import annotations

import numpy as np
from _results import check_settings, provenance, read_json, versions, write_json
from _study import StudyParser
from _uci_data import splits
from _uci_methods import ALL_METHODS, Budget
from run_layer_features import raw_numbers
from sklearn.manifold import TSNE
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from tqdm import tqdm


def parse(argv):
    parser = StudyParser(
        __doc__,
        name="tsne",
        full={"datasets": ["satimage"], "n_estimators": 100, "n_layers": 4, "rows": 1500},
        quick={"datasets": ["digits"], "n_estimators": 5, "n_layers": 2, "rows": 300},
    )
    parser.add_argument("--method", choices=("mddf", "gcforest"), default="mddf")
    parser.add_count("rows", "rows of either part")
    parser.add_argument("--perplexity", type=float, default=30.0, help="default: 30")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    return parser.parse_study(argv)


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
    budget = Budget(options.n_estimators, options.n_layers, n_jobs=options.n_jobs)
    model = ALL_METHODS[options.method].make(budget, split.X, options.seed)
    model.set_params(early_stopping=False, transform_layers="all")
    raw_train, raw_test = raw_numbers(split)
    scaler = StandardScaler().fit(raw_train)
    train, test = model.fit_transform(split.X, split.y), model.transform(split.X_test)
    n_classes = len(model.classes_)
    for part, raw, layers in (("train", raw_train, train), ("test", raw_test, test)):
        yield part, [scaler.transform(raw), *np.split(layers, layers.shape[1] // n_classes, 1)]


def embed(split, options, bar) -> tuple[dict, list[dict]]:
    """Embeddings and labels by name, and the ratios."""
    random = np.random.default_rng(options.seed)
    labels = {"train": split.y, "test": split.y_test}
    arrays, ratios = {}, []
    for part, features in features_of(split, options):
        y = labels[part]
        rows = np.sort(random.permutation(len(y))[: options.rows])
        arrays[f"{part}_labels"] = y[rows]
        for layer, values in enumerate(features):
            bar.set_description(f"{part}, layer {layer}")
            tsne = TSNE(
                perplexity=min(options.perplexity, (len(rows) - 1) / 3),
                init="pca",
                random_state=options.seed,
                n_jobs=options.n_jobs,
            )
            with threadpool_limits(options.n_jobs):  # TSNE's own n_jobs leaves out its descent
                plane = tsne.fit_transform(values[rows].astype(np.float32))
            arrays[f"{part}_{layer}"] = plane
            ratios.append(
                {
                    "part": part,
                    "layer": layer,
                    "ratio_embedding": variance_ratio(plane, y[rows]),
                    "ratio_features": variance_ratio(values, y),
                }
            )
            bar.update()
    return arrays, ratios


def table(name, ratios) -> str:
    """The ratios of a set in Markdown."""
    layers = sorted({row["layer"] for row in ratios})
    found = {(row["part"], row["layer"]): row for row in ratios}
    lines = [
        f"| {name} | {' | '.join('raw' if n == 0 else f'layer {n}' for n in layers)} |",
        f"|---|{'--:|' * len(layers)}",
    ]
    for part in ("train", "test"):
        for kind, title in (("embedding", "t-SNE plane"), ("features", "features")):
            shown = " | ".join(f"{found[part, n][f'ratio_{kind}']:.3f}" for n in layers)
            lines.append(f"| {part}, {title} | {shown} |")
    return "\n".join(lines)


def run_set(name, options, origin) -> None:
    """Embed a set, unless it was before with the same settings."""
    settings = {
        key: getattr(options, key)
        for key in ("method", "rows", "perplexity", "n_estimators", "n_layers", "seed")
    }
    settings["versions"] = versions()
    path = options.out / f"{name}.json"
    if path.exists():
        content = read_json(path, "settings", "ratios")
        check_settings(path, content["settings"], settings)
        print(table(name, content["ratios"]))
        return
    (_, split), *_ = splits(name, [options.seed], options.data_home)
    with tqdm(total=2 * (options.n_layers + 1), dynamic_ncols=True) as bar:
        bar.set_description(f"{name}: growing")
        arrays, ratios = embed(split, options, bar)
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(options.out / f"{name}.npz", **arrays)
    write_json(path, {"set": name, "settings": settings, "ratios": ratios, **origin})
    print(table(name, ratios))


def main(argv=None) -> None:
    options = parse(argv)
    origin = {"run": provenance(options)}
    for name in options.datasets:
        run_set(name, options, origin)
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
