"""Further named members, which the preset "best" trains next to the default ones.

They are variants of the named members with other scalings, depths, rates or settings. To add one,
write a line here, and its name in `POOL` or `POOL_REGRESSORS`. With a limit of time, members are
trained in the order of these names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._members.network import NetworkClassifier, NetworkRegressor

Settings = dict[str, Any]
Makers = dict[str, Callable[[], BaseEstimator]]

# Symmetric trees of one depth each, at half the rate of the member "boosted".
_SYMMETRIC: Settings = {
    "learning_rate": 0.05,
    "max_iter": 4000,
    "max_features": 1.0,
    "subsample": 0.8,
}
_LEAF_WISE: Settings = {
    "grow_policy": "leaf-wise",
    "learning_rate": 0.05,
    "max_iter": 4000,
    "min_samples_leaf": 5,
    "l2_regularization": 1.0,
    "subsample": 0.8,
}
# Deep trees are regularised less, as those of the member "boosted".
_BOOSTED: Mapping[str, Settings] = {
    "boosted-8-leaves": {**_LEAF_WISE, "max_leaf_nodes": 8, "max_features": 1.0},
    "boosted-depth-2": {**_SYMMETRIC, "max_depth": 2, "l2_regularization": 10.0},
    "boosted-depth-8": {**_SYMMETRIC, "max_depth": 8, "l2_regularization": 3.0},
    "boosted-depth-4": {**_SYMMETRIC, "max_depth": 4, "l2_regularization": 10.0},
    "boosted-depth-6": {**_SYMMETRIC, "max_depth": 6, "l2_regularization": 3.0},
    "boosted-4-leaves": {**_LEAF_WISE, "max_leaf_nodes": 4, "max_features": 0.3},
    "boosted-depth-1": {**_SYMMETRIC, "max_depth": 1, "l2_regularization": 10.0},
    "boosted-half": {
        **_SYMMETRIC,
        "max_depth": 6,
        "l2_regularization": 3.0,
        "max_features": 0.5,
        "subsample": 0.5,
    },
}
_KERNEL_LOGISTIC: Mapping[str, Settings] = {
    "kernel-logistic-normal": {"scaling": "normal"},
    "kernel-logistic-robust": {"scaling": "robust"},
}
# Settings that differ from each other in all respects, set by hand.
_NETWORKS: Mapping[str, Settings] = {
    "network-robust": {"scaling": "robust"},
    "network-narrow": {
        "scaling": "robust",
        "width": 32,
        "n_epochs": 80,
        "rates": [0.02],
        "dropout": 0.0,
        "decay": 0.1,
    },
    "network-quick": {"scaling": "standard", "rates": [0.04], "dropout": 0.05},
    "network-brief": {"width": 128, "n_epochs": 20, "rates": [0.02], "dropout": 0.3},
    "network-wide": {
        "scaling": "robust",
        "width": 128,
        "n_epochs": 60,
        "rates": [0.01],
        "dropout": 0.3,
    },
}
_NETWORK_REGRESSORS: Mapping[str, Settings] = {
    "network-robust": {"scaling": "robust"},
    "network-narrow": {"scaling": "robust", "width": 16, "n_epochs": 300},
    "network-quick": {"scaling": "standard", "n_epochs": 100, "rates": [0.1]},
    "network-brief": {"width": 128, "n_epochs": 100, "rates": [0.02], "dropout": 0.1},
    "network-wide": {"scaling": "robust", "width": 64, "rates": [0.03], "dropout": 0.1},
}

# Names of the members, whose effect docs/results/presets.md tells. On 19 development sets, kernel
# ridge regression on other scalings, a linear model with a strong penalty, leaf-wise trees of 31
# leaves, and networks with 100 epochs at a rate of 0.005 had no effect next to these.
POOL = (*_KERNEL_LOGISTIC, *_BOOSTED, *_NETWORKS)
# Leaf-wise trees as in the default of classification.
POOL_REGRESSORS = ("boosted-leaf-wise", *_BOOSTED, *_NETWORK_REGRESSORS)


def pool_classifiers(categorical: np.ndarray) -> Makers:
    """Functions that make the members of the pool; categorical columns are True."""
    return {
        **_variants(GradientBoostingClassifier, _BOOSTED),
        **_variants(partial(KernelLogisticClassifier, categorical), _KERNEL_LOGISTIC),
        **_variants(partial(NetworkClassifier, categorical), _NETWORKS),
    }


def pool_regressors(categorical: np.ndarray) -> Makers:
    """Functions that make the members of the pool of a regressor."""
    return {
        **_variants(GradientBoostingRegressor, _BOOSTED),
        **_variants(partial(NetworkRegressor, categorical), _NETWORK_REGRESSORS),
    }


def _variants(
    make: Callable[..., BaseEstimator], settings_by_name: Mapping[str, Settings]
) -> Makers:
    """Functions that make a kind of member with the settings of each name."""
    return {name: partial(make, **settings) for name, settings in settings_by_name.items()}
