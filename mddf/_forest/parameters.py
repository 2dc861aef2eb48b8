"""Parameters of forests: allowed values, and conversion to the units of the kernel.

A new criterion has its name in `LOSSES`, and in `ENTROPIES` or `CLASS_CRITERIA` if it is for
classification.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import RealNotInt, StrOptions

from mddf._base.validation import (
    COUNT,
    JOBS,
    Within,
    finite,
    max_features_among,
)
from mddf._core import Loss
from mddf._targets.class_outputs import ClassOutputs
from mddf._targets.kernel_targets import Values

CONSTRAINTS: dict[str, list[Any]] = {
    "n_estimators": [COUNT],
    "max_depth": [Within(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Within(Integral, 2, None, closed="left"),
        Within(RealNotInt, 0, 1, closed="right"),
    ],
    "min_samples_leaf": [
        Within(Integral, 1, None, closed="left"),
        Within(RealNotInt, 0, 1, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Within(Real, 0, 0.5, closed="both")],
    "max_leaf_nodes": [Within(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [finite()],
    "ccp_alpha": [finite()],
    "monotonic_cst": ["array-like", dict, None],
    "max_features": max_features_among("sqrt", "log2"),
    "bootstrap": ["boolean"],
    "max_samples": [
        None,
        Within(RealNotInt, 0, None, closed="neither"),
        Within(Integral, 1, None, closed="left"),
    ],
    "oob_score": ["boolean", callable],
    "n_jobs": JOBS,
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "max_bins": [Within(Integral, 2, 255, closed="both")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
}

# Descriptions of the parameters of all forests, for the docstrings; see `describes_parameters`.
FOREST_PARAMETERS = """
n_estimators : int
    Number of trees. Change it to a larger number for steadier predictions.
max_depth : int or None
    Maximum depth of a tree; None for no limit. Change it if the model must be small.
min_samples_split : int or float
    Minimum number of samples in a node that is split; a float is a share of all samples.
    Change `min_samples_leaf` instead.
min_samples_leaf : int or float
    Minimum number of samples in a leaf; a float is a share of all samples. Change it to 3 to
    20 for noisy targets, better probabilities and smaller models.
min_weight_fraction_leaf : float
    Minimum weight of a leaf, as a share of the total weight of the tree's samples. Change it if
    weights differ much.
max_leaf_nodes : int or None
    Maximum number of leaves of a tree. Nodes with the best splits are split first. None for no
    limit. Change it if the model must be small.
min_impurity_decrease : float
    Minimum decrease of impurity by a split, weighted by the node's share of the samples. Change it
    to prune while trees grow.
ccp_alpha : float
    Parameter of minimal cost-complexity pruning: the decrease of impurity that each leaf must
    contribute. Change it to prune grown trees.
max_features : {"sqrt", "log2"}, int, float or None
    Number of features that are drawn for each node, constant features included; at least one
    feature that is not constant is searched. A float is a share, None means all. Change it to a
    larger value if few features matter.
max_samples : int, float or None
    Number of samples that a bootstrap draws. A float is a share of the samples or, if all
    sample weights are whole numbers, of the sum of their weights: with 1.0, weight k is the
    same as k equal rows. None draws as many as there are samples with a weight. Change it to save
    time on large tables.
random_state : int, RandomState or None
    Seed of the trees' random streams. Change it to see how much depends on it.
warm_start : bool
    Whether fit keeps the trees of the fit before and grows the missing ones. With `oob_score`,
    all fits must have it and the same rows. Change it to add trees to a fitted forest.

Attributes
----------
feature_importances_ : ndarray of shape (n_features,)
    Mean decrease of impurity, scaled to sum 1.
oob_score_ : float
    Score over the samples that some tree left out; only with `oob_score`.

Notes
-----
Missing values go to the side that is better for training, or to a random side if thresholds
are random. In a node without missing values in training, they go to the side of more weight.
"""
CLASSIFICATION_PARAMETERS = """
monotonic_cst : array of int of shape (n_features,), dict or None
    Constraint of each feature, or of features by name: 1 if predictions must not decrease with
    it, -1 if they must not increase, 0 otherwise. Predictions are the probabilities of the
    second class of two. Categorical features cannot be constrained. Change it if you know the
    direction of an effect.
bootstrap : bool or "balanced"
    Whether each tree draws its samples with replacement. "balanced" draws the same number of
    samples of each class, by default the size of the smallest class. Change it for rare classes.
oob_score : bool or callable
    Whether to predict every sample by the trees that did not draw it, and to score these
    predictions by accuracy or by ``oob_score(y_true, y_pred)``. Needs a bootstrap. Change it for a
    score without held-out rows.
