"""Which cases run by default, and which with --run-slow alone."""

import pytest


def seeds(few, many):
    """All seeds below `many`, of which those from `few` on are slow tests."""
    return [pytest.param(s, marks=pytest.mark.slow if s >= few else ()) for s in range(many)]
