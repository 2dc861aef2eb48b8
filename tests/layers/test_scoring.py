"""Scores of layers."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, log_loss, make_scorer

from mddf import DeepForestClassifier, MDDFClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(101, 3))
WORDS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 101)]
PAIRS = np.column_stack([WORDS, X[:, 0] > 0])
WEIGHT = RNG.random(101) * 1e3


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_accuracy_is_that_of_scikit_learn(weight):
    """The results are equal to the last bit."""
    options = {"n_estimators": 3, "cv": 3, "early_stopping": False, "random_state": 0}
    own, expected = (
        MDDFClassifier(4, scoring=scoring, **options).fit(X, WORDS, weight).history_["score"]
        for scoring in ("accuracy", get_scorer("accuracy"))
    )
    assert own.tolist() == expected.tolist()
    assert len(set(own)) > 1


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_a_row_of_several_outputs_is_right_if_all_are(weight):
    model = DeepForestClassifier(1, n_estimators=5, members=["random"], scoring="accuracy")
    model.set_params(random_state=0).fit(X, PAIRS, weight)
    predicted = [
        classes[probabilities.argmax(axis=1)]
        for classes, probabilities in zip(model.classes_, model.oof_probabilities_, strict=True)
    ]
    is_right = (np.column_stack(predicted) == PAIRS).all(axis=1)
    for name in ("score", "accuracy"):
        assert model.history_[name] == pytest.approx([np.average(is_right, weights=weight)])


def test_scorers_of_probabilities_refuse_several_outputs():
    for scoring in ("neg_brier_score", make_scorer(log_loss, response_method="predict_proba")):
        model = DeepForestClassifier(1, n_estimators=2, members=["random"], scoring=scoring)
        with pytest.raises(ValueError, match="is for classes of one output, got 2 outputs"):
            model.fit(X, PAIRS)
