"""Descriptions of parameters that several constructors share, filled into their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_UNDERLINE = "Parameters\n----------\n"

# Parameters that nearly all estimators have.
COMMON = """
n_jobs : int
    Number of threads. None means 1, or the setting of `joblib.parallel_config`; -1 means all
    cores. The result does not depend on it.
verbose : int
    Whether to show a progress bar.
max_bins : int
    Maximum number of bins of a numeric feature, and of categories; the rarest further
    categories share a bin.
categorical_features : "from_dtype", array of bool, int or str, or None
    Categorical features, which are split by sets and not by order: a mask, column numbers or
    names. "from_dtype" means a data frame's columns of categories or strings; columns of
    objects without any string are numeric. Categories that are unknown from fit count as
    missing.
"""


def describes_parameters(*shared: str) -> Callable[[Class], Class]:
    """Complete the section "Parameters" of a class from shared descriptions.

    A class describes only the parameters that are its own. All others of its constructor are
    looked up in the shared texts, of which the first one that has the name counts. Parameters get
    the order of the constructor, and shared ones the default values that are written there.

    Parameters
    ----------
    *shared : str
        Descriptions as in a section "Parameters", without default values.

    Raises
    ------
    KeyError
        If a parameter of the constructor is described nowhere.
    """
    known: dict[str, str] = {}
    for text in shared:
        known = _by_name(text) | known

    def decorate(cls: Class) -> Class:
        if cls.__doc__ is not None:  # Python with -OO has no docstrings
            cls.__doc__ = _complete(cls, known)
        return cls

    return decorate


def _complete(cls: type, known: Mapping[str, str]) -> str:
    summary, sections = _split_at_first_section(inspect.cleandoc(cls.__doc__ or ""))
    own: dict[str, str] = {}
    if sections.startswith(_UNDERLINE):
        own_text, sections = _split_at_first_section(sections.removeprefix(_UNDERLINE))
        own = _by_name(own_text)
    descriptions = []
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:  # type: ignore[misc]
        if parameter.name in own:
            descriptions.append(own[parameter.name])
        else:
            header, _, text = known[parameter.name].partition("\n")
            descriptions.append(f"{header}, default={_literal(parameter.default)}\n{text}")
    return f"{summary}\n\n{_UNDERLINE}" + "\n".join(descriptions) + f"\n\n{sections}"


def _split_at_first_section(text: str) -> tuple[str, str]:
    """The text before the first underlined title, and the rest."""
    title = re.search(r"^[A-Z]\w+\n-{3,}$", text, re.MULTILINE)
    start = len(text) if title is None else title.start()
    return text[:start].strip(), text[start:]


def _by_name(text: str) -> dict[str, str]:
    """The description of each parameter, which begins with a line such as ``verbose : int``."""
    parts = re.split(r"^(?=\w+ : )", text, flags=re.MULTILINE)
    return {part.partition(" : ")[0]: part.rstrip() for part in parts if part.strip()}


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
