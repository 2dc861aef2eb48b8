"""run_uci.py: the comparison of methods on real data."""

import pandas as pd
import pytest
from sklearn.datasets import load_iris

SMALL = ["--n-estimators", "2", "--n-layers", "2", "--seeds", "2", "--n-jobs", "1"]


@pytest.fixture
def run(script):
    return script("run_uci")


def test_a_subset_never_shrinks_the_tables(run, tmp_path, capsys):
    arguments = ["--datasets", "iris", "--out", str(tmp_path), *SMALL]
    run.main([*arguments, "--methods", "rf", "mddf"])
    before = pd.read_csv(tmp_path / "cells.csv")
    capsys.readouterr()
    assert run.main([*arguments, "--methods", "rf", "--seeds", "1"]) == 0
    assert "1 of 1 results were there from earlier runs" in capsys.readouterr().out
    after = pd.read_csv(tmp_path / "cells.csv")
    key = ["method", "seed"]
    after, before = (f.sort_values(key, ignore_index=True) for f in (after, before))
    pd.testing.assert_frame_equal(after, before)
    assert "| mdDF |" in (tmp_path / "accuracy.md").read_text()


def test_own_table_methods_and_parameters(run, tmp_path, capsys):
    data = load_iris(as_frame=True)
    frame = data.data.assign(kind=data.target_names[data.target], id=range(150))
    frame["colour"] = "red"
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    arguments = ["--csv", str(tmp_path / "flowers.csv"), "--target", "kind", "--drop", "id"]
    arguments += ["--methods", "rf", "svm", "--method", "svm=sklearn.svm:SVC", "C=10"]
    arguments += ["--set", "rf.max_depth=1", "--metric", "accuracy,f1_macro", *SMALL]
    assert run.main([*arguments, "--out", str(tmp_path / "out")]) == 0
    output = capsys.readouterr().out
    assert "--method: as given" in output
    assert "F1, mean over classes" in output
    cells = pd.read_csv(tmp_path / "out" / "cells.csv")
    assert set(cells["set"]) == {"flowers"}
    assert set(cells["method"]) == {"rf(max_depth=1)", "svm"}
    frame.iloc[:100].to_csv(tmp_path / "flowers.csv", index=False)  # another table
    with pytest.raises(SystemExit, match=r"other settings: set\.flowers\.csv"):
        run.main([*arguments, "--out", str(tmp_path / "out")])


def test_published_values(run):
    published = run.published()
    assert published["letter", "rf"] == 96.575
    assert published["yeast", "mddf-np"] == 62.556
    assert published["yeast", "mddf-paper"] == 63.34
    assert ("yeast", "mddf") not in published  # the defaults are not the paper's algorithm
