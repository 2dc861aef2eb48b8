"""The page extensions: executed blocks, and inventories for builds without a network."""

import importlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    return importlib.import_module


def executed_pages():
    """Names of the pages in conf.py, which cannot be imported without Sphinx."""
    conf = (DOCS / "conf.py").read_text()
    (block,) = re.findall(r"^executed_pages = \{\n(.*?)^\}", conf, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r'^    "([\w-]+)"', block, flags=re.MULTILINE)


PAGES_WITH_CODE = [
    path.stem
    for path in sorted(DOCS.glob("*.md"))
    if "```python" in path.read_text() and path.stem != "index"
]


def test_executed_pages_have_code():
    assert set(executed_pages()) <= set(PAGES_WITH_CODE)


@pytest.mark.parametrize("page", PAGES_WITH_CODE)
def test_pages_begin_with_the_packages_to_install(page):
    before_code = (DOCS / f"{page}.md").read_text().partition("```python")[0]
    assert "pip install " in before_code


def test_python_blocks_become_cells(extension):
    executed = extension("executed_pages")
    page = "# Title\n\n```sh\npip install mddf\n```\n\n```python\n1 + 1\n```\n\nText.\n"
    notebook = executed.as_notebook(page, {"output_stderr": "remove"})
    assert notebook.startswith("---\nfile_format: mystnb\n")
    assert 'mystnb: {"output_stderr": "remove"}' in notebook
    assert "```{code-cell} ipython3\n1 + 1\n```\n\nText." in notebook
    assert "```sh\npip install mddf\n```" in notebook
    assert "```python" not in notebook


def test_checks_of_the_text_run_and_are_hidden(extension):
    page = "# Title\n\n```python\na = 1\n```\n\n<!-- check\nassert a == 1\n-->\n\nText.\n"
    notebook = extension("executed_pages").as_notebook(page, {})
    assert "```{code-cell} ipython3\n:tags: [remove-cell]\n\nassert a == 1\n```" in notebook
    assert "<!--" not in notebook


def test_pages_go_on_from_hidden_blocks(extension):
    executed = extension("executed_pages")
    earlier = "# First\n\n```python\na = 1\n```\n\n```python\n# b.py\nb = 2\n```\n"
    notebook = executed.as_notebook("# Second\n\n```python\nprint(a)\n```\n", {}, earlier)
    cells = re.findall(
        r"^```\{code-cell\} ipython3\n(.*?)^```$", notebook, re.MULTILINE | re.DOTALL
    )
    *hidden, visible = cells
    assert visible == "print(a)\n"
    assert len(hidden) == 4
    assert all(cell.startswith(":tags: [remove-cell]\n\n") for cell in hidden)
    assert [cell.rpartition("\n\n")[2] for cell in hidden[1:]] == [
        "a = 1\n",
        hidden[2].rpartition("\n\n")[2],
        "# b.py\nb = 2\n",
    ]


def test_pages_name_the_page_they_go_on_from():
    conf = (DOCS / "conf.py").read_text()
    for page, earlier in re.findall(r'"([\w-]+)": \{"after": "([\w-]+)"', conf):
        assert f"({earlier}.md)" in (DOCS / f"{page}.md").read_text()


def test_named_blocks_are_saved(extension, monkeypatch, tmp_path):
    executed = extension("executed_pages")
    code = '# module.py\ntext = "a\\n"\n'
    notebook = executed.as_notebook(f"# Title\n\n```python\n{code}```\n", {})
    _, save, output = re.findall(
        r"^```\{code-cell\} ipython3\n(.*?)^```$", notebook, re.MULTILINE | re.DOTALL
    )
    assert output == code
    monkeypatch.chdir(tmp_path)
    exec(save.partition("\n\n")[2], {})
    assert (tmp_path / "module.py").read_text() == code


def test_imported_names(extension):
    names = extension("fallback_inventories").imported_names(
        "from sklearn.base import clone, BaseEstimator  # both\n"
        "from numpy import (\n    ndarray,\n    memmap,\n)\n"
        "from mddf import cost\nimport pandas as pd\n"
    )
    assert names == {"sklearn.base.clone", "sklearn.base.BaseEstimator"} | {
        f"numpy.{name}" for name in ("ndarray", "memmap")
    }


def test_sphinx_reads_the_inventories(extension, tmp_path):
    inventory = pytest.importorskip("sphinx.util.inventory")
    fallback = extension("fallback_inventories")
    (tmp_path / "page.md").write_text("from sklearn.metrics import log_loss\n")
    mapping = fallback.mapping([tmp_path / "page.md"], tmp_path)
    url, (online, file) = mapping["sklearn"]
    assert online is None
    content = io.BytesIO(Path(file).read_bytes())
    items = inventory.InventoryFile.load(content, url, lambda *parts: "".join(parts))
    item = items["py:function"]["sklearn.metrics.log_loss"]
    assert item.uri.endswith("sklearn.metrics.log_loss.html#sklearn.metrics.log_loss")
    assert "sklearn.ensemble.AdaBoostClassifier" in items["py:class"]


def built_formula(formula, folder, extension):
    """Return the page that Sphinx builds from a formula."""
    for module in ("myst_parser", "ziamath"):
        pytest.importorskip(module, reason='needs "mddf[docs]"')
    application = importlib.import_module("sphinx.application")
    extension("drawn_formulas")
    (folder / "index.md").write_text(f"# Title\n\nInline ${formula}$.\n\n$${formula}$$\n")
    warnings = io.StringIO()
    sphinx = application.Sphinx(
        str(folder), None, str(folder / "out"), str(folder / "trees"), "html", status=None,
        warning=warnings,
        confoverrides={
            "extensions": ["myst_parser", "drawn_formulas"],
            "myst_enable_extensions": ["dollarmath"],
        },
    )  # fmt: skip
    sphinx.build()
    assert not warnings.getvalue()
    return (folder / "out" / "index.html").read_text()


def test_formulas_need_no_script(extension, tmp_path):
    page = built_formula(r"\frac{a}{b} < 2", tmp_path, extension)
    assert page.count(r'aria-label="\frac{a}{b} &lt; 2"') == 2
    assert page.count('<div class="formula"><svg ') == 1
    assert '<script src="http' not in page


@pytest.mark.parametrize("formula", [r"\foo{1}", r"\frac{1", "1^"])
def test_unknown_formulas_fail_the_build(extension, tmp_path, formula):
    with pytest.raises(Exception, match=r"index.md:\d+: cannot draw the formula"):
        built_formula(formula, tmp_path, extension)
