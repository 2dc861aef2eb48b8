"""reproduce/layers.py: cascades of the user, compared with built-in cascades."""

import re

import pandas as pd
import pytest

OWN = """
from mddf import MDDFClassifier


def alike(margins, alphas, sample_weight):
    return [1.0] * margins.shape[1]


class Mine(MDDFClassifier):
    def __init__(self, n_layers=9, n_estimators=9, early_stopping=True, random_state=None):
        super().__init__(
            n_layers, n_estimators=n_estimators, early_stopping=early_stopping, alpha=alike,
            random_state=random_state,
        )
"""


@pytest.fixture
def run(script, tmp_path, monkeypatch):
    (tmp_path / "own_cascade.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return script("reproduce.layers")


def test_a_cascade_of_the_users_own(run, own_table, tmp_path):
    rows = ["--csv", str(own_table), "--target", "kind", "--quick", "--n-layers", "2"]
    rows += ["--n-estimators", "2", "--n-jobs", "1", "--out", str(tmp_path / "out")]
    own = ["--methods", "mddf", "mine", "--method", "mine=own_cascade:Mine"]
    assert run.main([*rows, *own]) == 0
    result = pd.read_csv(tmp_path / "out/layers.csv").set_index(["method", "layer"])
    assert result.index.tolist() == [("mddf", 1), ("mddf", 2), ("mine", 1), ("mine", 2)]
    assert result.loc["mine", "alpha"].tolist() == [1, 1]
    arguments = ["--methods", "less", "--method", "less=own_cascade:Mine", "n_layers=1"]
    assert run.main([*rows, *arguments]) == 0
    result = pd.read_csv(tmp_path / "out/layers.csv")
    assert result.query("method == 'less'")["layer"].tolist() == [1]


def test_objects_that_are_not_cascades(run, own_table, tmp_path, capsys):
    rows = ["--csv", str(own_table), "--target", "kind", "--quick", "--n-jobs", "1"]
    own = ["--methods", "nb", "--method", "nb=sklearn.naive_bayes:GaussianNB"]
    assert run.main([*rows, *own, "--out", str(tmp_path / "out")]) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "GaussianNB must be a cascade, but has no staged_predict" in output
    for more, message in (
        (["--methods", "nothing"], "argument --methods: must be mddf, .* got 'nothing'"),
        (["--set", "mddf.cv=3"], "unrecognized arguments: --set"),
    ):
        with pytest.raises(SystemExit):
            run.parse([*rows, *more])
        assert re.search(message, capsys.readouterr().err)
