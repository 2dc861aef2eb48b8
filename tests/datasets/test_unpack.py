import bz2
import gzip
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mddf.datasets import DataFileError
from mddf.datasets._io.unpack import read_plain, read_zip


@pytest.fixture
def write(tmp_path):
    def put(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return put


@given(content=st.binary(max_size=500))
def test_compressed_files_come_back_whole(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("plain")
    for name, pack in (("a", bytes), ("a.gz", gzip.compress), ("a.bz2", bz2.compress)):
        (folder / name).write_bytes(pack(content))
        assert read_plain(folder / name) == content


@given(content=st.binary(min_size=1, max_size=200), data=st.data())
def test_no_truncated_file_is_read(tmp_path_factory, content, data):
    folder = tmp_path_factory.mktemp("cut")
    for name, pack in (("a.gz", gzip.compress), ("a.bz2", bz2.compress)):
        packed = pack(content)
        # An empty gzip or bzip2 file is a valid one with no content for Python.
        size = data.draw(st.integers(1, len(packed) - 1))
        (folder / name).write_bytes(packed[:size])
        with pytest.raises(DataFileError, match="damaged or truncated"):
            read_plain(folder / name)


CONTENT = bytes(range(256))
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def zipped(method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("a", CONTENT)
        archive.writestr("é", "x")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("a.gz", gzip.compress(CONTENT)),
        ("a.bz2", bz2.compress(CONTENT)),
        *(("a.zip", zipped(method)) for method in METHODS),
    ],
    ids=["gz", "bz2", "stored", "deflated", "bzip2", "lzma"],
)
def test_any_byte_may_be_wrong(write, name, whole):
    refused = 0
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 0x81
        path = write(name, changed)
        try:
            content = read_zip(path, "a") if name == "a.zip" else read_plain(path)
        except DataFileError:
            refused += 1
        else:
            assert content == CONTENT  # the byte was part of a date, say
    assert refused > 250


@pytest.mark.parametrize("read", [read_plain, lambda path: read_zip(path, "a")])
def test_files_that_cannot_be_opened_are_not_called_damaged(tmp_path, read):
    path = tmp_path / "a.gz"
    path.symlink_to(path)
    with pytest.raises(OSError, match="symbolic link"):
        read(path)
