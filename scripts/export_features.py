"""Write layer features of a cascade to files, for other models.

    python scripts/export_features.py digits --out features/digits
    python scripts/export_features.py letter --format parquet
    python scripts/export_features.py --csv table.csv --target kind --drop id --format csv
    python scripts/export_features.py --csv table.csv --target kind --test-csv new.csv
    python scripts/export_features.py --csv table.csv --target price --task regression
    python scripts/export_features.py letter --representation leaves --layer 1
    python scripts/export_features.py letter --representation kernel --components 20

--representation "vectors" are class vectors: out-of-fold for training rows, and the result of
`transform` for test rows. "boosted" are the boosted features of each layer, f_t in the paper: sums
of the mean vectors of the layers so far, by their coefficients. "leaves" has a column of zeros and
ones for each leaf of a layer, and "kernel" the leading eigenvectors of the layer's forest kernel.
The trees of both have seen the labels of the training rows. Leaves are sparse: their .npz files
can be read by `scipy.sparse.load_npz`.

Sets without a standard split, and CSV files without --test-csv (whose rows need no labels), are
split at random. The files train and test are .npz (X, y, rows, names and, with --raw, X_raw), or
.csv or .parquet with a column for each; manifest.json describes them.
"""

import json
import re
from pathlib import Path

import numpy as np
from _lab import cli, data, models, need, records, scores
from mddf.datasets._registry import resolve
from scipy import sparse
from sklearn.metrics import r2_score

from mddf._command import rows as tables
from mddf.representation import ForestKernelEmbedding, LeafEmbedding, boosted_features

FORMATS = ("npz", "csv", "parquet")
VOTES = ("vectors", "boosted")
REPRESENTATIONS = ("vectors", "boosted", "leaves", "kernel")


def layer_number(text):
    """Convert a layer counted from 1 (-1: the last one) to its position."""
    if not re.fullmatch(r"-?[1-9]\d*", text):
        raise cli.refuse("must be a number such as 1 (-1: the last layer)", text)
    return int(text) - (int(text) > 0)


def parse(argv=None):
    parser = cli.study(
        __doc__, "features", test_csv=None, task=None, estimator=None, layer=None,
        format="npz", n_estimators=100, n_layers=None, seed=0, raw=False, verbose=False,
        overwrite=False, representation="vectors", components=10,
        checks={"representation": REPRESENTATIONS,
                "estimator": ("mddf", "gcforest", "deepforest"), "layer": layer_number,
                "format": FORMATS, "test_csv": Path,
                "task": tuple(scores.DEFAULTS)},
        quick={"n_estimators": 5, "n_layers": 2},
    )  # fmt: skip
    parser.add_argument("name", nargs="?", type=cli.dataset, help="data set of mddf.datasets")
    cli.add_table(parser, "a name")
    cli.add_drop(parser)
    options = parser.read(argv)
    if options.quick and options.csv is None:
        options.name = options.name or "digits"
    if (options.name is None) == (options.csv is None):
        parser.error("give either the name of a set or --csv")
    if options.csv is None and options.test_csv is not None:
        parser.error("--test-csv goes with --csv")
    of_set = resolve(options.name, {})[0].task if options.name else "classification"
    options.task = options.task or of_set
    classes = options.task == "classification"
    options.estimator = options.estimator or ("mddf" if classes else "deepforest")
    if why := models.METHODS[options.estimator].missing(options.task):
        parser.error(f"--estimator: {why}; deepforest is")
    if options.representation in VOTES and options.layer is not None:
        parser.error("--layer is for leaves and kernel: vectors are of all layers")
    if options.representation == "boosted" and options.estimator == "deepforest":
        parser.error("--representation boosted is for mddf and gcforest")
    if options.representation == "leaves" and options.format != "npz":
        parser.error("--representation leaves needs --format npz: it has a column for each leaf")
    if options.asked_out is None:
        options.out = cli.RESULTS / f"features-{options.name or options.csv.stem}"
    return options


def load(options) -> data.Split:
    """Training and test part with the numbers of their rows; labels of the test may be None."""
    (source,) = data.sources(options, [options.name], options.task).values()
    rows = data.load(source)
    if options.test_csv is not None:
        n = len(rows.y)
        classes = np.unique(rows.y) if options.task == "classification" else None
        test = tables.read_test(options.test_csv, rows.schema, classes)
        numbers = np.arange(n + len(test[0]))
        return data.Split(rows.X, rows.y, *test, numbers[:n], numbers[n:])
    try:
        split = data.split(source, options.seed)
    except ValueError as error:
        raise SystemExit(
            f"the rows cannot be split with 30 % of each class for testing: {error}"
        ) from None
    return data.take(rows, np.sort(split.rows), np.sort(split.rows_test))


