"""All data sets by name, and the choice of one by name and options."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from . import _sets_mixed, _sets_numeric, _sets_other, _sets_split
from ._spec import Spec

SPECS: dict[str, Spec] = {
    spec.name: spec
    for family in (_sets_split, _sets_numeric, _sets_mixed, _sets_other)
    for spec in family.SETS
}

# Names under which the sets go in published tables.
ALIASES = {
    "diabetes": "pima",
    "letter_ab": "letter-ab",
    "ocr17": "optdigits-17",
    "ocr49": "optdigits-49",
    "ocr17-mnist": "mnist-17",
    "ocr49-mnist": "mnist-49",
}


def names() -> list[str]:
    """Names of all data sets that `load` knows, in alphabetical order.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from mddf.datasets import names
    >>> "iris" in names()
    True
    """
    return sorted(SPECS)


def resolve(name: str, options: Mapping[str, object]) -> tuple[Spec, dict[str, object]]:
    """Find the specification of a set and apply options to it.

    Parameters
    ----------
    name : str
        One of `names`, or an alias; letter case does not matter.
    options : Mapping of str to object
        Options of this set that differ from their defaults.

    Returns
    -------
    spec : Spec
    chosen : dict of str to object
        The value of every option of the set.

    Raises
    ------
    ValueError
        If there is no such set, or an option has no such value.
    TypeError
        If `name` is not text or the set has no such option.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, one of mddf.datasets.names(), got {name!r}")
    key = ALIASES.get(name.lower(), name.lower())
    if key not in SPECS:
        raise ValueError(f"name must be one of mddf.datasets.names(), got {name!r}{_hint(key)}")
    spec = SPECS[key]
    known = spec.options
    for option in options:
        if option not in known:
            allowed = ", ".join(repr(o) for o in known) or "none"
            raise TypeError(f"option of data set {key!r} must be one of {allowed}, got {option!r}")
    chosen: dict[str, object] = {}
    for option, values in known.items():
        value = options.get(option, next(iter(values)))
        # Compared by ==, so that an unhashable value gets the same error as any other.
        match = [v for v in values if type(v) is type(value) and v == value]
        if not match:
            allowed = ", ".join(repr(v) for v in values)
            raise ValueError(
                f"{option} of data set {key!r} must be one of {allowed}, got {value!r}"
            )
        chosen[option] = match[0]
        spec = values[match[0]](spec)
    return spec, chosen


def _hint(key: str) -> str:
    """Name the sets nearest to what was asked for, as the end of a message."""
    pool = [*SPECS, *ALIASES]
    near = difflib.get_close_matches(key, pool, n=3, cutoff=0.5)
    near = near or [n for n in sorted(pool) if key and n.startswith(key)]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
