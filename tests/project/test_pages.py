"""The pages agree with the package, and their programs and commands run.

The build of the pages runs the code of most of them, and warns of everything that is not found.
"""

import ast
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from command_line import parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
MODULES = [
    *("mddf", "mddf.analysis", "mddf.autogluon", "mddf.baselines", "mddf.batch", "mddf.dask"),
    *("mddf.datasets", "mddf.explain", "mddf.export", "mddf.representation", "mddf.rules"),
]
# Packages that the code of a page needs.
EXTRAS = {"saving": ("onnxruntime", "treelite"), "scaling": ("distributed", "pyarrow")}


def read(name):
    return (ROOT / name).read_text()


def public_objects(module):
    """Docstrings of a module's public objects; from its source if it cannot be imported."""
    try:
        loaded = importlib.import_module(module)
    except ImportError:
        tree = ast.parse(read(f"{module.replace('.', '/')}.py"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        return {c.name: ast.get_docstring(c) for c in classes if not c.name.startswith("_")}
    return {name: getattr(loaded, name).__doc__ for name in loaded.__all__}


def test_public_objects_have_examples_and_pages():
    reference = read("docs/api.md")
    listed = {}
    for module, block in re.findall(r"currentmodule:: (\S+)(.*?)```", reference, re.DOTALL):
        names = re.findall(r"^   (\w+)$", block, flags=re.MULTILINE)
        listed[module] = listed.get(module, set()) | {*names}
    for module in MODULES:
        objects = public_objects(module)
        assert listed[module] == set(objects), module
        assert not [name for name, text in objects.items() if ">>>" not in (text or "")], module


def test_links_and_pictures_exist():
    for page in PAGES:
        links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == [], page
    pictures = re.findall(
        r"!\[[^\]]*\]\((?:docs/)?(pictures/[^)]+)\)", "".join(map(Path.read_text, PAGES))
    )
    assert {path.name for path in (DOCS / "pictures").iterdir()} == {p[9:] for p in pictures}
    assert all((DOCS / name).stat().st_size < 150_000 for name in pictures)


def test_commands_are_understood_and_explained():
    shown = {
        line
        for page in PAGES
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), flags=re.DOTALL)
        for line in block.splitlines()
        if line.startswith("mddf ")
    }
    for line in shown:
        words = shlex.split(line)[1:]
        assert callable(parser(words).parse_args(words).run)
    (overview,) = [a for a in parser([])._actions if hasattr(a.choices, "items")]
    for command in overview.choices:
        (subparsers,) = [a for a in parser([command])._actions if hasattr(a.choices, "items")]
        command_parser = subparsers.choices[command]
        assert command_parser.description
        assert all(action.help for action in command_parser._actions), command
        assert f"`mddf {command}" in read("docs/commands.md")


def test_commands_of_scripts_are_understood(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("id,size,kind\n1,2,a\n2,3,b\n")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    for page in PAGES:
        text = re.sub(r"\s*\\\n\s*", " ", page.read_text())
        # Measurements name a command of their commit.
        text = re.sub(r".*measured at commit.*", "", text, flags=re.IGNORECASE)
        for command in re.findall(r"python (scripts/[\w/]+\.py(?: [^\s`;()]+)*)", text):
            script, *arguments = shlex.split(command)
            module = importlib.import_module(".".join(Path(script).with_suffix("").parts[1:]))
            try:
                module.parse(arguments)
            except SystemExit:
                pytest.fail(f"{page}: {command}: {capsys.readouterr().err}")


def run_by_the_build():
    """Names of the pages whose code runs when the pages are built."""
    for statement in ast.parse(read("docs/conf.py")).body:
        match statement:
            case ast.Assign(targets=[ast.Name("executed_pages")], value=ast.Dict(keys=names)):
                return {ast.literal_eval(name) for name in names}
    raise AssertionError("docs/conf.py names no executed pages")


RUN_HERE = [
    pytest.param(page, marks=() if page.stem == "README" else pytest.mark.slow, id=page.stem)
    for page in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
    if BLOCK.search(page.read_text()) and page.stem not in run_by_the_build()
]


@pytest.mark.parametrize("page", RUN_HERE)
@pytest.mark.filterwarnings("ignore:Matplotlib is currently using agg")
def test_example(page, request, monkeypatch, tmp_path, capsys):
    """The code of a page runs, and prints the block of text that follows it."""
    for extra in EXTRAS.get(page.stem, ()):
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)  # some write files
    for source in (DOCS / "data").iterdir():
        (tmp_path / source.name).symlink_to(source)
    if page.stem == "datasets":
        home = request.getfixturevalue("data_home")  # else skip: nothing is downloaded
        monkeypatch.setenv("MDDF_DATA_HOME", str(home))
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # whose functions can be pickled
    text = page.read_text()
    for code in BLOCK.findall(text):
        exec(compile(code, str(page), "exec"), vars(module))
        output = capsys.readouterr().out.rstrip("\n")
        with_output = f"```python\n{code}```\n\n```text\n"
        if with_output in text:
            assert text.partition(with_output)[2].partition("\n```")[0] == output


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
    command += [str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "generated/mddf.DeepForestClassifier.html").read_text()
    assert "predict_proba" in page
    assert len(page) < 150_000
    assert "Tutorials" in page  # of the links to all pages
    assert '<script src="http' not in page  # formulas and styles need no network
    printed = r"[0-9.]+% of \d+ sets hold the true class"  # by a block of the page
    assert re.search(printed, (tmp_path / "few-rows.html").read_text())
