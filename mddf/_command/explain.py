"""``mddf explain``: why a model says what it says of single rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mddf.explain import shap_values

from . import files, pages, rows
from .extras import need
from .table_options import add_marks, format_from

DESCRIPTION = """\
Explain predictions of single rows: what each feature adds to the probability of
the predicted class, or to the number, compared with the background rows.

Contributions are Shapley values. They add up, with the mean over the background,
to the prediction.
"""
_SHOWN = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", type=Path, help="model that `mddf fit` saved")
    parser.add_argument(
        "table", type=Path, help="CSV or Parquet file with the columns of the model"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="page (.html) or table of contributions (.csv, .parquet) (default: explained.html)",
        default=Path("explained.html"),
    )  # fmt: skip
    parser.add_argument(
        "--rows",
        type=int,
        default=10,
        help="number of rows to explain, from the first on (default: 10)",
    )
    parser.add_argument(
        "--background", type=Path, metavar="TABLE",
        help="table of background rows, such as the one of the fit (default: TABLE)",
    )  # fmt: skip
    parser.add_argument(
        "--n-background",
        type=int,
        default=50,
        help="number of background rows to draw (default: 50)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default: 0)")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")
    add_marks(parser.add_argument_group("the tables"), "as in the fit")


def run(options: argparse.Namespace) -> None:
    """Read, explain, write."""
    for name in ("rows", "n_background"):
        if (value := getattr(options, name)) < 1:
            raise SystemExit(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    files.check_new("--out", options.out, (".html", *files.TABLES), options.overwrite)
    need("shap", "commands")
    if options.out.suffix.lower() == ".html":
        need("matplotlib", "commands").use("agg")
    model, schema = files.read_model(options.model)
    schema = rows.with_format(schema, format_from(options, schema.format))
    table, _ = rows.read_features(options.table, schema)
    X = table.head(options.rows)
    others = table
    if options.background is not None:
        others, _ = rows.read_features(options.background, schema)
    n_drawn = min(options.n_background, len(others))
    others = others.sample(n_drawn, random_state=options.seed)
    found = contributions(model, X, others)
    if options.out.suffix.lower() == ".html":
        files.write_text(options.out, _page(model, X, found, schema.target.name, n_drawn))
    else:
        files.write_table(options.out, found)
    print(f"{options.out}: {len(X)} rows of {options.table}, compared with {n_drawn}")


def contributions(model: Any, X: Any, background: Any) -> Any:
    """A data frame with a row for each row of X: what is predicted, the base, contributions.

    Of classifiers it is about the probability of the class predicted.
    """
    pd = need("pandas", "data")
    found = shap_values(model, X, background=background)
    values, base = found.values, np.asarray(found.base_values)
    if is_classifier(model):
        likely = model.predict_proba(X).argmax(axis=1)
        everywhere = np.arange(len(X))
        if values.ndim == 2:  # the score of the second class
            sign = np.where(likely == 1, 1, -1)
            values, base = values * sign[:, None], base * sign
        else:
            values, base = values[everywhere, :, likely], base[everywhere, likely]
        head = {"predicted": model.classes_[likely]}
    else:
        head = {"predicted": model.predict(X)}
    head["explained"] = base + values.sum(axis=1)
    head["base"] = base
    return pd.DataFrame(head | dict(zip(map(str, X), values.T, strict=True)))


def _page(model: Any, X: Any, found: Any, target: str, n_background: int) -> str:
    names = list(map(str, X))
    what = "probability of the class predicted" if is_classifier(model) else repr(target)
    size = found[names].abs().mean().sort_values(ascending=False)
    parts = [
        pages.paragraph(
            f"What each feature adds to the {what}, compared with the mean over {n_background} "
            f"background rows: Shapley values of a {type(model).__name__}."
        ),
        pages.heading(f"Mean size of the contributions, {len(X)} rows"),
        pages.table(["feature", "mean size"], size.head(_SHOWN).items()),
    ]
    for number in range(len(X)):
        row = found.iloc[number]
        parts.append(pages.heading(f"Row {number + 1}: {target} = {_shown(row['predicted'])}"))
        parts.append(_bars(X.iloc[number], row, names))
    return pages.page(f"{target}: why the model says so", parts)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _bars(cells: Any, row: Any, names: list[str]) -> str:
    """The largest contributions of a row as bars, and the sum of all others."""
    pyplot = need("matplotlib.pyplot", "commands")
    values = row[names].astype(float)
    order = values.abs().sort_values(ascending=False, kind="stable").index
    shown, rest = list(order[:_SHOWN]), list(order[_SHOWN:])
    labels = [f"{name} = {_shown(cells[name])}" for name in shown]
    sizes = [values[name] for name in shown]
    if rest:
        labels.append(f"{len(rest)} others")
        sizes.append(values[rest].sum())
    height = 0.8 + 0.28 * len(sizes)
    figure, axis = pyplot.subplots(figsize=(7, height), layout="constrained")
    colours = ["tab:blue" if size >= 0 else "tab:orange" for size in sizes]
    axis.barh(range(len(sizes)), sizes, color=colours)
    axis.set_yticks(range(len(sizes)), labels)
    axis.invert_yaxis()
    axis.axvline(0, color="0.4", linewidth=0.8)
    axis.set_xlabel("adds to the prediction")
    total = f"base {row['base']:.4g}, with all features {row['explained']:.4g}"
    return pages.picture(figure, total)
