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
import mddf.datasets
import pytest

import mddf
import mddf.analysis
import mddf.batch
import mddf.explain
import mddf.export

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
SCRIPTS = sorted(
    path for pattern in ("[!_]*.py", "[!_]*/[!_]*.py") for path in (ROOT / "scripts").glob(pattern)
)


def commands(path):
    """The command after "python" on a page or in a docstring of a script, up to two spaces."""
    text = path.read_text()
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text))
    text = re.sub(r"\s*\\\n\s*", " ", text)
    return re.findall(r"python (scripts/[\w/]+\.py(?: [^\s`;()]+)*)", text)


COMMANDS = [(path.name, command) for path in PAGES + SCRIPTS for command in commands(path)]


def test_there_are_commands():
    assert {"README.md", "guide.md", "gallery.md", "scanning-measured.md"} <= {
        page for page, _ in COMMANDS
    }
    assert len(COMMANDS) > 40
    with_options = re.compile(r"^(def )?parse\b", re.MULTILINE)
    assert {Path(command.split()[0]) for _, command in COMMANDS} == {
        path.relative_to(ROOT) for path in SCRIPTS if with_options.search(path.read_text())
    }


@pytest.mark.parametrize(
    ("place", "command"), COMMANDS, ids=[" in ".join(c[::-1]) for c in COMMANDS]
)
def test_command_is_understood(place, command, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("id,size,kind\n1,2,a\n2,3,b\n")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script, *arguments = shlex.split(command)
    name = ".".join(Path(script).with_suffix("").parts[1:])
    module = importlib.import_module(name)
    try:
        module.parse(arguments)
    except SystemExit:
        pytest.fail(f"{place}: {capsys.readouterr().err}")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_link_targets_exist(page):
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_do_not_repeat_sentences(page):
    """Merges that keep both sides leave duplicated sections or tables."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,3} .*", text, flags=re.MULTILINE)
    assert len(set(titles)) == len(titles)
    tables = re.findall(r"(?:^\|.*\n){4,}", text, flags=re.MULTILINE)
    assert len(set(tables)) == len(tables)


MODULES = [
    mddf, mddf.analysis, mddf.baselines, mddf.batch, mddf.datasets, mddf.explain, mddf.export,
    mddf.representation, mddf.rules,
]  # fmt: skip
each_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)


@each_module
def test_every_public_object_has_an_example(module):
    public = {name: getattr(module, name) for name in module.__all__}
    assert not [name for name, value in public.items() if ">>>" not in value.__doc__]


@each_module
def test_every_public_object_has_a_page(module):
    assert listed_objects(module.__name__) == sorted(module.__all__)


def test_models_for_autogluon_have_pages_and_examples():
    tree = ast.parse((ROOT / "mddf/autogluon.py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    public = sorted(name for name in classes if not name.startswith("_"))
    assert listed_objects("mddf.autogluon") == public
    assert all(">>>" in ast.get_docstring(classes[name]) for name in public)


def test_estimators_for_dask_have_pages():
    module = pytest.importorskip("mddf.dask", exc_type=ImportError)
    assert listed_objects("mddf.dask") == sorted(module.__all__)


def listed_objects(module_name):
    """Names of the objects of a module that the reference lists."""
    text = "".join((ROOT / f"docs/{name}.md").read_text() for name in ("api", "api-analysis"))
    blocks = re.findall(r"currentmodule:: (\S+)(.*?)```", text, flags=re.DOTALL)
    return sorted(
        name
        for of_module, block in blocks
        if of_module == module_name
        for name in re.findall(r"^   (\w+)$", block, flags=re.MULTILINE)
    )


def test_pictures_exist_and_are_small():
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    used = set(re.findall(r"!\[[^\]]*\]\((pictures/[^)]+)\)", pages))
    assert used == {f"pictures/{path.name}" for path in (ROOT / "docs/pictures").iterdir()}
    assert all((ROOT / "docs" / name).stat().st_size < 150_000 for name in used)


NEEDED = (
    *("furo", "myst_nb", "numpydoc", "sphinx_codeautolink", "sphinx_copybutton"),
    *("sphinx_gallery", "ziamath", "fastapi", "httpx2", "onnxruntime", "shap", "skops"),
    *("statsmodels", "xgboost"),
)


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED),
    reason='needs "mddf[docs]"',
)
def test_pages_build_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E"]
    command += [str(ROOT / "docs"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "generated/mddf.DeepForestClassifier.html").read_text()
    assert "predict_proba" in page
    assert len(page) < 150_000
    assert "User guide" in page  # of the links to examples
    assert (tmp_path / "generated/mddf.analysis.margin_distribution_bound.html").exists()
    printed = r"[0-9.]+% of \d+ sets hold the true class"  # by a block of the page
    assert re.search(printed, (tmp_path / "few-rows-sets.html").read_text())
