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
