import numpy as np
import pytest
from made_data import PROTEIN_TEST, PROTEIN_TRAIN, small_svmlight
from mddf.datasets import DataFileError, load
from mddf.datasets._io.parsed import check
from mddf.datasets._io.svmlight import parse
from mddf.datasets._registry import SPECS, resolve

CONTENT = {"protein": PROTEIN_TRAIN, "protein.t": PROTEIN_TEST}


def test_protein():
    spec = small_svmlight("protein")
    parsed = parse(spec, CONTENT)
    check(spec, parsed)
    train, test = parsed.blocks
    np.testing.assert_array_equal(
        train.X, [[0.15, 0, 0.8, 0], [0, 0.5, 0, 0], [1, 0.25, 0, 0.125], [0, 0, 0, 1]]
    )
    assert train.y.tolist() == [1, 0, 2, 1]
    assert train.y.dtype.kind == "i"
    assert test.y.tolist() == [2, 1, 0]
    assert parsed.feature_names == ("x1", "x2", "x3", "x4")


def test_sensit(tmp_path, monkeypatch):
    monkeypatch.setitem(SPECS, "sensit", small_svmlight("sensit"))
    (tmp_path / "sensit").mkdir()
    train = b"1 1:-1 2:.5 3:0 4:1e-1 \n2 1:1\n3 2:-0.25 # a comment\n3 4:2\n"
    (tmp_path / "sensit" / "combined").write_bytes(train)
    (tmp_path / "sensit" / "combined.t").write_bytes(b"3 1:1\n1 1:2\n2 1:3\n")
    data = load("SENSIT", data_home=tmp_path, download=False)
    assert data.X_train.tolist()[0] == [-1, 0.5, 0, 0.1]
    assert data.y_train.tolist() == [1, 2, 3, 3]
    assert data.y_test.tolist() == [3, 1, 2]


def test_sizes_of_the_real_sets():
    assert [part.rows for part in SPECS["protein"].parts] == [17766, 6621]
    assert SPECS["protein"].format.n_features == 357
    assert [part.rows for part in SPECS["sensit"].parts] == [78823, 19705]
    for variant, n_features in (("combined", 100), ("acoustic", 50), ("seismic", 50)):
        spec = resolve("sensit", {"variant": variant})[0]
        assert spec.format.n_features == n_features
        assert [file.name for file in spec.files] == [variant, f"{variant}.t"]
        assert all(file.url.endswith(f"/vehicle/{file.name}.bz2") for file in spec.files)


def test_a_made_file_is_not_the_real_set(tmp_path):
    (tmp_path / "protein").mkdir()
    for name, content in CONTENT.items():
        (tmp_path / "protein" / name).write_bytes(content)
    with pytest.raises(DataFileError, match="must have training rows 17766, got 4"):
        load("protein", data_home=tmp_path, download=False)


def test_refused():
    for line, message in [
        (b"1 5:1\n", "svmlight text of 4 features"),
        (b"1 0:1\n", "svmlight text of 4 features"),
        (b"1 99999999999999999999:1\n", "svmlight text of 4 features"),
        (b"1 1:one\n", "svmlight text of 4 features"),
        (b"1 2:1 1:1\n", "svmlight text of 4 features"),
        (b"<html>\n", "svmlight text of 4 features"),
        (b"1,2,3\n", "svmlight text of 4 features"),
        (b"\xff\xfe\n", "svmlight text of 4 features"),
        (b"3 1:1\n", "protein, row 4: label must be one of 0, 1, 2, got '3'"),
        (b"0.5 1:1\n", "label must be one of 0, 1, 2, got '0.5'"),
        (b"nan 1:1\n", "label must be one of 0, 1, 2, got 'nan'"),
    ]:
        content = CONTENT | {"protein": PROTEIN_TRAIN + line}
        with pytest.raises(DataFileError, match=message):
            parse(small_svmlight("protein"), content)


def test_values_that_are_no_numbers():
    for value, message in [
        (b"nan", "missing cells 0, got 1"),
        (b"inf", "infinite cells 0, got 1"),
    ]:
        spec = small_svmlight("protein")
        content = CONTENT | {"protein": PROTEIN_TRAIN.replace(b"0.5", value)}
        with pytest.raises(DataFileError, match=message):
            check(spec, parse(spec, content))


def test_empty_file():
    spec = small_svmlight("protein")
    with pytest.raises(DataFileError, match=r"protein|rows"):
        check(spec, parse(spec, CONTENT | {"protein": b""}))
