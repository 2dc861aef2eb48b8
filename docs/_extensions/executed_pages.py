"""Runs the Python blocks of chosen Markdown pages, so that the built pages show the output.

The sources stay plain Markdown: myst-nb executes ``{code-cell}`` blocks only, so ordinary Python
blocks are turned into cells while Sphinx reads a page of ``executed_pages``. The blocks of a page
run in one process, from top to bottom, in a folder of its own. A block that fails, or that writes
to stderr, fails the build, unless myst-nb's options of the page allow it.

The folder has the files of ``docs/data``, and the tables of ``docs/results`` as ``results``.

A block whose first line is the name of a file, such as ``# service.py``, is saved under this name
before it runs, so that later blocks can import it.

A comment that begins with ``<!-- check`` holds code that runs at its place and is not shown. It
asserts what the text says about the printed results.
"""

import atexit
import json
import logging
import os
import re
import tempfile
from pathlib import Path

FRONT_MATTER = """---
file_format: mystnb
kernelspec:
  name: python3
mystnb: {options}
---
"""
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"^<!-- check\n(.*?)^-->$", flags=re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# (\w+\.py)\n")
# Figures of 160 dots per inch stay sharp on screens with small pixels. shap imports a progress bar
# that misses the widgets of notebooks.
SETUP = """\
import warnings
from pathlib import Path
import matplotlib
for source in Path({docs!r}).glob("data/*"):
    Path(source.name).symlink_to(source)
Path("results").symlink_to({docs!r} + "/results")
%config InlineBackend.rc = {{"figure.dpi": 160}}
warnings.filterwarnings("ignore", message="IProgress not found")
"""
# Kernels write a warning about their transport at each start.
KERNEL_CONFIG = 'c.IPKernelApp.log_level = "ERROR"\n'


def _cell(code, tag=None):
    tags = f":tags: [{tag}]\n\n" if tag else ""
    return f"```{{code-cell}} ipython3\n{tags}{code}```"


def _as_cells(code, tag=None):
    name = FILE_NAME.match(code)
    if name is None:
        return _cell(code, tag)
    save = f"from pathlib import Path\nPath({name[1]!r}).write_text({code!r});\n"
    return _cell(save, tag="remove-cell") + "\n\n" + _cell(code, tag)


def as_notebook(text, options, docs):
    """Return a Markdown page of the folder `docs` as a notebook with these options of myst-nb."""
    title, body = text.split("\n", 1)
    setup_cell = _cell(SETUP.format(docs=docs), tag="remove-cell")
    front_matter = FRONT_MATTER.format(options=json.dumps(options))
    shown = BLOCK.sub(lambda match: _as_cells(match[1]), body)
    shown = CHECK.sub(lambda match: _cell(match[1], tag="remove-cell"), shown)
    return f"{front_matter}{title}\n\n{setup_cell}\n{shown}"


def _read(app, docname, source):
    if docname in app.config.executed_pages:
        source[0] = as_notebook(source[0], app.config.executed_pages[docname], str(app.srcdir))


def setup(app):
    """Register the extension, and give kernels a configuration of their own."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    profile = Path(folder.name) / "profile_default"
    profile.mkdir()
    (profile / "ipython_kernel_config.py").write_text(KERNEL_CONFIG)
    os.environ["IPYTHONDIR"] = folder.name
    logging.getLogger("traitlets").setLevel(logging.WARNING)  # else a line for each page
    app.add_config_value("executed_pages", {}, "env")
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
