"""Large class vectors, which are stored in files."""

import gc
import io
import os

import numpy as np
import pytest
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier

from mddf import MDDFClassifier
from mddf._base import memmap as data_vectors


@pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])
@pytest.mark.parametrize("cv", ["oob", 2])
def test_memory_mapped_files_change_nothing(Cascade, cv, monkeypatch):
    X, y = three_classes()
    results = []
    for least in (data_vectors._MIN_FILE_BYTES, 0):
        monkeypatch.setattr(data_vectors, "_MIN_FILE_BYTES", least)
        model = Cascade(3, n_estimators=3, cv=cv, random_state=0, early_stopping=False)
        features = model.fit_transform(X, y)
        assert model.oof_probabilities_.flags.writeable
        results.append([features, model.oof_probabilities_, model.margins_, model.weights_])
    for mapped, other in zip(*results, strict=True):
        np.testing.assert_array_equal(mapped, other)


def test_files_go_with_their_arrays(monkeypatch, tmp_path):
    monkeypatch.setattr(data_vectors, "_MIN_FILE_BYTES", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = np.arange(6.0).reshape(2, 3)
    aside = data_vectors.put_aside(array)
    np.testing.assert_array_equal(aside, array)
    assert not np.shares_memory(aside, array)
    del aside
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_arrays_stay_in_memory_without_disk_space(monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError("no space left on device")

    monkeypatch.setattr(data_vectors, "_MIN_FILE_BYTES", 0)
    monkeypatch.setattr(data_vectors, "TemporaryFile", Full)
    array = np.ones(3)
    assert data_vectors.put_aside(array) is array
