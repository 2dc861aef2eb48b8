"""export_features.py and run_layer_features.py."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def table(tmp_path):
    """A CSV file with a category, a missing cell and words as labels."""
    data = load_iris(as_frame=True)
    frame = data.data.assign(kind=data.target_names[data.target])
    frame["colour"] = np.where(frame.iloc[:, 0] > 5.8, "red", "blue")
    frame.iloc[3, 0] = np.nan
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path, frame


def test_export_of_a_named_set(script, tmp_path):
    script("export_features").main(
        ["iris", "--quick", "--layers", "0", "--raw", "--out", str(tmp_path)]
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    with np.load(tmp_path / "train.npz") as train, np.load(tmp_path / "test.npz") as test:
        assert train["X"].shape == (105, 3)
        assert test["X"].shape == (45, 3)
        assert train["names"].tolist() == manifest["names"]
        assert np.array_equal(np.sort(np.append(train["rows"], test["rows"])), np.arange(150))
        X, y = load_iris(return_X_y=True)
        assert np.array_equal(train["X_raw"], X[train["rows"]])
        assert np.array_equal(test["y"], y[test["rows"]])
        np.testing.assert_allclose(train["X"].sum(axis=1), 1)
        # Out-of-fold: those of rows that the trees know would be right throughout.
        assert np.mean(train["X"].argmax(axis=1) == train["y"]) < 1
    assert manifest["test_accuracy"] > 0.8
    assert manifest["train"]["features"] == "out-of-fold"
    assert manifest["versions"]["mddf"]


def test_export_of_a_csv_as_parquet(script, tmp_path, table):
    pytest.importorskip("pyarrow")
    path, frame = table
    script("export_features").main(
        f"--csv {path} --target kind --quick --layers all --forests each --raw --format parquet "
        f"--out {tmp_path}".split()
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    train = pd.read_parquet(tmp_path / "train.parquet")
    assert manifest["classes"] == ["setosa", "versicolor", "virginica"]
    assert len(manifest["names"]) == manifest["n_layers"] * 4 * 3
    assert list(train)[:2] == ["row", "raw_sepal length (cm)"]
    assert [name for name in train if name.startswith("layer")] == manifest["names"]
    assert train["raw_colour"].tolist() == frame["colour"][train["row"]].tolist()
    assert train["label"].tolist() == frame["kind"][train["row"]].tolist()


def test_test_csv(script, tmp_path, table):
    path, frame = table
    test_path = tmp_path / "test.csv"
    frame.iloc[::3].assign(colour="green").to_csv(test_path, index=False)
    arguments = ["--csv", str(path), "--target", "kind", "--quick", "--out", str(tmp_path / "o")]
    script("export_features").main([*arguments, "--test-csv", str(test_path)])
    with np.load(tmp_path / "o" / "train.npz") as train, np.load(tmp_path / "o/test.npz") as test:
        assert train["rows"].tolist() == list(range(150))
        assert test["rows"].tolist() == list(range(150, 200))
        assert test["y"].tolist() == frame["kind"].iloc[::3].tolist()


def csv(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_types_of_the_test_csv_are_those_of_training(script, tmp_path):
    module, path = script("export_features"), tmp_path / "table.csv"
    X, y = module.read_csv(csv(path, size=[1, 2], code=["1", "a"], kind=["1", "x"]), "kind")
    test = csv(path, size=[3, None], code=["1", None], kind=[1, 1])
    X_test, y_test = module.read_test_csv(test, "kind", X, y)
    assert X_test["code"].isna().tolist() == [False, True]
    assert X_test["code"].dropna().tolist() == ["1"]
    assert y_test.tolist() == ["1", "1"]
    assert len(module.read_test_csv(csv(path, size=[3], code=["b"], kind=["x"]), "kind", X, y)[1])
    X, y = module.read_csv(csv(path, size=[1, 2], kind=[0, 1]), "kind")
    y_test = module.read_test_csv(csv(path, size=[3, 4], kind=[1.0, 0.0]), "kind", X, y)[1]
    assert (y_test.tolist(), y_test.dtype) == ([1, 0], y.dtype)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"size": [1, "?"], "kind": [0, 1]}, "column 'size' of .* must hold numbers, .*got '1'"),
        ({"size": [1, 2], "kind": [0, 7]}, "labels of .* must be in training too; got 7"),
        (
            {"kind": [0, 1], "size": [1, 2], "more": [1, 2]},
            "--test-csv must have the columns",
        ),
    ],
)
def test_test_tables_that_do_not_fit(script, tmp_path, columns, message):
    module, path = script("export_features"), tmp_path / "table.csv"
    X, y = module.read_csv(csv(path, size=[1, 2], kind=[0, 1]), "kind")
    with pytest.raises(SystemExit, match=message):
        module.read_test_csv(csv(path, **columns), "kind", X, y)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "nope.csv cannot be read as a table"),
        ("kind\na\nb\n", "at least 2 rows, and a column of features"),
        (",size,kind\n0,1,a\n1,2,b\n", "must have names, got Unnamed: 0; .*index=False"),
        ("size,kind\n1,a\n2,a\n3,b\n", "cannot be split with 30 % of each class"),
        ("size,kind\n1,\n2,a\n", "labels of .* must be complete"),
    ],
)
def test_tables_that_do_not_do(script, tmp_path, content, message):
    path = tmp_path / "nope.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=message):
        script("export_features").main(["--csv", str(path), "--target", "kind", "--quick"])


def test_nothing_is_replaced_unasked(script, tmp_path):
    arguments = ["iris", "--quick", "--out", str(tmp_path)]
    script("export_features").main(arguments)
    with pytest.raises(SystemExit, match="holds features already: give another --out, or --over"):
        script("export_features").main(arguments)
    script("export_features").main([*arguments, "--overwrite"])
    with pytest.raises(SystemExit, match="no cascade can be grown: transform_layers must be"):
        script("export_features").main([*arguments, "--overwrite", "--layers", "7"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--csv", "{csv}", "--target", "nothing"], "--target must be a column of .*'nothing'"),
        (["--csv", "{csv}", "--target", "kind", "--test-csv", "{other}"], "--test-csv must have"),
        (["--csv", "{csv}", "--target", "kind", "--raw"], "--raw with categories"),
    ],
)
def test_refusals(script, tmp_path, table, arguments, message):
    path, frame = table
    other = tmp_path / "other.csv"
    frame.drop(columns="colour").to_csv(other, index=False)
    arguments = [text.format(csv=path, other=other) for text in arguments]
    with pytest.raises(SystemExit, match=message):
        script("export_features").main([*arguments, "--quick", "--out", str(tmp_path)])


def test_without_pyarrow(script, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SystemExit, match=r"parquet needs pyarrow: .* install pyarrow"):
        script("export_features").main(
            ["iris", "--quick", "--format", "parquet", "--out", str(tmp_path)]
        )


def test_options_that_do_not_go_together(script, capsys):
    parse = script("export_features").parse
    for arguments, message in (
        ([], "give either the name of a set or --csv"),
        (["iris", "--csv", "a.csv", "--target", "b"], "give either"),
        (["--csv", "a.csv"], "--csv and --target go together"),
        (["iris", "--test-csv", "a.csv"], "--test-csv goes with --csv"),
        (["iris", "--layers", "first"], "must be last, all, or numbers"),
    ):
        with pytest.raises(SystemExit):
            parse(arguments)
        assert message in capsys.readouterr().err


def test_comparison_of_features(script, tmp_path, capsys, monkeypatch):
    run = script("run_layer_features")
    grid = {"kneighborsclassifier__n_neighbors": [3, 5]}
    monkeypatch.setitem(run.MODELS, "kNN", lambda seed: (run.KNeighborsClassifier(), grid))
    arguments = ["--quick", "--datasets", "iris", "--out", str(tmp_path)]
    run.main(arguments)
    rows = pd.read_csv(tmp_path / "cells.csv")
    assert len(rows) == 2 * 3 + 1
    assert rows["accuracy"].min() > 0.8
    assert rows["cv_accuracy"].notna().sum() == 6
    assert "| iris | 1 |" in (tmp_path / "table.md").read_text()
    monkeypatch.setattr(run, "one_split", lambda *_: pytest.fail("computed twice"))
    run.main(arguments)


def test_raw_numbers(script):
    module = script("run_layer_features")
    split = script("_uci_data").Split(
        pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": pd.Categorical(["x", "y", "x"])}),
        np.array([0, 1, 0]),
        pd.DataFrame({"a": [np.nan], "b": pd.Categorical(["z"], categories=["x", "y", "z"])}),
        np.array([1]),
    )
    X, X_test = module.raw_numbers(split)
    assert X.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert X_test.tolist() == [[2, 0, 0]]
