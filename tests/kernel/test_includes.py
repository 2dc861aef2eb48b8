import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[2] / "mddf/_kernel"
# What the files of a folder may include, apart from one another.
MAY_INCLUDE = {
    "common": [],
    "forest/data": ["common"],
    "forest/binning": ["common", "forest/data"],
    "forest/split": ["common", "forest/data"],
    "forest/tree": ["common", "forest/data", "forest/split"],
    "forest/predict": ["common", "forest/data", "forest/tree"],
    "forest/small": ["common", "forest/data", "forest/split", "forest/tree"],
    "forest/grow": [
        "common",
        *(f"forest/{of}" for of in ["data", "split", "tree", "predict", "small"]),
    ],
    "baselines": ["common"],
    "gradient_boosting": ["common", "forest/data"],
    "network": ["common"],
    "descent": ["common"],
    "explain": ["common"],
    "logistic": ["common"],
    "bindings": [
        "common",
        "forest",
        "baselines",
        "gradient_boosting",
        "network",
        "descent",
        "explain",
        "logistic",
    ],
}
FILES = sorted(file for kind in ("hpp", "cpp") for file in KERNEL.rglob(f"*.{kind}"))


def includes(file):
    return re.findall(r'^#include "(.*)"$', file.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_files_include_only_allowed_folders(folder):
    files = [file for file in FILES if file.parent == KERNEL / folder]
    assert files
    for file in files:
        for name in includes(file):
            assert (KERNEL / name).is_file(), (file.name, name)
            allowed = [folder, *MAY_INCLUDE[folder]]
            assert any(name.startswith(f"{other}/") for other in allowed), (file.name, name)


def test_files_are_in_known_folders_and_do_not_include_themselves():
    assert {file.parent.relative_to(KERNEL).as_posix() for file in FILES} == set(MAY_INCLUDE)
    names = {file.relative_to(KERNEL).as_posix(): includes(file) for file in FILES}
    TopologicalSorter(names).prepare()  # raises if there is a circle
