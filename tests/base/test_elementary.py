"""Exponentials and logarithms with equal bits on every machine."""

import os
import re
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from mddf._base.elementary import exp, expit, log, log1p, softmax, softplus

SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan]


def last_places(result: float, exact: Decimal) -> Decimal:
    """Error of a result in units of the last place."""
    return abs((Decimal(result) - exact) / Decimal(float(np.spacing(abs(float(exact))))))


@given(st.floats(-745, 709))
def test_exponentials(x):
    with localcontext(prec=60):
        assert last_places(float(exp(x)), Decimal(x).exp()) < 1


@given(st.floats(0, exclude_min=True, allow_infinity=False) | st.floats(0.99, 1.01))
def test_logarithms(x):
    with localcontext(prec=60):
        exact = Decimal(x).ln()
        assert float(log(x)) == 0 if exact == 0 else last_places(float(log(x)), exact) < 2


@given(st.floats(-1, 1e300, exclude_min=True) | st.floats(-1e-3, 1e-3))
def test_logarithms_near_1(x):
    with localcontext(prec=400):
        exact = (1 + Decimal(x)).ln()
        assert float(log1p(x)) == 0 if exact == 0 else last_places(float(log1p(x)), exact) < 5


@given(st.floats(-700, 700) | st.floats(-1, 1))
def test_logarithms_of_1_plus_x(x):
    with localcontext(prec=400):
        exact = (1 + Decimal(x).exp()).ln()
        assert last_places(float(softplus(x)), exact) < 6


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_ends_of_the_range(name):
    ours = {"exp": exp, "log": log, "log1p": log1p}[name]
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


def test_ends_of_the_range_of_logarithms_of_1_plus_x():
    x = np.array([-np.inf, -800.0, -745.0, 0.0, 745.0, 800.0, np.inf])
    np.testing.assert_allclose(softplus(x), np.logaddexp(0, x), rtol=1e-15)
    assert np.isnan(softplus(np.nan))


# Modules whose results describe models, and do not fit or predict.
NOT_FITTED = (
    "mddf/analysis/",
    "mddf/explain/",
    "mddf/export/",
)
ELSEWHERE = {
    ".py": r"\b(np|numpy|math)\.(exp|log|tanh|arctanh|sinh|cosh|power|float_power|cbrt|sin|cos|"
    r"tan)\w*\(|\bscipy\.special|\bmath\.pow",
    ".hpp": r"\bstd::(exp|log|pow|tanh|cbrt|sin|cos|tan|erf|[lt]gamma)\w*\(",
    ".cpp": r"\bstd::(exp|log|pow|tanh|cbrt|sin|cos|tan|erf|[lt]gamma)\w*\(",
}
# Times; penalties to choose from; normal scores, which are rounded to ten binary digits; whether a
# warning or a finding is shown.
HARMLESS = {
    "np.log2(block.n_nodes",
    "np.logspace(-4, 2, 13)",
    "scipy.special import ndtri",
    "scipy.special import bdtr",
    "scipy.special import chdtr",
    "scipy.special import gammaln",
    "mddf/_input/subjects.py: rate = mean * -np.expm1(-rate)",
}


def test_no_other_module_computes_exponentials_or_logarithms():
    root = Path(__file__).parents[2]
    result = []
    for folder in ("mddf", "baselines"):
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in ELSEWHERE or name.startswith(NOT_FITTED):
                continue
            for line in path.read_text().splitlines():
                if re.search(ELSEWHERE[path.suffix], line):
                    result.append(f"{name}: {line.strip()}")
    result = [line for line in result if not any(known in line for known in HARMLESS)]
    assert not result


@pytest.mark.slow
def test_simd_features_of_numpy_do_not_matter(capsys):
    script = """
        import hashlib, sys
        import numpy as np
        from mddf._base.elementary import exp, log
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
