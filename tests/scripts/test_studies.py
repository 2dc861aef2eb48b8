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
        assert "theorem" not in row  # three classes


def test_variance_ratio(script):
    ratio = script("reproduce.tsne").variance_ratio
    X = np.array([[0.0, 0], [2, 0], [10, 0], [12, 0]])
    y = np.array(["a", "a", "b", "b"])
    assert ratio(X, y) == pytest.approx(4 / 100)
    assert ratio(3 * X + 1, y) == pytest.approx(4 / 100)
    assert ratio(X, y[[0, 2, 2, 0]]) == np.inf


def test_no_two_of_many_lines_look_alike(script):
    names = [*script("_lab.pictures").ORDER, *(f"own{i}" for i in range(12))]
    rows = pd.DataFrame({"set": "iris", "method": names, "x": 1, "y": 2.0, "y_std": 0.1})
    _, ((axis,),) = script("_lab.pictures").curves(rows, "x", {"y": "accuracy"})
    lines = axis.get_lines()
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}
    assert len(styles) == len(names)


def test_ten_classes_have_ten_colours_and_hide_no_points(script):
    pictures = script("_lab.pictures")
    _, ((axis,),) = pictures.panels([2], 1, 2)
    labels = np.repeat(np.arange(26), 2)
    pictures.scatter(axis, np.random.default_rng(0).random((52, 2)), labels)
    styles = pictures.class_styles(26)
    assert len({style["color"] for style in styles[:10]}) == 10
    assert len({tuple(style.values()) for style in styles}) == 26
    assert not axis.texts


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


def test_captions_stand_beside_pictures(script, tmp_path):
    pictures = script("_lab.pictures")
    for name, caption, no_titles in (("b", "Second.", False), ("a", "First.", True)):
        figure, ((axis,),) = pictures.panels([2], 1, 2)
        axis.set_title("a title")
        options = script("argparse").Namespace(out=tmp_path, format=["svg"], no_titles=no_titles)
        pictures.save(figure, options, name, caption)
        assert ("a title" in (tmp_path / f"{name}.svg").read_text()) != no_titles
        assert caption not in (tmp_path / f"{name}.svg").read_text()
    pictures.save(pictures.panels([2], 1, 2)[0], options, "b", "Another.")
    assert (tmp_path / "captions.md").read_text() == "**a** First.\n\n**b** Another.\n"


def test_small_samples_are_paired(script):
    frame = pd.DataFrame(
        [
            {"set": "iris", "seed": seed, "method": method, "fraction": share, "n_train": 10}
            | {"accuracy": (seed + share + (method == "mddf") / 2) / 10, "fit_seconds": 1}
            for seed in (0, 1)
            for method in ("rf", "mddf")
            for share in (1.0, 0.1)
        ]
    )
    run = script("run_uci")
    rows = run.ahead(frame).set_index(["fraction", "method"])
    assert list(rows.index.get_level_values("fraction")) == [0.1, 0.1, 1, 1]
    assert rows.loc[(0.1, "rf"), "ahead"] == pytest.approx(5)
    assert rows.loc[(0.1, "rf"), "ahead_std"] == pytest.approx(0)
    assert np.isnan(rows.loc[(0.1, "mddf"), "ahead"])
    assert rows.loc[(1, "rf"), "accuracy"] == pytest.approx(15)
    *_, table = run.report(frame, run.parse([]))
    assert table.display.loc[("iris", "10", "RandomForest"), "mdDF ahead by"] == "+5.00 ± 0.00"
    assert run.ahead(frame[frame["method"] == "rf"])["ahead"].isna().all()


