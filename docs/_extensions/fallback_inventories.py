"""Small inventories of other projects, for builds without a network.

intersphinx downloads the inventories of other documentations. Where it cannot, it takes the files
that are written here: they have the names that the pages and examples import, and a few more.
"""

import re
import zlib
from pathlib import Path

# Documentation, and the page of an object in it.
PROJECTS = {
    "sklearn": ("https://scikit-learn.org/stable/", "modules/generated/{name}.html"),
    "numpy": ("https://numpy.org/doc/stable/", "reference/generated/{name}.html"),
    "pandas": ("https://pandas.pydata.org/docs/", "reference/api/{name}.html"),
    "joblib": ("https://joblib.readthedocs.io/en/stable/", "generated/{name}.html"),
}
# Names that are used as attributes of a module, or named in docstrings.
FURTHER_NAMES = {
    "sklearn": [
        "sklearn.base.clone",
        "sklearn.ensemble.AdaBoostClassifier",
        "sklearn.utils.Bunch",
    ],
    "numpy": ["numpy.memmap", "numpy.ndarray"],
    "pandas": ["pandas.DataFrame", "pandas.Series", "pandas.Timestamp"],
    "joblib": ["joblib.dump", "joblib.load", "joblib.parallel_config"],
}
IMPORT = re.compile(r"^\s*from ([\w.]+) import (?:\(([^)]*)\)|([^(\n]*))", re.MULTILINE)


def imported_names(text):
    """Return the full names of objects that a text imports from the projects."""
    return {
        f"{module}.{name.strip()}"
        for module, in_brackets, in_line in IMPORT.findall(text)
        if module.partition(".")[0] in PROJECTS
        for name in re.sub(r"#.*", "", in_brackets or in_line).split(",")
        if name.strip().isidentifier()
    }


def inventory(project, names):
    """Return the bytes of an inventory file."""
    _, page = PROJECTS[project]
    lines = []
    for name in sorted(names):
        role = "py:class" if name.rpartition(".")[2][:1].isupper() else "py:function"
        lines.append(f"{name} {role} 1 {page.format(name=name)}#$ -\n")
    header = "# Sphinx inventory version 2\n"
    header += f"# Project: {project}\n# Version: \n# The remainder is compressed using zlib.\n"
    return header.encode() + zlib.compress("".join(lines).encode())


def mapping(sources, folder):
    """Write inventories for the names in `sources`, and return them as `intersphinx_mapping`."""
    names = set().union(*(imported_names(path.read_text()) for path in sources))
    targets = {}
    for project, (url, _) in PROJECTS.items():
        of_project = {name for name in names if name.startswith(f"{project}.")}
        path = Path(folder) / f"{project}.inv"
        path.write_bytes(inventory(project, of_project | set(FURTHER_NAMES[project])))
        targets[project] = (url, (None, str(path)))
    return targets
