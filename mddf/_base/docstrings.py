"""Parts of docstrings that classes share: descriptions of parameters and attributes, notes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PARAMETERS = "Parameters"
_ATTRIBUTES = "Attributes"
# Sections in the order of numpydoc.
_SECTIONS = (_PARAMETERS, _ATTRIBUTES, "See Also", "Notes", "References", "Examples")

# Parameters and attributes that nearly all estimators have.
COMMON = """
n_jobs : int
    Number of threads. None means 1, or the setting of `joblib.parallel_config`; -1 means all
    cores. The result does not depend on it. Change it if there are idle cores.
verbose : int
    Whether to show a progress bar.
max_bins : int
    Maximum number of bins of a numeric feature, and of categories; the rarest further
    categories share a bin. Change it only to save time or memory.
categorical_features : "from_dtype", array of bool, int or str, or None
    Categorical features, which are split by sets and not by order: a mask, column numbers or
    names. "from_dtype" means a data frame's columns of categories or strings; columns of
    objects without any string are numeric. Categories that are unknown from fit count as
    missing. Change it if X is an array with codes of categories.

Attributes
----------
n_features_in_ : int
feature_names_in_ : ndarray of str
    Only if X has string column names.
"""


def describes_parameters(*shared: str) -> Callable[[Class], Class]:
    """Complete the docstring of a class from texts that several classes share.

    A class describes only the parameters that are its own. All others of its constructor are
    looked up in the shared texts, of which the first one that has the name counts. Parameters get
    the order of the constructor, and shared ones the default values that are written there.
    Attributes, notes and references of the texts come after the class's own. A KeyError refuses a
    parameter that is described nowhere.

    The texts are descriptions as in a section "Parameters", without default values. The sections
    "Attributes", "Notes" and "References" may follow.
    """
    known: dict[str, str] = {}
    attributes: dict[str, str] = {}
    further: dict[str, list[str]] = {"Notes": [], "References": []}
    for text in shared:
        sections = _by_section(text)
        known = _by_name(sections[""]) | known
        attributes |= _by_name(sections.get(_ATTRIBUTES, ""))
        for title, texts in further.items():
            texts.append(sections.get(title, ""))

    def decorate(cls: Class) -> Class:
        if cls.__doc__ is not None:  # Python with -OO has no docstrings
            sections = _by_section(inspect.cleandoc(cls.__doc__))
            sections[_PARAMETERS] = _parameters(cls, known, sections.get(_PARAMETERS, ""))
            of_class = _by_name(sections.get(_ATTRIBUTES, ""))
            sections[_ATTRIBUTES] = "\n".join((of_class | attributes | of_class).values())
            for title, texts in further.items():
                sections[title] = "\n\n".join(filter(None, [sections.get(title), *texts]))
            cls.__doc__ = sections[""] + "".join(
                f"\n\n{title}\n{'-' * len(title)}\n{sections[title]}"
                for title in _SECTIONS
                if sections.get(title)
            )
        return cls

    return decorate


def _parameters(cls: type, known: Mapping[str, str], own_text: str) -> str:
    own = _by_name(own_text)
    descriptions = []
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:  # type: ignore[misc]
        if parameter.name in own:
            descriptions.append(own[parameter.name])
        else:
            header, _, text = known[parameter.name].partition("\n")
            descriptions.append(f"{header}, default={_literal(parameter.default)}\n{text}")
    return "\n".join(descriptions)


def _by_section(text: str) -> dict[str, str]:
    """Text of each section by its underlined title; the text before the first one by ""."""
    parts = re.split(r"^([A-Z][\w ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    return {
        title: part.strip() for title, part in zip(["", *parts[1::2]], parts[::2], strict=True)
    }


def _by_name(text: str) -> dict[str, str]:
    """The description of each parameter, which begins with a line such as ``verbose : int``."""
    parts = re.split(r"^(?=\w+(?:, \w+)* : )", text, flags=re.MULTILINE)
    return {part.partition(" : ")[0]: part.rstrip() for part in parts if part.strip()}


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
