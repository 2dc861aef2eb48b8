"""The examples in the docstrings, and the small parts of the scripts."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts"


@pytest.mark.parametrize(
    "name",
    [
        "adaboost",
        "deepboost",
        "quadboost",
        "lpboost",
        "bounds",
        "margins",
        "scanning",
        "significance",
    ],
)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"mddf.baselines.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_examples_of_the_page(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/boosting.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), "boosting.md", "exec"), {"__name__": "page"})
    assert "LPBoostClassifier" in capsys.readouterr().out


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module
    for name in [
        n for n in sys.modules if n.startswith(("run_", "compare_", "_boosting", "_results"))
    ]:
        del sys.modules[name]


def test_deepboost_grids_and_folds(script):
    module = script("run_deepboost")
    sizes = {
        (table, method): len(module.settings_of(table, method))
        for table, methods in module.METHODS.items()
        for method in methods
    }
    assert [sizes[1, m] for m in module.METHODS[1]] == [1, 1, 7, 42]
    assert [sizes[2, m] for m in module.METHODS[2]] == [6, 30, 150]
    assert [sizes[3, m] for m in module.METHODS[3]] == [6, 30, 150]
    assert len(module.settings_of(1, "DeepBoost", thin=2)) == 4 * 3
    thinned = module.settings_of(2, "DeepBoost", thin=2)
    assert sorted({p["max_depth"] for p in thinned}) == [2, 4, 6]
    assert len(thinned) == 3 * 3 * 3
    fold = module.folds_of(105, seed=0)
    assert sorted(np.bincount(fold)) == [10] * 5 + [11] * 5
    assert (fold != module.folds_of(105, seed=1)).any()


def test_deepboost_run_averages_ties(script):
    module = script("run_deepboost")
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    y = (X[:, 0] > 0.5).astype(int)  # every depth makes no mistake
    grid = module.settings_of(2, "AdaBoost")
    result = module.one_run(3, grid, 2, 5, X, y, module.folds_of(100, 0))
    assert result["n_tied"] == result["n_settings"] == 6
    assert result["first_setting"] == grid[0]


def test_quadboost_protocol(script):
    module = script("run_quadboost")
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 5, size=(1200, 2)), rng.integers(0, 2, 1200)
    train, _, test, _ = module.split(X, y, seed=0)
    assert (len(train), len(test)) == (500, 700)
    np.testing.assert_allclose(np.arctanh(train).mean(axis=0), 0, atol=1e-9)
    assert len(module.split(X[:41], y[:41], seed=0)[0]) == 21
    grids = {name: (len(v), len(t)) for name, (v, t, _) in module.algorithms(False).items()}
    assert grids["QuadBoost-L2"] == grids["QuadBoost-Linf"] == (10, 10)
    assert grids["AdaBoost"] == grids["QuadBoost"] == (1, 10)
    right = {"A": "1111", "B": "1000"}
    results = {f"{s}/{m}": {"right": right[m]} for s in "xyz" for m in "AB"}
    rows = {(r["row_algorithm"], r["column_algorithm"]): r
            for r in module.table_two(results, "xyz", ["A", "B"])}  # fmt: skip
    assert rows["A", "B"]["wins"] == 3
    assert rows["A", "B"]["sign_test_p"] == 0.125
    both = [rows[pair]["prob_row_better"] for pair in (("A", "B"), ("B", "A"))]
    assert sum(both) == pytest.approx(1)
    assert rows["A", "A"]["prob_row_better"] == 0.5


def test_record_resumes_and_refuses_other_settings(script, tmp_path):
    module = script("_results")
    record = module.Record(tmp_path / "r.json", {"seed": 0}, {"by": "first"})
    assert record.get("a", lambda: {"x": 1}) == {"x": 1}
    again = module.Record(tmp_path / "r.json", {"seed": 0}, {"by": "second"})
    assert again.get("a", lambda: pytest.fail("computed twice")) == {"x": 1}
    with pytest.raises(SystemExit, match="results of other settings"):
        module.Record(tmp_path / "r.json", {"seed": 1}, {})
    assert again.origins == [{"by": "first"}]  # the second has computed nothing yet
    again.get("b", lambda: {"x": 2})
    origins = module.Record(tmp_path / "r.json", {"seed": 0}, {}).origins
    assert origins == [{"by": "first"}, {"by": "second"}]
    assert module.aligned([("a", "bcd"), (12, 3)]).splitlines() == [
        "| a  | bcd |",
        "| -- | --- |",
        "| 12 | 3   |",
    ]
    assert len(module.published("deepboost_table2.tsv")) == 24
    assert module.published("no_such.tsv") == []


def test_data_for_scripts(script):
    module = script("_boosting_data")
    assert module.load_table("breast_cancer").X.shape == (569, 30)
    assert set(module.load_table("digits-49").y) == {4, 9}
    assert module.binary(module.load_table("wine")).mean() == pytest.approx(71 / 178)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": pd.Categorical(["x", "y", "z"])})
    np.testing.assert_array_equal(
        module.to_numbers(frame), [[1, 0, 0, 1], [0, 1, 0, np.nan], [0, 0, 1, 3]]
    )
    train, test = module.fill_missing(
        np.array([[1.0, np.nan], [3.0, 5.0]]), np.array([[np.nan, np.nan]])
    )
    np.testing.assert_array_equal(train, [[1, 5], [3, 5]])
    np.testing.assert_array_equal(test, [[2, 5]])
