"""The report of a fit: scores, charts, importances, members and columns."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, is_classifier

import mddf
from mddf._quality.findings import Findings
from mddf.explain import ImportancesDisplay

from . import pages, scores
from .rows import LabelledRows

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mddf._schema.schema import Schema

# With more classes, a confusion matrix cannot be read.
_MAX_CLASSES_OF_CONFUSION = 30
# With more classes, the counts in the cells of a confusion matrix overlap.
_MAX_CLASSES_WITH_COUNTS = 12
# The tables of columns and findings end there, so that wide tables give short pages.
_MAX_COLUMNS = 200
# Entries of the leaderboard that the table of members leaves out; the reason has these figures.
_HIDDEN_OF_MEMBERS = ("bytes", "gain", "error_correlation")
# Importances come from so few rows and repeats to keep the report short of the time of the fit.
_ROWS_OF_IMPORTANCES = 500
_REPEATS_OF_IMPORTANCES = 3
# Groups of rows of equal size in the chart of calibration, as many as are usual. Not tuned.
_CALIBRATION_BINS = 10


@dataclass(frozen=True)
class ScoredRows:
    """Rows that models were not fitted to, with their predictions: probabilities or targets.

    `groups` are the groups of these rows, called `name_of_groups`; None if they are independent.
    `n_folds` is 1 if one part of the rows was held out. `time_name` is the column by which they
    are the last rows; None if they are not.
    """

    y: np.ndarray
    predictions: np.ndarray
    n_folds: int = 1
    groups: np.ndarray | None = None
    name_of_groups: str = ""
    time_name: str | None = None

    @property
    def description(self) -> str:
        """Words such as "22 held-out rows"."""
        n_rows = len(self.y)
        text = f"{n_rows} held-out row" + "s" * (n_rows != 1)
        if self.time_name is not None:
            return f"{text}, the last by {self.time_name!r}"
        return text if self.n_folds == 1 else f"{text} of a {self.n_folds}-fold cross-validation"

    @property
    def drawn_units(self) -> str:
        """Words for the units that the intervals draw: rows, or groups."""
        if self.groups is None:
            return "held-out rows"
        return f"the {len(np.unique(self.groups))} {self.name_of_groups}, whose rows stay together"


@dataclass(frozen=True)
class EvaluatedFit:
    """A model of the training rows, and the held-out rows that score it.

    With several folds, `model`, `train` and `test` are of the first one, and `held_out` is of all.
    `decision` has the rare class of two and its threshold, which `source_of_threshold` chose. `X`
    has all rows, `findings` the possible faults of the data, `warnings` the texts of the fit's
    warnings, `settings` the parameters that the user set, and `model_name` is the name of the file
    of the final model.
    """

    table_name: str
    target: str
    task: str
    X: pd.DataFrame
    schema: Schema
    model: BaseEstimator
    train: LabelledRows
    test: LabelledRows
    training_sizes: str  # number of training rows, or the least and the largest of the folds
    held_out: ScoredRows
    decision: scores.Decision | None
    source_of_threshold: str
    seconds: float
    findings: Findings
    warnings: list[str]
    settings: list[str]
    model_name: str

    @property
    def classes(self) -> np.ndarray | None:
        """Classes of a classifier; None for regression."""
        return self.model.classes_ if is_classifier(self.model) else None

    @cached_property
    def score_rows(self) -> list[dict[str, object]]:
        """Rows of the table of scores."""
        return _score_rows(self)

    @cached_property
    def scores(self) -> dict[str, float]:
        held_out = self.held_out
        return scores.evaluate(held_out.y, held_out.predictions, self.classes, self.decision)

    @property
    def positive(self) -> object:
        """The class whose threshold is chosen."""
        assert self.classes is not None
        assert self.decision is not None
        return self.classes[self.decision.column]


@dataclass(frozen=True)
class _Chart:
    svg: Markup
    caption: str
    heading: str = ""


def render_report(fit: EvaluatedFit) -> str:
    """Make the page."""
    if fit.classes is None:
        charts = [_regression_chart(fit.held_out.y, fit.held_out.predictions)]
    else:
        charts = _classification_charts(fit)
    return pages.render_page(
        "report.html",
        title=f"{fit.target}: {fit.task} by {type(fit.model).__name__}",
        fit=fit,
        scores=fit.score_rows,
        n_draws=scores.N_DRAWS,
        charts=charts,
        scores_by_class=_class_rows(fit),
        importances=_importances_chart(fit) if len(fit.test.y) > 1 else None,
        members=_member_rows(fit.model),
        findings=fit.findings[:_MAX_COLUMNS].to_dicts(),
        columns=_column_rows(fit),
        date=date.today().isoformat(),
        versions=_versions(),
    )


def facts(fit: EvaluatedFit) -> dict[str, Any]:
    """Facts about the fit for a model card, of the types of JSON."""
    return {
        "table": fit.table_name,
        "target": fit.target,
        "task": fit.task,
        "date": date.today().isoformat(),
        "versions": _versions(),
        "settings": fit.settings,
        "n_rows": len(fit.X),
        "training_sizes": fit.training_sizes,
        "held_out": fit.held_out.description,
        "drawn_units": fit.held_out.drawn_units,
        "classes": [] if fit.classes is None else [str(label) for label in fit.classes],
        "positive": "" if fit.decision is None else str(fit.positive),
        "threshold": None if fit.decision is None else fit.decision.threshold,
        "source_of_threshold": fit.source_of_threshold,
        "scores": [_without_nan(row) for row in fit.score_rows],
        "columns": _column_rows(fit),
        "findings": fit.findings[:_MAX_COLUMNS].to_dicts(),
        "warnings": fit.warnings,
    }


def _without_nan(row: dict[str, object]) -> dict[str, object]:
    """Replace NaN, which JSON does not have, by None, and convert NumPy's numbers to Python's."""
    return {
        name: None
        if isinstance(cell, float | np.floating) and np.isnan(cell)
        else float(cell)
        if isinstance(cell, np.floating)
        else cell
        for name, cell in row.items()
    }


def _versions() -> str:
    return (
        f"mddf {mddf.__version__}, scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}"
    )


def _score_rows(fit: EvaluatedFit) -> list[dict[str, object]]:
    held_out = fit.held_out
    y = held_out.y
    intervals = scores.intervals(
        y,
        held_out.predictions,
        fit.classes,
        decision=fit.decision,
        groups=held_out.groups,
        n_folds=held_out.n_folds,
    )
    without_features = scores.baseline_predictions(fit.train.y, len(y), fit.classes)
    baseline = scores.evaluate(y, without_features, fit.classes, fit.decision)
    return [
        {
            "score": name,
            "model": fit.scores[name],
            "95 % interval": "{:.4g} to {:.4g}".format(*intervals[name]),
            "without features": baseline[name],
            "better is": "greater" if greater_is_better else "smaller",
        }
        for name, greater_is_better in scores.directions(fit.classes, fit.decision).items()
    ]


def _class_rows(fit: EvaluatedFit) -> list[dict[str, object]]:
    """Scores of each class; at the threshold, if there is one."""
    if fit.classes is None or len(fit.classes) > _MAX_CLASSES_OF_CONFUSION:
        return []
    decision = fit.decision or scores.Decision(0)
    predictions = fit.held_out.predictions
    predicted = decision.predict(predictions, fit.classes)
    return scores.scores_by_class(fit.held_out.y, predictions, predicted, fit.classes)


def _axes(width: float = 4.2, height: float = 3.6) -> tuple[Figure, Axes]:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")


def _classification_charts(fit: EvaluatedFit) -> list[_Chart]:
    classes = fit.classes
    assert classes is not None
    charts = [_calibration_chart(fit)]
    if fit.decision is not None and len(np.unique(fit.held_out.y)) == 2:
        charts.append(_roc_chart(fit))
        charts.append(_precision_recall_chart(fit))
    if len(classes) <= _MAX_CLASSES_OF_CONFUSION:
        charts.append(_confusion_chart(fit))
    return charts


def _precision_recall_chart(fit: EvaluatedFit) -> _Chart:
    """Precision and recall of the positive class, with its threshold as a point."""
    from sklearn.metrics import PrecisionRecallDisplay, precision_score, recall_score

    assert fit.classes is not None
    assert fit.decision is not None
    is_positive = fit.held_out.y == fit.positive
    predictions = fit.held_out.predictions
    figure, axis = _axes()
    PrecisionRecallDisplay.from_predictions(
        is_positive, predictions[:, fit.decision.column], ax=axis, name="model",
        pos_label=True, plot_chance_level=True, chance_level_kw={"label": "without features"},
    )  # fmt: skip
    caption = f"Precision and recall; the positive class is {fit.positive}"
    if fit.decision.threshold is not None:
        flagged = fit.decision.predict(predictions, fit.classes) == fit.positive
        point = (
            recall_score(is_positive, flagged),
            precision_score(is_positive, flagged, zero_division=0),
        )
        axis.plot(*point, "o", label=f"threshold {fit.decision.threshold:.3g}")
    axis.set(xlabel="recall", ylabel="precision")
    axis.legend(loc="best")
    return _Chart(pages.svg(figure), caption, heading=f"Precision and recall of {fit.positive}")


def _calibration_chart(fit: EvaluatedFit) -> _Chart:
    """Calibration of the positive one of two classes, or of the predicted one of several."""
    from sklearn.calibration import CalibrationDisplay

    y = fit.held_out.y
    probabilities = fit.held_out.predictions
    classes = fit.classes
    assert classes is not None
    figure, axis = _axes()
    if fit.decision is not None:
        confidence = probabilities[:, fit.decision.column]
        is_event = y == fit.positive
        axis_labels = {"xlabel": f"probability of {fit.positive}", "ylabel": "share of the rows"}
    else:
        confidence = probabilities.max(axis=1)
        is_event = y == classes[probabilities.argmax(axis=1)]
        axis_labels = {"xlabel": "probability of the predicted class", "ylabel": "share correct"}
    display = CalibrationDisplay.from_predictions(
        is_event, confidence, pos_label=True, n_bins=_CALIBRATION_BINS, strategy="quantile",
        ax=axis, name="model",
    )  # fmt: skip
    # Probabilities of a rare class fill the chart.
    most = 1.05 * max(display.prob_pred.max(), display.prob_true.max())
    axis.set(xlim=(0, min(most, 1.0)), ylim=(0, min(most, 1.0)), **axis_labels)
    caption = (
        f"Calibration of {len(display.prob_true)} groups of held-out rows; the dotted line is "
        "perfect calibration"
    )
    return _Chart(pages.svg(figure), caption, heading="Calibration of the probabilities")


def _roc_chart(fit: EvaluatedFit) -> _Chart:
    from sklearn.metrics import RocCurveDisplay

    assert fit.decision is not None
    probability = fit.held_out.predictions[:, fit.decision.column]
    figure, axis = _axes()
    RocCurveDisplay.from_predictions(
        fit.held_out.y == fit.positive, probability, ax=axis, name="model"
    )
    axis.set(xlabel="false positive rate", ylabel="true positive rate")
    return _Chart(pages.svg(figure), f"ROC curve; the positive class is {fit.positive}")


def _confusion_chart(fit: EvaluatedFit) -> _Chart:
    """Confusion matrix of the predicted classes, at the threshold if there is one."""
    from sklearn.metrics import ConfusionMatrixDisplay

    classes = fit.classes
    assert classes is not None
    decision = fit.decision or scores.Decision(0)
    predicted = decision.predict(fit.held_out.predictions, classes)
    height = 3 + 0.3 * len(classes)
    figure, axis = _axes(height + 1, height)
    ConfusionMatrixDisplay.from_predictions(
        fit.held_out.y, predicted, labels=classes, ax=axis, cmap="cividis",
        xticks_rotation="vertical", include_values=len(classes) <= _MAX_CLASSES_WITH_COUNTS,
    )  # fmt: skip
    caption = "Confusion matrix of the held-out rows"
    if decision.threshold is not None:
        caption += f" at a threshold of {decision.threshold:.4g} for {fit.positive}"
    return _Chart(pages.svg(figure), caption, heading="Confusion of classes")


def _regression_chart(y: np.ndarray, predictions: np.ndarray) -> _Chart:
    from sklearn.metrics import PredictionErrorDisplay

    figure, axis = _axes()
    PredictionErrorDisplay.from_predictions(
        y, predictions, kind="actual_vs_predicted", ax=axis, subsample=1000, random_state=0
    )
    caption = "Targets and predictions of at most 1000 held-out rows"
    return _Chart(pages.svg(figure), caption, heading="Predictions")


def _importances_chart(fit: EvaluatedFit) -> _Chart:
    display = ImportancesDisplay.from_estimator(
        fit.model, fit.test.X, fit.test.y, random_state=0, n_repeats=_REPEATS_OF_IMPORTANCES,
        max_samples=_ROWS_OF_IMPORTANCES,
    )  # fmt: skip
    rows_of = "" if fit.held_out.n_folds == 1 else " of the first fold"
    caption = f"Importances on held-out rows{rows_of}: {display.found.measure}"
    return _Chart(pages.svg(display.figure_), caption)


def _member_rows(model: BaseEstimator) -> list[dict[str, object]]:
    """Losses and weights of the members of a deep forest; other models have none."""
    return [
        {
            name.replace("_", " "): cell
            for name, cell in row.items()
            if name not in _HIDDEN_OF_MEMBERS
        }
        for row in getattr(model, "leaderboard_", [])
    ]


def _column_rows(fit: EvaluatedFit) -> list[dict[str, str]]:
    return [
        {
            "column": column.name,
            "kind": column.kind,
            "content": _content(fit.X[column.name]),
            "missing": f"{100 * column.missing_share:.1f} %",
        }
        for column in fit.schema.columns[:_MAX_COLUMNS]
    ]


def _content(column: pd.Series) -> str:
    if str(column.dtype) == "category":
        most_frequent = column.value_counts().head(3).index.astype(str)
        more = ", …" if column.nunique() > len(most_frequent) else ""
        return f"{column.nunique()} values: {', '.join(most_frequent)}{more}"
    if column.isna().all():
        return "nothing"
    if column.dtype.kind == "b":
        return f"{100 * column.mean():.1f} % true"
    return f"{pages.cell_text(column.min())} to {pages.cell_text(column.max())}"
