import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mddf.datasets import names
from mddf.datasets.__main__ import main
from mddf.datasets._io.spec import Embedded
from mddf.datasets._registry import SPECS, resolve

DOCS = Path(__file__).parents[2] / "docs" / "results" / "data-sets.md"


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
