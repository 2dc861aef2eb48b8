"""What all boosting classifiers share: validation, labels, prediction, early stopping."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.parallel import progress_bar
from mddf._base.serialization import Saved
from mddf._base.validation import COUNT, JOBS, MOST, Within, check_lengths, unchanged_on_failure
from mddf._binning.binner import Binner
from mddf._ensemble.margin_loss import class_margins
from mddf._fitted.base_estimators import CountsUnknownCategories
from mddf._targets.target_validation import all_weights, encode_labels, known_labels

from .columns import SeenColumns, as_numbers, read_rows
from .early_stopping import Monitor
from .ensemble import Ensemble, History, Round, history_of
from .probabilities import NEAR_TOP, probabilities, put_ahead
from .weak_learners import FloatArray, GivenLearners, Learners, WeakTrees


class BaseBoostingClassifier(
    CountsUnknownCategories, Saved, ClassifierMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of the boosting classifiers.

    A subclass implements :meth:`_boost` for labels in {-1, +1}: a stream of rounds for
    :meth:`_follow`, or a compiled run of all rounds. It says with :meth:`_loss` what a margin
    costs on a validation share and with :meth:`_link` how f becomes probabilities. More than two
    classes are left to one-vs-rest.
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
    _columns: SeenColumns | None
    n_features_in_: int
    n_estimators: int
    categorical_features: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    random_state: Any
    n_jobs: int | None
    verbose: int

    @abstractmethod
    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        """Learn from labels in {-1, +1} and positive weights; return the vote and its history."""

    @abstractmethod
    def _loss(self, margin: FloatArray) -> FloatArray:
        """Loss of the margins y f(x), for early stopping."""

    @abstractmethod
    def _link(self) -> str:
        """By which name :func:`probabilities` knows how f becomes probabilities."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where missing, or a data frame, whose columns of categories or text are
            taken as `categorical_features` says. Trees ask whether a category is there; missing
            values go to the side of a threshold that is better for training, and where fit saw
            none in a column they count as its median.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; None means 1 for all. A weight of k equals k copies of a row.
            Rows of weight 0 are left out altogether.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is not as described, weights are negative, all are 0 or their sum overflows, or
            fewer than two classes have positive weight.
        """
        with unchanged_on_failure(self):
            self._learn(X, y, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        table = read_rows(self, X, reset=True)
        check_lengths(table, y=y)
        classes, codes = encode_labels(y)
        weight = all_weights(sample_weight, table.shape[0])
        used = _used_rows(weight)
        binner = Binner(self.categorical_features)
        binner.learn_kinds(table, None if used.all() else used.astype(float))
        X = as_numbers(binner, table)
        if not used.all():
            X, weight = X[used], weight[used]
            present, codes = np.unique(codes[used], return_inverse=True)
            classes = classes[present]
        self.classes_ = classes
        self._binner, self._columns = binner, None
        if self._grows_trees():
            of_codes = {c: encoder.n_codes for c, encoder in binner.encoders_.items()}
            self._columns = SeenColumns.learn(X, weight, of_codes)
            X = self._columns.of(X)
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
        """Whether weak learners are trees, which see columns of finite numbers alone."""
        return True

    def _fit_two_classes(self, X: Any, signs: Any, weight: Any) -> None:
        monitor = None
        if self.early_stopping:
            seed = check_random_state(self.random_state).randint(MOST)
            kept, held = self._share(signs, seed)
            monitor = Monitor(
                X[held], signs[held], weight[held], self._loss, self.n_iter_no_change
            )
            X, signs, weight = X[kept], signs[kept], weight[kept]
        ensemble, history = self._boost(np.ascontiguousarray(X), signs, weight, monitor)
        if monitor is not None:
            monitor.replay(ensemble)
            ensemble = ensemble.first_rounds(monitor.best_round)
            history = {key: values[: monitor.best_round] for key, values in history.items()}
            validation = monitor.losses[: monitor.best_round]
            history["validation_loss"] = np.array(validation, dtype=np.float64)
        self.ensembles_ = [ensemble]
        self.history_ = history
        self.n_iter_ = ensemble.n_rounds

    def _follow(
        self, rounds: Iterator[Round], monitor: Monitor | None, notes: tuple[str, ...]
    ) -> tuple[Ensemble, History]:
        """Run a stream of rounds until it ends, the monitor stops it or their number is reached.

        `notes` are the names under which the rounds go into the history.
        """
        made: list[Round] = []
        with self._progress_bar() as bar:
            for _, last in zip(range(self.n_estimators), rounds, strict=False):
                made.append(last)
                bar.update()
                if monitor is not None and monitor.stops(made):
                    break
        return Ensemble.of_rounds(made), history_of(made, notes)

    def _run(
        self,
        path: Callable[..., tuple[Any, ...]],
        learners: Learners,
        values: NDArray[Any],
        *options: Any,
    ) -> tuple[Ensemble, list[NDArray[Any]]]:
        """Run a compiled path over the learners' values; return also its columns about rounds."""
        if len(values) == 0:
            return Ensemble.of_steps(WeakTrees.joined([]), [], []), [np.empty(0)] * 4
        with self._progress_bar() as bar:
            learner, *columns = path(values, *options, bar.update)
            bar.update(len(learner) - bar.n)
        chosen, learner = np.unique(learner, return_inverse=True)
        return Ensemble.of_steps(learners.take(chosen), learner, columns[0]), columns

    def _share(self, signs: Any, seed: Any) -> Any:
        """Rows to learn from and rows to watch, with both classes among each."""
        try:
            return train_test_split(
                np.arange(len(signs)),
                test_size=self.validation_fraction,
                random_state=seed,
                stratify=signs,
            )
        except ValueError as error:
            n_ours = int((signs > 0).sum())
            raise ValueError(
                f"early_stopping with validation_fraction={self.validation_fraction!r} needs rows"
                f" of every class to learn from and to watch, got {n_ours} rows of one class and"
                f" {len(signs) - n_ours} of all others"
            ) from error

    def _fit_one_vs_rest(self, X: Any, codes: np.ndarray, weight: Any) -> None:
        seed = check_random_state(self.random_state).randint(MOST)
        inner = clone(self).set_params(
            n_jobs=None, verbose=0, random_state=int(seed), categorical_features=None
        )
        with config_context(enable_metadata_routing=True):
            inner.set_fit_request(sample_weight=True)
            n_jobs = None if self.n_jobs is None else min(int(self.n_jobs), len(self.classes_))
            rest = OneVsRestClassifier(inner, n_jobs=n_jobs, verbose=int(self.verbose))
            rest.fit(X, codes, sample_weight=weight)
        self.ensembles_ = [fitted.ensembles_[0] for fitted in rest.estimators_]
        self.history_ = _stack([fitted.history_ for fitted in rest.estimators_])
        self.n_iter_ = max(ensemble.n_rounds for ensemble in self.ensembles_)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.__sklearn_is_fitted__() and "_binner" not in vars(self):  # of version 0.1
            self._binner = Binner.of_numbers(self.n_features_in_)
            self._columns = SeenColumns.plain(self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        # By default any attribute that ends in _ would count, such as the parameter lambda_.
        return hasattr(self, "ensembles_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _exported(self) -> Any:
        """What `mddf.export.to_onnx` reads."""
        from .graph import VoteGraph

        check_is_fitted(self)
        return VoteGraph(self)

    def _counts(self) -> Iterator[Any]:
        yield "n_iter_", self.n_iter_, max(ensemble.n_rounds for ensemble in self.ensembles_)

    def _progress_bar(self) -> Any:
        """Bar of `n_estimators` rounds, shown when verbose."""
        name = type(self).__name__
        return progress_bar(self.n_estimators, name, "round", shown=self.verbose)

    def _validated(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        numbers = as_numbers(self._binner, read_rows(self, X, reset=False), is_new=True)
        return numbers if self._columns is None else self._columns.of(numbers)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) = sum_j alpha_j h_j(x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; else one column per class.
        """
        X = self._validated(X)
        return _columns([ensemble.decision(X) for ensemble in self.ensembles_])

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels, shape (n_samples,).

        With two classes f(x) > 0 means ``classes_[1]``; a model without a single round, whose
        penalties forbid every learner, predicts ``classes_[1]`` too.
        """
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, shape (n_samples, n_classes)."""
        return self._probabilities(self.decision_function(X))

    def _codes(self, decision: Any) -> Any:
        if decision.ndim == 1:
            return ((decision > 0) | (self.n_iter_ == 0)).astype(int)
        return decision.argmax(axis=1)

    def _labels(self, decision: Any) -> Any:
        return self.classes_[self._codes(decision)]

    def _probabilities(self, decision: Any) -> Any:
        p = probabilities(decision, self._link())
        return put_ahead(p, self._codes(decision)) if self.n_iter_ else p

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield what :meth:`decision_function` returns after every round.

        With more than two classes an ensemble that stopped earlier keeps its last value.
        """
        X = self._validated(X)
        stages = [ensemble.staged_decision(X) for ensemble in self.ensembles_]
        last = [np.zeros(len(X))] * len(stages)
        for _ in range(self.n_iter_):
            last = [next(stage, f) for stage, f in zip(stages, last, strict=True)]
            yield _columns(last)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Yield the predicted labels after every round."""
        for decision in self.staged_decision_function(X):
            yield self._labels(decision)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Yield the class probabilities after every round."""
        for decision in self.staged_decision_function(X):
            yield self._probabilities(decision)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after every round, as scikit-learn's AdaBoost does."""
        for labels in self.staged_predict(X):
            yield accuracy_score(y, labels, sample_weight=sample_weight)

    def margins(self, X: Any, y: Any, normalize: Any = True) -> np.ndarray:
        """Return the margins of labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels, all among ``classes_``.
        normalize : bool, default=True
            Divide f by the sum of the absolute weights: margins of learners with values in
            [-1, 1] then lie in [-1, 1].

        Returns
        -------
        array of shape (n_samples,)
            y f(x) with two classes; else half of what f of the right class has above the largest
            f of another class.

        Raises
        ------
        ValueError
            If y has a label that was not seen in fit, or not one label per row.
        """
        X = self._validated(X)
        codes = known_labels(y, self.classes_, len(X))
        decisions = []
        for ensemble in self.ensembles_:
            total = np.abs(ensemble.weights()).sum() if normalize else 1.0
            decisions.append(ensemble.decision(X) / (total if total > 0 else 1.0))
        if len(decisions) == 1:
            return (2 * codes - 1) * decisions[0]
        return class_margins(_columns(decisions), codes) / 2

    @property
    def estimator_weights_(self) -> Any:
        """Final weight of every learner; of more than two classes a list of those of each."""
        check_is_fitted(self)
        weights = [ensemble.weights() for ensemble in self.ensembles_]
        return weights[0] if len(weights) == 1 else weights

    @property
    def feature_importances_(self) -> Any:
        """Share of every feature in the vote, shape (n_features,), with sum 1 (or all 0).

        A tree shares its absolute weight among the features it asks, by the gains of its splits;
        with more than two classes the mean over those whose vote asks for any feature.
        """
        check_is_fitted(self)
        shares = []
        for ensemble in self.ensembles_:
            if isinstance(ensemble.learners, GivenLearners):
                raise AttributeError(
                    "feature_importances_ needs trees; given weak learners have no features"
                )
            columns, weights = self._columns, ensemble.weights()
            if columns is None:
                shares.append(ensemble.learners.importances(weights, self.n_features_in_))
            else:
                seen = ensemble.learners.importances(weights, len(columns.sources))
                shares.append(columns.shares(seen, self.n_features_in_))
        with_splits = [share for share in shares if share.any()]
        return np.mean(with_splits or shares, axis=0)


def _used_rows(weight: FloatArray) -> NDArray[np.bool_]:
    """Rows whose share of the total weight is more than 0, also after rounding."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"sample_weight must have a finite sum; got weights up to {float(weight.max())!r}"
        )
    return weight / total > 0 if total > 0 else np.zeros(len(weight), dtype=bool)


def _columns(decisions: list[FloatArray]) -> FloatArray:
    if len(decisions) == 1:
        return decisions[0]
    f = np.column_stack(decisions)
    top = f.max(axis=1, keepdims=True)
    return np.where(top - f <= NEAR_TOP * (1 + np.abs(top)), top, f)


def _stack(histories: list[History]) -> History:
    """One row per class; rounds that a class did not make are NaN."""
    n_rounds = max(len(history["objective"]) for history in histories)
    stacked = {}
    for key in histories[0]:
        rows = np.full((len(histories), n_rounds), np.nan)
        for row, history in zip(rows, histories, strict=True):
            row[: len(history[key])] = history[key]
        stacked[key] = rows
    return stacked
