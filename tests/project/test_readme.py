"""What README and the pages of docs show, runs."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/boosted-trees.md",
    "docs/cascades.md",
    "docs/coming-from.md",
    "docs/datasets.md",
    "docs/explaining.md",
    "docs/few-rows.md",
    "docs/guide.md",
    "docs/in-practice.md",
    "docs/saving.md",
    "docs/scaling.md",
    "docs/scanning.md",
    "docs/tutorial.md",
)
# Their blocks go on from one another.
WHOLE = ("docs/few-rows.md", "docs/tutorial.md")
BLOCKS = {
    page: re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    for page in PAGES
}
EXAMPLES = [
    (page, code)
    for page, blocks in BLOCKS.items()
    for code in (["\n".join(blocks)] if page in WHOLE else blocks)
]
LONG = ("docs/few-rows.md", "docs/tutorial.md")  # many seconds

EXTRAS = {
    "docs/explaining.md": ("matplotlib", "shap"),
    "docs/in-practice.md": ("matplotlib",),
    "docs/saving.md": ("onnxruntime", "skops"),
    "docs/tutorial.md": ("shap",),
}


def test_there_are_examples():
    shown = [page for page, _ in EXAMPLES]
    assert shown.count("README.md") >= 1
    assert set(shown) == set(PAGES)


@pytest.mark.parametrize(
    ("page", "code"),
    [
        pytest.param(page, code, marks=pytest.mark.slow if page in LONG else (), id=str(number))
        for number, (page, code) in enumerate(EXAMPLES)
    ],
)
@pytest.mark.filterwarnings("ignore:Matplotlib is currently using agg")
def test_example(page, code, request, monkeypatch, tmp_path):
    for extra in EXTRAS.get(page, ()):
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)  # some write files
    if page == "docs/datasets.md":
        home = request.getfixturevalue("data_home")  # else skip: nothing is downloaded
        monkeypatch.setenv("MDDF_DATA_HOME", str(home))
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # whose functions can be pickled
    exec(compile(code, page, "exec"), vars(module))
