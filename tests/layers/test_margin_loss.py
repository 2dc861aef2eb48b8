"""The margin-distribution loss, coefficients and weights."""

import numpy as np
import pytest
from compiled import _core
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mddf._layers import margin_loss as ml


def made_margins(seed):
    """Margins of several layers with different correlations and quality, and settings."""
    rng = np.random.default_rng(seed)
    n_samples, n_layers = int(rng.choice([50, 300, 3000])), int(rng.integers(2, 12))
    common = rng.normal(rng.uniform(-0.2, 0.9), rng.uniform(0.05, 0.5), n_samples)
    own = rng.normal(0, rng.uniform(0.02, 0.5), (n_samples, n_layers))
    margins = np.clip(common[:, None] + own + rng.normal(0, 0.2, n_layers), -1, 1)
    options = {
        "target_margin": float(rng.choice([0.7, 0.8, 0.9, 0.95, 0.98])),
        "mu": float(rng.choice([0.01, 0.05, 0.1])),
    }
    weights = None if seed % 2 else rng.integers(0, 4, n_samples).astype(float)
    shares = None if weights is None else weights / weights.sum()
    batches = rng.choice(n_samples, (ml.N_STEPS, ml.BATCH_SIZE), p=shares)
    return margins, weights, batches, options


def mean_loss(z, weights, options):
    return np.average(ml.margin_loss(z, **options), weights=weights)


def exact_on_simplex(margins, weights, options, starts):
    """The minimum mean loss on the simplex by sequential quadratic programming."""
    n_layers = margins.shape[1]

    def slope(x):
        z, r, mu = margins @ x, options["target_margin"], options["mu"]
        by_z = np.where(z <= r, 2 * (z - r) / r**2, 2 * mu * (z - r) / (1 - r) ** 2)
        return np.average(by_z[:, None] * margins, axis=0, weights=weights)

    results = [
        minimize(
            lambda x: mean_loss(margins @ x, weights, options),
            start,
            jac=slope,
            method="SLSQP",
            bounds=[(0, 1)] * n_layers,
            constraints={
                "type": "eq",
                "fun": lambda x: x.sum() - 1,
                "jac": lambda x: np.ones(n_layers),
            },
            options={"ftol": 1e-13, "maxiter": 500},
        ).fun
        for start in starts
    ]
    return min(results)


@pytest.mark.parametrize("seed", range(20))
def test_descent_on_the_simplex_is_within_a_percent_of_the_exact_minimum(seed):
    margins, weights, batches, options = made_margins(seed)
    alphas = ml.simplex_alphas(margins, batches, sample_weight=weights, **options)
    assert np.all(alphas >= 0)
    assert alphas.sum() == pytest.approx(1)
    starts = (np.full(len(alphas), 1 / len(alphas)), alphas)
    least = exact_on_simplex(margins, weights, options, starts)
    assert mean_loss(margins @ alphas, weights, options) <= 1.01 * least + 1e-12


@pytest.mark.parametrize("seed", range(15))
def test_stagewise_descent_is_within_a_percent_of_the_exact_minimum(seed):
    margins, weights, batches, options = made_margins(seed)
    before = 0.3 * margins[:, 1]
    alpha = ml.stagewise_alpha(margins[:, 0], before, batches, sample_weight=weights, **options)
    grid = np.linspace(0, 30, 30_001)
    for _ in range(3):
        losses = [mean_loss(before + a * margins[:, 0], weights, options) for a in grid[::300]]
        middle = grid[::300][int(np.argmin(losses))]
        width = (grid[-1] - grid[0]) / 50
        grid = np.linspace(max(0, middle - width), middle + width, 30_001)
    assert alpha >= 0
    assert mean_loss(before + alpha * margins[:, 0], weights, options) <= 1.01 * min(losses)


