import re
import runpy
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mddf.datasets import names
from mddf.datasets._registry import ALIASES, SPECS, resolve
from mddf.datasets._spec import Embedded

DOCS = Path(__file__).parents[1] / "docs" / "datasets.md"


def test_names_are_sorted_and_ours_to_change():
    found = names()
    assert found == sorted(set(found))
    found.clear()
    assert names()


def test_names_of_published_tables():
    assert set(ALIASES.values()) <= set(SPECS)
    assert not set(ALIASES) & set(SPECS)
    assert resolve("ocr17", {})[0].name == "optdigits-17"
    assert resolve("HAR", {})[0].name == "har"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("adlut", "'adult'"),
        ("breast-cancer", "'breast_cancer'"),
        ("monks", "'monks-1'"),
        ("letters", "'letter'"),
        ("sensIT-vehicle", "'sensit'"),
    ],
)
def test_unknown_name_suggests_the_nearest(name, hint):
    with pytest.raises(ValueError, match=rf"names\(\), got '{name}'; did you mean .*{hint}"):
        resolve(name, {})


@pytest.mark.parametrize("name", ["qqqq", ""])
def test_unknown_name_without_a_near_one(name):
    with pytest.raises(ValueError, match=rf"names\(\), got '{name}'$"):
        resolve(name, {})


def test_name_that_is_no_text():
    with pytest.raises(TypeError, match=r"name must be a string.*got 3"):
        resolve(3, {})


def test_unknown_option():
    with pytest.raises(TypeError, match="'horse' must be one of 'target', got 'variant'"):
        resolve("horse", {"variant": "full"})
    with pytest.raises(TypeError, match="'adult' must be one of none, got 'target'"):
        resolve("adult", {"target": "sex"})


@pytest.mark.parametrize("value", ["whole", None, ["full"], 0])
def test_unknown_value_of_an_option(value):
    message = re.escape(
        f"variant of data set 'bank' must be one of 'full', 'additional', got {value!r}"
    )
    with pytest.raises(ValueError, match=message):
        resolve("bank", {"variant": value})


def test_numbers_are_no_switches():
    with pytest.raises(ValueError, match=r"zeros_as_missing .* must be one of False, True, got 1"):
        resolve("pima", {"zeros_as_missing": 1})


def test_defaults_are_told():
    spec, chosen = resolve("bank", {"drop_duration": True})
    assert chosen == {"variant": "full", "drop_duration": True, "unknown_as_missing": False}
    assert "duration" not in spec.format.features


def test_options_go_together():
    spec, _ = resolve("bank", {"variant": "additional", "unknown_as_missing": True})
    assert spec.rows == 41188
    assert spec.parts[0].missing == 12718
    assert spec.format.missing == "unknown"


def test_every_option_has_a_default_that_changes_nothing():
    for spec in SPECS.values():
        for values in spec.options.values():
            assert next(iter(values.values()))(spec) is spec


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_set_is_described(name):
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
    runpy.run_module("mddf.datasets", run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.count("\n") == len(names()) + 2
    assert DOCS.read_text("utf-8").endswith("\n\n" + printed)


def test_documented_options_are_the_registry():
    text = DOCS.read_text("utf-8")
    for spec in SPECS.values():
        for option, values in spec.options.items():
            row = next(
                line
                for line in text.splitlines()
                if re.search(rf"\|.*`{spec.name}`.*\| `{option}=", line)
            )
            default, *others = (v if isinstance(v, bool) else f'"{v}"' for v in values)
            assert f"`{option}={default}`, " + ", ".join(f"`{v}`" for v in others) in row
