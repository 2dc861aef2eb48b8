"""Layer features of a cascade as files, for other models.

    python scripts/export_features.py digits --out features/digits
    python scripts/export_features.py --csv table.csv --target kind --out features/table
    python scripts/export_features.py letter --layers all --forests each --format parquet
    python scripts/export_features.py --quick          the bundled digits, few trees

A cascade is grown on the training rows. Their features are out-of-fold: the class vectors of
forests that did not see the row, so that a model trained on them meets the same on new rows.
Features of test rows are what `transform` gives. Sets without a standard split, and CSV files
without --test-csv, are split at random (30 % of each class for testing), and the rows are named.
Layer numbers are those of the feature names, such as layer0_setosa.

Written to --out: train and test (.npz with X, y, rows, names and, with --raw, X_raw; or .parquet
with a column for each), and manifest.json (what was fitted on what, names, shapes, scores).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from _lab import cli, data, models, need, records


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


def parse(argv=None):
    parser = cli.study(
        __doc__,
        "features",
        quick={"n_estimators": 5, "n_layers": 2},
        checks={"method": ("mddf", "gcforest"), "layers": layers, "forests": ("mean", "each"),
                "format": ("npz", "parquet"), "test_csv": Path},
        **{"test_csv": None, "method": "mddf", "layers": "last", "forests": "mean"},
        **{"format": "npz", "n_estimators": 100, "n_layers": None, "seed": 0, "drop": []},
        **{"raw": False, "verbose": False, "overwrite": False},
    )  # fmt: skip
    parser.add_argument("name", nargs="?", type=cli.dataset, help="a set of mddf.datasets")
    parser.add_argument("--csv", type=Path, help="a table with a header instead")
    parser.add_argument("--target", metavar="COLUMN", help="its column of labels")
    options = parser.read(argv)
    if options.quick and options.csv is None:
        options.name = options.name or "digits"
    if (options.name is None) == (options.csv is None):
        parser.error("give either the name of a set or --csv")
    if options.test_csv is not None and options.csv is None:
        parser.error("--test-csv goes with --csv")
    if options.out.parent == cli.RESULTS and options.out.name.startswith("features"):
        options.out = cli.RESULTS / f"features-{options.name or options.csv.stem}"
    return options


def load(options) -> data.Split:
    """Training and test part with the numbers of their rows."""
    (source,) = data.sources(options, [options.name]).values()
    if options.test_csv is None:
        try:
            found = data.split(source, options.seed)
        except ValueError as error:
            raise SystemExit(
                f"the rows cannot be split with 30 % of each class for testing: {error}"
            ) from None
        return data.Split.of(data.load(source), np.sort(found.rows), np.sort(found.rows_test))
    rows = data.load(source)
    test = data.read_test_csv(options.test_csv, options.target, rows.X, rows.y, options.drop)
    n = len(rows.y)
    return data.Split(rows.X, rows.y, *test, np.arange(n), np.arange(n, n + len(test[1])))


def write(path, features, names, X, y, rows):
    """One part; `X` are raw features or None."""
    if path.suffix == ".npz":
        raw = {} if X is None else {"X_raw": np.asarray(X)}
        y = y.astype(str) if y.dtype == object else y  # objects would need pickle
        np.savez_compressed(path, X=features, y=y, rows=rows, names=names, **raw)
        return
    pd = need("pandas", "data")
    frame = pd.DataFrame(features, columns=list(names))
    if X is not None:
        raw = X.reset_index(drop=True) if hasattr(X, "columns") else pd.DataFrame(X)
        frame = pd.concat([raw.rename(columns=lambda name: f"raw_{name}"), frame], axis=1)
    frame.insert(0, "row", rows)
    frame["label"] = y
    frame.to_parquet(path)


def cascade(options):
    """The cascade that the options ask for, not yet fitted."""
    budget = models.Budget(options.n_estimators, options.n_layers)
    method = models.METHODS[options.method]
    model = models.build(method, options.seed, budget=budget, n_jobs=options.n_jobs)
    return model.set_params(
        transform_layers=options.layers,
        transform_forests=options.forests,
        verbose=2 if options.verbose else 0,
    )


def main(argv=None) -> None:
    options = parse(argv)
    # What can be wrong is found before the cascade is grown, not after.
    if (options.out / "manifest.json").exists() and not options.overwrite:
        raise SystemExit(
            f"{options.out} holds features already: give another --out, or --overwrite"
        )
    if options.format == "parquet":
        need("pyarrow", "parquet")
    split = load(options)
    if options.raw and options.format == "npz" and np.asarray(split.X[:1]).dtype == object:
        raise SystemExit("--raw with categories needs --format parquet: .npz holds numbers")
    model = cascade(options)
    try:
        train = model.fit_transform(split.X, split.y)
    except ValueError as error:  # of labels, layers and columns that do not do
        raise SystemExit(f"no cascade can be grown: {error}") from error
    names = model.get_feature_names_out().astype(str)
    options.out.mkdir(parents=True, exist_ok=True)
    for part, features, X, y, rows in (
        ("train", train, split.X, split.y, split.rows),
        ("test", model.transform(split.X_test), split.X_test, split.y_test, split.rows_test),
    ):
        for form in ("npz", "parquet"):
            (options.out / f"{part}.{form}").unlink(missing_ok=True)
        path = options.out / f"{part}.{options.format}"
        write(path, features, names, X if options.raw else None, y, rows)
        print(f"{path}: {features.shape[0]} rows, {len(names)} layer features")
    manifest = {
        **records.provenance(),
        "time": records.now(),
        "model": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_layers": model.n_layers_,
        "classes": [str(label) for label in model.classes_],
        "names": names.tolist(),
        "train": {"rows": len(split.y), "features": "out-of-fold"},
        "test": {"rows": len(split.y_test), "features": "transform"},
        "out_of_fold_accuracy": float(model.history_["accuracy"][model.n_layers_ - 1]),
        "test_accuracy": float(model.score(split.X_test, split.y_test)),
    }
    text = json.dumps(manifest, indent=1, default=str)
    records.write(options.out / "manifest.json", text + "\n")
    print(options.out / "manifest.json")


if __name__ == "__main__":
    main()
