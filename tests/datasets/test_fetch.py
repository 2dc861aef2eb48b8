import bz2
import gzip
import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_data import (
    PROTEIN_TRAIN,
    balance_file,
    har_members,
    protein_pages,
    serve,
    small_har,
    small_svmlight,
    zip_file,
)
from mddf.datasets import DataFileError, DataFileNotFoundError, load
from mddf.datasets._registry import SPECS

DEAD = "http://127.0.0.1:9/"  # the discard port: nobody answers there


@pytest.fixture(autouse=True)
def direct(monkeypatch):
    """Local addresses use no proxy, and variables of the user are removed."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("MDDF_DATA_HOME", raising=False)


@pytest.fixture
def use(monkeypatch):
    """Put a specification into the registry for one test."""
    return lambda spec: monkeypatch.setitem(SPECS, spec.name, spec)


def put(home, name, content):
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


class TestLocalFiles:
    @pytest.mark.parametrize(
        ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)]
    )
    def test_plain_and_compressed(self, tmp_path, suffix, pack):
        put(tmp_path, f"balance/balance-scale.data{suffix}", pack(balance_file()))
        data = load("balance", data_home=tmp_path, download=False)
        assert data.X.shape == (625, 4)

    def test_wrong_sum(self, tmp_path):
        # One digit more in a line keeps rows, columns and counts: only the sum can tell.
        content = balance_file().replace(b"L,5,5,5,4", b"L,5,5,5,3")
        path = put(tmp_path, "balance/balance-scale.data", content)
        with pytest.raises(DataFileError) as error:
            load("balance", data_home=tmp_path)
        message = str(error.value)
        assert str(path) in message
        assert SPECS["balance"].files[0].sha256 in message
        assert hashlib.sha256(content).hexdigest() in message
        assert "check_hash=False" in message
        assert load("balance", data_home=tmp_path, check_hash=False).X[-2].tolist() == [5, 5, 5, 3]

    def test_counts_are_checked_without_a_checksum(self, tmp_path):
        content = balance_file().replace(b"L,5,5,5,4", b"B,5,5,5,4")
        put(tmp_path, "balance/balance-scale.data", content)
        with pytest.raises(DataFileError, match=r"class counts .*'B': 49.* got .*'B': 50"):
            load("balance", data_home=tmp_path, check_hash=False)


class TestMissing:
    def test_the_message_is_complete(self, tmp_path):
        with pytest.raises(DataFileNotFoundError) as error:
            load("har", data_home=tmp_path, download=False)
        message = str(error.value)
        assert isinstance(error.value, FileNotFoundError)
        assert "'UCI HAR Dataset/features.txt' is missing" in message
        assert f"looked in: {tmp_path / 'har'}" in message
        assert "in 'UCI HAR Dataset.zip'" in message
        assert "download=False" in message
        assert "https://archive.ics.uci.edu/dataset/240/" in message
        assert SPECS["har"].files[0].archive.url in message
        assert "MDDF_DATA_HOME" in message

    @pytest.mark.parametrize("name", ["titanic", "carclaims"])
    def test_a_set_without_an_address(self, tmp_path, name):
        with pytest.raises(DataFileNotFoundError, match="no address to download it") as error:
            load(name, data_home=tmp_path)
        assert SPECS[name].hint in str(error.value)
        assert everything(tmp_path) == []

    def test_no_network(self, tmp_path, use):
        use(small_svmlight("protein", DEAD))
        with pytest.raises(DataFileNotFoundError) as error:
            load("protein", data_home=tmp_path)
        message = str(error.value)
        assert "file 'protein' is missing" in message
        assert f"downloading {DEAD}protein.bz2 failed" in message
        assert f"looked in: {tmp_path / 'protein'}" in message
        assert SPECS["protein"].source in message
        assert error.value.__suppress_context__  # the message has what it would say
        assert everything(tmp_path) == ["protein"]

    def test_no_pooch(self, tmp_path, monkeypatch, use):
        use(small_svmlight("protein"))
        monkeypatch.setitem(sys.modules, "pooch", None)
        with pytest.raises(ImportError, match=r'pip install "mddf\[data\]"') as error:
            load("protein", data_home=tmp_path)
        assert "file 'protein' is missing" in str(error.value)
        assert error.value.__suppress_context__

    def test_the_folder_cannot_be_written(self, tmp_path, use):
        use(small_svmlight("protein"))
        put(tmp_path, "protein", b"a file where the folder should be")
        with pytest.raises(DataFileNotFoundError, match="the folder cannot be written") as error:
            load("protein", data_home=tmp_path)
        assert error.value.__suppress_context__


class TestDownload:
    def test_compressed_files(self, tmp_path, use):
        with serve(protein_pages()) as (url, requests):
            use(small_svmlight("protein", url))
            data = load("protein", data_home=tmp_path, progress=False)
            again = load("protein", data_home=tmp_path, progress=False)
        assert data.X_train.shape == (4, 4)
        assert data.X_test.shape == (3, 4)
        np.testing.assert_array_equal(data.X, again.X)
        assert requests == ["/protein.bz2", "/protein.t.bz2"]
        files = ["protein", "protein/protein.bz2", "protein/protein.t.bz2"]
        assert everything(tmp_path) == files
        assert bz2.decompress((tmp_path / files[1]).read_bytes()) == PROTEIN_TRAIN

    def test_an_archive_is_fetched_once(self, tmp_path, use):
        with serve({"/har.zip": zip_file(har_members())}) as (url, requests):
            use(small_har(url))
            data = load("har", data_home=tmp_path, progress=False)
        assert data.X_train.shape == (12, 4)
        assert requests == ["/har.zip"]
        assert everything(tmp_path) == ["har", "har/UCI HAR Dataset.zip"]

    @pytest.mark.parametrize("body", [balance_file()[:-2], b"<html>Moved</html>", b""])
    def test_wrong_checksum_leaves_no_file(self, tmp_path, use, body):
        spec = SPECS["balance"]
        with serve({"/b": body}) as (url, _):
            use(replace(spec, files=(replace(spec.files[0], url=f"{url}b"),)))
            with pytest.raises(DataFileError) as error:
                load("balance", data_home=tmp_path, progress=False)
        message = str(error.value)
        assert f"{url}b" in message
        assert spec.files[0].sha256 in message
        assert hashlib.sha256(body).hexdigest() in message
        assert "check_hash=False" in message
        assert everything(tmp_path) == ["balance"]

    def test_checksum_of_a_compressed_file_is_of_its_content(self, tmp_path, use):
        spec = SPECS["balance"]
        for content, good in ((balance_file(), True), (balance_file()[:-2], False)):
            home = tmp_path / str(good)
            with serve({"/b.gz": gzip.compress(content, mtime=0)}) as (url, _):
                use(replace(spec, files=(replace(spec.files[0], url=f"{url}b.gz"),)))
                if good:
                    assert load("balance", data_home=home, progress=False).X.shape == (625, 4)
                    assert everything(home) == ["balance", "balance/balance-scale.data.gz"]
                else:
                    with pytest.raises(DataFileError, match="SHA-256 of the uncompressed content"):
                        load("balance", data_home=home, progress=False)
                    assert everything(home) == ["balance"]

    def test_wrong_sum_of_an_archive(self, tmp_path, use):
        with serve({"/har.zip": zip_file(har_members())}) as (url, _):
            spec = small_har(url)
            archive = replace(spec.files[0].archive, sha256="0" * 64)
            spec = replace(spec, files=tuple(replace(f, archive=archive) for f in spec.files))
            use(spec)
            with pytest.raises(DataFileError, match="0" * 64):
                load("har", data_home=tmp_path, progress=False)
            assert everything(tmp_path) == ["har"]
            load("har", data_home=tmp_path, progress=False, check_hash=False)
        with pytest.raises(DataFileError, match="0" * 64):
            load("har", data_home=tmp_path)

    def test_connection_lost_half_way(self, tmp_path, use):
        pages = protein_pages()
        with serve(pages, cut=["/protein.t.bz2"]) as (url, requests):
            use(small_svmlight("protein", url))
            with pytest.raises(DataFileNotFoundError, match=r"file 'protein\.t' is missing"):
                load("protein", data_home=tmp_path, progress=False)
        assert everything(tmp_path) == ["protein", "protein/protein.bz2"]
        with serve(pages) as (url, requests):
            use(small_svmlight("protein", url))
            assert load("protein", data_home=tmp_path, progress=False).X.shape == (7, 4)
        assert requests == ["/protein.t.bz2"]

    def test_server_that_has_half_a_file(self, tmp_path, use):
        # No sum is known for this set, and the length the server announces is that of the half.
        half = protein_pages()["/protein.bz2"][:-8]
        with serve({"/protein.bz2": half}) as (url, _):
            use(small_svmlight("protein", url))
            with pytest.raises(DataFileError, match="damaged or truncated"):
                load("protein", data_home=tmp_path, progress=False)
        assert everything(tmp_path) == ["protein"]

    def test_page_not_found(self, tmp_path, use):
        with serve({}) as (url, _):
            use(small_svmlight("protein", url))
            with pytest.raises(DataFileNotFoundError, match="404"):
                load("protein", data_home=tmp_path, progress=False)
        assert everything(tmp_path) == ["protein"]

    def test_interrupted_by_the_user(self, tmp_path, use, monkeypatch):
        import pooch

        def half(self, url, output_file, pooch):
            Path(getattr(output_file, "name", output_file)).write_bytes(PROTEIN_TRAIN[:9])
            raise KeyboardInterrupt

        monkeypatch.setattr(pooch.HTTPDownloader, "__call__", half)
        use(small_svmlight("protein"))
        with pytest.raises(KeyboardInterrupt):
            load("protein", data_home=tmp_path, progress=False)
        assert everything(tmp_path) == ["protein"]

    def test_leftover_of_a_killed_process_is_not_read(self, tmp_path, use):
        use(small_svmlight("protein"))
        put(tmp_path, "protein/.download-abc/protein.bz2", b"half")
        with pytest.raises(DataFileNotFoundError):
            load("protein", data_home=tmp_path, download=False)
