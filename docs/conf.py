"""Settings of ``sphinx-build -W -E docs docs/_build``."""

import os
import re
import sys
import tempfile
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import fallback_inventories

project = "mddf"
author = "The mddf developers"
project_copyright = author
version = release = installed_version("mddf")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "drawn_formulas",
    "numpydoc",
    "myst_nb",
    "executed_pages",
    "sphinx_copybutton",
    "sphinx_codeautolink",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
autosummary_generate = True
default_role = "autolink"  # names in backticks are links, if they are objects that have pages
exclude_patterns = ["_build", "_templates", "examples/*.ipynb", "examples/*.py", "examples/*.zip"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2

# Other documentations, and small inventories of them for builds without a network.
docs = Path(__file__).parent
sources = [*docs.glob("*.md"), *(docs.parent / "examples").glob("*.py")]
inventories = tempfile.TemporaryDirectory()
intersphinx_mapping = fallback_inventories.mapping(sources, inventories.name)
intersphinx_timeout = 5  # seconds; then the small inventories are taken

copybutton_exclude = ".linenos, .gp, .go"  # prompts and output of examples

# Pages whose Python blocks run when the pages are built, with their options of myst-nb.
executed_pages = {
    "cascades": {},
    "choosing": {},
    "explaining": {},
    "explaining-rows": {},
    "few-rows": {},
    "first-model": {},
    "groups-and-time": {},
    "how-good": {},
    "own-members": {},
    "probabilities": {},
    "rare-classes": {},
    "representations": {},
    "serving": {"output_stderr": "remove"},  # log lines have times
    "target-leakage": {},
    "text-and-ids": {},
    "theory": {},
    "tutorial": {},
}
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 600  # seconds for a block, also on a busy machine
nb_output_stderr = "remove-warn"
codeautolink_concat_default = True  # the blocks of a page go on from one another
# sphinx-gallery makes its own links in the code of examples.
suppress_warnings = ["codeautolink.match_name"]
nb_merge_streams = True

# Classes are documented with what they inherit, but for scikit-learn's own machinery.
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator",
    "exclude-members": "set_fit_request, set_score_request, set_transform_request, "
    "set_inverse_transform_request, set_partial_fit_request, set_predict_request, "
    "set_predict_proba_request, set_decision_function_request, get_metadata_routing, set_output",
}
autodoc_mock_imports = ["autogluon"]  # 2 GB, and only base classes are used
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["mddf.css", "cells.css"]
html_title = f"mddf {version}"
# Read the Docs adds a menu of versions, and names the one that search engines should show.
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

# Each example runs whenever the pages are built; one that fails, fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "doc_module": ("mddf",),
    "reference_url": {"mddf": None},
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "show_memory": False,
}


LITERAL = re.compile(r"(``.+?``|`.+?`)")
UNDERSCORE = re.compile(r"(?<=\w)_(?!\w)")
REFERENCE = re.compile(r":(?:ref|term):`([^<`]+?)\s*(?:<[^>`]+>)?`")


def _escape(line):
    """A line without markup in names that end in an underscore, and in bars."""
    parts = LITERAL.split(REFERENCE.sub(r"\1", line))
    for i in range(0, len(parts), 2):
        parts[i] = UNDERSCORE.sub(r"\\_", parts[i]).replace("|", r"\|")
    return "".join(parts)


def escape_plain_text(app, what, name, obj, options, lines):
    """Docstrings are written to be read as they are: only code and literal blocks are kept."""
    kept = None  # the indentation that ends a block
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if kept is not None and line.strip() and indent <= kept:
            kept = None
        if kept is None and not line.lstrip().startswith(">>>"):
            lines[i] = _escape(line)
        if line.rstrip().endswith("::"):
            kept = indent


def setup(app):
    """Come after numpydoc, which has the usual priority of 500."""
    app.connect("autodoc-process-docstring", escape_plain_text, priority=900)
