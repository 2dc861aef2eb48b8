"""export_features.py."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
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
        ["iris", "--quick", "--layers", "1", "--raw", "--out", str(tmp_path)]
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    with np.load(tmp_path / "train.npz") as train, np.load(tmp_path / "test.npz") as test:
        assert train["X"].shape == (105, 3)
        assert test["X"].shape == (45, 3)
        assert train["names"].tolist() == manifest["names"] == [f"layer1_{c}" for c in "012"]
        assert np.array_equal(np.sort(np.append(train["rows"], test["rows"])), np.arange(150))
        X, y = load_iris(return_X_y=True)
        assert np.array_equal(train["X_raw"], X[train["rows"]])
        assert np.array_equal(test["y"], y[test["rows"]])
        np.testing.assert_allclose(train["X"].sum(axis=1), 1)
        # Out-of-fold: features from trees with the row itself would always be right.
        assert np.mean(train["X"].argmax(axis=1) == train["y"]) < 1
    assert manifest["test_accuracy"] > 0.8
    assert manifest["train"]["features"] == "out-of-fold"
    assert manifest["versions"]["mddf"]


def test_export_of_numbers(script, tmp_path):
    export = script("export_features").main
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame.assign(price=frame["a"] - frame["b"] + 0.5).to_csv(tmp_path / "t.csv", index=False)
    frame[:9].assign(price=np.nan).to_csv(tmp_path / "new.csv", index=False)
    arguments = f"--csv {tmp_path}/t.csv --target price --quick --save-model --out {tmp_path}/out"
    with pytest.raises(SystemExit, match="must hold classes"):
        export(arguments.split())
    export([*arguments.split(), "--task", "regression", "--test-csv", f"{tmp_path}/new.csv"])
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["model"] == "DeepForestRegressor"
    assert manifest["out_of_fold_r2"] > 0.5
    assert "test_r2" not in manifest
    with np.load(tmp_path / "out/train.npz") as train:
        assert train["X"].shape == (80, len(manifest["names"]))
        assert np.corrcoef(train["X"][:, 0], train["y"])[0, 1] > 0.7
    export(
        f"--apply {tmp_path}/out/model.joblib --csv {tmp_path}/new.csv --out {tmp_path}".split()
    )
    with np.load(tmp_path / "new.npz") as new, np.load(tmp_path / "out/test.npz") as test:
        assert np.array_equal(new["X"], test["X"])
    (frame[:9] * 1.01).assign(price=frame["a"]).to_csv(tmp_path / "new.csv", index=False)
    export([*arguments.split(), "--task", "regression", "--overwrite",
            "--test-csv", f"{tmp_path}/new.csv"])  # fmt: skip
    assert "test_r2" in json.loads((tmp_path / "out/manifest.json").read_text())
    frame[:0].to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(SystemExit, match="must have rows, got none"):
        export([*arguments.split(), "--task", "regression", "--overwrite",
                "--test-csv", f"{tmp_path}/new.csv"])  # fmt: skip


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
    test = frame.iloc[::3].copy()
    test.iloc[0, test.columns.get_loc("colour")] = "green"  # not seen in training
    test.to_csv(test_path, index=False)
    arguments = ["--csv", str(path), "--target", "kind", "--quick", "--out", str(tmp_path / "o")]
    script("export_features").main([*arguments, "--test-csv", str(test_path)])
    with np.load(tmp_path / "o" / "train.npz") as train, np.load(tmp_path / "o/test.npz") as test:
        assert train["rows"].tolist() == list(range(150))
        assert test["rows"].tolist() == list(range(150, 200))
        assert test["y"].tolist() == frame["kind"].iloc[::3].tolist()


def test_rows_without_labels_and_columns_that_are_left_out(script, tmp_path, table):
    path, frame = table
    frame.assign(id=np.arange(150)).to_csv(path, index=False)
    frame.iloc[::3].drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    script("export_features").main(
        f"--csv {path} --target kind --drop id --test-csv {tmp_path / 'new.csv'} --quick "
        f"--estimator gcforest --raw --format csv --out {tmp_path}".split()
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    train, test = (pd.read_csv(tmp_path / f"{part}.csv") for part in ("train", "test"))
    assert manifest["model"] == "GCForestClassifier"
    assert "test_accuracy" not in manifest
    assert len(test) == manifest["test"]["rows"] == 50
    assert [*test, "label"] == [*train]
    assert not {"raw_id", "raw_kind"} & {*train}
    assert train["label"].tolist() == frame["kind"].tolist()


def test_a_saved_model_is_applied_to_later_rows(script, tmp_path, table):
    path, frame = table
    # Words that look like numbers, which a table of one of them alone would not tell.
    frame["colour"] = np.where(frame["colour"] == "red", "01", "x")
    frame.to_csv(path, index=False)
    frame = frame.iloc[::-1]
    frame.to_csv(tmp_path / "all.csv", index=False)
    new = frame[frame["colour"] == "01"].assign(extra=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    export, out = script("export_features"), tmp_path / "out"
    export.main(
        f"--csv {path} --target kind --quick --estimator deepforest --save-model --test-csv "
        f"{tmp_path / 'all.csv'} --out {out}".split()
    )
    apply = ["--apply", str(out / "model.joblib"), "--csv", str(tmp_path / "new.csv")]
    apply += ["--out", str(out)]
    export.main(apply)
    with np.load(out / "new.npz") as result, np.load(out / "test.npz") as test:
        np.testing.assert_array_equal(result["X"], test["X"][frame["colour"] == "01"])
        assert result["names"].tolist() == test["names"].tolist()
        assert result["y"].tolist() == new["kind"].tolist()
    with pytest.raises(SystemExit, match=r"new.npz is there already"):
        export.main(apply)
    new.drop(columns="colour").to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(SystemExit, match="must have a column 'colour', as in training"):
        export.main([*apply, "--overwrite"])
    with pytest.raises(SystemExit, match="needs what --save-model wrote"):
        export.main(["--apply", str(path), *apply[2:]])
    new.assign(colour="01").to_csv(tmp_path / "new.csv", index=False)
    joblib.dump({}, out / "model.joblib")
    with pytest.raises(SystemExit, match="does not fit the model: 'dict' object has no"):
        export.main([*apply, "--overwrite"])
    for name, junk in (("model.joblib", "junk"), ("manifest.json", "[]")):
        (out / name).write_text(junk)
        with pytest.raises(SystemExit, match="needs what --save-model wrote"):
            export.main([*apply, "--overwrite"])


def test_tables_that_cannot_be_split_or_learnt(script, tmp_path):
    path = tmp_path / "few.csv"
    arguments = ["--csv", str(path), "--target", "kind", "--quick", "--out", str(tmp_path / "o")]
    path.write_text("size,kind\n" + "".join(f"{i},{i % 5}\n" for i in range(10)))
    with pytest.raises(SystemExit, match="cannot be split with 30 % of each class for testing"):
        script("export_features").main(arguments)
    path = tmp_path / "numbers.csv"
    arguments[1] = str(path)
    path.write_text("size,kind\n" + "".join(f"{i},{i % 2 + 0.5}\n" for i in range(10)))
    with pytest.raises(SystemExit, match=r"column 'kind' of .* must hold classes"):
        script("export_features").main(arguments)


def test_nothing_is_overwritten_without_the_option(script, tmp_path):
    arguments = ["iris", "--quick", "--out", str(tmp_path)]
    script("export_features").main(arguments)
    with pytest.raises(SystemExit, match="holds features already: give another --out, or --over"):
        script("export_features").main(arguments)
    script("export_features").main([*arguments, "--overwrite"])
    with pytest.raises(SystemExit, match=r"transform_layers must be .*\[6\]; --layers counts"):
        script("export_features").main([*arguments, "--overwrite", "--layers", "7"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--csv", "{csv}", "--target", "nothing"], "--target must be a column of .*'nothing'"),
        (
            ["--csv", "{csv}", "--target", "kind", "--test-csv", "{other}"],
            "must have a column .colour",
        ),
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
    with pytest.raises(SystemExit, match=r'pyarrow is not installed: pip install "mddf.parquet."'):
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
        (["iris", "--layers", "0"], "such as 1,3 (-1: the last layer), got '0'"),
        (["iris", "--apply", "a.joblib"], "--apply goes with --csv"),
        (["--csv", "a.csv", "--apply", "a.joblib", "--target", "b"], "--apply, which knows"),
        (["iris", "--estimator", "deepforest", "--layers", "all"], "deepforest gives all"),
        (["--csv", "a.csv", "--apply", "a.joblib", "--drop", "b"], "--drop is not for --apply"),
        (["--csv", "a.csv", "--apply", "a.joblib", "--task", "regression"], "--task is not for"),
        (["--csv", "a.csv", "--apply", "a.joblib", "--layers", "all"], "--layers is not for"),
        (["yacht", "--estimator", "mddf"], "mdDF is not for regression; deepforest is"),
    ):
        with pytest.raises(SystemExit):
            parse(arguments)
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("estimator", ["gcforest", "deepforest"])
def test_export_of_leaves(script, tmp_path, table, estimator):
    path, frame = table
    export = script("export_features").main
    export(
        f"--csv {path} --target kind --quick --estimator {estimator} --representation leaves "
        f"--layers 1 --save-model --out {tmp_path}/out".split()
    )
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["representation"] == "leaves"
    assert manifest["train"]["features"] == "transform"
    train = sparse.load_npz(tmp_path / "out/train.npz")
    assert train.shape == (105, len(manifest["names"]))
    assert set(train.data) == {1}
    assert len(set(train.sum(axis=1).ravel().tolist()[0])) == 1  # one leaf of each tree
    with np.load(tmp_path / "out/train.npz") as arrays:
        assert arrays["y"].tolist() == frame["kind"][arrays["rows"]].tolist()
        rows = arrays["rows"]
    export(f"--apply {tmp_path}/out/model.joblib --csv {path} --out {tmp_path}/new".split())
    again = sparse.load_npz(tmp_path / "new/table.npz")
    assert (again[rows] != train).nnz == 0
    with pytest.raises(SystemExit, match="need --format npz"):
        export(
            f"--apply {tmp_path}/out/model.joblib --csv {path} --format csv "
            f"--out {tmp_path}/new".split()
        )


def test_tables_of_the_user_are_kept(script, tmp_path, table):
    """Feature files with the name of an input table neither replace nor remove it."""
    path, frame = table
    export = script("export_features").main
    learn = ["--csv", str(path), "--target", "kind", "--quick"]
    export([*learn, "--save-model", "--out", str(tmp_path / "out")])
    apply = ["--apply", str(tmp_path / "out/model.joblib"), "--csv", str(path), "--overwrite"]
    export([*apply, "--out", str(tmp_path)])
    assert (tmp_path / "table.npz").exists()
    with pytest.raises(
        SystemExit, match=r"table\.csv is a table that is read: give another --out"
    ):
        export([*apply, "--format", "csv", "--out", str(tmp_path)])
    train = path.rename(tmp_path / "train.csv")
    learn[1] = str(train)
    export([*learn, "--overwrite", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"train\.csv is a table that is read"):
        export([*learn, "--overwrite", "--format", "csv", "--out", str(tmp_path)])
    pd.testing.assert_frame_equal(pd.read_csv(train), frame)


def test_export_of_the_kernel(script, tmp_path, table):
    path, _ = table
    script("export_features").main(
        f"--csv {path} --target kind --quick --representation kernel --components 4 "
        f"--format csv --out {tmp_path}".split()
    )
    train = pd.read_csv(tmp_path / "train.csv")
    assert list(train) == ["row", *(f"forestkernelembedding{i}" for i in range(4)), "label"]
    classes = np.unique(train["label"], return_inverse=True)[1]
    assert np.abs(np.corrcoef(train["forestkernelembedding0"], classes)[0, 1]) > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("leaves --format csv", "--representation leaves needs --format npz"),
        ("kernel --layers all", "--layers must be one layer for --representation kernel"),
        ("leaves --layers 1,2", "--layers must be one layer"),
        ("kernel --forests each", "--forests is for --representation vectors"),
    ],
)
def test_options_that_do_not_fit_embeddings(script, capsys, options, message):
    with pytest.raises(SystemExit):
        script("export_features").parse(["iris", "--representation", *options.split()])
    assert message in capsys.readouterr().err
