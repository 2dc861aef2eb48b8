"""Dates whose days since 1970 make the predictions of later rows better."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier

from mddf._base.elementary import log
from mddf._input.calendar import DAYS, MICROSECONDS_PER_DAY, part_name
from mddf._input.chunked import ChunkedFrame
from mddf._input.date_columns import columns_of_date_types, date_columns, microseconds_of
from mddf._input.frame import is_frame
from mddf._resampling.time_order import TimeOrder, time_column
from mddf._targets.target_validation import plain_array

# A trial uses at most so many rows, spread evenly, so that it takes about a second. Not tuned.
_MAX_ROWS = 10_000
_N_TREES = 100
_LEARNING_RATE = 0.1
# A row's probability counts as at least this, so that no single row decides. Not tuned.
_LEAST_PROBABILITY = 1e-6
# Days help if the loss falls by so many standard errors of its mean. Of 40 made tables of 400 or
# 2000 rows without a trend, none fell by more than 2.4; of 20 with one, all fell by 3.6 or more.
_STANDARD_ERRORS = 3.0


def helpful_days(
    estimator: Any, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> list[str]:
    """Names of the dates whose days since 1970 lower the loss on the later rows of each split.

    Days carry the present level of a trend on to later rows, but trees cannot extrapolate them:
    whether they help is decided by boosted trees with and without them, on the splits of a
    `TimeOrder`. Without one, or without a target of one column, no days help.
    """
    cv = estimator.cv
    if not isinstance(cv, TimeOrder) or not (is_frame(X) or isinstance(X, ChunkedFrame)):
        return []
    names = _dates(X, cv, estimator.categorical_features)
    if not names:
        return []
    try:
        targets = plain_array(y, "y")
        if targets.ndim > 1 and targets.shape[1] != 1:
            return []
        trial = _TrialOfDays(estimator, X, targets.ravel(), sample_weight)
        without = trial.losses([])
        return [name for name in names if _are_lower(trial.losses([name]), without)]
    # The fit itself refuses unusable arguments, with better words.
    except (ValueError, TypeError):
        return []


def _dates(X: Any, cv: TimeOrder, categorical_features: Any) -> list[str]:
    head = X.head if isinstance(X, ChunkedFrame) else X
    find = columns_of_date_types if isinstance(X, ChunkedFrame) else date_columns
    all_names = nw.from_native(head, eager_only=True).columns
    names = [all_names[c] for c in find(head, categorical_features)]
    time = time_column(cv)
    order = None if time is None or time.is_feature else time.name_in(all_names)
    return [name for name in names if isinstance(name, str) and name != order]


def _are_lower(losses: np.ndarray, others: np.ndarray) -> bool:
    fall = others - losses
    return bool(fall.mean() > _STANDARD_ERRORS * fall.std() / np.sqrt(len(fall)))


class _TrialOfDays:
    """Losses of small boosted trees on later rows."""

    def __init__(
        self, estimator: Any, X: Any, y: np.ndarray, sample_weight: npt.ArrayLike | None
    ) -> None:
        self.y = y
        self.weight = (
            None if sample_weight is None else plain_array(sample_weight, "sample_weight")
        )
        self.splits = list(estimator.cv.split(X))
        step = -(-len(self.y) // _MAX_ROWS)
        self.rows = np.unique(
            np.concatenate([rows[::step] for rows in _rows_of_blocks(self.splits)])
        )
        self.frame = _frame_of_rows(X, self.rows)
        time = time_column(estimator.cv)
        if time is not None and not time.is_feature:
            self.frame = self.frame.drop([time.name_in(self.frame.columns)])
        self.model = _boosted_trees(estimator)

    def losses(self, names: list[str]) -> np.ndarray:
        """Loss on each later row of the splits, with the days of some dates as features."""
        frame = self.frame
        for name in names:
            days = microseconds_of(frame.to_native(), name) / MICROSECONDS_PER_DAY
            column = nw.new_series(
                part_name(name, DAYS), days, nw.Float64, backend=frame.implementation
            )
            frame = frame.with_columns(column)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit itself warns
            return np.concatenate(
                [self._losses(frame, train, later) for train, later in self.splits]
            )

    def _losses(self, frame: Any, train: np.ndarray, later: np.ndarray) -> np.ndarray:
        places = [np.flatnonzero(np.isin(self.rows, rows)) for rows in (train, later)]
        X_train, X_later = (frame[part].to_native() for part in places)
        train, later = (self.rows[part] for part in places)
        weight = None if self.weight is None else self.weight[train]
        model = clone(self.model).fit(X_train, self.y[train], weight)
        if not is_classifier(model):
            losses = (model.predict(X_later) - self.y[later].astype(float)) ** 2
        else:
            hits = self.y[later][:, None] == model.classes_
            right = (model.predict_proba(X_later) * hits).sum(axis=1)
            losses = -log(np.maximum(right, _LEAST_PROBABILITY))
        return losses if self.weight is None else losses * self.weight[later]


def _rows_of_blocks(splits: list[tuple[np.ndarray, np.ndarray]]) -> Iterator[np.ndarray]:
    """The rows of each block: the first training rows, and all held-out rows."""
    yield splits[0][0]
    for _, later in splits:
        yield later


def _frame_of_rows(X: Any, rows: np.ndarray) -> nw.DataFrame[Any]:
    if not isinstance(X, ChunkedFrame):
        return nw.from_native(X, eager_only=True)[rows]
    columns = [
        nw.from_native(X.native_column(name), eager_only=True)[rows] for name in X.names or ()
    ]
    return nw.concat(columns, how="horizontal")


def _boosted_trees(estimator: Any) -> Any:
    from mddf._gradient.classifier import GradientBoostingClassifier
    from mddf._gradient.regressor import GradientBoostingRegressor

    kind = GradientBoostingClassifier if is_classifier(estimator) else GradientBoostingRegressor
    marked = estimator.categorical_features
    if marked is not None and not isinstance(marked, str):
        # The columns may have other places here.
        marked = "from_dtype"
    return kind(
        max_iter=_N_TREES,
        early_stopping=False,
        learning_rate=_LEARNING_RATE,
        categorical_features=marked,
        n_jobs=estimator.n_jobs,
        random_state=0,
    )
