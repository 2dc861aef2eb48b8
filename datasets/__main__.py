"""``python -m mddf.datasets`` prints the table of all data sets in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from ._registry import SPECS
from ._spec import Embedded, Spec

HEADER = (
    "| name | rows (train / test) | columns | of these categories | classes | missing cells"
    " | file | source |",
    "|---|---|---|---|---|---|---|---|",
)


def row(spec: Spec) -> str:
    """Make the line of one data set with its default options.

    Parameters
    ----------
    spec : Spec

    Returns
    -------
    line : str
    """
    table = spec.format
    rows = " / ".join(str(part.rows) for part in spec.parts)
    missing = sum(part.missing for part in spec.parts)
    if isinstance(table, Embedded):
        files = "with scikit-learn"
    else:
        forms = [f"`{spec.folder}/{file.name}`" for file in spec.files]
        archive = spec.files[0].archive
        # An unpacked archive may be many files; its own name says it shorter.
        files = f"`{spec.folder}/{archive.name}`" if archive else ", ".join(forms)
    return (
        f"| `{spec.name}` | {rows} | {table.n_features} | {table.n_categorical}"
        f" | {len(spec.classes)} | {missing} | {files} | [{spec.title}]({spec.source}) |"
    )


def lines() -> Iterator[str]:
    """Lines of the whole table, in the order of `mddf.datasets.names`."""
    yield from HEADER
    for name in sorted(SPECS):
        yield row(SPECS[name])


if __name__ == "__main__":
    print("\n".join(lines()))
