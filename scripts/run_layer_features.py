"""Do layer features help other models? A linear model and a kNN on raw and on layer features.

    python scripts/run_layer_features.py                                 the bundled sets
    python scripts/run_layer_features.py --datasets satimage optdigits yeast
    python scripts/run_layer_features.py --quick

For each set and seed a cascade is grown on the training rows alone. The other models train on its
out-of-fold features of these rows and are tested on what it makes of the test rows. Compared are
raw features, layer features (all layers) and both, each in a pipeline that scales the columns,
with hyper-parameters (C of the logistic regression; number of neighbours and their weights) from
5-fold cross-validation on the training rows; test rows choose nothing. The accuracy of the cascade
itself stands beside. The features of a training row come from forests that saw the labels of the
others, those that cross-validation holds out as well; so its own scores are a little too good on
layer features, those on test rows are not.

Every result is kept in --out as soon as it is there; the same command goes on where the last one
stopped.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
from _results import write_csv, write_json
from _study import StudyParser, open_record
from _uci_data import splits
from _uci_methods import ALL_METHODS, Budget
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits
from tqdm import tqdm

FEATURES = {"raw": "raw", "layers": "layer", "both": "raw + layer"}


def linear(seed):
    """A logistic regression and its grid."""
    model = LogisticRegression(max_iter=2000, random_state=seed)
    return model, {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0]}


def neighbours(seed):
    """A kNN and its grid."""
    grid = {
        "kneighborsclassifier__n_neighbors": [1, 3, 5, 9, 15, 25],
        "kneighborsclassifier__weights": ["uniform", "distance"],
    }
    return KNeighborsClassifier(), grid


MODELS = {"linear": linear, "kNN": neighbours}


def parse(argv):
    parser = StudyParser(
        __doc__,
        name="layer-features",
        full={
            "datasets": ["digits", "wine", "breast_cancer"],
            "seeds": 3,
            "n_estimators": 100,
            "n_layers": 4,
        },
        quick={"datasets": ["wine"], "seeds": 1, "n_estimators": 5, "n_layers": 2},
    )
    return parser.parse_study(argv)


def raw_numbers(split):
    """Raw features as numbers: categories one-hot, missing values the median."""
    if not hasattr(split.X, "columns"):
        imputer = SimpleImputer(strategy="median")
        return imputer.fit_transform(split.X), imputer.transform(split.X_test)
    numbers = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), numbers), (encoder, others)
    )
    return columns.fit_transform(split.X), columns.transform(split.X_test)


def evaluate(name, X, y, X_test, y_test, seed) -> dict:
    """Choose hyper-parameters on the training rows, fit on all of them, score on the test rows."""
    model, grid = MODELS[name](seed)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        grid,
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        search.fit(X, y)
    return {
        "accuracy": float(search.score(X_test, y_test)),
        "cv_accuracy": float(search.best_score_),
        "chosen": {key.split("__")[1]: value for key, value in search.best_params_.items()},
    }


def one_split(split, seed, options, show) -> dict:
    """All models on all kinds of features of a split."""
    budget = Budget(options.n_estimators, options.n_layers, n_jobs=options.n_jobs)
    show("mdDF")
    cascade = ALL_METHODS["mddf"].make(budget, split.X, seed).set_params(transform_layers="all")
    layers = cascade.fit_transform(split.X, split.y), cascade.transform(split.X_test)
    raw = raw_numbers(split)
    both = tuple(np.hstack(pair) for pair in zip(raw, layers, strict=True))
    result = {"mdDF": {"accuracy": float(cascade.score(split.X_test, split.y_test))}}
    for name in MODELS:
        for kind, (X, X_test) in (("raw", raw), ("layers", layers), ("both", both)):
            show(f"{name} on {FEATURES[kind]} features")
            result[f"{name}/{kind}"] = evaluate(name, X, split.y, X_test, split.y_test, seed)
    return {"n_layers": cascade.n_layers_, "n_layer_features": layers[0].shape[1], **result}


def cells(results) -> list[dict]:
    """A row for each set, seed, model and kind of features."""
    rows = []
    for key, result in results.items():
        name, seed = key.rsplit("/", 1)
        for label in ("mdDF", *(f"{model}/{kind}" for model in MODELS for kind in FEATURES)):
            model, _, kind = label.partition("/")
            rows.append(
                {
                    "dataset": name,
                    "seed": int(seed),
                    "model": model,
                    "features": kind or "raw",
                    "accuracy": result[label]["accuracy"],
                    "cv_accuracy": result[label].get("cv_accuracy"),
                    "chosen": json.dumps(result[label].get("chosen", {})),
                }
            )
    return rows


def table(rows) -> str:
    """Test accuracy in %, mean and standard deviation over seeds, in Markdown."""
    groups: dict[tuple, list] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["model"], row["features"]), []).append(
            100 * row["accuracy"]
        )
    columns = [(model, kind) for model in MODELS for kind in FEATURES] + [("mdDF", "raw")]
    titles = [f"{model}, {FEATURES[kind]}" for model, kind in columns[:-1]] + ["mdDF itself"]
    lines = [f"| set | seeds | {' | '.join(titles)} |", f"|---|--:|{'--:|' * len(titles)}"]
    for name in dict.fromkeys(row["dataset"] for row in rows):
        there = [np.array(groups[name, *column]) for column in columns]
        shown = [
            f"{v.mean():.2f} ± {v.std(ddof=1):.2f}" if len(v) > 1 else f"{v[0]:.2f}" for v in there
        ]
        lines.append(f"| {name} | {len(there[0])} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main(argv=None) -> None:
    options = parse(argv)
    record = open_record(options, n_estimators=options.n_estimators, n_layers=options.n_layers)
    with (
        threadpool_limits(options.n_jobs),
        tqdm(total=len(options.datasets) * options.seeds, dynamic_ncols=True) as bar,
    ):
        for name in options.datasets:
            for seed, split in splits(name, range(options.seeds), options.data_home):

                def compute(split=split, seed=seed, start=f"{name}, seed {seed}"):
                    return one_split(
                        split, seed, options, lambda s: bar.set_description(f"{start}: {s}")
                    )

                record.get(f"{name}/{seed}", compute)
                bar.update()
    rows = cells(record.asked)
    write_csv(options.out / "cells.csv", rows)
    (options.out / "table.md").write_text(table(rows) + "\n")
    write_json(options.out / "run.json", record.origin)
    print(table(rows))
    print(f"written to {options.out}: results.json, cells.csv, table.md, run.json")


if __name__ == "__main__":
    main()
