"""``mddf predict`` in blocks of rows, compared with one prediction of all rows."""

import numpy as np
import pandas as pd
import pytest

from mddf._command import rows
from mddf._command.files import read_model
from mddf._schema import source

SMALL = {"block_rows": 32, "block_bytes": 1500}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "key": [f"{number:04d}" for number in range(300)],
            "x": rng.normal(size=300),
            "kind": rng.choice(list("abc"), 300),
            "day": pd.date_range("2023-12-01", periods=300).strftime("%Y-%m-%d"),
        }
    )
    frame["y"] = np.where(frame["x"] > 0, "up", "down")
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    return tmp_path


def run(*arguments):
    from mddf.__main__ import main

    main([*map(str, arguments)])


@pytest.mark.parametrize("of", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("to", ["out.csv", "out.parquet"])
def test_blocks_predict_as_one_table(folder, of, to, monkeypatch):
    model_path = folder / "model.mddf"
    fit = ["fit", folder / of, "--target", "y", "--drop", "key", "--dates", "day"]
    forest = ["--estimator", "random-forest", "--set", "n_estimators=5", "--n-jobs", "1"]
    run(*fit, *forest, "--out", model_path)
    monkeypatch.setattr(rows, "read_blocks", lambda *a, **k: source.read_blocks(*a, **k, **SMALL))
    run("predict", model_path, folder / of, "--keep", "key", "x", "--out", folder / to)
    read = pd.read_csv if to.endswith("csv") else pd.read_parquet
    result = read(folder / to, **({"dtype": {"key": str}} if to.endswith("csv") else {}))
    stored = read_model(model_path)
    model = stored.model
    X, _ = rows.read_features(folder / of, stored.schema)
    assert result["key"].tolist() == [f"{number:04d}" for number in range(300)]
    assert result["predicted y"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(result["p(up)"], model.predict_proba(X)[:, 1], rtol=1e-12)
    expected = pd.read_parquet(folder / "table.parquet")["x"]
    np.testing.assert_array_equal(result["x"].astype(float), expected)


def test_an_error_late_in_the_table_leaves_no_file(folder, monkeypatch):
    model_path = folder / "model.mddf"
    fit = ["fit", folder / "table.csv", "--target", "y", "--drop", "key", "day", "kind"]
    forest = ["--estimator", "random-forest", "--set", "n_estimators=2", "--n-jobs", "1"]
    run(*fit, *forest, "--out", model_path)
    text = (folder / "table.csv").read_text() + "x,much,a,2024-01-01,up\n"
    (folder / "late.csv").write_text(text)
    monkeypatch.setattr(rows, "read_blocks", lambda *a, **k: source.read_blocks(*a, **k, **SMALL))
    with pytest.raises(SystemExit, match=r"late\.csv, line 302: column 'x' must hold numbers"):
        run("predict", model_path, folder / "late.csv", "--out", folder / "out.csv")
    assert not list(folder.glob("*out*"))
