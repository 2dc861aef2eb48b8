"""The report of a fit: scores, importances, calibration, what was chosen, the columns."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier

import mddf
from mddf.explain import ImportancesDisplay

from . import pages, scores
from .extras import need

_MOST_CLASSES = 30
_MOST_COLUMNS = 200


@dataclass(frozen=True)
class Study:
    """A fit that is reported: the table, the model of the rows that were not held out, both parts.

    `settings` are the parameters that the user set, `warned` the texts of the fit's warnings.
    """

    table: str
    target: str
    task: str
    X: Any
    model: Any
    train: tuple[Any, np.ndarray]
    test: tuple[Any, np.ndarray]
    seconds: float
    warned: list[str]
    settings: dict[str, str]


def check_extras() -> None:
    """End the command if there is nothing to draw with."""
    need("matplotlib", "commands").use("agg")


def of_fit(study: Study, saved_as: str) -> tuple[str, str]:
    """The page, and its scores in a line."""
    X, y = study.test
    classes = getattr(study.model, "classes_", None) if is_classifier(study.model) else None
    predicted = study.model.predict(X) if classes is None else study.model.predict_proba(X)
    found = scores.scores(y, predicted, classes)
    parts = [
        _summary(study),
        pages.heading(f"Scores on {counted(len(y), 'held-out row')}"),
        _scores(study, predicted, classes, found),
        *(
            _of_classes(y, predicted, classes)
            if classes is not None
            else _of_numbers(y, predicted)
        ),
        pages.heading("Which features the model uses"),
        _importances(study),
        *_chosen(study.model),
        *_warnings(study.warned),
        pages.heading("The columns"),
        _columns(study.X),
        pages.heading("How to go on"),
        pages.code(_usage(study, saved_as)),
        pages.paragraph(_versions(), "note"),
    ]
    title = f"{study.target}: {study.task} by {type(study.model).__name__}"
    return pages.page(title, parts), ", ".join(
        f"{name} {value:.4g}" for name, value in found.items() if np.isfinite(value)
    )


def counted(n: int, what: str) -> str:
    """A number of things."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _summary(study: Study) -> str:
    n_held = len(study.test[1])
    settings = ", ".join(f"{name}={value}" for name, value in study.settings.items())
    return pages.paragraph(
        f"{study.table}: {len(study.X)} rows and {study.X.shape[1]} features, target "
        f"{study.target!r}. Fitted to {len(study.train[1])} rows in {study.seconds:.1f} s, scored "
        f"on {n_held} others ({settings}; all else at its default)."
    )


def _scores(study: Study, predicted: np.ndarray, classes: Any, found: dict[str, float]) -> str:
    y = study.test[1]
    ranges = scores.intervals(y, predicted, classes)
    blind = scores.scores(y, scores.constant(study.train[1], len(y), classes), classes)
    better = {True: "greater", False: "smaller"}
    rows = [
        (name, found[name], "{:.4g} to {:.4g}".format(*ranges[name]), blind[name], better[up])
        for name, up in scores.names(classes).items()
    ]
    head = ["score", "model", "95 % interval", "without features", "better is"]
    note = (
        f"Intervals: from {scores.N_DRAWS} draws of held-out rows with replacement. Without "
        "features: the shares of the classes, or the mean of the target, in training."
    )
    return pages.table(head, rows) + pages.paragraph(note, "note")


def _axes(width: float = 5, height: float = 4) -> tuple[Any, Any]:
    pyplot = need("matplotlib.pyplot", "commands")
    return pyplot.subplots(figsize=(width, height), layout="constrained")