@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_descends_like_numpy(seed, monkeypatch):
    """The results are equal to the last bit."""
    margins, weights, batches, options = made_margins(seed)
    result = ml.simplex_alphas(margins, batches, sample_weight=weights, **options)

    def descend(objective, batches, x, step):
        target_margin, mu = objective.target_margin, objective.mu
        total = np.zeros_like(x)
        for number, batch in enumerate(batches):
            chosen = objective.columns[batch]
            z = objective.offset[batch] + ml.weighted_sum(chosen, x)
            slope = 2 * ml._factors(z, target_margin, mu) * (z - target_margin)
            x = x - step * (slope[:, None] * chosen).sum(axis=0) / len(batch)
            x = ml.project_to_simplex(x)
            if 2 * number >= len(batches):
                total += x
        return ml.project_to_simplex(total / (len(batches) // 2))

    monkeypatch.setattr(ml, "_descend_on_simplex", descend)
    expected = ml.simplex_alphas(margins, batches, sample_weight=weights, **options)
    np.testing.assert_array_equal(result, expected)


def test_descents_that_do_not_fit_are_refused():
    columns, offset, start = np.zeros((5, 2)), np.zeros(5), np.full(2, 0.5)
    batches = np.zeros((2, 3), np.int32)

    def descend(columns=columns, offset=offset, batches=batches, start=start):
        return _core.descend_on_simplex(columns, offset, batches, start, 1.0, 0.9, 1.0, 1.0)

    assert descend().tolist() == [0.5, 0.5]
    for wrong, message in (
        ({"offset": offset[1:]}, "offset must have length 5, got 4"),
        ({"start": start[1:]}, "start must have length 2, got 1"),
        ({"batches": batches[1:]}, "batches: expected at least two steps"),
        ({"batches": batches + 5}, "batches: expected 0 to 4, got 5"),
        ({"batches": batches - 1}, "batches: expected 0 to 4, got -1"),
    ):
        with pytest.raises(ValueError, match=message):
            descend(**wrong)
    assert np.isnan(descend(columns=np.full((5, 2), np.nan))).all()


def test_the_literal_stages_stall_after_the_first():
    """After the first coefficient has scaled the mean margin, later ones have little effect."""
    rng = np.random.default_rng(0)
    first = np.clip(rng.normal(0.6, 0.3, 3000), -1, 1)
    second = np.clip(first + rng.normal(0.02, 0.05, 3000), -1, 1)
    batches = rng.integers(0, 3000, (ml.N_STEPS, ml.BATCH_SIZE))
    options = {"target_margin": 0.9, "mu": 0.1}
    first_alpha = ml.stagewise_alpha(first, np.zeros(3000), batches, **options)
    second_alpha = ml.stagewise_alpha(second, first_alpha * first, batches, **options)
    assert first_alpha > 1
    assert second_alpha < 0.05 * first_alpha


@settings(deadline=None)
@given(
    r=st.floats(0.05, 0.95),
    mu=st.floats(0, 1),
    z=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
def test_loss_is_convex_and_not_negative(r, mu, z):
    low, _, high = np.sort(z)
    ends = ml.margin_loss(np.array([low, high]), r, mu)
    middle = ml.margin_loss(np.array([(low + high) / 2]), r, mu)[0]
    assert np.all(ends >= 0)
    assert middle <= ends.mean() + 1e-9


@given(v=st.lists(st.floats(-100, 100), min_size=1, max_size=8))
def test_projection_to_the_simplex_is_the_nearest_point(v):
    v = np.array(v)
    point = ml.project_to_simplex(v)
    assert np.all(point >= 0)
    assert point.sum() == pytest.approx(1)
    # Optimality: the way back to v makes no acute angle with the way to any corner.
    assert np.all((v - point) @ (np.eye(len(v)) - point).T <= 1e-8 * (1 + np.abs(v).max()))


def test_weights_equal_the_formula():
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, 500)
    losses = ml.margin_loss(z, 0.9, 0.1)
    shares = ml.reweight(losses, 1.0) / 500
    np.testing.assert_allclose(shares, losses / losses.sum(), atol=1e-8)
    half = ml.reweight(losses, 0.5) / 500
    np.testing.assert_allclose(half, 0.5 / 500 + 0.5 * losses / losses.sum(), atol=1e-8)
    assert np.all(ml.reweight(losses, 0.0) == 1)
    assert np.all(ml.reweight(np.zeros(4), 1.0) == 1)


def naive_margin(scores, label):
    return scores[label] - max([s for j, s in enumerate(scores) if j != label], default=0)


@given(n_samples=st.integers(1, 6), n_classes=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_class_margins_one_by_one(n_samples, n_classes, seed):
    rng = np.random.default_rng(seed)
    scores = rng.random((n_samples, n_classes))
    labels = rng.integers(0, n_classes, n_samples)
    expected = [naive_margin(row, label) for row, label in zip(scores, labels, strict=True)]
    np.testing.assert_allclose(ml.class_margins(scores, labels), expected)
