"""Names of mddf.analysis."""

from mddf import analysis


def test_public_functions():
    assert all(getattr(analysis, name).__doc__ for name in analysis.__all__)
