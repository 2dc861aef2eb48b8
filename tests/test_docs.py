"""The commands that pages and scripts show, and that the pages build."""

import ast
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import mddf.baselines
import pytest

import mddf

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SCRIPTS = sorted((ROOT / "scripts").glob("[!_]*.py"))


def commands(path):
    """What follows "python" on a page or in a script's docstring, up to two spaces."""
    text = path.read_text()
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text))
    return re.findall(r"python (scripts/\w+\.py(?: [^\s`;()]+)*)", text)


COMMANDS = [(path.name, command) for path in PAGES + SCRIPTS for command in commands(path)]
SHOWN = sorted({Path(command.split()[0]).stem for _, command in COMMANDS})
# Those whose options are read apart from what they do.
PARSED = [
    (place, command)
    for place, command in COMMANDS
    if "def parse(argv" in (ROOT / command.split()[0]).read_text()
]


def test_there_are_commands():
    assert {"README.md", "guide.md", "gallery.md", "scanning.md"} <= {page for page, _ in COMMANDS}
    assert len(PARSED) > 20


@pytest.mark.parametrize(("place", "command"), PARSED, ids=[" in ".join(c[::-1]) for c in PARSED])
def test_command_is_understood(place, command, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script, *arguments = shlex.split(command)
    module = importlib.import_module(Path(script).stem)
    try:
        module.parse(arguments)
    except SystemExit:
        pytest.fail(f"{place}: {capsys.readouterr().err}")


@pytest.mark.parametrize("script", SHOWN)
def test_script_is_run(script):
    """In its quick form, by a test of its own or by CI; what that shows is checked there."""
    tests = [path.read_text() for path in (ROOT / "tests").glob("test_*.py")]
    by_test = any(f'script("{script}")' in text for text in tests)
    by_prefix = any(f'script(f"{script.partition("_")[0]}_{{' in text for text in tests)
    assert by_test or by_prefix or f"scripts/{script}.py" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("module", [mddf, mddf.baselines])
def test_every_estimator_has_an_example(module):
    assert not [name for name in module.__all__ if ">>>" not in getattr(module, name).__doc__]


def test_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]*\]\((pictures/[^)]+)\)", (ROOT / "docs/gallery.md").read_text())
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
