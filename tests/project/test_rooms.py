"""The developer pages name existing files and all modules of the rooms."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
PAGES = (
    *("development", "architecture", "architecture-rooms", "architecture-kernel"),
    *("extending", "exactness"),
)
MAP = "".join((ROOT / f"docs/{page}.md").read_text() for page in PAGES)


def test_files_named_in_the_map_exist():
    folders = ("mddf", "tests", "scripts", "docs", "baselines", "datasets")
    existing = {path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()}
    existing |= {path for path in ROOT.iterdir() if path.is_file()}
    paths = ["/" + path.relative_to(ROOT).as_posix() for path in existing]
    mentioned = set(re.findall(r"`([\w/-]+\.(?:py|hpp|cpp|md|toml|json|sh|txt))`", MAP))
    assert len(mentioned) > 50
    assert {name for name in mentioned if not any(p.endswith(f"/{name}") for p in paths)} == set()


ROWS = re.findall(r"^\| `(_\w+)` \| (.*) \|$", MAP, re.MULTILINE)


def test_the_table_names_all_rooms():
    rooms = {path.parent.name for path in (ROOT / "mddf").glob("_*/__init__.py")}
    assert {room for room, _ in ROWS} == rooms - {"_kernel"}


@pytest.mark.parametrize(("room", "description"), ROWS, ids=[room for room, _ in ROWS])
def test_the_table_of_rooms_names_their_modules(room, description):
    modules = {path.stem for path in (ROOT / "mddf" / room).glob("*.py")} - {"__init__"}
    assert set(re.findall(r"`(\w+)`", description)) == modules
