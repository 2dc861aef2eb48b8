"""run_league.py: methods with defaults or tuned, on many data sets."""

import re

import pandas as pd
import pytest
from mddf.datasets import names


@pytest.fixture
def run(script):
    return script("run_league")


def test_defaults_and_tuned_ones_share_a_folder(run, tmp_path, capsys, monkeypatch):
    models = run.models
    small = {"n_estimators": 5}
    for name in ("sklearn-rf", "extratrees", "mddf"):
        method = models.METHODS[name]
        space = {key: text for key, text in method.space.items() if key not in small}
        method = models.replace(method, fixed=small, space=space)
        monkeypatch.setitem(models.METHODS, name, method)
    arguments = ["--quick", "--datasets", "iris", "wine", "--n-jobs", "1", "--out", str(tmp_path)]
    arguments += ["--methods", "mddf,sklearn-rf", "extratrees"]
    assert run.main(arguments) == 0
    assert run.main([*arguments, "--tuned", "--n-iter", "2"]) == 0
    output = capsys.readouterr().out
    assert "peers tuned by 2 random configurations" in output
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert set(cells["method"]) == {
        "mddf", "sklearn-rf", "extratrees", "sklearn-rf-tuned", "extratrees-tuned",
    }  # fmt: skip
    assert len(cells) == 2 * 5
    assert cells[cells["method"] == "extratrees-tuned"]["details"].str.contains("max_depth").all()
    columns = {"accuracy", "log_loss", "balanced_accuracy", "roc_auc", "fit_seconds", "bytes"}
    assert columns <= set(cells)
    ranks = pd.read_csv(tmp_path / "ranks.csv").set_index("method")
    assert ranks.sum().tolist() == pytest.approx([1 + 2 + 3 + 4 + 5] * 4)
    assert "| critical difference |" in (tmp_path / "ranks.md").read_text()


def test_rules(run):
    options = run.parse([])
    assert (options.splits, options.max_train, options.n_iter) == (3, 20_000, 30)
    assert {"adult", "letter", "wine"} <= set(options.sources)
    assert not {"digits", "mnist-17", "wine-uci"} & set(options.sources)
    assert len(options.sources) >= 35 + len({"har", "protein", "sensit"})
    assert options.sources["bank"].options == (("drop_duration", True),)
    assert list(options.methods)[:3] == ["deepforest", "mddf", "gcforest"]
    assert options.metric == ["accuracy", "log_loss", "balanced_accuracy", "roc_auc"]
    options = run.parse(["--task", "regression"])
    assert set(options.sources) == set(names(task="regression"))
    assert len(options.sources) >= 8


def test_metrics_of_the_other_task(run, capsys):
    with pytest.raises(SystemExit):
        run.parse(["--task", "regression", "--metric", "accuracy"])
    assert re.search("--metric: accuracy is not for regression", capsys.readouterr().err)


def test_sets_of_the_other_task(run, script):
    with pytest.raises(SystemExit, match="wine is for classification, and not for regression"):
        run.parse(["--task", "regression", "--datasets", "wine"])
    with pytest.raises(SystemExit, match="yacht is for regression, and not for classification"):
        script("run_uci").parse(["--datasets", "yacht"])


def test_scores_that_a_method_does_not_have_are_named(run, tmp_path, capsys):
    arguments = "--datasets iris --methods svc rf --method svc=sklearn.svm:LinearSVC --splits 1"
    arguments += " --metric log_loss accuracy"
    assert run.main([*arguments.split(), "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "no log-loss of svc: that needs predict_proba" in output
    assert "no accuracy" not in output
    assert "1 set: iris" in output


def test_training_rows_are_capped(run):
    options = run.parse(["--datasets", "digits", "--max-train", "100", "--methods", "extratrees"])
    result = run.cell(options, set="digits", seed=0, method="extratrees")
    assert (result["n_train"], result["n_test"]) == (100, 540)
