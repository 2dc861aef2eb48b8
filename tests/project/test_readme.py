"""The Python code of README and of the pages runs, also with labels that are text."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sklearn.datasets

ROOT = Path(__file__).parents[2]
# Pages with code. test_serving_page.py runs the programs of the pages on serving, and index.md has
# the example of README.
ELSEWHERE = (
    "docs/data-drift.md",
    "docs/index.md",
    "docs/model-card.md",
    "docs/serving.md",
    "docs/serving-tests.md",
)
DOCS = [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]
PAGES = [
    name
    for name in ["README.md", *DOCS]
    if "```python" in (ROOT / name).read_text() and name not in ELSEWHERE
]
# Their blocks go on from one another.
WHOLE = (
    "docs/explaining.md",
    "docs/explaining-pictures.md",
    "docs/explaining-rows.md",
    "docs/explaining-stability.md",
    "docs/groups-and-time.md",
    "docs/guide.md",
    "docs/regression.md",
    "docs/representations.md",
    "docs/rules.md",
    "docs/target-leakage.md",
    "docs/target-leakage-steps.md",
)
# Pages that go on from one another.
SERIES = (
    ("docs/few-rows.md", "docs/few-rows-sets.md"),
    ("docs/few-rows-groups.md", "docs/few-rows-subjects.md"),
    ("docs/tutorial.md", "docs/tutorial-scores.md", "docs/tutorial-explaining.md"),
)
BLOCKS = {
    page: re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    for page in PAGES
}
# A page, and the blocks that run in one process.
EXAMPLES = [
    (page, example)
    for page, blocks in BLOCKS.items()
    if all(page not in series for series in SERIES)
    for example in ([blocks] if page in WHOLE else [[block] for block in blocks])
] + [(series[0], [block for page in series for block in BLOCKS[page]]) for series in SERIES]

EXTRAS = {
    "docs/explaining.md": ("matplotlib",),
    "docs/explaining-pictures.md": ("matplotlib",),
    "docs/explaining-rows.md": ("shap",),
    "docs/explaining-stability.md": ("matplotlib",),
    "docs/few-rows-groups.md": ("statsmodels",),
    "docs/onnx.md": ("onnxruntime",),
    "docs/other-formats.md": ("onnxruntime", "treelite"),
    "docs/probabilities.md": ("matplotlib",),
    "docs/saving.md": ("skops",),
    "docs/tutorial.md": ("shap",),
}


# Loaders of scikit-learn that return classes.
LOADERS = ("load_breast_cancer", "load_digits", "load_iris", "load_wine", "make_classification")


def pages_run_by_the_build():
    """Names of the pages whose code runs when the pages are built."""
    for statement in ast.parse((ROOT / "docs" / "conf.py").read_text()).body:
        match statement:
            case ast.Assign(targets=[ast.Name("executed_pages")], value=ast.Dict(keys=names)):
                return [f"docs/{ast.literal_eval(name)}.md" for name in names]
    raise AssertionError("docs/conf.py names no executed pages")


BUILT = pages_run_by_the_build()


def test_there_are_examples():
    pages = [page for page, _ in EXAMPLES]
    assert pages.count("README.md") >= 1
    later_parts = {page for series in SERIES for page in series[1:]}
    assert set(pages) == set(PAGES) - later_parts
    assert len(PAGES) >= 15


def parameters(examples, slow):
    """Examples as parameters of a test; `slow` has the slow ones."""
    return [
        pytest.param(
            page, blocks, marks=pytest.mark.slow if slow(page) else (), id=f"{page}-{number}"
        )
        for number, (page, blocks) in enumerate(examples)
    ]


@pytest.mark.parametrize(("page", "blocks"), parameters(EXAMPLES, lambda page: page in BUILT))
@pytest.mark.filterwarnings("ignore:Matplotlib is currently using agg")
def test_example(page, blocks, request, monkeypatch, tmp_path, capsys):
    text = (ROOT / page).read_text()
    for code in run_example(page, blocks, request, monkeypatch, tmp_path):
        output = capsys.readouterr().out.rstrip("\n")
        with_output = f"```python\n{code}```\n\n```text\n"
        if with_output in text:
            assert text.partition(with_output)[2].partition("\n```")[0] == output


def with_text_labels(load):
    """A loader with text classes, which are common in user tables."""

    def as_text(y):
        names = np.array([f"class {label}" for label in y])
        return y.__class__(names, index=y.index) if hasattr(y, "index") else names

    def load_with_text(*arguments, **options):
        data = load(*arguments, **options)
        if isinstance(data, tuple):
            return data[0], as_text(data[1])
        data.target = as_text(data.target)
        return data

    return load_with_text


def test_first_pages_have_one_example():
    """README and the first page of the manual have the same code and output."""
    blocks = r"```(?:python|text)\n(.*?)```"
    index, readme = (
        re.findall(blocks, (ROOT / page).read_text(), flags=re.DOTALL)
        for page in ("docs/index.md", "README.md")
    )
    assert len(index) == 2
    assert index == readme


CLASSIFYING = [
    (page, blocks)
    for page, blocks in EXAMPLES
    if any(name in code for name in LOADERS for code in blocks)
    and page != "README.md"  # digits are numbers
]


# Pages whose readers bring tables of their own; the others are tried by the slow tests.
@pytest.mark.parametrize(
    ("page", "blocks"), parameters(CLASSIFYING, lambda page: page != "docs/rare-classes.md")
)
@pytest.mark.filterwarnings("ignore:Matplotlib is currently using agg")
def test_example_with_labels_that_are_text(page, blocks, request, monkeypatch, tmp_path):
    for name in LOADERS:
        original = getattr(sklearn.datasets, name)
        monkeypatch.setattr(sklearn.datasets, name, with_text_labels(original))
    assert list(run_example(page, blocks, request, monkeypatch, tmp_path)) == blocks


@pytest.mark.parametrize("page", ["README.md", *DOCS])
def test_code_that_does_not_run_here_is_python(page):
    """Blocks that need clusters or missing packages are marked as text."""
    blocks = re.findall(r"```(\w*)\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    for language, code in blocks:
        if language == "text" and re.match(r"(from|import) ", code):
            ast.parse(code)
        assert language or not re.match(r"(from|import) ", code)


def run_example(page, blocks, request, monkeypatch, tmp_path):
    """Run the blocks of an example in a folder of its own, and yield each after it ran.

    Skips the test if packages that the example needs are not installed.
    """
    for extra in EXTRAS.get(page, ()):
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)  # some write files
    if page == "docs/datasets.md":
        home = request.getfixturevalue("data_home")  # else skip: nothing is downloaded
        monkeypatch.setenv("MDDF_DATA_HOME", str(home))
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # whose functions can be pickled
    for code in blocks:
        exec(compile(code, page, "exec"), vars(module))
        yield code
