"""Lists of members with names and parameters of their own, as scikit-learn's ensembles have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from mddf._base.validation import is_list


def is_named(member: Any) -> bool:
    """Whether an entry of the list is a pair of a name and a member."""
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


class HoldsMembers:
    """Has a list of members, whose parameters are parameters of the estimator.

    A member is set by its name, and its parameters by that and two underscores: ``lr`` and
    ``lr__C`` of ``("lr", LogisticRegression())``. The name of one that has none is that of the
    list and its position, counted from 0: ``members__0``.

    Comes before scikit-learn's classes among the bases of an estimator.
    """

    _member_list: ClassVar[str]  # name of the parameter

    def _own_parameters(self) -> list[str]:
        return self._get_param_names()  # type: ignore[attr-defined]

    def _members_by_key(self) -> Iterator[tuple[str, int, Any]]:
        """Keys of the members, their positions, and the members."""
        members = getattr(self, self._member_list)
        if is_list(members):
            for position, member in enumerate(members):
                if is_named(member):
                    yield member[0], position, member[1]
                else:
                    yield f"{self._member_list}__{position}", position, member

    def get_params(self, deep: bool = True) -> Any:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            With members and their parameters.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for key, _, member in self._members_by_key():
                params.setdefault(key, member)  # fit refuses a name that is a parameter's
                if hasattr(member, "get_params") and not isinstance(member, type):
                    inner = member.get_params(deep=True).items()
                    params.update({f"{key}__{name}": value for name, value in inner})
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, members and their parameters.

        Parameters
        ----------
        **params : dict
            By the names of `get_params`.

        Returns
        -------
        self
        """
        if self._member_list in params:  # the others may be parameters of what is in it
            setattr(self, self._member_list, params.pop(self._member_list))
        own = self._own_parameters()
        for key, position, _ in list(self._members_by_key()):
            if key in params and key not in own:
                self._replace(position, params.pop(key))
        for key, _, member in list(self._members_by_key()):
            prefix = f"{key}__"
            if key in own:
                continue
            inner = {name: params.pop(name) for name in list(params) if name.startswith(prefix)}
            if inner and not hasattr(member, "set_params"):
                raise ValueError(
                    f"{self._member_list}: {next(iter(inner))!r} is no parameter, as {member!r} "
                    "is no estimator"
                )
            if inner:
                member.set_params(**{name[len(prefix) :]: v for name, v in inner.items()})
        for name in params:
            if name.startswith(f"{self._member_list}__"):
                raise ValueError(
                    f"{self._member_list}: {name!r} is no parameter of "
                    f"{self._member_list}={getattr(self, self._member_list)!r}"
                )
        return super().set_params(**params)  # type: ignore[misc]

    def _replace(self, position: int, member: Any) -> None:
        members = list(getattr(self, self._member_list))
        old = members[position]
        members[position] = (old[0], member) if is_named(old) else member
        setattr(self, self._member_list, members)


def split_names(parameter: str, members: Any, own_parameters: Any) -> list[tuple[str | None, Any]]:
    """Names, None where there is none, and members; refuses names as scikit-learn does.

    Parameters
    ----------
    parameter : str
    members : list
    own_parameters : iterable of str
        Which names must not be.
    """
    split = [member if is_named(member) else (None, member) for member in members]
    names = [name for name, _ in split if name is not None]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"{parameter} must have unique names, got {repeated[0]!r} twice or more")
    for name in names:
        if "__" in name or not name:
            raise ValueError(f"{parameter} must have names without '__', got {name!r}")
        if name in set(own_parameters):
            raise ValueError(
                f"{parameter} must have names that are no parameters of the estimator, "
                f"got {name!r}"
            )
    return split
