"""Tables as estimators read them, in blocks of any size."""

import limits

from mddf import RandomForestClassifier
from mddf._input.frame import frame_table
from mddf._input.reading import read_table

BLOCK_BYTES = limits.value("bytes_of_a_block_of_rows")
FEWEST_ROWS = limits.value("rows_of_a_block")


def read(X, **options):
    """The table of X for a new estimator."""
    return read_table(RandomForestClassifier(), X, reset=True, **options)


def read_frame(X):
    """The table of a frame with any column names."""
    return frame_table(X)


def read_again(model, X, **options):
    """The table of X for a fitted model."""
    return read_table(model, X, reset=False, **options)


def blocks_of(n_rows):
    """Predict in blocks of this number of rows."""
    return limits.changed(bytes_of_a_block_of_rows=1, rows_of_a_block=n_rows)
