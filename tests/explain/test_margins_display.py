"""Histograms of margins of several classifiers."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mddf import RandomForestClassifier
from mddf.analysis import classifier_margins
from mddf.explain import MarginsDisplay

pytest.importorskip("matplotlib", reason='needs "mddf[plots]"')


@pytest.fixture(autouse=True)
def no_figures_stay():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def test_bars_are_the_shares_of_rows():
    X, y = load_iris(return_X_y=True)
    models = {
        name: RandomForestClassifier(n, random_state=0).fit(X[::2], y[::2])
        for name, n in (("small", 3), ("large", 30))
    }
    display = MarginsDisplay.from_estimators(models, X[1::2], y[1::2], n_bins=20)
    assert list(display.margins) == ["small", "large"]
    bounds = set()
    for axis, (name, model) in zip(display.axes_, models.items(), strict=True):
        margins = classifier_margins(model, X[1::2], y[1::2])
        bars = axis.patches
        below = sum(bar.get_height() for bar in bars if bar.get_facecolor()[0] > 0.5)
        assert sum(bar.get_height() for bar in bars) == pytest.approx(1)
        assert below == pytest.approx(np.mean(margins < 0))
        assert axis.get_title(loc="left") == (
            f"{name}: mean {margins.mean():.3f}, {np.mean(margins < 0):.1%} below 0"
        )
        bounds.add((bars[0].get_x(), len(bars)))
    assert len(bounds) == 1  # the same bins


def test_bad_arguments():
    for make, error, message in [
        (lambda: MarginsDisplay(margins={}), TypeError, "with at least one, got {}"),
        (lambda: MarginsDisplay(margins=[1.0]), TypeError, "must be a dict from names"),
        (lambda: MarginsDisplay(margins={"a": [np.nan]}), ValueError, "margins\\['a'\\]"),
        (lambda: MarginsDisplay(margins={"a": []}), ValueError, "must have at least one entry"),
        (lambda: MarginsDisplay.from_estimators([1], [[1]], [1]), TypeError, "must be a dict"),
        (
            lambda: MarginsDisplay(margins={"a": [1.0]}).plot(n_bins=1),
            ValueError,
            "n_bins must be",
        ),
    ]:
        with pytest.raises(error, match=message):
            make()
