"""run_uci.py: the comparison of methods on real data."""

import json

import pandas as pd
import pytest
from sklearn.datasets import load_iris

SMALL = ["--n-estimators", "2", "--n-layers", "2", "--seeds", "2", "--n-jobs", "1"]


@pytest.fixture
def run(script):
    return script("run_uci")


def test_results_on_screen_and_in_files(run, tmp_path, capsys):
    arguments = ["--datasets", "iris,wine", "--methods", "rf", "gcforest,mddf", *SMALL]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "RandomForest 40 trees" in output
    assert "mean rank, 2 sets" in output
    assert max(map(len, output.splitlines())) <= 80 + len(str(tmp_path))
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * 3 * 2
    assert cells["accuracy"].between(0.7, 1).all()
    assert set(cells["n_test"]) == {45, 54}
    numbers = pd.read_csv(tmp_path / "accuracy.csv").set_index(["set", "method"])
    mine = cells.query("set == 'wine' and method == 'mddf'")["accuracy"]
    assert numbers.loc[("wine", "mddf"), "accuracy"] == pytest.approx(mine.mean())
    assert "| wine | " in (tmp_path / "accuracy.md").read_text()
    (log,) = (tmp_path / "runs").iterdir()
    assert json.loads(log.read_text())["failures"] == []


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


def test_seeds_fix_everything(run, tmp_path):
    arguments = ["--datasets", "iris", "--methods", "mlp", "mddf", *SMALL, "--quick"]
    for out, jobs in (("a", "1"), ("b", "2")):
        run.main([*arguments, "--seeds=1", "--out", str(tmp_path / out), "--n-jobs", jobs])
    a, b = (pd.read_csv(tmp_path / out / "cells.csv", dtype={"right": str}) for out in "ab")
    key = ["set", "method", "seed", "accuracy", "log_loss", "right"]
    pd.testing.assert_frame_equal(a[key], b[key])


def test_no_results(run, tmp_path, capsys):
    arguments = ["--datasets", "titanic", "--methods", "rf", "--out", str(tmp_path)]
    assert run.main(arguments) == 1
    assert "no results\n\ndata set 'titanic': file 'Dataset.data'" in capsys.readouterr().out


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


def test_defaults(run):
    options = run.parse([])
    assert list(options.sources) == ["digits", "wine", "breast_cancer", "iris"]
    assert str(options.out) == "results/uci"
    methods = [name for name in options.methods if name != "xgboost"]  # where it is installed
    assert methods == ["deepforest", "mddf", "gcforest", "rf", "mlp"]
    options = run.parse(["--suite", "paper", "--ablations"])
    assert list(options.methods)[-3:] == ["mddf-sf", "mddf-st", "mddf-np"]
    assert "mddf-paper" in options.methods
    assert len(options.sources) == 8
    assert (options.budget.n_estimators, options.budget.n_trees) == (100, 2000)


def test_published_values(run):
    published = run.published()
    assert published["letter", "rf"] == 96.575
    assert published["yeast", "mddf-np"] == 62.556
    assert published["yeast", "mddf-paper"] == 63.34
    assert ("yeast", "mddf") not in published  # the defaults are not the paper's algorithm
