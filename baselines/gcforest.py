"""gcForest: the cascade without weights."""

from __future__ import annotations

import numpy as np

from mddf.cascade_base import BaseCascade


class GCForestClassifier(BaseCascade):
    """The cascade of gcForest."""

    def __init__(
        self,
        n_layers=20,
        *,
        n_estimators=500,
        forests=None,
        cv=3,
        early_stopping=True,
        n_iter_no_change=4,
        scoring=None,
        transform_layers="last",
        transform_forests="mean",
        grains=None,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        max_bins=255,
        categorical_features="from_dtype",
    ):
        self.n_layers = n_layers
        self.n_estimators = n_estimators
        self.forests = forests
        self.cv = cv
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.transform_layers = transform_layers
        self.transform_forests = transform_forests
        self.grains = grains
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.categorical_features = categorical_features

    def _default_forests(self) -> list:
        return ["random"] * 4 + ["completely-random"] * 4

    def _shape(self) -> dict:
        return {
            "sees_raw": True,
            "sees_augmented": True,
            "per_forest": True,
            "resample": False,
            "only_last": True,
        }

    def _rule(self, samples, entropy):
        def last_layer(margins, before):
            return np.append(np.zeros(len(before)), 1.0), None

        return last_layer
