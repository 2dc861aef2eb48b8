"""Further named members, which the preset "best" trains next to the default ones.

They are variants of the named members with other scalings, depths, rates or settings. To add one,
write a line here, and its name in `POOL` or `POOL_REGRESSORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._members.linear import LinearClassifier, LinearRegressor
from mddf._members.network import NetworkClassifier, NetworkRegressor

Settings = dict[str, Any]

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
_BOOSTED: Mapping[str, Settings] = {
    "boosted-depth-1": {**_SYMMETRIC, "max_depth": 1, "l2_regularization": 10.0},
    "boosted-depth-2": {**_SYMMETRIC, "max_depth": 2, "l2_regularization": 10.0},
    "boosted-depth-4": {**_SYMMETRIC, "max_depth": 4, "l2_regularization": 10.0},
    "boosted-depth-6": {**_SYMMETRIC, "max_depth": 6, "l2_regularization": 3.0},
    "boosted-depth-8": {**_SYMMETRIC, "max_depth": 8, "l2_regularization": 3.0},
    "boosted-half": {
        **_SYMMETRIC,
        "max_depth": 6,
        "l2_regularization": 3.0,
        "max_features": 0.5,
        "subsample": 0.5,
    },
    "boosted-4-leaves": {**_LEAF_WISE, "max_leaf_nodes": 4, "max_features": 0.3},
    "boosted-31-leaves": {**_LEAF_WISE, "max_leaf_nodes": 31, "max_features": 0.3},
    "boosted-8-leaves-all": {**_LEAF_WISE, "max_leaf_nodes": 8, "max_features": 1.0},
}
# Settings of networks that differ from each other in all respects.
_NETWORKS: Mapping[str, Settings] = {
    "network-robust": {"scaling": "robust"},
    "network-standard": {"scaling": "standard"},
    "network-2": {
        "scaling": "robust",
        "width": 128,
        "n_epochs": 60,
        "rates": [0.01],
        "dropout": 0.3,
    },
    "network-3": {
        "scaling": "robust",
        "width": 32,
        "n_epochs": 80,
        "rates": [0.02],
        "dropout": 0.0,
        "decay": 0.1,
    },
    "network-4": {
        "scaling": "normal",
        "width": 128,
        "n_epochs": 20,
        "rates": [0.02],
        "dropout": 0.3,
    },
    "network-5": {
        "scaling": "robust",
        "width": 64,
        "n_epochs": 100,
        "rates": [0.005],
        "dropout": 0.15,
        "decay": 0.05,
    },
    "network-6": {
        "scaling": "standard",
        "width": 64,
        "n_epochs": 40,
        "rates": [0.04],
        "dropout": 0.05,
    },
}
_NETWORK_REGRESSORS: Mapping[str, Settings] = {
    "network-robust": {"scaling": "robust"},
    "network-standard": {"scaling": "standard"},
    "network-2": {
        "scaling": "robust",
        "width": 64,
        "n_epochs": 200,
        "rates": [0.03],
        "dropout": 0.1,
    },
    "network-3": {"scaling": "robust", "width": 16, "n_epochs": 300, "rates": [0.05]},
    "network-4": {
        "scaling": "normal",
        "width": 128,
        "n_epochs": 100,
        "rates": [0.02],
        "dropout": 0.1,
    },
    "network-5": {
        "scaling": "robust",
        "width": 128,
        "n_epochs": 300,
        "rates": [0.01],
        "decay": 0.05,
    },
    "network-6": {"scaling": "standard", "width": 32, "n_epochs": 100, "rates": [0.1]},
}

POOL = (
    *_BOOSTED,
    "kernel-robust",
    "kernel-standard",
    "kernel-logistic-robust",
    "kernel-logistic-normal",
    "linear-strong",
    *_NETWORKS,
)
POOL_REGRESSORS = (
    *_BOOSTED,
    "boosted-leaf-wise",
    "kernel-robust",
    "kernel-standard",
    "linear-strong",
    *_NETWORK_REGRESSORS,
)


def pool_classifiers(
    categorical: np.ndarray, n_classes: Sequence[int] | None
) -> dict[str, Callable[[], BaseEstimator]]:
    """Functions that make the members of the pool; `n_classes` are those of several outputs."""
    widths = None if n_classes is None else list(n_classes)
    return {
        **_variants(GradientBoostingClassifier, _BOOSTED),
        **_variants(partial(NetworkClassifier, categorical), _NETWORKS),
        "kernel-robust": partial(
            KernelClassifier, categorical, scaling="robust", n_classes=widths
        ),
        "kernel-standard": partial(
            KernelClassifier, categorical, scaling="standard", n_classes=widths
        ),
        "linear-strong": partial(LinearClassifier, categorical, C=0.05),
        "kernel-logistic-robust": partial(KernelLogisticClassifier, categorical, scaling="robust"),
        "kernel-logistic-normal": partial(KernelLogisticClassifier, categorical, scaling="normal"),
    }


def pool_regressors(categorical: np.ndarray) -> dict[str, Callable[[], BaseEstimator]]:
    """Functions that make the members of the pool of a regressor."""
    return {
        **_variants(GradientBoostingRegressor, _BOOSTED),
        **_variants(partial(NetworkRegressor, categorical), _NETWORK_REGRESSORS),
        "kernel-robust": partial(KernelRegressor, categorical, scaling="robust"),
        "kernel-standard": partial(KernelRegressor, categorical, scaling="standard"),
        "linear-strong": partial(LinearRegressor, categorical, alpha=30.0),
    }


def _variants(
    make: Callable[..., BaseEstimator], settings_by_name: Mapping[str, Settings]
) -> dict[str, Callable[[], BaseEstimator]]:
    """Functions that make a kind of member with the settings of each name."""
    return {name: partial(make, **settings) for name, settings in settings_by_name.items()}