def paths_of(options):
    """Return the file of each part. It must not be a table of the user."""
    paths = {part: options.out / f"{part}.{options.format}" for part in ("train", "test")}
    read = {path.resolve() for path in (options.csv, options.test_csv) if path is not None}
    for path in paths.values():
        if path.resolve() in read:
            raise SystemExit(f"{path} is a table that is read: give another --out")
    return paths


def write(path, features, names, *, X, y, rows):
    """Write one part; `X` are raw features or None, `y` labels or None."""
    if path.suffix == ".npz":
        arrays = {"rows": rows, "names": names, **feature_arrays(features)}
        if X is not None:
            arrays["X_raw"] = np.asarray(X)
        if y is not None:
            arrays["y"] = y.astype(str) if y.dtype == object else y  # objects would need pickle
        np.savez_compressed(path, **arrays)
    else:
        pd = need("pandas", "data")
        frame = pd.DataFrame(features, columns=list(names))
        if X is not None:
            raw = X.reset_index(drop=True) if hasattr(X, "columns") else pd.DataFrame(X)
            frame = pd.concat([raw.rename(columns=lambda name: f"raw_{name}"), frame], axis=1)
        frame.insert(0, "row", rows)
        if y is not None:
            frame["label"] = y
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    print(f"{path}: {features.shape[0]} rows, {len(names)} layer features")


def feature_arrays(features):
    """Arrays of an .npz file: X, or those that `scipy.sparse.load_npz` reads."""
    if not sparse.issparse(features):
        return {"X": features}
    parts = {name: getattr(features, name) for name in ("shape", "data", "indices", "indptr")}
    return {"format": np.array(b"csr"), **parts}


def out_of_fold_score(model, y) -> float:
    """Accuracy of a classifier, or R2 of a regressor, on the rows of its fit."""
    if hasattr(model, "classes_"):
        return float(np.mean(model.classes_[model.oof_probabilities_.argmax(axis=1)] == y))
    return float(r2_score(y, model.oof_prediction_))


def build(options):
    """The cascade, or the embedding of one of its layers, not yet fitted."""
    cascade = models.cascade(options, options.estimator, options.seed, options.task)
    cascade.set_params(verbose=2 if options.verbose else 0)
    if options.representation == "leaves":
        return LeafEmbedding(cascade, layer=options.layer)
    if options.representation == "kernel":
        return ForestKernelEmbedding(cascade, n_components=options.components, layer=options.layer)
    return cascade


def main(argv=None) -> int:
    options = parse(argv)
    # What can be wrong is found before the cascade is grown, not after.
    if options.format == "parquet":
        need("pyarrow", "parquet")
    manifest_path = options.out / "manifest.json"
    if manifest_path.exists() and not options.overwrite:
        raise SystemExit(
            f"{options.out} holds features already: give another --out, or --overwrite"
        )
    paths = paths_of(options)
    split = load(options)
    if options.raw and options.format == "npz" and np.asarray(split.X[:1]).dtype == object:
        raise SystemExit("--raw with categories needs --format csv or parquet: .npz holds numbers")
    model = build(options)
    try:
        train = model.fit_transform(split.X, split.y)
    except ValueError as error:  # of labels, layers and columns that do not do
        hint = "; --layer counts from 1" * (options.layer is not None)
        raise SystemExit(f"no cascade can be grown: {error}{hint}") from error
    names = model.get_feature_names_out().astype(str)
    test = model.transform(split.X_test)
    if options.representation == "boosted":
        # The features of the layers stand side by side.
        train, test = (
            boosted_features(model, part).reshape(len(part), -1) for part in (train, test)
        )
        classes = [str(label) for label in model.classes_]
        names = np.array([f"f{t + 1}_{c}" for t in range(model.n_layers_) for c in classes])
    options.out.mkdir(parents=True, exist_ok=True)
    for part, features, X, y, rows in (
        ("train", train, split.X, split.y, split.rows),
        ("test", test, split.X_test, split.y_test, split.rows_test),
    ):
        raw = X if options.raw else None
        write(paths[part], features, names, X=raw, y=y, rows=rows)
    is_embedding = options.representation not in VOTES
    cascade = model.estimator_ if is_embedding else model
    classifies = options.task == "classification"
    score = "accuracy" if classifies else "r2"
    manifest = {
        **records.provenance(),
        "time": records.now(),
        "representation": options.representation,
        "model": type(cascade).__name__,
        "parameters": cascade.get_params(deep=False),
        "n_layers": cascade.n_layers_,
        "classes": [str(label) for label in cascade.classes_] if classifies else None,
        "names": names.tolist(),
        "train": {
            "rows": len(split.y),
            "features": "transform" if is_embedding else "out-of-fold",
        },
        "test": {"rows": len(split.rows_test), "features": "transform"},
        f"out_of_fold_{score}": out_of_fold_score(cascade, split.y),
    }
    if split.y_test is not None:
        manifest[f"test_{score}"] = float(cascade.score(split.X_test, split.y_test))
    records.write(manifest_path, json.dumps(manifest, indent=1, default=str) + "\n")
    print(manifest_path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
