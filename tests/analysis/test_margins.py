import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import AdaBoostClassifier
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

from mddf import MDDFClassifier
from mddf.analysis import classifier_margins, margin_report


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 3)), min_size=1, max_size=30))
@settings(deadline=None)
def test_weights_count_as_copies(pairs):
    margins, weights = np.array(pairs).T
    weighted = margin_report(margins, weights)
    other = margin_report(margins.repeat(weights.astype(int)))
    for key, value in weighted.summary().items():
        if key != "ratio":  # 0 / 0 up to rounding when the mean vanishes
            assert value == pytest.approx(other.summary()[key], abs=1e-9)
    grid = np.linspace(-1.1, 1.1, 45)
    np.testing.assert_allclose(weighted.cumulative(grid), other.cumulative(grid), atol=1e-12)
    expected = [np.mean(margins.repeat(weights.astype(int)) <= g) for g in grid]
    np.testing.assert_allclose(weighted.cumulative(grid), expected, atol=1e-12)


def test_report():
    report = margin_report([0.5, -0.5, 0.25, 0.75])
    assert (report.mean, report.minimum, report.error) == (0.25, -0.5, 0.25)
    assert report.std == pytest.approx(np.std([0.5, -0.5, 0.25, 0.75]))
    assert report.ratio == pytest.approx(report.std / 0.25)
    assert report.quantiles([0, 0.25, 0.5, 1]).tolist() == [-0.5, -0.5, 0.25, 0.75]
    assert report.cumulative([-1, 0.25, 2]).tolist() == [0, 0.5, 1]
    weighted = margin_report([-5, 1, 2], [0, 1, 1])
    assert weighted.minimum == weighted.quantiles(0) == 1
    assert margin_report([-1.0, 1.0]).ratio == float("inf")
    assert margin_report([-0.5, -0.6]).ratio == float("inf")


def test_margins_of_any_classifier():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0, max_depth=2).fit(X, y)
    p = forest.predict_proba(X)
    expected = [p[i, k] - np.delete(p[i], k).max() for i, k in enumerate(y)]
    np.testing.assert_allclose(classifier_margins(forest, X, y), expected)
    cascade = MDDFClassifier(n_layers=1, n_estimators=5, random_state=0).fit(X, y)
    margins = classifier_margins(cascade, X, y)
    assert margin_report(margins).error == pytest.approx(1 - cascade.score(X, y), abs=0.01)
    svm = LinearSVC().fit(X[:100], y[:100])
    f = svm.decision_function(X[:100])
    np.testing.assert_allclose(classifier_margins(svm, X[:100], y[:100]), (2 * y[:100] - 1) * f)
    svm = LinearSVC().fit(X, y)
    np.testing.assert_array_equal(classifier_margins(svm, X, y) > 0, svm.predict(X) == y)
    boosting = AdaBoostClassifier(10).fit(X, y)
    np.testing.assert_array_equal(classifier_margins(boosting, X, y), boosting.margins(X, y))
    with pytest.raises(ValueError, match="y must hold labels seen in fit"):
        classifier_margins(forest, X, y + 1)
    with pytest.raises(TypeError, match="classifier must have margins"):
        classifier_margins(KMeans(3), X, y)
