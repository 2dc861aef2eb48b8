"""Encoders made from counts of categories are those made from the column itself."""

import numpy as np
import pytest

from mddf._binning.categories import CategoryCounts, CategoryEncoder
from mddf._input.table import OBJECTS, Cells, Column


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_encoders_from_counts(seed, is_weighted):
    rng = np.random.default_rng(seed)
    names = np.array([*"abcdefgh", np.nan], object)[rng.integers(rng.integers(1, 9), 9, 40)]
    weights = rng.integers(0, 3, 40).astype(float) if is_weighted else None
    column = Column("0", lambda: Cells.from_values(names), OBJECTS)
    counted = names if weights is None else names[weights > 0]
    missing = [name for name in counted if name != name]
    present, places = np.unique([name for name in counted if name == name], return_inverse=True)
    sums = None
    if weights is not None:
        is_present = np.array([name == name for name in counted], bool)
        sums = np.bincount(places, weights[weights > 0][is_present], minlength=len(present))
    n_rows = np.bincount(places, minlength=len(present))
    counts = CategoryCounts(
        present.astype(object), n_rows, sums, missing[0] if missing else None, len(missing)
    )
    for max_codes in (2, 3, 5, 8, 9):
        encoder = CategoryEncoder.from_counts(counts, max_codes)
        expected = CategoryEncoder.learn(column, weights, max_codes)
        assert encoder.codes_by_category.keys() >= set(present)
        np.testing.assert_array_equal(encoder.look_up(names), expected.look_up(names))
        np.testing.assert_array_equal(encoder.categories, expected.categories)
