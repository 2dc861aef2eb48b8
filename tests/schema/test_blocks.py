"""Tables in blocks of rows."""

import gzip

import numpy as np
import pandas as pd
import pytest

from mddf._schema.format import TableError
from mddf._schema.source import read_blocks, read_source

TABLE = pd.DataFrame(
    {
        "code": [f"{number:03d}" for number in range(500)],
        "x": np.random.default_rng(0).normal(size=500).round(3),
        "text": [f'say "{number}",\nthen stop' for number in range(500)],
    }
)


def joined(blocks, name):
    return [cell for block in blocks for cell in block.cells[name].to_pylist()]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("columns", [None, ["text", "code"]])
def test_blocks_hold_the_same_cells(tmp_path, suffix, columns):
    path = tmp_path / f"table{suffix}"
    if suffix == ".parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False)
    whole = read_source(path, columns=columns)
    blocks = list(read_blocks(path, columns=columns, block_rows=64, block_bytes=2000))
    assert len(blocks) > 5
    for name in whole.cells:
        assert joined(blocks, name) == whole.cells[name].to_pylist()
    assert sum(block.n_rows for block in blocks) == whole.n_rows
    # Positions refer to the file.
    last = blocks[-1]
    assert last.place(last.n_rows - 1) == whole.place(499)


@pytest.mark.parametrize("text", ["a,b\n1,2,\n3,4,\n", "a,b\nr1,1,2\nr2,3,4\n", "a,\n1,\n2,\n"])
def test_files_that_cannot_be_read_in_blocks_are_one_block(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    (block,) = read_blocks(path, block_bytes=4)
    whole = read_source(path)
    assert block.names == whole.names
    assert joined([block], "a") == whole.cells["a"].to_pylist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2\n" * 50 + "1,2,3\n", "line 52: must have 2 cells as the header, got 3"),
        ("a,b\n" + "1,2\n" * 50 + '1,"2\n', "a quote after line .* is not closed"),
    ],
)
def test_errors_late_in_the_file(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        list(read_blocks(path, block_bytes=64))


def test_a_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(TABLE.to_csv(index=False).encode())[:-200])
    with pytest.raises(TableError, match="cannot be read as a table"):
        list(read_blocks(path, block_bytes=2000))
