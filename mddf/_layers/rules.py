"""Rules that a user adds to a cascade: which rows leave, which columns and weights a layer has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mddf._base.messages import short
from mddf._base.validation import COUNT, finite, naming
from mddf._layers.margin_loss import MarginHistory, reweight
from mddf._layers.memmap import mean_of

# Trees of a forest grow by at most this factor when rows leave. The published rule has no limit,
# but a last layer on a few rows of a large table would have millions of trees. Set by hand.
_MAX_TREE_FACTOR = 20.0


@dataclass(frozen=True)
class LayerView:
    """State of a cascade after a layer was trained, which rules read.

    Attributes
    ----------
    number : int
        Number of the layer, from 1.
    X : array or data frame of n_samples rows
        The features as they were passed to ``fit``.
    y : ndarray of shape (n_samples,)
        The classes as numbers from 0 on, in the order of ``classes_``.
    sample_weight : ndarray of shape (n_samples,)
        Weights of the samples, class weights included; ones if there are none.
    class_vectors : ndarray of shape (n_forests, n_samples, n_classes)
        Out-of-fold class vectors of the layer. Rows that left keep their last ones.
    probabilities : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the layers so far together.
    margins : ndarray of shape (n_samples, n_layers)
        Out-of-fold margins of each layer alone.
    alphas : ndarray of shape (n_layers,)
        Coefficients of the layers so far.
    active : ndarray of bool of shape (n_samples,)
        In `screening`, the rows on which the layer was trained; in the other rules, those that
        stay for the next layer.
    history : list of dict of str to float
        Figures of each layer, named as in ``history_``.
    n_folds : int
        Number of folds on which the layer was trained; 1 for out-of-bag predictions.
    n_added : int
        Columns that a layer adds to the features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf.baselines import GCForestClassifier
    >>> from mddf.rules import LayerRules
    >>> def print_accuracy(view):
    ...     print(f"layer {view.number}: {view.is_correct.mean():.2f} of the rows are right")
    >>> X, y = load_iris(return_X_y=True)
    >>> rules = LayerRules(stop=print_accuracy)
    >>> options = {"n_estimators": 20, "early_stopping": False, "random_state": 0}
    >>> cascade = GCForestClassifier(2, rules=rules, **options).fit(X, y)
    layer 1: 0.95 of the rows are right
    layer 2: 0.95 of the rows are right
    """

    number: int
    X: Any
    y: np.ndarray
    sample_weight: np.ndarray
    class_vectors: np.ndarray
    probabilities: np.ndarray
    margins: np.ndarray
    alphas: np.ndarray
    active: np.ndarray
    history: Sequence[dict[str, float]]
    n_folds: int
    n_added: int

    @cached_property
    def mean_vectors(self) -> np.ndarray:
        """Mean class vector of the layer's forests, of shape (n_samples, n_classes)."""
        return mean_of(self.class_vectors)

    @cached_property
    def confidence(self) -> np.ndarray:
        """Largest probability of the mean class vector, of shape (n_samples,)."""
        largest: np.ndarray = self.mean_vectors.max(axis=1)
        return largest

    @cached_property
    def is_correct(self) -> np.ndarray:
        """Whether the mean class vector is largest for the sample's class."""
        correct: np.ndarray = self.mean_vectors.argmax(axis=1) == self.y
        return correct


# Parameters of `LayerRules` that are functions of a `LayerView`.
_FUNCTIONS = ("screening", "reweighting", "columns", "n_estimators", "max_depth", "stop")