class_weight : dict, list of dict, "balanced", "balanced_subsample" or None
    Factors of the sample weights by class. "balanced" gives all classes the same weight,
    "balanced_subsample" does so in each tree's own sample. For several outputs: "balanced", or
    a list with a dict for each output, whose factors are multiplied. Change it hardly ever: for a
    rare class, choose a threshold.

Attributes
----------
classes_ : ndarray of shape (n_classes,), or a list of these if there are several outputs
n_classes_ : int or list of int
n_outputs_ : int
oob_decision_function_ : ndarray of shape (n_samples, n_classes)
    Out-of-bag probabilities, NaN for a sample that every tree drew; only with `oob_score`. The
    shape for several outputs is (n_samples, largest n_classes, n_outputs).

Notes
-----
Probabilities are means over the trees of the class distribution in a sample's leaf. With
several outputs, trees are split by the mean of the outputs' impurities.
"""
REGRESSION_PARAMETERS = """
monotonic_cst : array of int of shape (n_features,), dict or None
    Constraint of each feature, or of features by name: 1 if predictions must not decrease with
    it, -1 if they must not increase, 0 otherwise. Only for one output, and not for categorical
    features. Change it if you know the direction of an effect.
bootstrap : bool
    Whether each tree draws its samples with replacement. Change it if `oob_score` needs it,
    or to give all samples to each tree.
oob_score : bool or callable
    Whether to predict every sample by the trees that did not draw it, and to score these
    predictions by R2 or by ``oob_score(y_true, y_pred)``. Needs a bootstrap. Change it for a score
    without held-out rows.
keep_targets : int or None
    Maximum number of training targets that are stored for each leaf, for `predict_quantiles`;
    None stores none. They take 4 bytes each, and fit needs up to 512 bytes per row to find
    them. Change it if you need quantiles.

Attributes
----------
n_outputs_ : int
oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    Out-of-bag predictions, NaN for a sample that every tree drew; only with `oob_score`.

Notes
-----
Targets are rounded to multiples of 2^-61 of a power of two above their absolute values, so
that sums are exact and results do not depend on an order. Weights that are not whole numbers
are rounded to 31 bits.
"""

# Parameters that a warm start must not change: how cells are coded, and a promise to the user.
FIXED_PARAMETERS = ("max_bins", "categorical_features", "monotonic_cst")


def count_samples(value: float, n_samples: int, least: int) -> int:
    """Convert a number or share of samples to a number of at most `n_samples` + 1."""
    if isinstance(value, Integral):
        # One more than there are means the same as any larger number, and fits into 32 bits.
        return min(int(value), n_samples + 1)
    return max(least, int(np.ceil(value * n_samples)))


LOSSES = {
    "squared_error": Loss.SQUARED_ERROR,
    # Friedman's criterion differs from the squared error by a factor that a node's splits share.
    "friedman_mse": Loss.SQUARED_ERROR,
    "absolute_error": Loss.ABSOLUTE_ERROR,
    "poisson": Loss.POISSON,
    # Several outputs are learned as indicators of their classes, by the same losses.
    "gini": Loss.SQUARED_ERROR,
    "entropy": Loss.ENTROPY,
    "log_loss": Loss.ENTROPY,
}
ENTROPIES = frozenset({"entropy", "log_loss"})
CLASS_CRITERIA = ENTROPIES | {"gini"}
REGRESSION_CRITERIA = frozenset(LOSSES) - CLASS_CRITERIA
# The natural logarithm of 2: the kernel has entropies in nats, users have them in bits.
_NATS_PER_BIT = 0.6931471805599453


def impurity_in_kernel_unit(
    impurity: float, criterion: str, values: Values | ClassOutputs | None
) -> float:
    """Convert an impurity of the user, the mean over the outputs, to the kernel's unit.

    The user's entropies are in bits, errors in the unit of y or its square. `values` is None for
    the classes of one output.
    """
    if not isinstance(values, Values):
        n_outputs = 1 if values is None else len(values.classes)
        every_class = values is None or values.every_class
        # An output of two classes may be learned as one indicator, whose variance is half of the
        # Gini impurity.
        gini_unit = 1.0 if every_class else 0.5
        return impurity * n_outputs * (_NATS_PER_BIT if criterion in ENTROPIES else gini_unit)
    power = 2 if LOSSES[criterion] == Loss.SQUARED_ERROR else 1
    with np.errstate(over="ignore", under="ignore"):
        unit = -power * int(values.exponents.max())
        return float(np.ldexp(impurity * len(values.exponents), unit))
