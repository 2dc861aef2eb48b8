"""All data sets by name, as the files of the folder ``sets`` describe them."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ._io.spec import (
    Archive,
    Embedded,
    File,
    Format,
    Har,
    Idx,
    Label,
    Part,
    Spec,
    SvmLight,
    Table,
)

FOLDER = Path(__file__).parent / "sets"
TASKS = ("classification", "regression")
_FORMATS: dict[str, type] = {"idx": Idx, "svmlight": SvmLight, "har": Har}
_LISTS = ("columns", "drop", "categorical", "zero_missing")


@cache
def _document(name: str) -> dict[str, Any]:
    """Read the TOML file of a set."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def words(text: str) -> tuple[str, ...]:
    """Split at blanks and expand ranges in braces: ``p_{0..1}_{0..1}`` gives four words."""
    expanded: list[str] = []
    for word in text.split():
        pieces = re.split(r"\{(\d+)\.\.(\d+)\}", word)
        ends = zip(pieces[1::3], pieces[2::3], strict=True)
        ranges = [range(int(low), int(high) + 1) for low, high in ends]
        pattern = "{}".join(pieces[::3])
        expanded += [pattern.format(*numbers) for numbers in product(*ranges)]
    return tuple(expanded)


def labels(keys: Iterable[str]) -> list[Label]:
    """Convert labels to integers if all of them are integers; keys of TOML are text."""
    keys = list(keys)
    if all(re.fullmatch(r"-?\d+", key, flags=re.ASCII) for key in keys):
        return [int(key) for key in keys]
    return [*keys]


def _labelled(table: Mapping[str, Any]) -> dict[Label, Any]:
    return dict(zip(labels(table), table.values(), strict=True))


def _table(content: Mapping[str, Any]) -> Table:
    fields: dict[str, Any] = {key: words(v) if key in _LISTS else v for key, v in content.items()}
    fields["levels"] = {name: words(v) for name, v in content.get("levels", {}).items()}
    if fields.get("delimiter") == "blanks":
        fields["delimiter"] = None
    return Table(**fields)


def _format(content: Mapping[str, Any]) -> Format:
    if "table" in content:
        return _table(content["table"])
    if "bundled" in content:
        return Embedded(content["n_features"], loader=content["bundled"])
    return _FORMATS[content["format"]](content["n_features"])


def _files(content: Mapping[str, Any]) -> tuple[File, ...]:
    archive = Archive(**content["archive"]) if "archive" in content else None
    return tuple(
        File(
            name=file["name"],
            sha256=file.get("sha256"),
            url=file.get("url"),
            archive=archive if file.get("archived") else None,
            member=file.get("member", ""),
            upstream_sum=not file.get("copy", False),
        )
        for file in content.get("files", ())
    )


def _part(content: Mapping[str, Any], chosen: Mapping[str, object]) -> Part:
    missing = content.get("missing", 0)
    for option, cells in content.get("missing_with", {}).items():
        missing = cells if chosen.get(option) else missing
    return Part(
        counts=_labelled(content["counts"]) if "counts" in content else None,
        rows=content.get("rows", 0),
        missing=missing,
        target=tuple(content["target"]) if "target" in content else None,
    )


def _values(option: Mapping[str, Any]) -> tuple[object, ...]:
    """Values of an option, with the default first."""
    booleans = {"true": True, "false": False}  # keys of TOML are text
    alternatives = [booleans.get(value, value) for value in option if value != "default"]
    return (option["default"], *alternatives)


