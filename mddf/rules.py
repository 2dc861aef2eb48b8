"""Rules of cascades: rows that leave, weights, columns, trees and stopping, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from mddf._base.messages import short
from mddf._base.serialization import publish
from mddf._layers.margin_rules import MarginRules
from mddf._layers.rules import LayerRules, LayerView
from mddf._trees.regions import Region

__all__ = [
    "AccuracyScreening",
    "BinnedScreening",
    "LayerRules",
    "LayerView",
    "MarginRules",
    "OwnClassReweighting",
    "mean_regions",
    "single_split",
    "trees_by_rows",
]


def _rows_by_confidence(view: LayerView) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Active rows from the most confident on: their numbers, confidences and correctness.

    Rows of equal confidence come in the order of the table.
    """
    confidence = view.confidence
    rows = np.flatnonzero(view.active)
    rows = rows[np.argsort(-confidence[rows], kind="stable")]
    return rows, confidence[rows], view.is_correct[rows]


def _needed_accuracy(view: LayerView, error_reduction: float) -> float:
    """Accuracy that rows need in order to leave: the layer's error is divided by the factor."""
    if not isinstance(error_reduction, Real) or not float(error_reduction) > 0:
        raise ValueError(f"error_reduction must be a number above 0, got {short(error_reduction)}")
    accuracy = float(np.mean(view.is_correct[view.active]))
    return 1 - (1 - accuracy) / error_reduction


def _keep_few_of_each_class(
    view: LayerView, rows: np.ndarray, confidence: np.ndarray, n_leaving: int
) -> float:
    """Gate at which at most `n_leaving` of the sorted rows leave; NaN if none leaves.

    As many rows of each class as there are folds stay, since every fold needs one.
    """
    labels = view.y[rows]
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        n_staying = min(view.n_folds, len(places))
        n_leaving = min(n_leaving, int(places[len(places) - n_staying]))
    # Rows that have the same confidence as one that stays stay with it.
    if 0 < n_leaving < len(rows):
        tied = confidence[:n_leaving] > confidence[n_leaving]
        n_leaving = int(tied.sum())
    return float(confidence[n_leaving - 1]) if n_leaving else np.nan


@dataclass(frozen=True)
class AccuracyScreening:
    """Screening of gcForestCS: rows leave while their cumulative accuracy is high enough.

    Rows are sorted by confidence. The gate is the confidence of the last row up to which the
    cumulative out-of-fold accuracy exceeds ``1 - (1 - accuracy) / error_reduction``, where
    ``accuracy`` is the accuracy of the layer [1]_.

    Parameters
    ----------
    error_reduction : float, default=3.0
        Factor by which the error of the leaving rows is smaller than the error of the layer;
        above 0.

    References
    ----------
    .. [1] M. Pang, K. M. Ting, P. Zhao and Z.-H. Zhou, "Improving deep forest by confidence
       screening", ICDM 2018.

    Examples
    --------
    >>> from mddf.baselines import GCForestClassifier
    >>> from mddf.rules import AccuracyScreening, LayerRules, trees_by_rows
    >>> rules = LayerRules(screening=AccuracyScreening(), n_estimators=trees_by_rows)
    >>> cascade = GCForestClassifier(rules=rules)
    >>> cascade.rules == GCForestClassifier.named("gcForestCS").rules
    True
    """

    error_reduction: float = 3.0

    def __call__(self, view: LayerView) -> float:
        """Gate of the layer; NaN if no row leaves."""
        rows, confidence, is_correct = _rows_by_confidence(view)
        cumulative = np.cumsum(is_correct) / np.arange(1, len(rows) + 1)
        enough = np.flatnonzero(cumulative > _needed_accuracy(view, self.error_reduction))
        n_leaving = int(enough[-1]) + 1 if len(enough) else 0
        return _keep_few_of_each_class(view, rows, confidence, n_leaving)


@dataclass(frozen=True)
class BinnedScreening:
    """Screening of DBC-Forest: rows leave up to the first bin whose own accuracy is too low.

    Rows are sorted by confidence and cut into bins of `bin_size` rows. A few wrong rows of high
    confidence cannot hide behind many right ones, as in the cumulative accuracy [1]_.

    Parameters
    ----------
    error_reduction : float, default=3.0
        As in `AccuracyScreening`.
    bin_size : int, default=100
        Rows of a bin.

    References
    ----------
    .. [1] P. Ma, Y. Wu, Y. Li, L. Guo and Z. Li, "DBC-Forest: Deep forest with binning confidence
       screening", Neurocomputing 475, 2022.

    Examples
    --------
    >>> from mddf.baselines import GCForestClassifier
    >>> from mddf.rules import BinnedScreening, LayerRules
    >>> cascade = GCForestClassifier(rules=LayerRules(screening=BinnedScreening(bin_size=50)))
    >>> cascade.rules.screening.bin_size
    50
    """

    error_reduction: float = 3.0
    bin_size: int = 100

    def __call__(self, view: LayerView) -> float:
        """Gate of the layer; NaN if no row leaves."""
        if not isinstance(self.bin_size, Integral) or self.bin_size < 1:
            raise ValueError(f"bin_size must be an int of at least 1, got {short(self.bin_size)}")
        rows, confidence, is_correct = _rows_by_confidence(view)
        firsts = np.arange(0, len(rows), self.bin_size)
        n_rows = np.diff(np.append(firsts, len(rows)))
        accuracies = np.add.reduceat(is_correct.astype(np.int64), firsts) / n_rows
        too_low = np.flatnonzero(accuracies < _needed_accuracy(view, self.error_reduction))
        n_leaving = int(firsts[too_low[0]]) if len(too_low) else len(rows)
        return _keep_few_of_each_class(view, rows, confidence, n_leaving)


