"""Parameters that are lists of named members, as in scikit-learn's ensembles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from sklearn.base import clone

from mddf._base.validation import is_list
from mddf._members.external import unfitted


def is_named(member: Any) -> bool:
    """Whether an entry of the list is a pair of a name and a member."""
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


class HoldsMembers:
    """Mixin that makes members of a list, and their parameters, parameters of the estimator.

    A member is set by its name, and its parameters by the name and two underscores: ``lr`` and
    ``lr__C`` of ``("lr", LogisticRegression())``. A member without a name is set by the name of
    the list and its position from 0: ``members__0``.

    The mixin must come before scikit-learn's classes in the bases of an estimator.
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
            for key, _, member in self._members_by_key():
                params.setdefault(key, member)  # fit refuses a name that is a parameter's
                if hasattr(member, "get_params") and not isinstance(member, type):
                    inner = member.get_params(deep=True).items()
                    params.update({f"{key}__{name}": value for name, value in inner})
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

    def __sklearn_clone__(self) -> Self:
        """Copy without fitted attributes, called by `sklearn.base.clone`.

        scikit-learn refuses to clone estimators of CatBoost 1.2 whose parameters are lists, such
        as `cat_features`. `unfitted` copies them.
        """
        members = getattr(self, self._member_list)
        if not isinstance(members, list | tuple):
            return super().__sklearn_clone__()  # type: ignore[misc]
        without_members = object.__new__(type(self))
        without_members.__dict__.update(self.__dict__)
        setattr(without_members, self._member_list, [])
        copy = super(HoldsMembers, without_members).__sklearn_clone__()  # type: ignore[misc]
        setattr(copy, self._member_list, type(members)(map(_clone_member, members)))
        return copy

    def _replace(self, position: int, member: Any) -> None:
        members = list(getattr(self, self._member_list))
        old = members[position]
        members[position] = (old[0], member) if is_named(old) else member
        setattr(self, self._member_list, members)


def _clone_member(member: Any) -> Any:
    if is_named(member):
        return member[0], _clone_member(member[1])
    is_estimator = hasattr(member, "get_params") and not isinstance(member, type)
    return unfitted(member) if is_estimator else clone(member, safe=False)


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
