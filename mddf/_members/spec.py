"""Untrained members of a layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sklearn.base import BaseEstimator, clone

from mddf._base.serialization import is_serializable
from mddf._trees.grower import GrowsTrees


@dataclass(frozen=True)
class MemberSpec:
    """Untrained forest, or another classifier or regressor, for a layer."""

    name: str  # in tables
    model: BaseEstimator  # not fitted
    # Kind of a forest or boosting that is a member by its name: "random", "completely-random",
    # "boosted" or "boosted-leaf-wise".
    kind: str | None
    # Whether it is gradient boosting that grows on the binned table. A classifier keeps the
    # models of all folds (see `refit`).
    is_boosted: bool = False
    # Whether it is an estimator of the user, which gets the original columns of a data frame.
    is_external: bool = False
    # Parameters that the fit on the first fold has chosen for the other folds.
    chosen: Mapping[str, object] | None = None

    def with_chosen(self, chosen: Mapping[str, object] | None) -> MemberSpec:
        """Copy with these parameters, if there are any."""
        if chosen is None:
            return self
        return replace(self, model=clone(self.model).set_params(**chosen), chosen=chosen)

    @property
    def is_forest(self) -> bool:
        """Whether it is a forest of this package, which grows on the binned table."""
        return isinstance(self.model, GrowsTrees)

    @property
    def is_plain(self) -> bool:
        """Whether its models are plain arrays when fitted."""
        return self.is_forest or self.is_boosted or is_serializable(self.model)

    def in_full(self, times: int) -> MemberSpec:
        """Forest for a fit on all samples: a named forest has `times` as many trees."""
        if self.kind is None:
            return self
        model = clone(self.model)
        return replace(self, model=model.set_params(n_estimators=times * model.n_estimators))

    def with_more_trees(self, factor: float) -> MemberSpec:
        """Copy with the number of trees multiplied by a factor, if it is a forest."""
        if factor == 1 or not self.is_forest:
            return self
        model = clone(self.model)
        n_estimators = max(1, round(factor * model.n_estimators))
        return replace(self, model=model.set_params(n_estimators=n_estimators))

    def limited(self, max_depth: int | None) -> MemberSpec:
        """Copy with a depth limit, if it is a random forest without a limit."""
        forest = self.model
        if (
            max_depth is None
            or not self.is_forest
            or forest._random_thresholds
            or forest.max_depth
        ):
            return self
        return replace(self, model=clone(forest).set_params(max_depth=max_depth))

    @property
    def needs_numbers(self) -> bool:
        """Whether its input is numbers instead of the binned table."""
        return not (self.is_forest or self.is_boosted)
