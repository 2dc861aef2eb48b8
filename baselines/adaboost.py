"""Discrete AdaBoost over trees of least weighted error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mddf import _core
from mddf._base.elementary import exp, log
from mddf._base.messages import short
from mddf._base.validation import Within, finite

from ._boosting.base import BaseBoostingClassifier
from ._boosting.ensemble import Round
from ._boosting.fixed_learners import FromWeakLearners, fixed_learners
from ._boosting.search import LEAST_ERROR, TreeSearch, UsedTrees
from ._boosting.weak_learners import TIE, FittedLearners, WeakTrees

# From the weights of rows and their labels to the learner of a round: its number in the order in
# which learners come in, itself, and its votes; None if there is none.
_Source = Callable[[Any, Any], Any]
_NOTES = ("objective", "weighted_error", "edge", "normalizer", "step", "n_learners", "tree_size")


class AdaBoostClassifier(FromWeakLearners, BaseBoostingClassifier):
    r"""Discrete AdaBoost.

    In round t the learner h_t of least weighted error eps_t under the weights D_t gets

        alpha_t = 1/2 ln((1 - eps_t) / eps_t),
        D_{t+1}(i) = D_t(i) exp(-alpha_t y_i h_t(x_i)) / Z_t,  Z_t = 2 sqrt(eps_t (1 - eps_t)),

    so that the mean of exp(-y f) over the training rows is the product of the Z_t. A learner that
    is chosen again adds to its own weight. Boosting stops when no learner is better than chance,
    and after one without error, which counts as one with error 1e-10: then the mean is less than
    the product.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds.
    max_depth : int, default=1
        Depth of the trees: 1 for stumps, which are searched exhaustively over all features and
        all thresholds half-way between neighbouring values. Deeper trees grow by layers: each
        layer splits every leaf where a split lowers the weighted error, at its best threshold. For
        deeper trees the ones already in the vote compete in every round. Ignored with
        `weak_learners`.
    weak_learners : None, "stumps", callable or list of callables, default=None
        None searches trees. "stumps" takes a finite set, `n_thresholds` per feature at even
        distances. Given learners map X to values in {-1, +1} of shape (n_samples,), or, as one
        callable, of shape (n_samples, n_learners).
    n_thresholds : int, default=10
        Thresholds per feature of ``weak_learners="stumps"``, at most 65535.
    categorical_features : "from_dtype", array of bool, int or str, or None, default="from_dtype"
        Which features are categories: a mask, column numbers or names. "from_dtype" takes a
        DataFrame's columns of categories or strings. Trees ask for one category at a time; those
        that fit did not see count as missing.
    estimator : classifier or None, default=None
        Any classifier whose fit takes `sample_weight`, fitted anew in every round, as in
        scikit-learn's AdaBoost; in place of `max_depth`, and not beside `weak_learners`. It sees
        numbers: NaN, and codes of categories. A fit that is worse than chance votes the other
        way around, where scikit-learn stops.
    learning_rate : float, default=1.0
        Multiplies alpha_t, > 0.
    early_stopping : bool, default=False
        Hold back a share of the rows and keep the number of rounds with the least mean of
        exp(-y f) on them.
    validation_fraction : float, default=0.1
        The share, in (0, 1).
    n_iter_no_change : int, default=10
        Rounds without a new least validation loss after which to stop.
    random_state : int, RandomState instance or None, default=None
        Draws the validation share, and seeds of the fits of `estimator`; nothing else is random.
    n_jobs : int or None, default=None
        Processes for the classes when there are more than two.
    verbose : int, default=0
        Show a progress bar when positive.
    voters : object, default="deprecated"
        The former name of `weak_learners`, which goes with version 0.4.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    ensembles_ : list of Ensemble
        The vote: one entry with two classes, else one per class against the rest.
    estimator_weights_ : array of shape (n_learners,), or list of them
        alpha, summed over the rounds that chose the same learner.
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (weighted mean of exp(-y f)), ``weighted_error``, ``edge`` (1 - 2 eps),
        ``normalizer`` (Z), ``step`` (alpha_t), ``n_learners``, and for searched trees
        ``tree_size`` in nodes. With early stopping ``validation_loss``.
    feature_importances_ : array of shape (n_features,)
        Shares of the features in the vote; of an `estimator` that has them, the mean by
        weight. Given learners have none.
    n_iter_ : int
        Rounds made (the most over the classes).

    See Also
    --------
    DeepBoostClassifier : Adds penalties by the complexity of a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseBoostingClassifier._parameter_constraints,
        "max_depth": [Within(Integral, 1, None, closed="left")],
        "weak_learners": [None, StrOptions({"stumps"}), callable, list, tuple],
        "voters": [None, StrOptions({"stumps", "deprecated"}), callable, list, tuple],
        "n_thresholds": [Within(Integral, 1, 65535, closed="both")],
        "estimator": [None, HasMethods(["fit", "predict"])],
        "learning_rate": [finite(0, "right")],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int = 1,
        weak_learners: Any = None,
        n_thresholds: int = 10,
        estimator: Any = None,
        learning_rate: float = 1.0,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        voters: Any = "deprecated",
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.weak_learners = weak_learners
        self.n_thresholds = n_thresholds
        self.estimator = estimator
        self.learning_rate = learning_rate
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.voters = voters

    def _loss(self, margin: np.ndarray) -> Any:
        return exp(-margin)

    def _link(self) -> str:
        return "exponential"

    def _grows_trees(self) -> bool:
        return self.estimator is None and super()._grows_trees()

    def _boost(self, X: Any, y: Any, sample_weight: Any, monitor: Any) -> Any:
        weight = sample_weight / sample_weight.sum()
        given = self._given_learners()
        if self.estimator is not None and given is not None:
            raise ValueError(
                "estimator must be None beside weak_learners, which are learners already; got "
                + short(self.estimator)
            )
        if self.estimator is not None:
            source = _fits_of(self.estimator, X, self.random_state)
            return self._follow(self._rounds(source, y, weight), monitor, _NOTES[:-1])
        if given is None:
            source = _searched_trees(X, self.max_depth)
            return self._follow(self._rounds(source, y, weight), monitor, _NOTES)
        learners, values = fixed_learners(given, X, self.n_thresholds)
        others = values[np.abs(values) != 1]
        if len(others):
            raise ValueError(f"weak_learners must have values in {{-1, +1}}; got {others[0]!s}")
        signs = np.ascontiguousarray(values, dtype=np.int8)
        if self.learning_rate != 1:
            source = _finite_set(learners, signs)
            return self._follow(self._rounds(source, y, weight), monitor, _NOTES[:-1])
        ensemble, columns = self._run(
            _core.adaboost_path, learners, signs, y, weight, self.n_estimators, LEAST_ERROR
        )
        step, objective, edge, n_learners = columns
        error = np.maximum((1 - np.abs(edge)) / 2, LEAST_ERROR)
        return ensemble, {
            "objective": objective,
            "weighted_error": error,
            "edge": np.abs(edge),
            "normalizer": _normalizer(error),
            "step": np.abs(step),
            "n_learners": n_learners.astype(np.int64),
        }

    def _rounds(self, source: _Source, y: Any, weight: Any) -> Iterator[Any]:
        """Yield the rounds over what a source of learners finds."""
        margin = np.zeros(len(y))
        alpha = np.zeros(0)
        perfect = False
        while not perfect:
            distribution = weight * exp(margin.min() - margin)
            distribution /= distribution.sum()
            found = source(distribution, y)
            if found is None:
                return
            k, learner, vote = found
            flip = 1 if (distribution * y) @ vote > 0 else -1
            vote = flip * vote
            error = distribution[vote != y].sum()
            if 1 - 2 * error <= TIE:
                return
            perfect = error < LEAST_ERROR
            error = max(error, LEAST_ERROR)
            step = self.learning_rate * 0.5 * float(log((1 - error) / error))
            margin += step * y * vote
            if k == len(alpha):
                alpha = np.append(alpha, 0.0)
            alpha[k] += flip * step
            notes = {
                "objective": weight @ exp(-margin),
                "weighted_error": error,
                "edge": 1 - 2 * error,
                "normalizer": _normalizer(error, self.learning_rate, step),
                "step": step,
                "n_learners": np.count_nonzero(alpha),
            }
            if isinstance(learner, WeakTrees):
                notes["tree_size"] = learner.size
            yield Round(learner, k, flip * step, notes)

    @property
    def estimators_(self) -> Any:
        """The fitted classifiers of `estimator`; of more than two classes a list for each."""
        check_is_fitted(self)
        found = []
        for ensemble in self.ensembles_:
            if isinstance(ensemble.learners, FittedLearners):
                found.append(ensemble.learners.estimators)
            elif self.estimator is not None and not ensemble.n_rounds:
                found.append([])
            else:
                raise AttributeError("estimators_ needs an estimator; trees are in ensembles_")
        return found[0] if len(found) == 1 else found


