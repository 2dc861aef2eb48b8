"""Parameters that are lists of named members, as in scikit-learn's ensembles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mddf._base.validation import is_list


def is_named(member: Any) -> bool:
    """Whether an entry of the list is a pair of a name and a member."""
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


def named_members(members: Any) -> list[tuple[str, Any]]:
    """Entries of a list that are pairs of a name and a member; none if it is no list."""
    return list(filter(is_named, members)) if is_list(members) else []


def split_names(
    parameter: str, members: Sequence[Any], own_parameters: Sequence[str]
) -> list[tuple[str | None, Any]]:
    """Names (None for members without one) and members; refuses names as scikit-learn does."""
    split = [member if is_named(member) else (None, member) for member in members]
    names = [name for name, _ in split if name is not None]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"{parameter} must have unique names, got {repeated[0]!r} twice or more")
    for name in names:
        if "__" in name or not name:
            raise ValueError(f"{parameter} must have names without '__', got {name!r}")
        if name in own_parameters:
            raise ValueError(
                f"{parameter} must have names that are no parameters of the estimator, "
                f"got {name!r}"
            )
    return split
