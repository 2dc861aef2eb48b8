import numpy as np
import pytest
from made_data import FEATURES, har_members, small_har, zip_file
from mddf.datasets import DataFileError, load
from mddf.datasets._registry import SPECS

ROOT = "UCI HAR Dataset"


@pytest.fixture
def load_har(tmp_path, monkeypatch):
    """Load HAR from archive members, which can be changed."""
    monkeypatch.setitem(SPECS, "har", small_har())

    def from_members(changed=None, **kwargs):
        members = har_members() | {f"{ROOT}/{k}": v for k, v in (changed or {}).items()}
        (tmp_path / "har").mkdir(exist_ok=True)
        (tmp_path / "har" / f"{ROOT}.zip").write_bytes(zip_file(members))
        return load("har", data_home=tmp_path, download=False, **kwargs)

    return from_members


def test_from_the_archive(load_har):
    data = load_har()
    assert data.X_train.shape == (12, 4)
    np.testing.assert_allclose(data.X_train[0], [0.1, 0.2, 0.3, 0.4])
    assert data.y_train.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert data.y_test.tolist() == [1, 2, 3, 4, 5, 6]
    assert data.groups.tolist() == [25] * 12 + [24] * 6
    assert data.target_names[:2] == ("WALKING", "WALKING_UPSTAIRS")
    assert data.feature_names == (FEATURES[0], FEATURES[1], f"{FEATURES[1]}#2", FEATURES[3])


def test_facts_of_the_real_set():
    spec = SPECS["har"]
    assert [part.rows for part in spec.parts] == [7352, 2947]
    assert spec.format.n_features == 561
    assert [file.name for file in spec.files][:5] == [
        f"{ROOT}/features.txt",
        f"{ROOT}/activity_labels.txt",
        f"{ROOT}/train/X_train.txt",
        f"{ROOT}/train/y_train.txt",
        f"{ROOT}/train/subject_train.txt",
    ]


def test_a_made_archive_is_not_the_real_set(tmp_path):
    (tmp_path / "har").mkdir()
    (tmp_path / "har" / f"{ROOT}.zip").write_bytes(zip_file(har_members()))
    with pytest.raises(DataFileError, match="SHA-256"):
        load("har", data_home=tmp_path, download=False)
    with pytest.raises(DataFileError, match="must be lines of 561 numbers, got 4 a line"):
        load("har", data_home=tmp_path, download=False, check_hash=False)


def test_refused(load_har):
    for file, text, message in [
        ("train/X_train.txt", "1 2 3\n" * 12, "must be lines of 4 numbers, got 3 a line"),
        ("train/X_train.txt", "1 2 3 4\n1 2 3\n", "must be lines of 4 numbers, but"),
        ("train/X_train.txt", "1 2 3 four\n", "must be lines of 4 numbers, but"),
        ("train/X_train.txt", "\n", "must hold rows, got none"),
        ("train/X_train.txt", "1 2 3 4\n" * 11, "must be 11 integers, got 12 numbers"),
        ("test/X_test.txt", "1 2 3 nan\n" * 6, "test missing cells 0, got 6"),
        ("test/y_test.txt", "1\n2\n3\n4\n5\n7\n", "row 5: label must be one of 1, 2, 3, 4, 5, 6"),
        ("test/y_test.txt", "1\n2\n3\n4\n5\n5\n", "test class counts"),
        ("test/y_test.txt", "1\n2\n3\n4\n5\n", "must be 6 integers, got 5"),
        ("test/subject_test.txt", "1\n2\n3\n4\n5\n5.5\n", "must be 6 integers"),
        ("features.txt", "1 a\n2 b\n3 c\n", "must have features 4, got 3"),
        ("features.txt", "1 a\n3 b\n", "line 2 must be '2 <name>', got '3 b'"),
        ("features.txt", "1\n", "line 1 must be"),
        ("features.txt", "1 ä\n", "ASCII"),
        ("activity_labels.txt", "1 WALKING\n", "activities must be"),
    ]:
        with pytest.raises(DataFileError, match=message):
            load_har({file: text})


def test_archive_without_a_file(load_har, tmp_path):
    load_har()
    members = har_members()
    del members[f"{ROOT}/test/y_test.txt"]
    (tmp_path / "har" / f"{ROOT}.zip").write_bytes(zip_file(members))
    with pytest.raises(DataFileError, match=r"must hold 'UCI HAR Dataset/test/y_test\.txt'"):
        load("har", data_home=tmp_path, download=False)


def test_the_parts_may_not_be_swapped(load_har):
    made = har_members()
    swapped = {}
    for kind in ("X", "y", "subject"):
        swapped[f"train/{kind}_train.txt"] = made[f"{ROOT}/test/{kind}_test.txt"]
        swapped[f"test/{kind}_test.txt"] = made[f"{ROOT}/train/{kind}_train.txt"]
    with pytest.raises(DataFileError, match="must have training rows 12, got 6"):
        load_har(swapped)
