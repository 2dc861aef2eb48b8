"""bench_export.py and run_explain.py."""

import pandas as pd
import pytest


@pytest.mark.usefixtures("no_data")
def test_graphs_on_bundled_sets(script, tmp_path, capsys):
    pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')
    arguments = ["--datasets", "iris", "adult", "--n-estimators", "5", "--rows", "10"]
    script("bench_export").main([*arguments, "--out", str(tmp_path)])
    assert "adult: left out" in capsys.readouterr().out
    rows = pd.read_csv(tmp_path / "export.csv")
    assert rows["set"].tolist() == ["iris", "iris"]
    assert (rows["classes equal"] == 1).all()
    assert (rows["probabilities differ"] < 1e-6).all()
    assert (rows[["pickle MB", "ONNX MB"]] > 0).all(axis=None)


@pytest.mark.usefixtures("no_data")
def test_explanations_on_bundled_sets(script, tmp_path, capsys):
    pytest.importorskip("shap", reason='needs "mddf[explain]"')
    arguments = ["--datasets", "wine", "adult", "--n-estimators", "5", "--rows", "4"]
    script("run_explain").main([*arguments, "--out", str(tmp_path)])
    assert "adult: left out" in capsys.readouterr().out
    agreement = pd.read_csv(tmp_path / "agreement.csv")
    assert set(agreement["method"]) == {"tree", "path"}
    assert (agreement["correlation"] > 0.7).all()
    ranks = pd.read_csv(tmp_path / "importances.csv")
    assert set(ranks["set"]) == {"wine"}
    assert set(ranks["kind"]) == {"held-out", "permutation", "impurity"}
