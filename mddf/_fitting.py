"""A fit that fails leaves its estimator as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unchanged_on_failure(estimator) -> Iterator[None]:
    """Give an estimator all its attributes back if what is done with it fails.

    Whatever the fit before had learnt, the numbers and names of features included, is there
    again: predictions are what they were. Attributes must be replaced, not changed in place.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
