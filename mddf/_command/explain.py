"""``mddf explain``: contributions of features to the predictions of single rows."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from mddf import GradientBoostingClassifier
from mddf._input.date_columns import dates_of_fit, with_calendar
from mddf.explain import shap_values

from . import files, pages, rows, table_options
from .command import Command
from .extras import need

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

    from mddf._schema.source import Source

# More bars of a row cannot be told apart at a glance; the sum of all others is the last bar.
_MAX_FEATURES = 10


class ExplainCommand(Command):
    """``mddf explain``."""

    description = """\
Explain predictions of single rows: what each feature adds to the probability of
the predicted class or of --class, or to the predicted number, compared with the background rows.

Contributions are Shapley values. They add up, with the mean over the background,
to the prediction; for gradient boosting, to the log-odds of the class.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        table_options.add_model_and_table(parser)
        parser.add_argument(
            "--out", type=Path, metavar="FILE", default=Path("explained.html"),
            help="page (.html) or table of contributions (.csv, .parquet) "
            "(default: explained.html)",
        )  # fmt: skip
        parser.add_argument(
            "--rows", type=int, default=10,
            help="number of rows to explain, from the first on (default: 10)",
        )  # fmt: skip
        parser.add_argument(
            "--class", dest="label", metavar="CLASS",
            help="class whose probability is explained (default: the predicted class of each row)",
        )  # fmt: skip
        parser.add_argument(
            "--key", metavar="COLUMN", help="column of the table that names the rows"
        )
        parser.add_argument(
            "--select", nargs="+", default=[], metavar="KEY",
            help="explain the rows with these values in the column of --key, instead of --rows",
        )  # fmt: skip
        parser.add_argument(
            "--background", type=Path, metavar="TABLE",
            help="table of background rows, such as the one of the fit (default: TABLE)",
        )  # fmt: skip
        parser.add_argument(
            "--n-background", type=int, default=50,
            help="number of background rows to draw (default: 50)",
        )  # fmt: skip
        parser.add_argument(
            "--seed", type=table_options.seed, default=0, help="seed of the draw (default: 0)"
        )

    def run(self, options: argparse.Namespace) -> None:
        """Read, explain, write."""
        for option, n_rows in {"rows": options.rows, "n-background": options.n_background}.items():
            if n_rows < 1:
                raise SystemExit(f"--{option} must be at least 1, got {n_rows}")
        files.check_output("--out", options.out, (".html", *files.TABLES), options.overwrite)
        need("shap", "commands")
        makes_page = options.out.suffix.lower() == ".html"
        if makes_page:
            pages.check_libraries()
        stored = files.read_model(options.model)
        model = stored.model
        schema = table_options.schema_for(options, stored.schema)
        if options.label is not None:
            _check_class(options.label, model)
        keys = [] if options.key is None else [options.key]
        table, source = rows.read_features(options.table, schema, keys)
        rows.check_names(f"--key must be a column of {options.table}:", keys, source.names)
        names = [f"row {number}" for number in range(1, len(table) + 1)]
        if options.key is not None:
            names = [f"{options.key} {text}" for text in rows.key_texts(source, options.key)]
        chosen = _chosen_rows(options, source)
        # Contributions belong to the parts of dates.
        table = with_calendar(table, dates_of_fit(model))
        X = table.iloc[chosen]
        background = table
        if options.background is not None:
            background, _ = rows.read_features(options.background, schema)
            background = with_calendar(background, dates_of_fit(model))
        n_background = min(options.n_background, len(background))
        background = background.sample(n_background, random_state=options.seed)
        explanation = contributions(model, X, background, options.label)
        if makes_page:
            page = _Page(
                model=model,
                target=schema.target.name,
                X=X,
                explanation=explanation,
                names=[names[row] for row in chosen],
                label=options.label,
                n_background=n_background,
            )
            files.write_text(options.out, page.render())
        else:
            if options.key is not None:
                key_cells = source.cells[options.key].take(chosen)
                rows.insert_column(explanation, 0, options.key, key_cells)
            files.write_table(options.out, explanation)
        print(f"{options.out}: {len(X)} rows of {options.table}, compared with {n_background}")


command = ExplainCommand()


def _check_class(label: str, model: BaseEstimator) -> None:
    if not is_classifier(model):
        raise SystemExit("--class is for classifications, and the model predicts numbers")
    rows.check_names("--class must be one of", [label], [str(name) for name in model.classes_])


def _chosen_rows(options: argparse.Namespace, source: Source) -> list[int]:
    """Numbers of the rows to explain."""
    if not options.select:
        return list(range(min(options.rows, source.n_rows)))
    if options.key is None:
        raise SystemExit("--select needs --key, the column that has the names of the rows")
    keys = rows.key_texts(source, options.key)
    if absent := [key for key in options.select if key not in keys]:
        raise SystemExit(
            f"--select must be values of {options.key!r} in {options.table}, got {absent[0]!r}"
        )
    return [row for row, key in enumerate(keys) if key in options.select]


def contributions(
    model: BaseEstimator, X: pd.DataFrame, background: pd.DataFrame, label: str | None = None
) -> pd.DataFrame:
    """Data frame with the prediction, the base and the contributions for each row of X.

    Contributions to a classifier are to the probability of the class `label`, or of the predicted
    class if it is None.
    """
    explanation = shap_values(model, X, background=background)
    values = explanation.values
    base = np.asarray(explanation.base_values)
    if is_classifier(model):
        class_index = model.predict_proba(X).argmax(axis=1)
        predicted = model.classes_[class_index]
        if label is not None:
            names = [str(name) for name in model.classes_]
            class_index = np.full(len(X), names.index(label))
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


@dataclass(frozen=True)
class _Page:
    """The page about some rows. `names` are their names, and `label` the explained class."""

    model: BaseEstimator
    target: str
    X: pd.DataFrame
    explanation: pd.DataFrame
    names: list[str]
    label: str | None
    n_background: int

    def render(self) -> str:
        features = list(map(str, self.X))
        mean_sizes = self.explanation[features].abs().mean().sort_values(ascending=False)
        output = repr(self.target)
        if is_classifier(self.model):
            class_name = "the predicted class" if self.label is None else self.label
            # For boosted trees, contributions add up to the raw prediction.
            is_raw = isinstance(self.model, GradientBoostingClassifier)
            output = f"{'log-odds' if is_raw else 'probability'} of {class_name}"
        return pages.render_page(
            "explained.html",
            title=f"{self.target}: contributions of the features",
            model_name=type(self.model).__name__,
            output=output,
            target=self.target,
            n_background=self.n_background,
            mean_sizes=[
                {"feature": feature, "mean size": size}
                for feature, size in mean_sizes.head(_MAX_FEATURES).items()
            ],
            rows=[
                {
                    "name": self.names[number],
                    "prediction": pages.cell_text(row["predicted"]),
                    "svg": self._bars(number, row[features].astype(float)),
                    "caption": f"base {row['base']:.4g}, with all features {row['explained']:.4g}",
                }
                for number, (_, row) in enumerate(self.explanation.iterrows())
            ],
        )

    def _bars(self, number: int, values: pd.Series) -> Markup:
        """Draw the largest contributions of a row, and the sum of all others."""
        from matplotlib import pyplot

        cells = self.X.iloc[number]
        order = values.abs().sort_values(ascending=False, kind="stable").index
        largest = order[:_MAX_FEATURES]
        rest = order[_MAX_FEATURES:]
        labels = [f"{name} = {pages.cell_text(cells[name])}" for name in largest]
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
