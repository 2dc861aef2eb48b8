"""Large class vectors, which are stored in files."""

import limits
import numpy as np
import pytest
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier

from mddf import MDDFClassifier


@pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])
@pytest.mark.parametrize("cv", ["oob", 2])
def test_memory_mapped_files_change_nothing(Cascade, cv, monkeypatch):
    X, y = three_classes()
    results = []
    for least in (limits.value("bytes_of_a_mapped_file"), 0):
        limits.change(monkeypatch, bytes_of_a_mapped_file=least)
        model = Cascade(3, n_estimators=3, cv=cv, random_state=0, early_stopping=False)
        features = model.fit_transform(X, y)
        assert model.oof_probabilities_.flags.writeable
        results.append([features, model.oof_probabilities_, model.margins_, model.weights_])
    for mapped, other in zip(*results, strict=True):
        np.testing.assert_array_equal(mapped, other)
