"""Results of single studies, in addition to the checks in test_commands.py."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info


@pytest.mark.parametrize("method", ["mddf", "gcforest", "mddf-np"])
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
        assert row["bound"] > 1  # of trees that are grown to purity
        assert row["bound_of_trees"] < row["bound"]


@pytest.mark.parametrize(
    ("lowest", "caption"),
    [(100.0, "is 100.0 % thr"), (99.96, "is 100.0 % thr"), (99.2, "99.2 % or")],
)
def test_captions_of_training_accuracy(script, lowest, caption):
    assert caption in script("reproduce.layers").training_accuracy(lowest)


def test_planes(script):
    run = script("reproduce.tsne")
    options = run.parse(["--quick", "--rows", "45", "--n-jobs", "1"])
    result = run.cell(options, "iris", "mddf", 0)
    train, test = result["train"], result["test"]
    assert np.shape(train["planes"]) == np.shape(test["planes"]) == (3, 45, 2)
    assert train["in_features"][2] < train["in_features"][0]
    assert set(train["labels"]) == set(test["labels"])


def test_embeddings_are_computed_in_one_thread(script, monkeypatch):
    run = script("reproduce.tsne")
    n_threads = []

    class Spy(run.TSNE):
        def fit_transform(self, X):
            n_threads.append(self.n_jobs)
            n_threads.extend(pool["num_threads"] for pool in threadpool_info())
            return X[:, :2]

    monkeypatch.setattr(run, "TSNE", Spy)
    run.cell(run.parse(["--quick", "--rows", "20", "--n-jobs", "2"]), "iris", "mddf", 0)
    assert set(n_threads) == {1}


def test_variance_ratio(script):
    ratio = script("reproduce.tsne").variance_ratio
    X = np.array([[0.0, 0], [2, 0], [10, 0], [12, 0]])
    y = np.array(["a", "a", "b", "b"])
    assert ratio(X, y) == pytest.approx(4 / 100)
    assert ratio(3 * X + 1, y) == pytest.approx(4 / 100)
    assert ratio(X, y[[0, 2, 2, 0]]) == np.inf


def test_classes_have_distinct_styles(script):
    styles = script("_lab.pictures").class_styles(26)
    assert len({(style["color"], style["marker"]) for style in styles}) == 26


def test_methods_of_the_users_own_are_drawn_beside_ours(script):
    names = ["own", "rf"]
    rows = pd.DataFrame({"set": "iris", "method": names, "x": 1, "y": 2.0, "y_std": 0.1})
    _, ((axis,),) = script("_lab.pictures").curves(rows, "x", {"y": "accuracy"})
    lines = axis.get_lines()
    assert [line.get_label() for line in lines] == ["RandomForest", "own"]
    assert lines[0].get_color() != lines[1].get_color()


def test_no_two_of_many_lines_look_alike(script):
    names = [*script("_lab.pictures").ORDER, *(f"own{i}" for i in range(12))]
    rows = pd.DataFrame({"set": "iris", "method": names, "x": 1, "y": 2.0, "y_std": 0.1})
    _, ((axis,),) = script("_lab.pictures").curves(rows, "x", {"y": "accuracy"})
    lines = axis.get_lines()
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}
    assert len(styles) == len(names)


def test_pictures_hold_all_of_a_legend(script, tmp_path):
    pictures = script("_lab.pictures")
    names = [f"a method of a long name, {i}" for i in range(8)]
    rows = pd.DataFrame({"set": "iris", "method": names, "x": 1, "y": 2.0, "y_std": 0.1})
    figure, _ = pictures.curves(rows, "x", {"y": "accuracy"})
    width = figure.get_size_inches()[0]
    assert len(figure.legends[0].get_texts()) == 8
    options = script("argparse").Namespace(out=tmp_path, format=["png"])
    pictures.save(figure, options, "a", "A caption.")
    from PIL import Image

    with Image.open(tmp_path / "a.png") as image:
        assert image.width == pytest.approx(150 * width, rel=0.05)  # nothing sticks out


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


@pytest.mark.parametrize("n_classes", [8, 26])
def test_many_classes_have_distinct_styles(script, n_classes):
    pictures = script("_lab.pictures")
    styles = pictures.class_styles(n_classes)
    assert len({(style["color"], style["marker"]) for style in styles}) == n_classes
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), 9)
    plane = 10 * np.column_stack([labels % 6, labels // 6]) + rng.normal(size=(len(labels), 2))
    _, ((axis,),) = pictures.panels([3], 1, 3)
    pictures.scatter(axis, plane, labels)
    texts = {text.get_text(): text.xy for text in axis.texts}
    assert len(texts) == (26 if n_classes == 26 else 0)
    for label, at in texts.items():  # each name stands on a point of its class
        assert (plane[labels == int(label)] == at).all(axis=1).any()


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


def test_small_samples_without_mddf_are_compared_with_the_first_method(script):
    frame = pd.DataFrame(
        [
            {"set": "iris", "seed": seed, "method": method, "fraction": 0.1, "n_train": 10}
            | {"accuracy": accuracy + seed / 10, "fit_seconds": 1}
            for seed in (0, 1)
            for method, accuracy in (("mine(k=2, j=3)", 0.8), ("rf", 0.7))
        ]
    )
    run = script("run_uci")
    assert run.compared(run.ahead(frame)) == "mine (k=2, j=3)"
    *_, table = run.report(frame, run.parse([]))
    assert table.display.loc[("iris", "10", "RandomForest"), "first ahead by"] == "+10.00 ± 0.00"
    assert "mine (k=2, j=3) minus the method" in table.title
    frame["method"] = frame["method"].replace("mine(k=2, j=3)", "mine")
    *_, table = run.report(frame, run.parse([]))
    assert table.display.loc[("iris", "10", "RandomForest"), "mine ahead by"] == "+10.00 ± 0.00"


def test_one_method_alone_is_not_drawn(script, tmp_path):
    rows = {"set": ["iris"], "method": "rf", "seed": 0, "fraction": 0.5, "accuracy": 0.9}
    rows |= {"n_train": 10, "fit_seconds": 1}
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv")
    with pytest.raises(SystemExit, match="no set with shares of two methods"):
        script("run_uci").main(["--plot", str(tmp_path / "a.csv")])


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


@pytest.mark.parametrize("text", ["strength", "strength=", "strenght=1", "cv=3+mu"])
def test_settings_that_do_not_do(script, text, capsys):
    with pytest.raises(SystemExit):
        script("reproduce.layers").parse(["--methods", text])
    assert "mddf-np or parameter=value, got" in capsys.readouterr().err


def test_layers_kept_by_validation(script, tmp_path):
    run = script("reproduce.layers")
    arguments = "--quick --validate --datasets iris --methods mddf strength=1+cv=3"
    assert run.main([*arguments.split(), "--out", str(tmp_path)]) == 0
    assert "accuracy on held-out training rows" in (tmp_path / "kept.md").read_text()
    run.main(["--plot", str(tmp_path), "--format", "svg"])
    assert "held-out training rows" in (tmp_path / "captions.md").read_text()
    kept = pd.read_csv(tmp_path / "kept.csv").set_index("method")
    assert list(kept.index) == ["mddf", "strength=1+cv=3"]
    assert kept[["test_accuracy", "by_accuracy"]].stack().between(0.7, 1).all()
    layers = pd.read_csv(tmp_path / "layers.csv").set_index(["method", "layer"])
    ratios = layers.loc["mddf", "margin_ratio"]
    assert (ratios.idxmin(), ratios.min()) == (
        kept.loc["mddf", "layer"], kept.loc["mddf", "margin_ratio"],
    )  # fmt: skip


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


@pytest.mark.slow
@pytest.mark.usefixtures("data_home")
def test_length_of_the_call_leaks(script, tmp_path, capsys):
    arguments = ["--splits", "1", "--max-rows", "6000", "--datasets", "bank", "bank-no-duration"]
    script("reproduce.comparison").main([*arguments, "--rounds", "10", "--out", str(tmp_path)])
    assert " 0.85 " in capsys.readouterr().out  # the published AUC on bank
    rows = pd.read_csv(tmp_path / "comparison.csv").set_index(["set", "method"])["auc"]
    for method in ("AdaBoost", "DeepBoost"):
        assert rows["bank", method] > rows["bank-no-duration", method] + 0.05


def test_graphs_and_explanations(script, tmp_path, capsys):
    pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')
    pytest.importorskip("shap", reason='needs "mddf[explain]"')
    export = script("bench.export")
    result = export.cell(export.parse(["--n-estimators", "5"]), "iris", "mdDF")
    assert result["equal_float64"] == 1
    assert result["differ_float64"] == 0
    assert result["equal_float32"] > 0.9
    explain = script("report.explain")
    result = explain.cell(explain.parse(["--quick", "--rows", "3"]), "wine", "forest")
    assert [row["correlation"] > 0.7 for row in result["agreement"]] == [True, True]
    assert [row["kind"] for row in result["noise"]] == ["held-out", "permutation", "impurity"]


def test_out_of_fold_figures(script, tmp_path):
    run = script("report.out_of_fold")
    (tmp_path / "own.py").write_text(
        "from sklearn.datasets import load_iris, load_diabetes\n"
        "NAMES = ['flowers', 'numbers']\n"
        "def load(name):\n"
        "    if name == 'numbers':\n"
        "        return *load_diabetes(return_X_y=True), 'regression', 'rmse'\n"
        "    return *load_iris(return_X_y=True), 'multiclass', 'log_loss'\n"
    )
    options = run.parse(["--datasets", "wine", "--own-sets", str(tmp_path / "own.py")])
    options.methods = ["two layers"]
    assert [key["set"] for key in run.keys(options)] == ["wine", "flowers"]
    result = run.cell(options, "flowers", 0, "two layers")
    assert result["layers"] == 2
    assert 0 < result["oof"] < 0.3
    probabilities = np.array([[0.2, 0.8], [1.0, 0.0]])
    losses = -np.log([0.8, run.FLOOR])
    assert run.loss(np.array([1, 1]), probabilities, np.array([0, 1])) == pytest.approx(
        losses.mean()
    )


def test_members_are_left_out(script, tmp_path):
    run = script("report.ingredients")
    (tmp_path / "own.py").write_text(
        "from sklearn.datasets import load_diabetes\n"
        "NAMES = ['numbers']\n"
        "def load(name):\n"
        "    return *load_diabetes(return_X_y=True), 'regression', 'rmse'\n"
    )
    options = run.parse(["--datasets", "wine", "--own-sets", str(tmp_path / "own.py")])
    options.methods = ["no-boosted"]
    assert [key["set"] for key in run.held_out.keys(options)] == ["wine", "numbers"]
    model = run.estimator("no-boosted", "regression", 0)
    assert model.members == ["random", "completely-random", "kernel", "linear", "network"]
    model = run.estimator("no-leaf-wise", "binary", 0)
    assert {"boosted", "boosted-leaf-wise"} - {*model.members} == {"boosted-leaf-wise"}
    for task, all_members in ("binary", run.AUTO), ("regression", run.AUTO_REGRESSORS):
        kept = run.estimator("no-network", task, 0).members
        assert kept == [name for name in all_members if name != "network"]
    assert run.estimator("one-layer", "binary", 0).n_layers == 1
    result = run.cell(options, "numbers", 0, "no-boosted")
    assert 45 < result["loss"] < 65
    assert result["rows"] == 294


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