@dataclass
class LayerRules:
    """Rules of a cascade that are called after each layer with a `LayerView`.

    Parameters
    ----------
    screening : callable, default=None
        Returns the gate of the layer: rows whose confidence, the largest probability of the
        layer's mean class vector, is at least the gate leave the cascade. The next layers are not
        trained on them, and at prediction they take no time in the next layers. None or NaN: no
        row leaves.
    reweighting : callable, default=None
        Returns factors of the samples' weights in the next layer, of shape (n_samples,), not
        negative. Their scale does not matter. It replaces the cascade's own reweighting.
    redraw : bool, default=False
        Whether samples are drawn in proportion to the factors, anew for each tree. By default,
        they are weighted by the factors.
    columns : callable, default=None
        Returns the features in the input of the next layer, in addition to the columns of the
        layer before: a mask of shape (n_features,) or an array of column numbers.
    n_estimators : callable, default=None
        Returns the factor by which each forest of the next layer has more trees than the forests
        of the first layer, at most 20.
    max_depth : callable, default=None
        Returns the depth limit of all forests of the next layer, in place of their own; None
        keeps their own.
    stop : callable, default=None
        Returns whether no more layers are trained. Early stopping still chooses among the layers.

    See Also
    --------
    AccuracyScreening : Screening of gcForestCS.
    BinnedScreening : Screening of DBC-Forest.
    OwnClassReweighting : Weights of AWDF.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf.baselines import GCForestClassifier
    >>> from mddf.rules import LayerRules
    >>> X, y = load_iris(return_X_y=True)
    >>> rules = LayerRules(screening=lambda view: 0.95, stop=lambda view: view.active.mean() < 0.2)
    >>> cascade = GCForestClassifier(3, n_estimators=20, rules=rules, random_state=0).fit(X, y)
    >>> bool(cascade.history_["active_samples"][0] == 150)
    True
    """

    screening: Callable[[LayerView], Any] | None = None
    reweighting: Callable[[LayerView], Any] | None = None
    redraw: bool = False
    columns: Callable[[LayerView], Any] | None = None
    n_estimators: Callable[[LayerView], Any] | None = None
    max_depth: Callable[[LayerView], Any] | None = None
    stop: Callable[[LayerView], Any] | None = None

    # Whether only the last layer has a coefficient.
    last_layer_predicts: ClassVar[bool] = True

    def check(self) -> None:
        """Check the parameters; ValueError if one is invalid."""
        if not isinstance(self.redraw, bool):
            raise ValueError(f"redraw of rules must be a bool, got {short(self.redraw)}")
        for name in _FUNCTIONS:
            rule = getattr(self, name)
            if rule is not None and (not callable(rule) or isinstance(rule, type)):
                raise ValueError(f"{name} of rules must be a callable or None, got {short(rule)}")

    # Choices before any layer is trained, and from margins. Those of gcForest; `MarginRules`
    # has others.

    @property
    def redraws(self) -> bool:
        """Whether samples are drawn in proportion to the factors of their weights."""
        return self.redraw

    @property
    def passes_features(self) -> bool:
        """Whether layers after the first get the features of the table."""
        return True

    @property
    def passes_vectors(self) -> bool:
        """Whether layers after the first get the class vectors of the layers before."""
        return True

    def passes_all(self, n_vectors: int, n_features: int) -> bool:
        """Whether a layer passes on the vectors of all forests, and not their mean.

        These have `n_vectors` columns in all; every layer gets at least `n_features` features.
        """
        return True

    @property
    def columns_of_regions(self) -> Callable[..., Any] | None:
        """Function that makes columns of the regions of leaves, in place of class vectors."""
        return None

    def depth_of_random_forests(self, number: int) -> int | None:
        """Depth limit of the random forests of a layer; the first layer is number 0."""
        return None

    def coefficients(self, history: MarginHistory) -> np.ndarray:
        """Coefficients of the layers so far, shape (n_layers,), which are not all 0."""
        return np.append(np.zeros(len(history.before)), 1.0)

    def weight_factors(self, history: MarginHistory, alphas: np.ndarray) -> np.ndarray | None:
        """Factors of the samples' weights in the next layer, by margins; None: all are 1."""
        return None

    # Rules of the user

    @property
    def reads_layers(self) -> bool:
        """Whether a rule is called after each layer."""
        return any(getattr(self, name) is not None for name in _FUNCTIONS)

    def gate(self, view: LayerView) -> float | None:
        """Confidence from which rows leave after a layer; None if no row leaves."""
        if self.screening is None:
            return None
        gate = _call("screening", self.screening, view)
        if gate is None or (isinstance(gate, Real) and np.isnan(float(gate))):
            return None
        if gate not in finite():
            raise ValueError(
                "screening of rules must return a finite number of at least 0, or None, got "
                f"{short(gate)}"
            )
        return float(gate)

    def factors(self, view: LayerView, default: np.ndarray | None) -> np.ndarray | None:
        """Factors of the samples' weights, of mean about 1; the default without a rule.

        Rows that left have the factor 0.
        """
        if self.reweighting is None:
            return default
        returned = _call("reweighting", self.reweighting, view)
        try:
            factors = np.asarray(returned, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"reweighting of rules must return numbers, got {short(returned)}"
            ) from error
        sound = factors.shape == view.y.shape and bool(np.all(factors >= 0))
        if sound:
            factors = np.where(view.active, factors, 0.0)
            sound = 0 < np.sum(factors * view.sample_weight) < np.inf
        if not sound:
            raise ValueError(
                f"reweighting of rules must return {len(view.y)} factors, not negative, of finite "
                f"sum and not all zero, got {short(factors)}"
            )
        return reweight(factors / factors.max(), 1.0, view.sample_weight)

    def raw_columns(self, view: LayerView, n_features: int) -> np.ndarray | None:
        """Numbers of the features that the next layer reads; None without a rule."""
        if self.columns is None:
            return None
        chosen = np.asarray(_call("columns", self.columns, view))
        try:
            numbers = np.arange(n_features, dtype=np.int32)[chosen]
        except IndexError:
            numbers = np.empty(0, np.int32)
        if numbers.ndim != 1 or not len(numbers):
            raise ValueError(
                f"columns of rules must return a mask of {n_features} features or numbers of "
                f"some of them, got {short(chosen)}"
            )
        return np.unique(numbers)

    def tree_factor(self, view: LayerView) -> float:
        """Factor of the number of trees; 1 without a rule."""
        if self.n_estimators is None:
            return 1.0
        factor = _call("n_estimators", self.n_estimators, view)
        if factor not in finite(closed="right"):
            raise ValueError(
                f"n_estimators of rules must return a finite factor above 0, got {short(factor)}"
            )
        return min(float(factor), _MAX_TREE_FACTOR)

    def depth_limit(self, view: LayerView) -> int | None:
        """Depth limit of the forests; None keeps their own."""
        if self.max_depth is None:
            return None
        depth = _call("max_depth", self.max_depth, view)
        if depth is not None and depth not in COUNT:
            raise ValueError(
                f"max_depth of rules must return an int of at least 1 or None, got {short(depth)}"
            )
        return None if depth is None else int(depth)

    def is_over(self, view: LayerView) -> bool:
        """Whether the rule stops the cascade."""
        if self.stop is None:
            return False
        is_over = _call("stop", self.stop, view)
        try:
            return bool(is_over)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"stop of rules must return True or False, got {short(is_over)}"
            ) from error


def _call(name: str, rule: Callable[[LayerView], Any], view: LayerView) -> Any:
    with naming(f"{name} of rules"):
        return rule(view)


def read_only(array: np.ndarray) -> np.ndarray:
    """View of an array that a user's function cannot write to."""
    view = array.view()
    view.flags.writeable = False
    return view