@dataclass(frozen=True)
class OwnClassReweighting:
    """Weights of AWDF: one minus the probability of the sample's own class.

    The probability comes from the mean class vector of the layer. Samples that the layer predicts
    badly therefore weigh more in the next layer [1]_.

    Parameters
    ----------
    least : float, default=0.0
        Least factor of a sample.

    References
    ----------
    .. [1] L. Utkin, A. Konstantinov, V. Chukanov, M. Kots and A. Meldo, "Adaptive weighted deep
       forest classifier", arXiv:1901.01334.

    Examples
    --------
    >>> from mddf.baselines import GCForestClassifier
    >>> from mddf.rules import LayerRules, OwnClassReweighting
    >>> rules = LayerRules(reweighting=OwnClassReweighting(least=0.1), redraw=True)
    >>> GCForestClassifier(rules=rules).rules.redraw
    True
    """

    least: float = 0.0

    def __call__(self, view: LayerView) -> np.ndarray:
        """Factors of the samples; ones if all are zero."""
        own = view.mean_vectors[np.arange(len(view.y)), view.y]
        factors: np.ndarray = np.maximum(1 - own, self.least)
        return factors if factors[view.active].any() else np.ones(len(view.y))


def single_split(view: LayerView) -> int:
    """Depth limit 1: trees of the next layer have one split, as in shallow tree networks.

    Parameters
    ----------
    view : LayerView

    Returns
    -------
    int

    References
    ----------
    L. Arnould, C. Boyer and E. Scornet, "Analyzing the tree-layer structure of deep forests",
    ICML 2021.

    Examples
    --------
    >>> from mddf.baselines import GCForestClassifier
    >>> GCForestClassifier.named("tree-network").rules.max_depth.__name__
    'single_split'
    """
    return 1


def trees_by_rows(view: LayerView) -> float:
    """Factor of the number of trees by the rows that are left, as in gcForestCS.

    It is 1 divided by the share of rows that are left times the growth of the number of columns,
    if this product is below 1. The cost of a layer then stays about the same.

    Parameters
    ----------
    view : LayerView

    Returns
    -------
    float

    Examples
    --------
    >>> from mddf.rules import LayerRules, trees_by_rows
    >>> LayerRules(n_estimators=trees_by_rows).n_estimators.__name__
    'trees_by_rows'
    """
    n_features = np.shape(view.X)[1]
    growth = (n_features + view.n_added) / n_features
    return 1 / min(1.0, max(float(view.active.mean()), 1e-9) * growth)


def mean_regions(regions: Iterator[Region]) -> np.ndarray:
    """Mean lower and upper bounds of the features over the trees.

    As `augmentation` of `MarginRules`, it describes a row by the regions around it, and
    not by the classes there. Reference [1]_ studies the columns that layers should pass on.

    Parameters
    ----------
    regions : iterator of (lower, upper)
        For each tree, bounds of the leaves of all rows, each of shape (n_samples, n_features).

    Returns
    -------
    ndarray of shape (n_samples, 2 * n_features)
        The lower bounds of all features, followed by the upper ones. A mean is over the trees
        whose bound is finite, and NaN without such a tree.

    References
    ----------
    .. [1] S.-H. Lyu, Y.-H. Chen and Z.-H. Zhou, "A region-based analysis for the feature
       concatenation in deep forests", Chinese Journal of Electronics 31(6), 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import MDDFClassifier
    >>> from mddf.rules import MarginRules, mean_regions
    >>> X, y = load_iris(return_X_y=True)
    >>> rules = MarginRules(augmentation=mean_regions)
    >>> forest = MDDFClassifier(2, n_estimators=10, rules=rules, random_state=0).fit(X, y)
    >>> bool(forest.score(X, y) > 0.9)
    True
    """
    total, n_finite = np.zeros(()), np.zeros(())
    for region in regions:
        bounds = np.hstack(region)
        is_finite = np.isfinite(bounds)
        total = total + np.where(is_finite, bounds, 0.0)
        n_finite = n_finite + is_finite
    with np.errstate(invalid="ignore"):
        means: np.ndarray = total / n_finite
    return means


publish(globals())
