"""Groups of held-out rows, and the scale of the calibration plot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mddf._command.calibration import draw, group_rows

PROBABILITIES = {
    "rare": lambda rng: rng.beta(0.3, 5, 1000),
    "very rare": lambda rng: rng.beta(0.2, 40, 20000),
    "frequent": lambda rng: 1 - rng.beta(0.2, 40, 20000),
    "even": lambda rng: rng.random(300),
    "separated": lambda rng: rng.beta(0.1, 0.1, 400),
    "votes": lambda rng: np.round(rng.beta(0.3, 5, 3000), 1),
    "few rows": lambda rng: rng.beta(0.3, 5, 60),
}


@pytest.fixture
def axis():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason='needs "mddf[plots]"')
    figure, axis = pyplot.subplots()
    yield axis
    pyplot.close(figure)


def calibrated_rows(kind):
    rng = np.random.default_rng(0)
    probability = PROBABILITIES[kind](rng)
    return probability, rng.random(len(probability)) < probability


def positions(axis):
    """Positions of the points as shares of the axes, one row per axis."""
    drawn = axis.lines[1].get_xydata()
    return axis.transAxes.inverted().transform(axis.transData.transform(drawn)).T


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_points_fill_the_chart(axis, kind):
    groups = group_rows(*calibrated_rows(kind))
    draw(axis, groups)
    horizontal, vertical = positions(axis)
    assert len(groups.share) >= 3
    assert horizontal.min() >= 0
    assert horizontal.max() <= 1
    assert ((vertical >= -1e-9) & (vertical <= 1 + 1e-9)).all()
    assert np.ptp(horizontal) > 0.35
    corner = (horizontal < 0.1) | (horizontal > 0.9)
    assert corner.sum() <= len(corner) / 2 or kind == "separated"
    assert axis.get_xlim() == axis.get_ylim()
    axis.figure.canvas.draw()


@pytest.mark.parametrize(
    ("kind", "scale"),
    [("rare", "linear"), ("even", "linear"), ("very rare", "logit"), ("frequent", "logit")],
)
def test_log_odds_are_the_scale_of_very_rare_classes(axis, kind, scale):
    draw(axis, group_rows(*calibrated_rows(kind)))
    assert (axis.get_xscale(), axis.get_yscale()) == (scale, scale)
    labels = [text.get_text() for text in axis.get_xticklabels()]
    assert len(labels) >= 4
    assert not any("$" in label or "e" in label for label in labels)


@pytest.mark.parametrize("probability", [0.0, 1e-12, 0.3, 1.0])
@pytest.mark.parametrize("event", [False, True])
def test_equal_probabilities_are_one_group(axis, probability, event):
    groups = group_rows(np.full(7, probability), np.full(7, event))
    assert groups.n_rows.tolist() == [7]
    assert groups.share.tolist() == [float(event)]
    draw(axis, groups)
    axis.figure.canvas.draw()


@given(arrays(float, st.integers(1, 60), elements=st.floats(0, 1)), st.randoms())
def test_groups_are_intervals_of_the_probabilities(probability, random):
    is_event = np.array([random.random() < 0.3 for _ in probability])
    groups = group_rows(probability, is_event)
    assert groups.n_rows.sum() == len(probability)
    assert groups.n_rows.min() >= 1
    assert groups.n_rows @ groups.share == pytest.approx(is_event.sum())
    assert (np.diff(groups.mean_probability) >= 0).all()
    assert (groups.low <= groups.share + 1e-12).all()
    assert (groups.share <= groups.high + 1e-12).all()
    ordered = np.sort(probability)
    ends = np.cumsum(groups.n_rows)[:-1]
    assert (ordered[ends - 1] < ordered[ends]).all()  # equal probabilities share a group


def test_groups_have_equal_information():
    groups = group_rows(*calibrated_rows("very rare"))
    expected_variance = groups.n_rows * groups.mean_probability * (1 - groups.mean_probability)
    assert len(groups.share) == 10
    assert expected_variance.max() < 1.2 * expected_variance.min()
