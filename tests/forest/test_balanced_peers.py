"""imbalanced-learn's own tests of its balanced forest, run on mddf's, and both side by side.

Each passes, or stands in a list with its reason.
"""

import numpy as np
import pytest
from peers_tests import expected_failures, found_in, of_module
from sklearn.datasets import make_classification

import mddf

peers = pytest.importorskip("imblearn.ensemble", reason='needs "mddf[peers]"')
Peer = peers.BalancedRandomForestClassifier


class BalancedRandomForestClassifier(mddf.RandomForestClassifier):
    """As imbalanced-learn's; it always draws with replacement, as many of each class."""

    def __init__(
        self,
        n_estimators=100,
        *,
        sampling_strategy="all",
        replacement=True,
        bootstrap=False,
        max_depth=None,
        min_samples_leaf=1,
        max_samples=None,
        oob_score=False,
        ccp_alpha=0.0,
        warm_start=False,
        random_state=None,
    ):
        super().__init__(
            n_estimators,
            bootstrap=bootstrap,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            max_samples=max_samples,
            oob_score=oob_score,
            ccp_alpha=ccp_alpha,
            warm_start=warm_start,
            random_state=random_state,
        )
        self.sampling_strategy = sampling_strategy
        self.replacement = replacement

    def fit(self, X, y, sample_weight=None):
        bootstrap, self.bootstrap = self.bootstrap, "balanced"
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.bootstrap = bootstrap


PARTS = "samplers_ and pipelines_ are imbalanced-learn's: see estimators_samples_"
REASONS = {
    "test_balanced_random_forest$": PARTS,
    "test_balanced_random_forest_attributes": PARTS,
    r"test_balanced_random_forest_oob_binomial\[0.1": "draws are with replacement",
}
MODULE = of_module("tests.test_forest", [BalancedRandomForestClassifier], package=peers)
imbalanced_dataset = MODULE.imbalanced_dataset
globals().update(found_in([MODULE], set()))
expected = expected_failures(REASONS)


def uneven(n):
    return make_classification(
        n,
        8,
        n_informative=4,
        n_classes=3,
        n_clusters_per_class=1,
        weights=[0.85, 0.1],
        random_state=0,
    )


def test_trees_draw_like_imbalanced_learn():
    X, y = uneven(400)
    options = {"sampling_strategy": "all", "replacement": True, "bootstrap": False}
    peer = Peer(5, random_state=0, **options).fit(X, y)
    forest = mddf.RandomForestClassifier(5, bootstrap="balanced", random_state=0).fit(X, y)
    rarest = np.bincount(y).min()
    for sampler, rows in zip(peer.samplers_, forest.estimators_samples_, strict=True):
        for drawn in (sampler.sample_indices_, rows):
            assert np.bincount(y[drawn]).tolist() == [rarest] * 3
