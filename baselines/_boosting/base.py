"""Base class of the boosting classifiers: labels, early stopping, predictions."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.parallel import progress_bar
from mddf._base.serialization import Saved
from mddf._base.types import TableLike
from mddf._base.validation import (
    COUNT,
    JOBS,
    MOST,
    Within,
    check_lengths,
    fit_context,
    unchanged_on_failure,
)
from mddf._binning.binner import Binner
from mddf._fitted.base_estimators import count_unknown_categories
from mddf._input.table_warnings import TableWarnings
from mddf._input.target_copies import TargetCopies
from mddf._layers.margin_loss import class_margins
from mddf._targets.target_validation import all_weights, encode_labels, known_labels

from .columns import LearnerColumns, as_numbers, read_rows
from .early_stopping import Monitor
from .ensemble import Ensemble, History, Round, collect_history
from .probabilities import NEAR_TOP, probabilities, put_ahead
from .weak_learners import FloatArray, GivenLearners, Learners, WeakTrees


class BaseBoostingClassifier(Saved, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of the boosting classifiers.

    A subclass implements :meth:`_boost` for labels in {-1, +1}, by a stream of rounds for
    :meth:`_collect_rounds` or by a compiled run of all rounds; :meth:`_loss`, the loss of margins
    on the validation set; and :meth:`_link`, which turns f into probabilities. More than two
    classes are handled by one-vs-rest.
    """

    _parameter_constraints: dict[str, Any] = {
        "n_estimators": [COUNT],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Within(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Within(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": JOBS,
        "verbose": ["verbose"],
    }

    _binner: Binner
    # None if weak learners get the numbers of the table as they are.
    _columns: LearnerColumns | None
    n_features_in_: int
    n_estimators: int
    categorical_features: npt.ArrayLike | None
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    verbose: int

    @abstractmethod
    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        """Boost with labels in {-1, +1} and positive weights; return the vote and its history."""

    @abstractmethod
    def _loss(self, margin: FloatArray) -> FloatArray:
        """Loss of the margins y f(x), for early stopping."""

    @abstractmethod
    def _link(self) -> Any:
        """Return the name of the link function, or a loss; see :func:`probabilities`."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where missing, or a data frame; `categorical_features` determines which
            columns are categories. Splits separate one category from the others. Missing values go
            to the side of a threshold that is better for training; in columns without missing
            values in training, they count as the median.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; None means 1 for all. A weight of k is the same as k copies of a
            row. Rows of weight 0 are left out.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is invalid, if weights are negative, all 0 or too large, or if fewer than two
            classes have a positive weight.
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> None:
        # 1. Read X, y and the weights.
        table = read_rows(self, X, reset=True)
        check_lengths(table, y=y)
        classes, codes = encode_labels(y)
        weight = all_weights(sample_weight, table.shape[0])
        # 2. Convert the table to numbers, and leave out rows without weight.
        has_weight = has_share(weight)
        binner = Binner(self.categorical_features)
        counted = None if has_weight.all() else has_weight.astype(float)
        copies = TargetCopies(codes, are_classes=True)
        warnings = TableWarnings(table, counted, copies, has_groups=True)
        binner.learn_kinds(table, counted, warnings)
        X = as_numbers(binner, table)
        if not has_weight.all():
            X = X[has_weight]
            weight = weight[has_weight]
            present, codes = np.unique(codes[has_weight], return_inverse=True)
            classes = classes[present]
        self.classes_ = classes
        self._binner = binner
        self._columns = None
        # 3. Replace missing values and categories, which trees do not split.
        if self._grows_trees():
            n_codes = {c: encoder.n_codes for c, encoder in binner.encoders_.items()}
            self._columns = LearnerColumns.learn(X, weight, n_codes)
            X = self._columns.transform(X)
        # 4. Boost.
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes with positive weight;"
                f" got {len(classes)} class, {short(classes.tolist())}"
            )
        if len(classes) == 2:
            self._fit_two_classes(X, 2.0 * codes - 1.0, weight)
        else:
            self._fit_one_vs_rest(X, codes, weight)

    def _grows_trees(self) -> bool:
        """Whether weak learners are trees, which need columns of finite numbers."""
        return True

    def _fit_two_classes(self, X: FloatArray, signs: FloatArray, weight: FloatArray) -> None:
        monitor = None
        if self.early_stopping:
            seed = check_random_state(self.random_state).randint(MOST)
            train, validation = self._split_rows(signs, seed)
            monitor = Monitor(
                X[validation],
                signs[validation],
                weight[validation],
                loss=self._loss,
                patience=self.n_iter_no_change,
            )
            X = X[train]
            signs = signs[train]
            weight = weight[train]
        ensemble, history = self._boost(np.ascontiguousarray(X), signs, weight, monitor)
        if monitor is not None:
            monitor.replay(ensemble)
            ensemble = ensemble.first_rounds(monitor.best_round)
            history = {key: values[: monitor.best_round] for key, values in history.items()}
            losses = monitor.losses[: monitor.best_round]
            history["validation_loss"] = np.array(losses, dtype=np.float64)
        self.ensembles_ = [ensemble]
        self.history_ = history
        self.n_iter_ = ensemble.n_rounds

    def _collect_rounds(
        self, rounds: Iterator[Round], monitor: Monitor | None, notes: tuple[str, ...]
    ) -> tuple[Ensemble, History]:
        """Boost until `rounds` ends, the monitor stops, or there are `n_estimators` rounds.

        `notes` are the names of the rounds' notes that the history contains.
        """
        collected: list[Round] = []
        with self._progress_bar() as bar:
            for _, boosting_round in zip(range(self.n_estimators), rounds, strict=False):
                collected.append(boosting_round)
                bar.update()
                if monitor is not None and monitor.stops(collected):
                    break
        return Ensemble.from_rounds(collected), collect_history(collected, notes)

    def _run_kernel(
        self,
        boost: Callable[..., tuple[Any, ...]],
        learners: Learners,
        values: NDArray[Any],
        *options: Any,
    ) -> tuple[Ensemble, list[NDArray[Any]]]:
        """Run all rounds in the kernel; return the vote, and arrays with an entry per round.

        The first array has the steps; `boost` is a function of `mddf._core`.
        """
        if len(values) == 0:
            return Ensemble.from_steps(WeakTrees.concatenate([]), [], []), [np.empty(0)] * 4
        with self._progress_bar() as bar:
            learner, *round_arrays = boost(values, *options, bar.update)
            bar.update(len(learner) - bar.n)
        chosen, learner = np.unique(learner, return_inverse=True)
        ensemble = Ensemble.from_steps(learners.take(chosen), learner, round_arrays[0])
        return ensemble, round_arrays

    def _split_rows(
        self, signs: FloatArray, seed: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Split rows into training and validation rows, with both classes in each."""
        try:
            return train_test_split(
                np.arange(len(signs)),
                test_size=self.validation_fraction,
                random_state=seed,
                stratify=signs,
            )
        except ValueError as error:
            n_positive = int((signs > 0).sum())
            raise ValueError(
                f"early_stopping with validation_fraction={self.validation_fraction!r} needs"
                " training and validation rows of every class, got"
                f" {n_positive} rows of one class and {len(signs) - n_positive} of all others"
            ) from error

    def _fit_one_vs_rest(self, X: FloatArray, codes: np.ndarray, weight: FloatArray) -> None:
        seed = check_random_state(self.random_state).randint(MOST)
        binary = clone(self).set_params(
            n_jobs=None, verbose=0, random_state=int(seed), categorical_features=None
        )
        with config_context(enable_metadata_routing=True):
            binary.set_fit_request(sample_weight=True)
            n_jobs = None if self.n_jobs is None else min(int(self.n_jobs), len(self.classes_))
            one_vs_rest = OneVsRestClassifier(binary, n_jobs=n_jobs, verbose=int(self.verbose))
            one_vs_rest.fit(X, codes, sample_weight=weight)
        self.ensembles_ = [fitted.ensembles_[0] for fitted in one_vs_rest.estimators_]
        self.history_ = _stack_histories([fitted.history_ for fitted in one_vs_rest.estimators_])
        self.n_iter_ = max(ensemble.n_rounds for ensemble in self.ensembles_)

    def __sklearn_is_fitted__(self) -> bool:
        # By default, any attribute that ends in _ would count, also the parameter lambda_.
        return hasattr(self, "ensembles_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield "n_iter_", self.n_iter_, max(ensemble.n_rounds for ensemble in self.ensembles_)

    def _progress_bar(self) -> Any:
        """Progress bar of `n_estimators` rounds, shown if verbose."""
        name = type(self).__name__
        return progress_bar(self.n_estimators, name, "round", shown=self.verbose)

    def unknown_categories(self, X: TableLike) -> dict[int | str, int]:
        """Count the rows whose category was not in the training data, by column.

        Predictions treat such a category as missing.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        dict
            From each column of categories to its number of rows with an unknown category.
        """
        return count_unknown_categories(self, X)

    def _read_new_rows(self, X: TableLike) -> FloatArray:
        check_is_fitted(self)
        numbers = as_numbers(self._binner, read_rows(self, X, reset=False), is_new=True)
        return numbers if self._columns is None else self._columns.transform(numbers)

    def decision_function(self, X: TableLike) -> np.ndarray:
        """Return f(x) = sum_j alpha_j h_j(x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``. With more, one column per class.
        """
        X = self._read_new_rows(X)
        return _stack_decisions([ensemble.decision(X) for ensemble in self.ensembles_])

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the predicted labels.

        With two classes, f(x) > 0 means ``classes_[1]``. A model without any round, because its
        penalties forbid every learner, also predicts ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Return the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._probabilities(self.decision_function(X))

    def _codes(self, decision: FloatArray) -> NDArray[np.int64]:
        if decision.ndim == 1:
            return ((decision > 0) | (self.n_iter_ == 0)).astype(int)
        return decision.argmax(axis=1)

    def _labels(self, decision: FloatArray) -> NDArray[Any]:
        return self.classes_[self._codes(decision)]

    def _probabilities(self, decision: FloatArray) -> FloatArray:
        p = probabilities(decision, self._link())
        return put_ahead(p, self._codes(decision)) if self.n_iter_ else p

    def staged_decision_function(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield the result of :meth:`decision_function` after every round.

        With more than two classes, an ensemble that stopped earlier keeps its last value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        array of shape (n_samples,) or (n_samples, n_classes)
            Once for each of the ``n_iter_`` rounds.
        """
        X = self._read_new_rows(X)
        stages = [ensemble.staged_decision(X) for ensemble in self.ensembles_]
        last = [np.zeros(len(X))] * len(stages)
        for _ in range(self.n_iter_):
            last = [next(stage, f) for stage, f in zip(stages, last, strict=True)]
            yield _stack_decisions(last)

    def staged_predict(self, X: TableLike) -> Iterator[NDArray[Any]]:
        """Yield the predicted labels after every round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        array of shape (n_samples,)
        """
        for decision in self.staged_decision_function(X):
            yield self._labels(decision)

    def staged_predict_proba(self, X: TableLike) -> Iterator[FloatArray]:
        """Yield the class probabilities after every round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        array of shape (n_samples, n_classes)
        """
        for decision in self.staged_decision_function(X):
            yield self._probabilities(decision)

    def staged_score(
        self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Iterator[float]:
        """Yield the accuracy after every round, as `sklearn.ensemble.AdaBoostClassifier` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Yields
        ------
        float
        """
        for labels in self.staged_predict(X):
            yield accuracy_score(y, labels, sample_weight=sample_weight)

    def margins(self, X: TableLike, y: npt.ArrayLike, normalize: bool = True) -> np.ndarray:
        """Return the margins of labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels, all among ``classes_``.
        normalize : bool, default=True
            Whether to divide f by the sum of the absolute weights. If the learners have values in
            [-1, 1], the margins then lie in [-1, 1].

        Returns
        -------
        array of shape (n_samples,)
            With two classes, y f(x). With more, half of the difference between f of the right
            class and the largest f of another class.

        Raises
        ------
        ValueError
            If y has a label that was not seen in fit, or not one label per row.
        """
        X = self._read_new_rows(X)
        codes = known_labels(y, self.classes_, len(X))
        decisions = []
        for ensemble in self.ensembles_:
            total = np.abs(ensemble.weights()).sum() if normalize else 1.0
            decisions.append(ensemble.decision(X) / (total if total > 0 else 1.0))
        if len(decisions) == 1:
            return (2 * codes - 1) * decisions[0]
        return class_margins(_stack_decisions(decisions), codes) / 2

    @property
    def estimator_weights_(self) -> FloatArray | list[FloatArray]:
        """Final weight of every learner; with more than two classes, a list with an entry each."""
        check_is_fitted(self)
        weights = [ensemble.weights() for ensemble in self.ensembles_]
        return weights[0] if len(weights) == 1 else weights

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of every feature in the vote, shape (n_features,), with sum 1 (or all 0).

        A tree distributes its absolute weight over its features, in proportion to the gains of its
        splits. With more than two classes, this is the mean over the classes whose vote has any.
        """
        check_is_fitted(self)
        class_shares = []
        for ensemble in self.ensembles_:
            if isinstance(ensemble.learners, GivenLearners):
                raise AttributeError(
                    "feature_importances_ needs trees; given weak learners have no features"
                )
            weights = ensemble.weights()
            if self._columns is None:
                shares = ensemble.learners.importances(weights, self.n_features_in_)
            else:
                n_columns = len(self._columns.sources)
                column_shares = ensemble.learners.importances(weights, n_columns)
                shares = self._columns.source_shares(column_shares, self.n_features_in_)
            class_shares.append(shares)
        with_splits = [shares for shares in class_shares if shares.any()]
        return np.mean(with_splits or class_shares, axis=0)


def has_share(weight: FloatArray) -> NDArray[np.bool_]:
    """Mark rows whose share of the total weight is above 0, also after rounding."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"sample_weight must have a finite sum; got weights up to {float(weight.max())!r}"
        )
    return weight / total > 0 if total > 0 else np.zeros(len(weight), dtype=bool)


def _stack_decisions(decisions: list[FloatArray]) -> FloatArray:
    """Stack the decision of each class as a column; values near the largest one become ties."""
    if len(decisions) == 1:
        return decisions[0]
    f = np.column_stack(decisions)
    top = f.max(axis=1, keepdims=True)
    return np.where(top - f <= NEAR_TOP * (1 + np.abs(top)), top, f)


def _stack_histories(histories: list[History]) -> History:
    """Make a row for each class; rounds after a class's last one are NaN."""
    n_rounds = max(len(history["objective"]) for history in histories)
    stacked = {}
    for key in histories[0]:
        rows = np.full((len(histories), n_rounds), np.nan)
        for row, history in zip(rows, histories, strict=True):
            row[: len(history[key])] = history[key]
        stacked[key] = rows
    return stacked