def _searched_trees(X: Any, max_depth: int) -> _Source:
    """The trees of least weighted error."""
    search = TreeSearch(X, max_depth)
    used = UsedTrees()

    def best(distribution: Any, y: Any) -> Any:
        signed = distribution * y
        # The best stump is found anew in every round; deeper trees are not sure to be.
        edges = used.edges(signed) if max_depth > 1 else np.empty(0)
        k = used.choose(*search.best(signed), np.abs(edges))
        return None if k is None else (k, used.trees[k], used.prediction(k))

    return best


def _finite_set(learners: Any, signs: Any) -> _Source:
    """The best of a finite set, as the compiled path takes it."""
    places: dict[int, int] = {}  # in the order in which they come in

    def best(distribution: Any, y: Any) -> Any:
        if len(signs) == 0:
            return None
        size = np.abs(_core.learner_edges(signs, distribution * y))
        j = int(np.flatnonzero(size >= size.max() - TIE)[0])
        k = places.setdefault(j, len(places))
        return k, learners.take(np.array([j])), signs[j]

    return best


def _fits_of(estimator: Any, X: Any, random_state: Any) -> _Source:
    """A new fit of a classifier in every round, seeded as scikit-learn's AdaBoost does."""
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            "estimator must be a classifier whose fit takes sample_weight; got " + short(estimator)
        )
    random = check_random_state(random_state)
    n_made = 0

    def fit(distribution: Any, y: Any) -> Any:
        nonlocal n_made
        made = clone(estimator)
        _set_random_states(made, random)
        # Scaled to a mean of 1: some classifiers compare weights with absolute numbers.
        made.fit(X, y.astype(np.int64), sample_weight=distribution * len(y))
        learner = FittedLearners([made])
        n_made += 1
        return n_made - 1, learner, learner.values(X)[0]

    return fit


def _normalizer(error: Any, learning_rate: float = 1.0, step: float = 0.0) -> Any:
    if learning_rate != 1:
        return (1 - error) * exp(-step) + error * exp(step)
    return 2 * np.sqrt(error * (1 - error))