def _spec(name: str, chosen: Mapping[str, object]) -> Spec:
    """Make the specification of a set for some values of its options."""
    content = dict(_document(name))
    if "from" in content:
        return _restricted(name, content)
    options = content.get("options", {})
    for option, value in chosen.items():
        if value == options[option]["default"]:
            continue
        changes = options[option][str(value).lower()]
        table = {**content.get("table", {}), **changes.get("table", {})}
        content |= changes
        if table:
            content["table"] = table
    return Spec(
        name=name,
        title=content["title"],
        description=content["description"],
        citation=content["citation"],
        source=content["source"],
        format=_format(content),
        parts=tuple(_part(part, chosen) for part in content["parts"]),
        folder=content.get("folder", ""),
        files=_files(content),
        label_names=_labelled(content.get("label_names", {})),
        labels=tuple(content.get("labels", ())),
        hint=content.get("hint", ""),
        task=content.get("task", "classification"),
        aliases=tuple(content.get("aliases", ())),
        options={option: _values(values) for option, values in options.items()},
    )


def _restricted(name: str, content: Mapping[str, Any]) -> Spec:
    """Describe the rows of another set whose class is one of ``keep``."""
    parent = _spec(content["from"], {})
    keep = tuple(content["keep"])
    part_counts = [part.counts for part in parent.parts if part.counts is not None]
    return Spec(
        name=name,
        title=content["title"],
        description=f"Classes {' and '.join(map(str, keep))} of '{parent.name}'."
        f" {parent.description}",
        citation=parent.citation,
        source=parent.source,
        format=parent.format,
        parts=tuple(Part({label: counts[label] for label in keep}) for counts in part_counts),
        folder=parent.folder,
        files=parent.files,
        label_names=parent.label_names,
        hint=parent.hint,
        aliases=tuple(content.get("aliases", ())),
        parent=parent,
        keep=keep,
    )


SPECS: dict[str, Spec] = {
    path.stem: _spec(path.stem, {}) for path in sorted(FOLDER.glob("*.toml"))
}
ALIASES = {alias: name for name, spec in SPECS.items() for alias in spec.aliases}


def names(task: str | None = None) -> list[str]:
    """Names of the data sets for `load`, in alphabetical order.

    Parameters
    ----------
    task : {"classification", "regression"}, default=None
        Sets of this task only; None means all.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from mddf.datasets import names
    >>> "iris" in names(), "iris" in names(task="regression")
    (True, False)
    """
    if task not in (None, *TASKS):
        raise ValueError(f"task must be one of {', '.join(TASKS)} or None, got {task!r}")
    return sorted(name for name, spec in SPECS.items() if task in (None, spec.task))


def resolve(name: str, options: Mapping[str, object]) -> tuple[Spec, dict[str, object]]:
    """Find the specification of a set by its name or an alias, and apply options to it.

    Returns also the value of every option of the set.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, one of mddf.datasets.names(), got {name!r}")
    key = ALIASES.get(name.lower(), name.lower())
    if key not in SPECS:
        raise ValueError(f"name must be one of mddf.datasets.names(), got {name!r}{_hint(key)}")
    known = SPECS[key].options
    for option in options:
        if option not in known:
            allowed = ", ".join(repr(o) for o in known) or "none"
            raise TypeError(f"option of data set {key!r} must be one of {allowed}, got {option!r}")
    chosen: dict[str, object] = {}
    for option, values in known.items():
        value = options.get(option, values[0])
        # Compared by ==, so that an unhashable value gets the same error as any other.
        match = [v for v in values if type(v) is type(value) and v == value]
        if not match:
            allowed = ", ".join(repr(v) for v in values)
            raise ValueError(
                f"{option} of data set {key!r} must be one of {allowed}, got {value!r}"
            )
        chosen[option] = match[0]
    changed = any(value != known[option][0] for option, value in chosen.items())
    return _spec(key, chosen) if changed else SPECS[key], chosen


def _hint(key: str) -> str:
    """Suggest the sets with the most similar names, as the end of a message."""
    pool = [*SPECS, *ALIASES]
    # Few suggestions, for a message of one line; names are short, so that two typing errors are a
    # large share of one. The values were not tuned.
    near = difflib.get_close_matches(key, pool, n=3, cutoff=0.5)
    near = near or [n for n in sorted(pool) if key and n.startswith(key)]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
