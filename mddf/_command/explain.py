"""``mddf explain``: contributions of features to the predictions of single rows."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from mddf.explain import shap_values

from . import files, pages, rows, table_options
from .extras import need

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

DESCRIPTION = """\
Explain predictions of single rows: what each feature adds to the probability of
the predicted class, or to the predicted number, compared with the background rows.

Contributions are Shapley values. They add up, with the mean over the background,
to the prediction.
"""
# More bars of a row cannot be told apart at a glance; the sum of all others is the last bar.
_MAX_FEATURES = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    table_options.add_model_and_table(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", default=Path("explained.html"),
        help="page (.html) or table of contributions (.csv, .parquet) (default: explained.html)",
    )  # fmt: skip
    parser.add_argument(
        "--rows", type=int, default=10,
        help="number of rows to explain, from the first on (default: 10)",
    )  # fmt: skip
    parser.add_argument(
        "--background", type=Path, metavar="TABLE",
        help="table of background rows, such as the one of the fit (default: TABLE)",
    )  # fmt: skip
    parser.add_argument(
        "--n-background", type=int, default=50,
        help="number of background rows to draw (default: 50)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default: 0)")


def run(options: argparse.Namespace) -> None:
    """Read, explain, write."""
    for option, n_rows in {"rows": options.rows, "n-background": options.n_background}.items():
        if n_rows < 1:
            raise SystemExit(f"--{option} must be at least 1, got {n_rows}")
    files.check_output("--out", options.out, (".html", *files.TABLES), options.overwrite)
    need("shap", "commands")
    makes_page = options.out.suffix.lower() == ".html"
    if makes_page:
        pages.check_libraries()
    model, schema = files.read_model(options.model)
    schema = replace(schema, format=table_options.format_from(options, schema.format))
    table, _ = rows.read_features(options.table, schema)
    X = table.head(options.rows)
    background = table
    if options.background is not None:
        background, _ = rows.read_features(options.background, schema)
    n_background = min(options.n_background, len(background))
    background = background.sample(n_background, random_state=options.seed)
    explanation = contributions(model, X, background)
    if makes_page:
        page = _page(model, X, explanation, target=schema.target.name, n_background=n_background)
        files.write_text(options.out, page)
    else:
        files.write_table(options.out, explanation)
    print(f"{options.out}: {len(X)} rows of {options.table}, compared with {n_background}")


def contributions(model: BaseEstimator, X: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
    """Data frame with the prediction, the base and the contributions for each row of X.

    Contributions to a classifier are to the probability of the predicted class.
    """
    explanation = shap_values(model, X, background=background)
    values = explanation.values
    base = np.asarray(explanation.base_values)
    if is_classifier(model):
        class_index = model.predict_proba(X).argmax(axis=1)
        predicted = model.classes_[class_index]
        if values.ndim == 2:  # contributions to the probability of the second class
            sign = np.where(class_index == 1, 1, -1)
            values = values * sign[:, None]
            base = base * sign
        else:
            row_index = np.arange(len(X))
            values = values[row_index, :, class_index]
            base = base[row_index, class_index]
    else:
        predicted = model.predict(X)
    columns = {"predicted": predicted, "explained": base + values.sum(axis=1), "base": base}
    columns |= dict(zip(map(str, X), values.T, strict=True))
    return need("pandas", "data").DataFrame(columns)


def _page(
    model: BaseEstimator,
    X: pd.DataFrame,
    explanation: pd.DataFrame,
    *,
    target: str,
    n_background: int,
) -> str:
    features = list(map(str, X))
    mean_sizes = explanation[features].abs().mean().sort_values(ascending=False)
    return pages.render(
        "explained.html",
        title=f"{target}: contributions of the features",
        model_name=type(model).__name__,
        output="probability of the predicted class" if is_classifier(model) else repr(target),
        target=target,
        n_background=n_background,
        mean_sizes=[
            {"feature": feature, "mean size": size}
            for feature, size in mean_sizes.head(_MAX_FEATURES).items()
        ],
        rows=[
            {
                "prediction": _cell_text(row["predicted"]),
                "svg": _bars(X.iloc[number], row[features].astype(float)),
                "caption": f"base {row['base']:.4g}, with all features {row['explained']:.4g}",
            }
            for number, (_, row) in enumerate(explanation.iterrows())
        ],
    )


def _cell_text(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell)


def _bars(cells: pd.Series, values: pd.Series) -> Markup:
    """Draw the largest contributions of a row, and the sum of all others."""
    from matplotlib import pyplot

    order = values.abs().sort_values(ascending=False, kind="stable").index
    largest = order[:_MAX_FEATURES]
    rest = order[_MAX_FEATURES:]
    labels = [f"{name} = {_cell_text(cells[name])}" for name in largest]
    sizes = values[largest].tolist()
    if len(rest):
        labels.append(f"{len(rest)} others")
        sizes.append(values[rest].sum())
    figure, axis = pyplot.subplots(figsize=(7, 0.8 + 0.28 * len(sizes)), layout="constrained")
    colours = ["tab:blue" if size >= 0 else "tab:orange" for size in sizes]
    axis.barh(range(len(sizes)), sizes, color=colours)
    axis.set_yticks(range(len(sizes)), labels)
    axis.invert_yaxis()
    axis.axvline(0, color="0.4", linewidth=0.8)
    axis.set_xlabel("adds to the prediction")
    return pages.svg(figure)
