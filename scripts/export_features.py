"""Layer features of a cascade as files, for other models.

    python scripts/export_features.py digits --out features/digits
    python scripts/export_features.py --csv table.csv --target kind --out features/table
    python scripts/export_features.py letter --layers all --forests each --format parquet
    python scripts/export_features.py --quick          the bundled digits, few trees

A cascade is grown on the training rows. Their features are out-of-fold: the class vectors of
forests that did not see the row, so that a model trained on them meets the same on new rows.
Features of test rows are what `transform` gives. Sets without a standard split, and CSV files
without --test-csv, are split at random (30 % of each class for testing), and the rows are named.

Written to --out: train and test (.npz with X, y, rows, names and, with --raw, X_raw; or .parquet
with a column for each), and manifest.json (what was fitted on what, names, shapes, scores).
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import numpy as np
from _results import provenance, write_json
from _study import count, known_set
from _uci_methods import ALL_METHODS, Budget
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from mddf import datasets


def layers(text):
    """A parser of "last", "all" or numbers of layers, 0 the first, -1 the last."""
    if text in ("last", "all"):
        return text
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be last, all, or numbers such as 0,2 (0 the first, -1 the last), got {text!r}"
        ) from None


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", type=known_set, help="a set of mddf.datasets")
    parser.add_argument("--csv", type=Path, help="a table with a header instead")
    parser.add_argument("--target", metavar="COLUMN", help="its column of labels")
    parser.add_argument("--test-csv", type=Path, help="a table of test rows with the same columns")
    parser.add_argument("--method", choices=("mddf", "gcforest"), default="mddf")
    parser.add_argument(
        "--layers",
        type=layers,
        default="last",
        help="last (default), all, or numbers: 0,2, or --layers=-2,-1",
    )
    parser.add_argument(
        "--forests", choices=("mean", "each"), default="mean", help="a vector a layer or a forest"
    )
    parser.add_argument("--raw", action="store_true", help="raw features besides")
    parser.add_argument("--format", choices=("npz", "parquet"), default="npz")
    parser.add_argument("--n-estimators", type=count, help="trees of each forest (default: 100)")
    parser.add_argument("--n-layers", type=count, help="most layers (default: the classes' own)")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads (default: 1)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="show a bar")
    parser.add_argument("--quick", action="store_true", help="digits, 5 trees, 2 layers")
    parser.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
    parser.add_argument("--out", type=Path, help="folder (default: results/features-...)")
    parser.add_argument("--overwrite", action="store_true", help="replace what is in --out")
    options = parser.parse_args(argv)
    if options.quick:
        options.name = options.name or (None if options.csv else "digits")
        options.n_estimators = options.n_estimators or 5
        options.n_layers = options.n_layers or 2
    if (options.name is None) == (options.csv is None):
        parser.error("give either the name of a set or --csv")
    if (options.csv is None) != (options.target is None):
        parser.error("--csv and --target go together")
    if options.test_csv is not None and options.csv is None:
        parser.error("--test-csv goes with --csv")
    options.out = options.out or Path(f"results/features-{options.name or options.csv.stem}")
    return options


def require(module, what):
    """A module, or the way to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SystemExit(f"{what} needs {module}: python -m pip install {module}") from error


def read_csv(path, target, like=None):
    """Features and labels of a table; columns of text are categories.

    `like` are the training features and labels, whose types a table of test rows must have.
    """
    pd = require("pandas", "--csv")
    text = {}
    if like is not None:
        text = dict.fromkeys(like[0].select_dtypes("category"), str)
        if like[1].dtype.kind not in "iufb":
            text[target] = str
    try:
        frame = pd.read_csv(path, dtype=text)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read as a table: {error}") from None
    least = 2 if like is None else 1
    if frame.shape[1] < 2 or len(frame) < least:
        raise SystemExit(
            f"{path} must have at least {least} rows, and a column of features besides the "
            f"labels; got {len(frame)} rows and the columns {', '.join(frame)}"
        )
    unnamed = [name for name in frame if name.startswith("Unnamed: ")]
    if unnamed:
        raise SystemExit(
            f"the columns of {path} must have names, got {', '.join(unnamed)}; a table of pandas "
            "is written without its row numbers by to_csv(..., index=False)"
        )
    if target not in frame:
        raise SystemExit(
            f"--target must be a column of {path}: {', '.join(frame)}; got {target!r}"
        )
    if frame[target].isna().any():
        raise SystemExit(f"the labels of {path} must be complete, got missing ones in {target!r}")
    X = frame.drop(columns=target)
    text = X.select_dtypes(exclude=["number", "bool"]).columns
    return X.astype(dict.fromkeys(text, "category")), frame[target].to_numpy()