def test_advantages_of_mddf_by_features_and_pairs(script):
    def rows(method, accuracies, **more):
        common = {"set": "iris", "method": method, "fraction": 0.5, "n_train": 10, **more}
        accuracies = enumerate(accuracies)
        return [{**common, "seed": s, "accuracy": a, "fit_seconds": 1} for s, a in accuracies]

    result = [*rows("rf", [0.5, 0.5, 0.5, 0.5], features="raw"), *rows("mddf", [0.6, 0.8])]
    result += [*rows("rf", [0.7, 0.7], features="layer"), *rows("mddf", [0.6], features="raw")]
    result += rows("rf", [0.5], fraction=None)
    rows = script("run_uci").ahead(pd.DataFrame(result)).set_index("method")
    assert rows["ahead"].round(6).dropna().to_dict() == {"rf, raw": 20, "rf, layer": 0}
    # Two pairs of four results: the deviation 10 root 2, by the root of 2.
    assert rows.loc["rf, raw", ["n_seeds", "ahead_std"]].tolist() == pytest.approx([4, 10])


def test_shares_and_suites(script):
    run = script("run_uci")
    options = run.parse(["--suite", "small-sample"])
    assert (options.out.name, options.budget.n_rounds, options.budget.n_layers) == (
        "small-sample", 300, 4,
    )  # fmt: skip
    assert len(run.keys(options)) == 2 * 10 * 7 * len(options.methods)
    options = run.parse(["--suite", "layer-features", "--quick"])
    assert list(options.sources) == ["digits"]
    assert [(k["features"], k["method"]) for k in run.keys(options)] == [
        ("raw", "linear"), ("raw", "knn"), ("raw", "mddf"), ("layer", "linear"),
        ("layer", "knn"), ("both", "linear"), ("both", "knn"),
    ]  # fmt: skip


def test_layer_features_are_beside_the_raw_ones(script):
    contest, run = script("_lab.contest"), script("run_uci")
    arguments = "--quick --suite layer-features --datasets wine --n-estimators 1 --n-jobs 1"
    options = run.parse([*arguments.split(), "--n-layers", "2"])
    layer, both = contest.with_layers(
        options.sources["wine"],
        0,
        max_train=None,
        share=None,
        n_estimators=1,
        n_layers=2,
        n_jobs=1,
    )
    assert (layer.X.shape, both.X_test.shape) == ((124, 6), (54, 13 + 6))
    np.testing.assert_array_equal(both.X[:, 13:], layer.X)
    result = contest.cell(options, set="wine", seed=0, method="knn", features="both")
    assert result["accuracy"] > 0.8
    assert "n_neighbors=" in result["details"]


def test_validation_leaves_standard_test_rows_alone(script, data_home):
    data = script("_lab.data")
    source = data.Source("satimage", str(data_home))
    split = data.split(source, 3, 600, validate=True)
    assert (len(split.y), len(split.y_test)) == (600, 1109)
    assert max(*split.rows, *split.rows_test) < 4435
    assert not set(split.rows) & set(split.rows_test)
    assert np.array_equal(split.rows, data.split(source, 3, 600, validate=True).rows)


def test_the_estimate_for_all_images(script):
    cell = {"set": "mnist", "seed": 0, "n_train": 100, "n_all": 10_000, "fit_s": 1.0}
    cell |= {"transform_s": 1.0, "peak_gib": 1.0}
    cell["models"] = [{"model": "forest", "input": "pixels", "accuracy": 0.9, "s": 36.0}]
    accuracy, scanner = script("reproduce.scanning").report(pd.DataFrame([cell]), None)
    # 100 times as many, twice the logarithm
    assert accuracy.display["all rows, h"].tolist() == ["2.00"]
    assert accuracy.display["minus pixels"].tolist() == ["0.00"]
    assert "cascade alone 98.02 %" in scanner.title


def test_curves_of_the_comparison(script):
    run = script("reproduce.comparison")
    options = run.parse(["--rounds", "10"])
    for method in run.METHODS:
        result = run.cell(options, "breast_cancer", method, 0)
        rise = result["rise"]
        assert (np.diff(rise) >= 0).all()
        assert rise[-1] == 1
        assert np.trapezoid(rise, run.GRID) == pytest.approx(result["auc"], abs=0.01)
        assert result["auc"] > 0.9


