"""Tables as estimators read them, in blocks of any size."""

from contextlib import contextmanager

import pytest

from mddf import RandomForestClassifier
from mddf._fitted import batching as blocks
from mddf._input.frame import frame_table
from mddf._input.reading import read_table

BLOCK_BYTES, FEWEST_ROWS = blocks._BLOCK_BYTES, blocks._MIN_ROWS


def read(X, **options):
    """The table of X for a new estimator."""
    return read_table(RandomForestClassifier(), X, reset=True, **options)


def read_frame(X):
    """The table of a frame with any column names."""
    return frame_table(X)


def read_again(model, X, **options):
    """The table of X for a fitted model."""
    return read_table(model, X, reset=False, **options)


@contextmanager
def blocks_of(n_rows):
    """Predict in blocks of this number of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_BLOCK_BYTES", 1)
        patch.setattr(blocks, "_MIN_ROWS", n_rows)
        yield
