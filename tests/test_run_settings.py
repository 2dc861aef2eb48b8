"""run_settings.py: settings of mdDF on training rows."""

import re

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def run(script):
    return script("run_settings")


def test_tables(run, tmp_path, capsys):
    arguments = ["--datasets", "iris", "--n-estimators", "2", "--n-layers", "2", "--seeds", "2"]
    arguments += ["--settings", "gcForest", "strength=1", "--own", "strength=0.7"]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 0
    assert run.main([*arguments, "--rows", "50", "--out", str(tmp_path)]) == 0
    rows = pd.read_csv(tmp_path / "settings.csv")
    assert rows["method"].tolist() == ["gcForest", "strength=1", "strength=0.7"] * 2
    assert rows["rows"].tolist() == ["50"] * 3 + ["all"] * 3
    assert rows["valid_by_ratio"].between(70, 100).all()
    assert (rows["n_seeds"] == 2).all()


def test_standard_test_rows_are_left_alone(run, script, data_home):
    data = script("_lab.data")
    source = data.Source("satimage", str(data_home))
    split = run.held_out(source, 600, seed=3)
    assert (len(split.y), len(split.y_test)) == (600, 1109)
    assert max(*split.rows, *split.rows_test) < 4435
    assert not set(split.rows) & set(split.rows_test)
    assert np.array_equal(split.rows, run.held_out(source, 600, seed=3).rows)


def test_own_settings_that_do_not_do(run, capsys):
    with pytest.raises(SystemExit):
        run.parse(["--own", "strength"])
    assert re.search("--own: must be parameter=value, got 'strength'", capsys.readouterr().err)
