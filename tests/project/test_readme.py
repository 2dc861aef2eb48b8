"""What README and the pages of docs show, runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/boosted-trees.md",
    "docs/cascades.md",
    "docs/coming-from.md",
    "docs/datasets.md",
    "docs/explaining.md",
    "docs/guide.md",
    "docs/in-practice.md",
    "docs/saving.md",
    "docs/scaling.md",
    "docs/scanning.md",
)
EXAMPLES = [
    (page, code)
    for page in PAGES
    for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
]


def test_there_are_examples():
    shown = [page for page, _ in EXAMPLES]
    assert shown.count("README.md") >= 2
    assert set(shown) == set(PAGES)


@pytest.mark.parametrize(("page", "code"), EXAMPLES, ids=range(len(EXAMPLES)))
@pytest.mark.filterwarnings("ignore:Matplotlib is currently using agg")
def test_example(page, code, request, monkeypatch, tmp_path):
    for extra in ("matplotlib", "onnxruntime", "shap", "skops"):
        if page in ("docs/explaining.md", "docs/in-practice.md", "docs/saving.md"):
            pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)  # some write files
    if page == "docs/datasets.md":
        home = request.getfixturevalue("data_home")  # else skip: nothing is downloaded
        monkeypatch.setenv("MDDF_DATA_HOME", str(home))
    exec(compile(code, page, "exec"), {"__name__": "readme"})
