import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mddf.datasets import names
from mddf.datasets.__main__ import main
from mddf.datasets._io.spec import Embedded
from mddf.datasets._registry import SPECS, resolve

DOCS = Path(__file__).parents[2] / "docs" / "data-set-list.md"


def test_names_are_sorted_and_ours_to_change():
    all_names = names()
    assert all_names == sorted(set(all_names))
    all_names.clear()
    assert names()


def test_names_of_a_task():
    assert set(names("regression")) | set(names(task="classification")) == set(names())
    assert len(names("regression")) >= 8
    assert {"diabetes-progression", "california"} <= set(names("regression"))
    assert len(names("classification")) >= 35
    with pytest.raises(ValueError, match="task must be one of classification, regression or None"):
        names("ranking")


def test_unknown_name_suggests_the_nearest():
    for name, hint in [
        ("adlut", "'adult'"),
        ("breast-cancer", "'breast_cancer'"),
        ("monks", "'monks-1'"),
        ("letters", "'letter'"),
        ("sensIT-vehicle", "'sensit'"),
    ]:
        with pytest.raises(ValueError, match=rf"names\(\), got '{name}'; did you mean .*{hint}"):
            resolve(name, {})


def test_unknown_name_without_a_similar_one():
    for name in ["qqqq", ""]:
        with pytest.raises(ValueError, match=rf"names\(\), got '{name}'$"):
            resolve(name, {})


def test_name_that_is_not_text():
    with pytest.raises(TypeError, match=r"name must be a string.*got 3"):
        resolve(3, {})


def test_unknown_option():
    with pytest.raises(TypeError, match="'horse' must be one of 'target', got 'variant'"):
        resolve("horse", {"variant": "full"})
    with pytest.raises(TypeError, match="'adult' must be one of none, got 'target'"):
        resolve("adult", {"target": "sex"})


def test_unknown_value_of_an_option():
    for value in ["whole", None, ["full"], 0]:
        message = re.escape(
            f"variant of data set 'bank' must be one of 'full', 'additional', got {value!r}"
        )
        with pytest.raises(ValueError, match=message):
            resolve("bank", {"variant": value})


def test_options_go_together():
    spec, _ = resolve("bank", {"variant": "additional", "unknown_as_missing": True})
    assert spec.rows == 41188
    assert spec.parts[0].missing == 12718
    assert spec.format.missing == "unknown"


def test_every_option_has_a_default_that_changes_nothing():
    for spec in SPECS.values():
        defaults = {option: values[0] for option, values in spec.options.items()}
        assert resolve(spec.name, defaults)[0] is spec


def test_every_set_is_described():
    for name in sorted(SPECS):
        spec = SPECS[name]
        assert spec.name == name
        assert all((spec.title, spec.description, spec.citation))
        assert urlsplit(spec.source).netloc
        assert " " not in spec.source
        assert spec.description.endswith(".")
        assert set(spec.label_names) <= set(spec.classes) or spec.parent is not None
        assert bool(spec.files) != isinstance(spec.format, Embedded)
        for file in spec.files:
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert "\\" not in file.name
            assert not file.name.startswith("/")
            url = file.archive.url if file.archive else file.url
            assert url is None or urlsplit(url).scheme == "https"


def test_documented_table_is_the_printed_one(capsys):
    assert main(["--markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n| `") == len(names())
    assert DOCS.read_text("utf-8").endswith("\n\n" + printed)


def test_check(capsys, tmp_path, data_home):
    (tmp_path / "car").mkdir()
    (tmp_path / "car" / "car.data").write_text("low,low,2,2,small,low,good\n")
    assert main(["iris", "car", "--check", "--data-home", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"iris .* whole\n", printed)
    assert re.search(r"car .* WRONG: .*SHA-256", printed)
    assert main(["car", "abalone", "--check", "--data-home", str(data_home)]) == 0
    capsys.readouterr()
    assert main(["iris", "abalone", "--check", "--data-home", str(tmp_path)]) == 1
    assert re.search(r"abalone .* not here\n", capsys.readouterr().out)
