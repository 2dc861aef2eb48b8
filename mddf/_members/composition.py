"""Parameters that are lists of named members, as in scikit-learn's ensembles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from mddf._base.validation import is_list


def is_named(member: Any) -> bool:
    """Whether an entry of the list is a pair of a name and a member."""
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


class HoldsMembers:
    """Mixin that makes named members of a list, and their parameters, parameters of the estimator.

    A member is set by its name, and its parameters by the name and two underscores: ``lr`` and
    ``lr__C`` of ``("lr", LogisticRegression())``.

    The mixin must come before scikit-learn's classes in the bases of an estimator.
    """

    _member_list: ClassVar[str]  # name of the parameter

    def _named_members(self) -> list[tuple[str, Any]]:
        members = getattr(self, self._member_list)
        return list(filter(is_named, members)) if is_list(members) else []

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Get the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether members and their parameters are included.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for name, member in self._named_members():
                params.setdefault(name, member)  # fit refuses the name of another parameter
                if hasattr(member, "get_params") and not isinstance(member, type):
                    inner = member.get_params(deep=True).items()
                    params.update({f"{name}__{key}": value for key, value in inner})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members and their parameters.

        Parameters
        ----------
        **params : dict
            Values by the names of `get_params`.

        Returns
        -------
        self
        """
        if self._member_list in params:  # other parameters may be of its members
            setattr(self, self._member_list, params.pop(self._member_list))
        own = self._get_param_names()  # type: ignore[attr-defined]
        replaced = {name for name, _ in self._named_members() if name in params.keys() - own}
        if replaced:
            members = [
                (member[0], params[member[0]])
                if is_named(member) and member[0] in replaced
                else member
                for member in getattr(self, self._member_list)
            ]
            setattr(self, self._member_list, members)
        params = {name: value for name, value in params.items() if name not in replaced}
        return super().set_params(**params)  # type: ignore[misc]


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
