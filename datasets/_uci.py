"""Short forms for sets of the UCI Machine Learning Repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from ._spec import File, Label, Part, Spec, Table

_FILES = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_PAGES = "https://archive.ics.uci.edu/dataset/"


def file_url(path: str) -> str:
    """Address of a file in UCI's archive; `path` is below the folder of all sets."""
    return _FILES + quote(path)


def page(number: int, slug: str) -> str:
    """Address of the page of a set."""
    return f"{_PAGES}{number}/{slug}"


def grid(pattern: str, *sizes: int) -> tuple[str, ...]:
    """Make numbered names, the last index fastest; ``grid("p_{}_{}", 2, 2)`` gives four."""
    names: list[tuple[int, ...]] = [()]
    for size in sizes:
        names = [(*index, i) for index in names for i in range(size)]
    return tuple(pattern.format(*index) for index in names)


def columns(text: str) -> tuple[str, ...]:
    """Split column names at blanks."""
    return tuple(text.split())


def uci(
    name: str,
    title: str,
    where: tuple[int, str],
    files: Mapping[str, str],
    table: Table,
    counts: Sequence[Mapping[Label, int]],
    *,
    missing: Sequence[int] = (),
    description: str,
    citation: str,
    source: str = "",
    folder: str = "",
    label_names: Mapping[Label, str] | None = None,
    options: Mapping[str, Mapping[object, Callable[[Spec], Spec]]] | None = None,
    copies: tuple[str, ...] = (),
) -> Spec:
    """Describe a set of delimited text in UCI's archive.

    Parameters
    ----------
    where : (int, str)
        Number and short title in the address of the set's page.
    files : Mapping of str to str
        SHA-256 of each file by its path in UCI's archive.
    counts : sequence of Mapping of label to int
        Class counts of each part.
    missing : sequence of int
        Missing feature cells of each part.
    source : str
        Page, where it is not UCI's.
    copies : tuple of str
        Files whose sum is that of an independent copy.
    name, title, table, description, citation, folder, label_names, options
        As in `Spec`.

    Returns
    -------
    spec : Spec
    """
    missing = missing or [0] * len(counts)
    return Spec(
        name=name,
        title=title,
        description=description,
        citation=citation,
        source=source or page(*where),
        format=table,
        parts=tuple(Part(c, missing=m) for c, m in zip(counts, missing, strict=True)),
        folder=folder,
        files=tuple(
            File(
                path.rsplit("/", 1)[-1],
                sha256,
                file_url(path),
                upstream_sum=path.rsplit("/", 1)[-1] not in copies,
            )
            for path, sha256 in files.items()
        ),
        label_names=label_names or {},
        options=options or {},
    )
