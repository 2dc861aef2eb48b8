"""The examples of the boosting page and docstrings, and what the boosting scripts share."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def test_examples_of_the_page(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/boosting.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), "boosting.md", "exec"), {"__name__": "page"})
    assert "LPBoostClassifier" in capsys.readouterr().out


def test_record_resumes_and_refuses_other_settings(script, tmp_path):
    module = script("_results")
    record = module.Record(tmp_path / "r.json", {"seed": 0}, {"by": "first"})
    assert record.get("a", lambda: {"x": 1}) == {"x": 1}
    again = module.Record(tmp_path / "r.json", {"seed": 0}, {"by": "second"})
    assert again.get("a", lambda: pytest.fail("computed twice")) == {"x": 1}
    assert again.asked == {"a": {"x": 1}}
    with pytest.raises(SystemExit, match="results of other settings: seed 0 there, 1 here"):
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


@pytest.mark.parametrize(
    ("content", "message"), [("{", "cannot be read"), ("{}", "another kind: it has no settings")]
)
def test_damaged_records_are_named(script, tmp_path, content, message):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(SystemExit, match=rf"r\.json .*{message}"):
        script("_results").Record(tmp_path / "r.json", {}, {})


@pytest.mark.usefixtures("no_data")
def test_sets_asked_for_are_not_replaced(script, capsys):
    load_tables = script("_boosting_data").load_tables
    known = {name: (name,) for name in ("german", "wine")}
    assert list(load_tables(None, ["german"], known, ["wine"])) == ["wine"]
    assert list(load_tables(None, ["german", "wine"], known, [])) == ["wine"]
    assert list(load_tables(["wine"], ["german"], known, [])) == ["wine"]
    with pytest.raises(SystemExit, match=r"--sets: not available.*german"):
        load_tables(["german", "wine"], ["wine"], known, ["wine"])
    assert "german: not available" in capsys.readouterr().out


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
