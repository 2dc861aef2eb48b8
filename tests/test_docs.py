"""The commands that the pages and the boosting scripts show, and that the pages build."""

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("docs/guide.md", "docs/gallery.md", "docs/boosting.md")
SCRIPTS = [f"scripts/{path.name}" for path in (ROOT / "scripts").glob("[a-z]*boost*.py")]
SHOWN = (*PAGES, *sorted(SCRIPTS))
COMMANDS = [
    (page, command)
    for page in SHOWN
    for command in re.findall(r"python (scripts/[^\s`]+(?: [^\s`]+)*)", (ROOT / page).read_text())
]


def test_there_are_commands():
    assert {page for page, _ in COMMANDS} == set(SHOWN)


@pytest.mark.parametrize(
    ("page", "command"), COMMANDS, ids=[command.split()[0] for _, command in COMMANDS]
)
def test_command_is_understood(page, command, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script, *arguments = shlex.split(command)
    module = importlib.import_module(Path(script).stem)
    try:
        module.parse(arguments)
    except SystemExit:
        pytest.fail(f"{page}: {capsys.readouterr().err}")


def test_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]*\]\((pictures/[^)]+)\)", (ROOT / PAGES[1]).read_text())
    there = {f"pictures/{path.name}" for path in (ROOT / "docs/pictures").iterdir()}
    assert set(shown) == there
    assert all((ROOT / "docs" / name).stat().st_size < 150_000 for name in shown)


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sphinx", "numpydoc", "myst_parser")),
    reason='needs "mddf[docs]"',
)
def test_pages_build_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E"]
    command += [str(ROOT / "docs"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "margin_distribution_bound" in (tmp_path / "api.html").read_text()
