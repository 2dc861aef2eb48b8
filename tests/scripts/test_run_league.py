"""run_league.py: methods with defaults or tuned, on many data sets."""

import pytest
from mddf.datasets import names


@pytest.fixture
def run(script):
    return script("run_league")


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


def test_training_rows_are_capped(run):
    options = run.parse(["--datasets", "digits", "--max-train", "100", "--methods", "extratrees"])
    result = run.cell(options, set="digits", seed=0, method="extratrees")
    assert (result["n_train"], result["n_test"]) == (100, 540)
