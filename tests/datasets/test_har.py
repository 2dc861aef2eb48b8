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