def test_representations_of_labelled_rows(script):
    run = script("run_representations")
    options = run.parse(["--quick", "--n-jobs", "1"])
    scores = pd.DataFrame(run.cell(options, "iris", 0.5, 0.0, 0)["scores"])
    assert scores.groupby("representation").size().unique().tolist() == [2]
    # PCA and unsupervised columns lose the most on few rows, and eForest on k-NN.
    assert scores["accuracy"].min() > 0.5
    by_name = scores.set_index(["representation", "model"])["accuracy"]
    assert by_name["raw", "logistic"] > 0.9
    assert by_name["random-forest-itself", "knn"] == by_name["random-forest-itself", "logistic"]


def test_changes_against_raw_columns_and_of_pairs(script):
    run = script("run_representations")
    rows = [
        {"set": name, "labelled": "5%", "flipped": "0%", "model": "knn", "representation": method}
        | {"accuracy": 0.5 + 0.01 * place * step + 0.001 * place}
        for place, name in enumerate("abcd")
        for step, method in enumerate([run.BASE, *dict.fromkeys(sum(run.PAIRS, ()))])
    ]
    long = pd.DataFrame(rows)
    changes = run.compare(long).set_index("column")
    first = run.PAIRS[0][0]
    assert changes.loc[first, "change"] == pytest.approx(0.015)  # 0.01 times 0, 1, 2, 3
    deviation = np.std([0, 0.01, 0.02, 0.03], ddof=1)
    assert changes.loc[first, "error"] == pytest.approx(deviation / 2)
    pairs = run.compare_pairs(long)
    assert pairs["column"].tolist() == [" - ".join(pair) for pair in run.PAIRS]
    assert pairs["change"][0] == pytest.approx(-0.015)


def test_errors_of_reconstructions(script):
    run = script("reproduce.eforest")
    images = np.array([[3.0, 4.0], [0.0, 5.0]])
    assert run.errors(images, images) == {"mse": 0, "relative": 0}
    assert run.errors(images, 0 * images) == {"mse": 12.5, "relative": 1}
    options = run.parse(["--quick", "--n-jobs", "1"])
    result = run.cell(options, "digits", 0)
    table = pd.DataFrame(result["errors"]).set_index(["method", "numbers", "damage"])
    mse = table["mse"]
    assert mse["unsupervised", 20, 0.0] < mse["unsupervised", 5, 0.0]
    assert mse["unsupervised", 20, 0.0] < mse["unsupervised", 20, 0.5]
    assert np.shape(result["images"]["original"]) == (8, 64)


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
    assert {key["set"] for key in run.held_out.keys(options)} == {"wine", "flowers", "numbers"}
    result = run.cell(options, "numbers", 0, "no-boosted")
    assert 45 < result["loss"] < 65
    assert result["rows"] == 294
    result = run.cell(options, "flowers", 0, "two-layers")
    assert result["layers"] == 2
    assert 0 < result["claimed"] < 0.3
    for task, all_members in ("binary", run.AUTO), ("regression", run.AUTO_REGRESSORS):
        members = run.METHODS["no-network"](task, 0, options).members
        assert members == [name for name in all_members if name != "network"]
    probabilities = np.array([[0.2, 0.8], [1.0, 0.0]])
    loss = run.log_loss(np.array([1, 1]), probabilities, np.array([0, 1]))
    assert loss == pytest.approx(-np.log([0.8, run.FLOOR]).mean())


def test_published_losses_are_relative_to_catboost_of_their_source(script):
    run = script("report.compare")
    published = run.tables.published("tabarena.tsv").astype({"loss": float})
    catboost = published[published["method"] == "CAT (default)"].set_index("set")["loss"]
    losses = pd.DataFrame({run.BAG: 2 * catboost, "twice": 4 * catboost})
    rows = run.published(losses).data.set_index("method")
    assert rows.loc["twice", ["ratio", "better"]].tolist() == [2, 0]
    assert rows.loc["CatBoost", "ratio"] == 1
    assert rows.loc["TabPFN-3, pre-trained", ["better", "source"]].tolist() == [7, "TabArena"]