def _of_classes(y: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> list[str]:
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay

    likely = classes[predicted.argmax(axis=1)]
    parts = [pages.heading("Are the probabilities right?")]
    figure, axis = _axes()
    two = len(classes) == 2
    sure = predicted[:, 1] if two else predicted.max(axis=1)
    right = y == classes[1] if two else likely == y
    n_bins = int(np.clip(len(y) // 30, 2, 10))
    CalibrationDisplay.from_predictions(
        right, sure, n_bins=n_bins, strategy="quantile", ax=axis, name="model", pos_label=True
    )
    of = f"of {classes[1]!s}" if two else "of the class predicted"
    axis.set(xlabel=f"probability {of}", ylabel="share of the rows" if two else "share right")
    parts.append(pages.picture(figure, f"Calibration, by {n_bins} groups of held-out rows"))
    if two and len(np.unique(y)) == 2:
        figure, axis = _axes()
        RocCurveDisplay.from_predictions(y == classes[1], sure, ax=axis, name="model")
        axis.set(xlabel="false positive rate", ylabel="true positive rate")
        parts.append(pages.picture(figure, f"ROC curve, positive is {classes[1]!s}"))
    if len(classes) <= _MOST_CLASSES:
        parts.append(pages.heading("Which classes are taken for which"))
        size = 3 + 0.3 * len(classes)
        figure, axis = _axes(size + 1, size)
        ConfusionMatrixDisplay.from_predictions(
            y, likely, labels=classes, ax=axis, cmap="cividis", xticks_rotation="vertical",
            include_values=len(classes) <= 12,
        )  # fmt: skip
        parts.append(pages.picture(figure, "Confusion matrix of the held-out rows"))
    return parts


def _of_numbers(y: np.ndarray, predicted: np.ndarray) -> list[str]:
    from sklearn.metrics import PredictionErrorDisplay

    figure, axis = _axes()
    PredictionErrorDisplay.from_predictions(
        y, predicted, kind="actual_vs_predicted", ax=axis, subsample=1000, random_state=0
    )
    caption = "Targets and predictions of at most 1000 held-out rows"
    return [pages.heading("Predictions"), pages.picture(figure, caption)]


def _importances(study: Study) -> str:
    X, y = study.test
    if len(y) < 2:
        return pages.paragraph("At least two held-out rows are needed to measure importances.")
    display = ImportancesDisplay.from_estimator(
        study.model, X, y, random_state=0, n_repeats=3, max_samples=500
    )
    found = display.found
    return pages.picture(display.figure_, f"Importances on held-out rows: {found.measure}")


def _chosen(model: Any) -> list[str]:
    """Members with their losses and weights, and why there are no more layers."""
    board = getattr(model, "leaderboard_", None)
    if board is None:
        return []
    columns = [name for name in board[0] if name != "bytes"]
    rows = [[entry[name] for name in columns] for entry in board]
    parts = [
        pages.heading("What was chosen"),
        pages.table([name.replace("_", " ") for name in columns], rows),
        pages.paragraph(
            "Losses are out-of-fold, on the training rows; weights are of the average."
        ),
    ]
    reason = getattr(model, "stop_reason_", None)
    return [*parts, pages.paragraph(f"Layers: {model.n_layers_}; {reason}.")] if reason else parts


def _warnings(warned: list[str]) -> list[str]:
    if not warned:
        return []
    return [pages.heading("Warnings of the fit"), *(pages.paragraph(text) for text in warned)]


def _columns(X: Any) -> str:
    rows = []
    for name in list(X)[:_MOST_COLUMNS]:
        column = X[name]
        if str(column.dtype) == "category":
            most = column.value_counts().head(3).index.astype(str)
            kind, holds = "category", f"{column.nunique()} values: {', '.join(most)}"
        elif column.isna().all():
            kind, holds = "number", "nothing"
        else:
            kind, holds = "number", f"{column.min():.6g} to {column.max():.6g}"
        rows.append((name, kind, holds, f"{100 * column.isna().mean():.1f} %"))
    found = pages.table(["column", "kind", "holds", "missing"], rows)
    n_more = X.shape[1] - len(rows)
    return found + (pages.paragraph(f"... and {n_more} more.", "note") if n_more else "")


def _usage(study: Study, saved_as: str) -> str:
    return (
        f"mddf predict {saved_as} new.csv --out predictions.csv\n"
        f"mddf explain {saved_as} new.csv --out explained.html"
    )


def _versions() -> str:
    return (
        f"{date.today().isoformat()}; mddf {mddf.__version__}, scikit-learn "
        f"{sklearn.__version__}, NumPy {np.__version__}, Python {platform.python_version()}."
    )
