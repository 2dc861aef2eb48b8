"""The script that compares settings of mdDF."""

import csv
import json

import numpy as np
import pytest
from mddf.datasets import load


@pytest.fixture
def script(script):
    return script("run_settings")


def test_tables(script, tmp_path, capsys):
    arguments = ["--datasets", "iris", "--trees", "2", "--layers", "2", "--seeds", "2"]
    arguments += ["--settings", "gcForest", "strength=1", "--out", str(tmp_path)]
    script.main(arguments)
    shown = capsys.readouterr().out
    assert "| gcForest | " in shown
    with (tmp_path / "iris.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["setting"] for row in rows] == ["gcForest", "strength=1"] * 2
    assert all(80 < float(row["valid_by_ratio"]) <= 100 for row in rows)
    assert json.loads((tmp_path / "iris.json").read_text())["table"] in shown


def test_standard_test_rows_are_left_alone(script):
    data = load("wine")
    _, y, X_valid, y_valid = script.split(data, 60, seed=3)
    assert (len(y), len(y_valid)) == (60, 45)
    again = script.split(data, 60, seed=3)
    np.testing.assert_array_equal(X_valid, again[2])
    np.testing.assert_array_equal(np.unique(y), np.unique(y_valid))
