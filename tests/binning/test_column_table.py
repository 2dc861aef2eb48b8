"""Coded tables in a file have the rows of coded tables in memory."""

import errno
from pathlib import Path

import numpy as np
import pytest

from mddf._binning import column_table
from mddf._binning.binned_table import coded_table
from mddf._binning.bins import Bins
from mddf._binning.column_table import ColumnTable, missing_as_n_bins, write_columns


def bins_of(*n_bins):
    start = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    numbers = np.arange(start[-1], dtype=np.float64)
    return Bins(numbers, numbers, start, np.zeros(len(n_bins), np.uint8))


def both_tables(folder):
    """Tables of one column with 255 bins and one with 3, both with missing values."""
    bins = bins_of(255, 3)
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 255, 90), rng.integers(0, 3, 90)]).astype(np.uint8)
    codes[::7] = 255
    columns = [missing_as_n_bins(codes[:, c], n) for c, n in enumerate((255, 3))]
    assert columns[1].max() == 3
    in_file = ColumnTable(bins, write_columns(columns, (2, 90), folder), folder)
    return coded_table(bins, codes), in_file


def assert_equal(table, expected):
    assert table.n_rows == expected.n_rows
    assert table.bins.n_columns == expected.bins.n_columns
    everything = table.codes_of(slice(None))
    assert everything.flags.c_contiguous
    np.testing.assert_array_equal(everything, expected.codes)
    for c in range(table.bins.n_columns):
        np.testing.assert_array_equal(table.column(c), expected.column(c))


def test_all_methods_equal_those_of_a_table_in_memory(tmp_path):
    in_memory, in_file = both_tables(str(tmp_path))
    assert_equal(in_file, in_memory)
    rows = np.array([5, 5, 0, 89, 7], np.int32)
    for chosen in (rows, slice(3, 50), rows[:0]):
        np.testing.assert_array_equal(in_file.codes_of(chosen), in_memory.codes_of(chosen))
    assert_equal(in_file.with_rows(rows), in_memory.with_rows(rows))
    further = in_memory.codes[:20]
    assert_equal(in_file.followed_by(further), in_memory.followed_by(further))
    added = (bins_of(2, 9), np.full((5, 2), 255, np.uint8))
    assert_equal(
        in_file.with_columns(rows, [0], *added), in_memory.with_columns(rows, [0], *added)
    )
    assert list(tmp_path.iterdir()) == []


def test_codes_above_the_bins_are_refused(tmp_path):
    columns = write_columns([np.array([0, 3, 4], np.uint8)], (1, 3), str(tmp_path))
    with pytest.raises(ValueError, match="codes: one is above the column's number of bins"):
        ColumnTable(bins_of(3), columns, str(tmp_path))


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="codes_folder: a file cannot be made"):
        write_columns([], (1, 3), str(tmp_path / "missing"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_disk_without_room(tmp_path, monkeypatch):
    message = "codes_folder: a file of 6 bytes cannot be written"
    with Path("/dev/full").open("wb", buffering=0) as file:
        monkeypatch.setattr(column_table, "TemporaryFile", lambda **_: file)
        with pytest.raises(OSError, match=message) as raised:
            write_columns([np.zeros(3, np.uint8)] * 2, (2, 3), str(tmp_path))
        assert file.closed
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.filename == str(tmp_path)
