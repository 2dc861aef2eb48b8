"""Fixtures for the tests of the scripts."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def own_table(tmp_path):
    """A CSV file of two classes with a column of words; the column of labels is "kind"."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90)})
    frame["kind"] = np.where(frame["a"] + (frame["b"] == "x") > 1, "yes", "no")
    frame.to_csv(tmp_path / "own.csv", index=False)
    return tmp_path / "own.csv"
