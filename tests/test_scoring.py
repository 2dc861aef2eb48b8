"""How much better a score has to be."""

from itertools import pairwise

import pytest
from sklearn.datasets import load_wine

from mddf import MDDFClassifier
from mddf._scoring import needed_gain


@pytest.mark.parametrize(
    ("tol", "scoring", "best", "gain"),
    [
        (0.02, "accuracy", 0.9, 0.02),
        ("auto", "margin-ratio", -0.6, 0.01),
        ("auto", "accuracy", 0.9, 0.001),
        ("auto", None, 0.9, 0.001),
        ("auto", "roc_auc", 1.0, 0.0),
        ("auto", "neg_log_loss", -0.25, 0.0025),
        ("auto", lambda *_: 0, 1200.0, 12.0),  # some amount of money
    ],
)
def test_needed_gain(tol, scoring, best, gain):
    assert needed_gain(tol, scoring)(best) == pytest.approx(gain)


def test_the_default_knows_the_scale_of_the_score():
    X, y = load_wine(return_X_y=True)
    options = {"n_estimators": 5, "n_layers": 4, "n_iter_no_change": 1, "random_state": 0}
    forest = MDDFClassifier(**options, scoring="accuracy").fit(X, y)
    scores = forest.history_["score"]
    rises = [b > a + 0.01 * (1 - a) for a, b in pairwise(scores)]
    assert all(rises[:-1])
    assert len(scores) == 4 or not rises[-1]
    same = MDDFClassifier(**options).fit(X, y)
    assert same.stop_reason_ == MDDFClassifier(**options, tol=0.01).fit(X, y).stop_reason_
    with pytest.raises(ValueError, match="tol"):
        MDDFClassifier(tol="automatic").fit(X, y)