def read_test_csv(path, target, X, y):
    """The same of test rows; refused where they do not fit the training ones."""
    X_test, y_test = read_csv(path, target, like=(X, y))
    if list(X_test) != list(X):
        raise SystemExit(
            f"--test-csv must have the columns {', '.join(X)}; got {', '.join(X_test)}"
        )
    known = set(y.tolist())
    unknown = sorted({repr(label) for label in y_test.tolist() if label not in known})
    if unknown:
        raise SystemExit(f"the labels of {path} must be in training too; got {', '.join(unknown)}")
    for name in X_test.select_dtypes("category"):
        if str(X[name].dtype) != "category":
            raise SystemExit(
                f"column {name!r} of {path} must hold numbers, as in training; got "
                f"{X_test[name].cat.categories[0]!r} and the like"
            )
    return X_test, y_test.astype(y.dtype)


def load(options):
    """Features, labels and numbers of the rows of the training and the test part."""
    if options.csv is None:
        data = datasets.load(options.name, data_home=options.data_home)
        X, y = data.X, np.asarray(data.y)
        n_train = len(data.y_train) if data.has_standard_split else None
    else:
        X, y = read_csv(options.csv, options.target)
        n_train = None
        if options.test_csv is not None:
            test = read_test_csv(options.test_csv, options.target, X, y)
            rows = np.arange(len(y), len(y) + len(test[1]))
            return {"train": (X, y, np.arange(len(y))), "test": (*test, rows)}
    rows = np.arange(len(y))
    if n_train is None:
        try:
            train, test = train_test_split(
                rows, test_size=0.3, stratify=y, random_state=options.seed
            )
        except ValueError as error:
            raise SystemExit(
                f"the rows cannot be split with 30 % of each class for testing: {error}"
            ) from None
        train, test = np.sort(train), np.sort(test)
    else:
        train, test = rows[:n_train], rows[n_train:]
    return {part: (_safe_indexing(X, at), y[at], at) for part, at in
            (("train", train), ("test", test))}  # fmt: skip


def write(path, features, names, X, y, rows, form):
    """One part; `X` are raw features or None."""
    if form == "npz":
        raw = {} if X is None else {"X_raw": np.asarray(X)}
        np.savez_compressed(path, X=features, y=as_plain(y), rows=rows, names=names, **raw)
        return
    pd = require("pandas", "--format parquet")
    frame = pd.DataFrame(features, columns=list(names))
    if X is not None:
        raw = X.reset_index(drop=True) if hasattr(X, "columns") else pd.DataFrame(X)
        frame = pd.concat([raw.rename(columns=lambda name: f"raw_{name}"), frame], axis=1)
    frame.insert(0, "row", rows)
    frame["label"] = y
    frame.to_parquet(path)


def as_plain(y):
    """Labels without objects, which .npz cannot hold without pickle."""
    return y.astype(str) if y.dtype == object else y


def cascade(options, X):
    """The cascade that the options ask for, not yet fitted."""
    budget = Budget(options.n_estimators or 100, options.n_layers, n_jobs=options.n_jobs)
    return (
        ALL_METHODS[options.method]
        .make(budget, X, options.seed)
        .set_params(
            transform_layers=options.layers,
            transform_forests=options.forests,
            verbose=2 if options.verbose else 0,
        )
    )


def main(argv=None) -> None:
    options = parse(argv)
    # What can be wrong is found before the cascade is grown, not after.
    if (options.out / "manifest.json").exists() and not options.overwrite:
        raise SystemExit(
            f"{options.out} holds features already: give another --out, or --overwrite"
        )
    if options.format == "parquet":
        require("pyarrow", "--format parquet")
    parts = load(options)
    X, y, _ = parts["train"]
    if options.raw and options.format == "npz" and np.asarray(X[:1]).dtype == object:
        raise SystemExit("--raw with categories needs --format parquet: .npz holds numbers")
    model = cascade(options, X)
    try:
        features = {"train": model.fit_transform(X, y)}
    except ValueError as error:  # of labels, layers and columns that do not do
        raise SystemExit(f"no cascade can be grown: {error}") from error
    features["test"] = model.transform(parts["test"][0])
    names = model.get_feature_names_out().astype(str)
    options.out.mkdir(parents=True, exist_ok=True)
    for part, (X, y, rows) in parts.items():
        for form in ("npz", "parquet"):
            (options.out / f"{part}.{form}").unlink(missing_ok=True)
        path = options.out / f"{part}.{options.format}"
        raw = X if options.raw else None
        write(path, features[part], names, raw, y, rows, options.format)
        print(f"{path}: {features[part].shape[0]} rows, {len(names)} layer features")
    X_test, y_test, _ = parts["test"]
    manifest = {
        **provenance(options),
        "model": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_layers": model.n_layers_,
        "classes": [str(label) for label in model.classes_],
        "names": names.tolist(),
        "train": {"rows": len(features["train"]), "features": "out-of-fold"},
        "test": {"rows": len(features["test"]), "features": "transform"},
        "out_of_fold_accuracy": float(model.history_["accuracy"][model.n_layers_ - 1]),
        "test_accuracy": float(model.score(X_test, y_test)),
    }
    write_json(options.out / "manifest.json", json.loads(json.dumps(manifest, default=str)))
    print(f"{options.out / 'manifest.json'}")


if __name__ == "__main__":
    main()
