"""Results of single studies, in addition to the checks in test_commands.py."""

import numpy as np
import pandas as pd
import pytest


@pytest.mark.parametrize("method", ["mddf", "gcforest", "mddf-paper+depth_step=2"])
def test_layers(script, method):
    run = script("reproduce.layers")
    options = run.parse(["--quick", "--datasets", "iris", "--n-jobs", "1"])
    rows = run.cell(options, "iris", 0, method)["layers"]
    assert [row["layer"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert row["train_accuracy"] >= row["oof_accuracy"] > 0.8
        assert row["test_accuracy"] > 0.8
        assert row["margin_ratio"] == pytest.approx(row["margin_std"] / row["margin_mean"])
        shares = np.array(row["cumulative"])
        assert (np.diff(shares) >= 0).all()
        assert (shares[0] >= 0, shares[-1]) == (True, 1)
        # The margin of a tie is 0, so that some of the share at 0 may be right.
        assert shares[99] - 2e-5 <= 1 - row["oof_accuracy"] <= shares[100] + 2e-5


def test_accuracy_over_layers_is_drawn_without_options(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = script("run_uci")
    small = "--n-estimators 1 --n-layers 2 --n-jobs 1 --seeds 1 --datasets iris"
    run.main([*small.split(), "--methods", "rf", "mddf"])
    drawn = []
    monkeypatch.setattr(run.pictures, "save", lambda figure, *rest: drawn.append(figure))
    run.main(["--plot"])
    lines = {line.get_label(): line.get_ydata() for line in drawn[0].axes[0].get_lines()}
    assert len(set(lines["RandomForest"])) == 1
    accuracies = pd.read_csv("results/uci/cells.csv").set_index("method")["accuracy"]
    assert [lines["mdDF"][-1], lines["RandomForest"][-1]] == pytest.approx(
        [100 * accuracies["mddf"], 100 * accuracies["rf"]]
    )


def test_classes_have_styles_of_their_own(script):
    styles = script("_lab.pictures").class_styles(26)
    assert len({style["color"] for style in styles[:10]}) == 10
    assert len({tuple(style.values()) for style in styles}) == 26


def test_losses_on_held_out_rows(script, tmp_path):
    run = script("report.compare")
    (tmp_path / "own.py").write_text(
        "from sklearn.datasets import load_iris, load_diabetes\n"
        "NAMES = ['flowers', 'numbers']\n"
        "def load(name):\n"
        "    if name == 'numbers':\n"
        "        return *load_diabetes(return_X_y=True), 'regression', 'rmse'\n"
        "    return *load_iris(return_X_y=True), 'multiclass', 'log_loss'\n"
    )
    options = run.parse(["--datasets", "wine", "--own-sets", str(tmp_path / "own.py")])
    assert {key["set"] for key in run.keys(options)} == {"wine", "flowers", "numbers"}
    result = run.cell(options, "numbers", 0, "boosting")
    assert 45 < result["loss"] < 65
    assert result["rows"] == 294
    assert 0 < run.cell(options, "flowers", 0, "boosting")["loss"] < 0.5


def test_published_losses_are_relative_to_catboost_of_their_source(script):
    run = script("report.compare")
    published = run.tables.published("tabarena.tsv").astype({"loss": float})
    catboost = published[published["method"] == "CAT (default)"].set_index("set")["loss"]
    losses = pd.DataFrame({run.BAG: 2 * catboost, "twice": 4 * catboost})
    rows = run.published(losses).data.set_index("method")
    assert rows.loc["twice", ["ratio", "better"]].tolist() == [2, 0]
    assert rows.loc["CatBoost", "ratio"] == 1
    assert rows.loc["TabPFN-3, pre-trained", ["better", "source"]].tolist() == [7, "TabArena"]
