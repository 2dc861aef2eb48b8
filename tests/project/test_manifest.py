"""docs/results/manifest.toml and the pages agree on the origin of measured tables."""

import importlib
import json
import subprocess
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("maintain.manifest")


@pytest.fixture
def manifest(tool):
    return tool.read()


def test_every_page_of_results_is_in_the_manifest(tool, manifest):
    pages = {path.name for path in (ROOT / "docs/results").glob("*.md")}
    measured = {Path(entry.page).name for entry in manifest.measurements if "/" in entry.page}
    assert measured == pages
    names = [entry.name for entry in manifest.measurements]
    assert len(set(names)) == len(names)


def test_the_file_is_as_the_tool_writes_it(tool, manifest):
    assert tool.MANIFEST.read_text() == tool.dumps(manifest)


def test_pages_state_how_they_were_measured(tool, manifest):
    """`python scripts/maintain/manifest.py write` writes these lines."""
    for path, entries in tool.pages(manifest).items():
        text = path.read_text()
        assert text == tool.with_block(text, entries), path.name


def test_every_table_has_a_command(manifest):
    """Only design records have no command, because their code was not kept."""
    for entry in manifest.measurements:
        assert bool(entry.commands) == (entry.page != "results/design-records.md"), entry.name
        for command in entry.commands:
            assert (ROOT / command.split()[1]).exists(), command


def test_methods_are_on_record(tool, manifest):
    hashes = tool.record_at()
    used = {method for entry in manifest.measurements for method in entry.methods}
    assert used <= manifest.methods.keys()
    assert not [
        case for cases in manifest.methods.values() for case in cases if case not in hashes
    ]


def test_commits_are_known(tool, manifest):
    commits = sorted({entry.commit for entry in manifest.measurements})
    known = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, cwd=ROOT
    )
    if known.stdout.strip() != "false":
        pytest.skip("needs the history of the repository")
    objects = subprocess.run(
        ["git", "cat-file", "--batch-check"],
        input="\n".join(commits),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert [line for line in objects.stdout.splitlines() if " commit " not in line] == []


@pytest.fixture
def small(tool):
    """A manifest of two tables, and the record at the time of their measurement."""
    hashes = {"forest": {"predict": "1"}, "cascade": {"predict": "2"}}
    methods = {"forests": ["forest"], "all": ["forest", "cascade"]}
    digests = {name: tool.digest(hashes, cases) for name, cases in methods.items()}
    entry = tool.Measurement(
        name="first",
        page="page.md",
        commit="abc1234",
        date=date(2026, 11, 26),
        mddf="0.1.0",
        commands=['python scripts/run_uci.py --set "a b"'],
        packages=["numpy 1.0", "not-installed 2.0"],
        methods={"forests": digests["forests"]},
    )
    second = replace(entry, name="second", tables="The second", methods={"all": digests["all"]})
    return tool.Manifest(methods, [entry, second]), hashes


def test_changed_entries_of_the_record_make_tables_stale(tool, small):
    manifest, hashes = small
    assert tool.stale(manifest, hashes) == {}
    changed = {**hashes, "cascade": {"predict": "3"}}
    assert tool.stale(manifest, changed) == {"second": ["all"]}
    assert tool.stale(manifest, {"cascade": {"predict": "2"}}).keys() == {"first", "second"}
    first, second = manifest.measurements
    record_of_choice = tool.Manifest(manifest.methods, [first, replace(second, commands=[])])
    assert tool.stale(record_of_choice, changed) == {}
    more = {**hashes, "another case": {"predict": "4"}}
    assert tool.stale(manifest, more) == {}


def test_manifests_are_read_as_they_were_written(tool, small, tmp_path):
    path = tmp_path / "manifest.toml"
    path.write_text(tool.dumps(small[0]))
    assert tool.read(path) == small[0]


def test_last_lines_are_renewed(tool, small):
    entries = small[0].measurements
    page = tool.with_block("# Title\n\n| 1 |\n", entries)
    assert page == tool.with_block(page, entries)
    assert page.startswith(
        "# Title\n\n| 1 |\n\n## How this was measured\n\n- Measured at commit abc1234"
    )
    assert (
        "- The second: measured at commit abc1234 on 2026-11-26 by `python scripts/run_uci" in page
    )


def test_update(tool, monkeypatch, small):
    manifest, hashes = small
    answers = {
        "status": "",
        "show": '__version__ = "0.2.0"\n',
        "rev-parse": "def5678\n",
    }
    monkeypatch.setattr(tool, "git", lambda action, *rest: answers[action])
    monkeypatch.setattr(tool, "record_at", lambda commit=None: {**hashes, "forest": {}})
    updated = tool.updated(manifest, ["first"], commit=None, day=date(2026, 12, 1))
    first, second = updated.measurements
    assert second == manifest.measurements[1]
    assert (first.commit, first.date, first.mddf) == ("def5678", date(2026, 12, 1), "0.2.0")
    assert first.packages[1] == "not-installed 2.0"
    assert first.packages[0] != "numpy 1.0"
    assert tool.stale(updated, {**hashes, "forest": {}}) == {"second": ["all"]}
    with pytest.raises(SystemExit, match="no measurement 'third': there are first, second"):
        tool.updated(manifest, ["third"], commit=None, day=None)
    answers["status"] = " M mddf/__init__.py\n"
    with pytest.raises(SystemExit, match="have changes"):
        tool.updated(manifest, ["first"], commit=None, day=None)


def test_stale_tables_are_listed(tool, monkeypatch, small, capsys, tmp_path):
    manifest, hashes = small
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"hashes": {**hashes, "cascade": {}}}))
    monkeypatch.setattr(tool, "RECORD", record)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "read", lambda: manifest)
    assert tool.main(["stale"]) == 0
    assert capsys.readouterr().out == (
        "second (docs/page.md, abc1234): changed since: all\n1 of 2 measurements are stale\n"
    )
    assert tool.main(["stale", "--fail"]) == 1
