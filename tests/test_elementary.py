"""Exponentials and logarithms that are the same everywhere."""

import os
import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from mddf._elementary import exp, expit, log, softmax

SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan]


def last_places(found: float, exact: Decimal) -> Decimal:
    """How far a number is from what it should be, in units of its last place."""
    return abs((Decimal(found) - exact) / Decimal(float(np.spacing(abs(float(exact))))))


@given(st.floats(-745, 709))
def test_exponentials(x):
    with localcontext(prec=60):
        assert last_places(float(exp(x)), Decimal(x).exp()) < 1


@given(st.floats(0, exclude_min=True, allow_infinity=False) | st.floats(0.99, 1.01))
def test_logarithms(x):
    with localcontext(prec=60):
        exact = Decimal(x).ln()
        assert float(log(x)) == 0 if exact == 0 else last_places(float(log(x)), exact) < 2


@pytest.mark.parametrize("name", ["exp", "log"])
def test_ends_of_the_range(name):
    ours = {"exp": exp, "log": log}[name]
    x = np.array([*SPECIAL, 709.7827, 709.7828, 709.8, -745.13, -745.14, -746.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ours(x), getattr(np, name)(x), rtol=1e-15)


def test_shapes():
    x = np.arange(24.0).reshape(2, 3, 4).swapaxes(0, 2)
    np.testing.assert_allclose(log(exp(x)), x, rtol=1e-15)
    assert exp(1).shape == ()
    assert exp(np.zeros((0, 3))).shape == (0, 3)


def test_probabilities():
    scores = np.random.default_rng(0).normal(size=(50, 4)) * 100
    np.testing.assert_allclose(softmax(scores), scipy.special.softmax(scores, axis=1), rtol=1e-13)
    np.testing.assert_allclose(expit(scores), scipy.special.expit(scores), rtol=1e-13)
    np.testing.assert_array_equal(expit([-800.0, 0.0, 800.0]), [0, 0.5, 1])


def test_what_numpy_can_do_does_not_matter(capsys):
    script = """
        import hashlib, sys
        import numpy as np
        from mddf._elementary import exp, log
        x = np.random.default_rng(0).normal(size=10_000)
        print(hashlib.sha256(exp(50 * x).tobytes() + log(abs(x)).tobytes()).hexdigest())
    """
    script = "\n".join(line.strip() for line in script.splitlines())
    exec(script, {})
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX"},
        check=True,
    )
    assert done.stdout == capsys.readouterr().out
