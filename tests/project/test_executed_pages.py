"""The extensions of the pages: blocks that run, and inventories for builds without a network."""

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


@pytest.mark.parametrize("page", executed_pages())
def test_executed_pages_say_first_what_to_install(page):
    text = (DOCS / f"{page}.md").read_text()
    first = re.search(r"^```(?:sh|python)\n(.*)", text, flags=re.MULTILINE)[1]
    assert first.startswith("pip install ")


def test_python_blocks_become_cells(extension):
    executed = extension("executed_pages")
    page = "# Title\n\n```sh\npip install mddf\n```\n\n```python\n1 + 1\n```\n\nText.\n"
    notebook = executed.as_notebook(page, {"output_stderr": "remove"})
    assert notebook.startswith("---\nfile_format: mystnb\n")
    assert 'mystnb: {"output_stderr": "remove"}' in notebook
    assert "```{code-cell} ipython3\n1 + 1\n```\n\nText." in notebook
    assert "```sh\npip install mddf\n```" in notebook
    assert "```python" not in notebook


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
