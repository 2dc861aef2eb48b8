"""The map of the code is right, and tests import the private modules of their room alone."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
MAP = (ROOT / "docs/development.md").read_text()
# What the rooms of tests are about, where they are not called as the room of the package.
OWN = {
    "baselines": ("mddf.baselines", "mddf._core"),
    "datasets": ("mddf.datasets",),
    "explain": ("mddf.explain", "mddf._inspection"),
    "export": ("mddf.export",),
    "gradient": ("mddf._gradient", "mddf._core"),
    "kernel": ("mddf._core",),
}
# Those that look inside on purpose: what is sent, killed, interrupted, or grown from parts.
OTHERS = {
    "base/test_parallel.py",
    "cascade/test_layers.py",
    "ensemble/test_margin_loss.py",
    "estimators/test_engines.py",
    "estimators/test_refusals.py",
    "estimators/test_stored_names.py",
    "gradient/test_growing.py",
    "gradient/test_repeats.py",
    "gradient/test_statistics.py",
    "members/test_boosted.py",
    "members/test_linear.py",
    "trees/test_growing.py",
}


def private_imports(path):
    """Private modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "mddf" and any(p.startswith("_") and p[:2] != "__" for p in rest):
                yield name


def test_private_modules_are_imported_by_tests_of_their_room():
    found = {}
    for path in TESTS.glob("*/test_*.py"):
        room = path.parent.name
        own = OWN.get(room, (f"mddf._{room}",))
        names = [name for name in private_imports(path) if not name.startswith(own)]
        if names:
            found[path.relative_to(TESTS).as_posix()] = names
    assert {path: names for path, names in found.items() if path not in OTHERS} == {}
    assert OTHERS - found.keys() == set()


def test_files_that_the_map_names_are_there():
    folders = ("mddf", "tests", "scripts", "docs", "baselines", "datasets")
    there = {path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()}
    there |= {path for path in ROOT.iterdir() if path.is_file()}
    paths = ["/" + path.relative_to(ROOT).as_posix() for path in there]
    named = set(re.findall(r"`([\w/-]+\.(?:py|hpp|cpp|md|toml|json|sh|txt))`", MAP))
    assert len(named) > 50
    assert {name for name in named if not any(p.endswith(f"/{name}") for p in paths)} == set()


ROWS = re.findall(r"^\| `(_\w+)` \| (.*) \|$", MAP, re.MULTILINE)


@pytest.mark.parametrize(("room", "what"), ROWS, ids=[room for room, _ in ROWS])
def test_the_table_of_rooms_names_their_modules(room, what):
    modules = {path.stem for path in (ROOT / "mddf" / room).glob("*.py")} - {"__init__"}
    assert set(re.findall(r"`(\w+)`", what)) == modules


def test_chains_of_imports_are_short():
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("mddf", cache_dir=None)

    @cache
    def longest(module):
        # All that import the compiled core import `mddf`, too.
        below = graph.find_modules_directly_imported_by(module) - {"mddf"}
        return [module, *max(map(longest, below), key=len, default=[])]

    # Of an editable install the folders beside the package are modules, too.
    others = ("mddf.tests", "mddf.scripts", "mddf.examples", "mddf.docs")
    modules = [module for module in graph.modules if not module.startswith(others)]
    assert len(max(map(longest, modules), key=len)) <= 13
