"""export_features.py."""

import json

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


def export(script, arguments):
    script("export_features").main(arguments.split())


def test_export_of_numbers(script, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame.assign(price=frame["a"] - frame["b"] + 0.5).to_csv(tmp_path / "t.csv", index=False)
    frame[:9].to_csv(tmp_path / "new.csv", index=False)
    arguments = f"--csv {tmp_path}/t.csv --target price --quick --out {tmp_path}/out"
    with pytest.raises(SystemExit, match="must hold classes"):
        export(script, arguments)
    export(script, f"{arguments} --task regression --test-csv {tmp_path}/new.csv")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["model"] == "DeepForestRegressor"
    assert manifest["out_of_fold_r2"] > 0.5
    assert "test_r2" not in manifest


def test_tables_and_their_columns(script, tmp_path, table):
    path, frame = table
    frame.assign(id=np.arange(150)).to_csv(path, index=False)
    test = frame.iloc[::3].copy()
    test.iloc[0, test.columns.get_loc("colour")] = "green"  # not seen in training
    test.to_csv(tmp_path / "new.csv", index=False)
    arguments = f"--csv {path} --target kind --drop id --test-csv {tmp_path / 'new.csv'} --quick"
    arguments += " --estimator gcforest --raw --format csv"
    export(script, f"{arguments} --out {tmp_path}")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    train, test = (pd.read_csv(tmp_path / f"{part}.csv") for part in ("train", "test"))
    assert manifest["classes"] == ["setosa", "versicolor", "virginica"]
    assert [name for name in train if name.startswith("layer")] == manifest["names"]
    assert test["row"].tolist() == list(range(150, 200))
    assert not {"raw_id", "raw_kind"} & {*train}
    assert train["label"].tolist() == frame["kind"].tolist()
    assert test["label"].tolist() == frame["kind"].iloc[::3].tolist()


def test_export_of_boosted_features(script, tmp_path, table):
    path, _ = table
    options = f"--csv {path} --target kind --quick"
    export(script, f"{options} --representation boosted --out {tmp_path}/b")
    export(script, f"{options} --out {tmp_path}/v")
    with np.load(tmp_path / "b/test.npz") as boosted, np.load(tmp_path / "v/test.npz") as vectors:
        assert boosted["names"].tolist()[:3] == ["f1_setosa", "f1_versicolor", "f1_virginica"]
        first = vectors["X"].reshape(len(vectors["X"]), -1, 3)
        n_forests = sum(name.startswith("layer1_") for name in vectors["names"]) // 3
        f1, h1 = boosted["X"][:, :3], first[:, :n_forests].mean(axis=1)
        np.testing.assert_allclose(f1, f1[0].sum() * h1, atol=1e-12)


@pytest.mark.parametrize("estimator", ["gcforest", "deepforest"])
def test_export_of_leaves(script, tmp_path, table, estimator):
    path, frame = table
    arguments = f"--estimator {estimator} --representation leaves --layer 1 --out {tmp_path}/out"
    export(script, f"--csv {path} --target kind --quick {arguments}")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    train = sparse.load_npz(tmp_path / "out/train.npz")
    assert train.shape == (105, len(manifest["names"]))
    assert set(train.data) == {1}
    assert len(set(train.sum(axis=1).ravel().tolist()[0])) == 1  # one leaf of each tree
    with np.load(tmp_path / "out/train.npz") as arrays:
        assert arrays["y"].tolist() == frame["kind"][arrays["rows"]].tolist()
