"""Cases that run by default, and cases that need --run-slow."""

import pytest


def seeds(few, many):
    """All seeds below `many`; seeds from `few` on are slow tests."""
    return [pytest.param(s, marks=pytest.mark.slow if s >= few else ()) for s in range(many)]
