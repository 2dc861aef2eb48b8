"""Members of layers: each kind is trained, refitted and frozen in its own way.

`fit` of each kind fits members to splits of the rows. All other training is made of it: on the
folds of a layer (`train`), on further splits (`fit_all`), and on all samples (`refit`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from mddf._base.parallel import TimeIsUp, job_count
from mddf._fitted.fitted_model import FittedMember
from mddf._forest.base import Forest
from mddf._gradient.options import warn_of_ignored
from mddf._gradient.rounds import MOST_TIMES, most_rounds
from mddf._gradient.weights import boosting_weights
from mddf._layers.evidence import Evidence
from mddf._layers.seeds import Purpose
from mddf._layers.trainer import (
    Job,
    LayerInput,
    MeanOfFolds,
    Split,
    Trainer,
    one_stream,
    splits_from_folds,
)
from mddf._members.boosted import BoostedFolds, boost_parts, boosting_options
from mddf._members.external import blaming, check_takes_weights
from mddf._members.external_member import ExternalMember
from mddf._members.external_training import n_fits
from mddf._members.fit import Fit
from mddf._members.kernel import MOST_ROWS, KernelRidge
from mddf._members.kernel_logistic import KernelLogisticClassifier

# Share of the remaining time that boosted trees of the first layer get. It leaves time for other
# members and for a refit. Set by hand.
_BOOSTING_SHARE = 0.7
# Share of the remaining time that the forests of the first layer get. Set by hand.
_TIME_OF_FORESTS = 0.5
# Boosted trees have to start before this share of their time is over: later ones could grow too
# few rounds to be worth a weight. Set by hand.
_START_SHARE = 0.8
# Boosted trees of all samples have more rounds than those of a fold by this factor, since they
# have more rows. On 14 development sets of regression, the factors 1 and 1.15 differed by less
# than 0.1 %.
_ROUNDS_FACTOR = 1.15
# Share of the time of the first fold that the other folds take if it chose options for them. It
# was 0.12 to 0.5 for kernels on 300 and 1000 rows.
_SHARE_WITHOUT_CHOICE = 0.5
# Rough time that a kernel or network, the slowest of the named estimators, takes on a fold: by
# rows, or in tables of many columns by the numbers that it encodes, up to 2 million of them. It
# only has to tell seconds from minutes.
_SECONDS_PER_ROW = 3e-4
_SECONDS_PER_CELL = 1.5e-6
_MAX_CELLS = 2**21


@dataclass(frozen=True)
class Member(ABC):
    """An untrained member of a layer."""

    name: str  # in tables
    model: BaseEstimator  # not fitted
    # Name of a member whose options a deep forest chooses, since it is a member by its name:
    # "random", "completely-random", "boosted" or "boosted-leaf-wise".
    role: str | None = None
    # Choices of the first fits for later ones: parameters, or the numbers of rounds.
    chosen: Mapping[str, Any] | None = None

    # Whether its training ends by itself when the time is over, with fewer trees or rounds.
    adapts_to_time: ClassVar[bool] = True
    # Share of the remaining time in which members of this kind are trained on folds.
    time_share: ClassVar[float] = 1.0

    @property
    def reads(self) -> tuple[str, ...]:
        """Input in addition to the binned table.

        "numbers", data "frames", or "levels" of columns with many categories.
        """
        return ()

    # Parameters

    @property
    def n_trees(self) -> int:
        """Number of trees that are grown on each split; 0 if it is not a forest."""
        return 0

    def with_parameters(self, **parameters: object) -> Self:
        """Copy with other parameters of the model."""
        return replace(self, model=clone(self.model).set_params(**parameters))

    def with_chosen(self, chosen: Mapping[str, Any] | None) -> Self:
        """Copy with these choices, if there are any."""
        return replace(self, chosen=chosen)

    def with_tree_factor(self, factor: float) -> Self:
        """Copy with the number of trees multiplied by a factor, if it is a forest."""
        return self

    def limited(self, max_depth: int | None) -> Self:
        """Copy with a depth limit, if it is a random forest without a limit."""
        return self

    def with_max_depth(self, max_depth: int | None) -> Self:
        """Copy with another depth limit, if it is a forest; None changes nothing."""
        return self

    def for_later_layers(self) -> ForestMember | None:
        """The member as it is in later layers; None if they cannot have it."""
        return None

    @abstractmethod
    def check(self, trainer: Trainer) -> None:
        """Refuse a member that cannot be trained on these rows, before it is trained."""

    # Training

    @classmethod
    def fit(
        cls, members: Mapping[int, Self], trainer: Trainer, job: Job
    ) -> Iterator[tuple[int, Iterable[Fit]]]:
        """Fit members to splits; yields their numbers, with a fit for each split.

        May raise TimeIsUp.
        """
        for i, member in members.items():
            yield i, member._fit(trainer, job, job.entropy_of(i))

    def _fit(self, trainer: Trainer, job: Job, entropy: Sequence[int]) -> list[Fit]:
        """Fit the member to splits, if members are fitted one by one."""
        raise NotImplementedError

    @classmethod
    def batches(cls, members: Mapping[int, Self]) -> list[tuple[str, dict[int, Self]]]:
        """Members that are trained together, and share the time, with their name."""
        return [(member.name, {i: member}) for i, member in members.items()]

    def can_race(self, *, is_timed: bool) -> bool:
        """Whether the first fold can be trained before the others, to race against other members.

        Without time, a slow member must not take the time of the others.
        """
        return True

    @classmethod
    def train(
        cls,
        batch: Mapping[int, Self],
        trainer: Trainer,
        splits: Sequence[Split],
        *,
        first: int,  # number of the first split
        is_only_member: bool,  # whether a member is trained however short the time is
    ) -> dict[int, Evidence]:
        """Train members on splits of the first layer of a deep forest.

        May raise TimeIsUp.
        """
        evidence = {}
        for i, member in batch.items():
            evidence[i] = member._train(i, trainer, splits, first, may_skip=not is_only_member)
        return evidence

    def _train(
        self, i: int, trainer: Trainer, splits: Sequence[Split], first: int, *, may_skip: bool
    ) -> Evidence:
        """Train member number `i` on splits of the first layer, if members train one by one."""
        raise NotImplementedError

    @classmethod
    def predict_without_parts(
        cls,
        members: Mapping[int, Self],
        trainer: Trainer,
        parts: np.ndarray,  # (n_samples,): number of each row's part
        job: Job,  # splits without each pair of parts
        vectors: dict[int, list[np.ndarray]],
    ) -> None:
        """Replace vectors of each part's number by predictions of models that did not see it.

        The predictions of the part itself come from models that saw all other rows.
        """
        for i, fits in cls.fit(members, trainer, job):
            for fit in fits:
                pair = np.unique(parts[fit.held_out])
                for part, other in (pair, pair[::-1]):
                    is_of_part = parts[fit.held_out] == part
                    vectors[other][i][fit.held_out[is_of_part]] = fit.vectors[is_of_part]

    @classmethod
    def refit(
        cls, members: Mapping[int, Self], trainer: Trainer, layer_input: LayerInput | None, n: int
    ) -> dict[int, list[Any]]:
        """Models of all samples of members of layer `n`, from 0, by the members' numbers.

        Members that keep the models of the folds are not among them.
        """

        def entropy_of(i: int | None) -> tuple[int, ...]:
            if i is None:
                return trainer.seeds.entropy_for(Purpose.REFITTED_FORESTS, n)
            return trainer.seeds.entropy_for(Purpose.REFITTED_ESTIMATORS, i)

        job = Job(
            splits=[Split(trainer.all_rows, None)],
            entropy_of=entropy_of,
            layer_input=layer_input,
            description=f"layer {n + 1} on all samples",
        )
        in_full = {i: member._in_full(trainer) for i, member in members.items()}
        models = {}
        for i, fits in cls.fit(in_full, trainer, job):
            (fit,) = fits
            models[i] = [fit.model]
        return models

    def _in_full(self, trainer: Trainer) -> Self:
        """The member for a fit on all samples."""
        return self

    def expected_seconds(self, trainer: Trainer, n_splits: int, first_fold: float) -> float:
        """Seconds that the training on some splits takes, if the first fold took `first_fold`.

        `first_fold` is 0 if the first fold is not trained yet.
        """
        return 0.0

    def refit_seconds(self, trainer: Trainer, seconds: float) -> float:
        """Seconds that a refit takes, if all folds together took `seconds`."""
        return seconds / max(1, len(trainer.folds) - 1)

    # Results

    @abstractmethod
    def freeze(
        self, models: list[Any], trainer: Trainer, *, weight: float = 0.0, exponent: float = 1.0
    ) -> FittedMember:
        """The member as it predicts and is stored."""

    def importances(self, models: Sequence[Any]) -> list[np.ndarray]:
        """Importances of the columns to each model; empty if they are unknown."""
        return []

    def cut(self, evidence: Evidence) -> str:
        """Trees or rounds that a limit of time has left; empty if nothing is missing."""
        return evidence.cut


@dataclass(frozen=True)
class ForestMember(Member):
    """A forest of this package, which grows on the binned table."""

    model: Forest[Any]

    time_share: ClassVar[float] = _TIME_OF_FORESTS

    @property
    def n_trees(self) -> int:
        return int(self.model.n_estimators)

    def with_tree_factor(self, factor: float) -> Self:
        if factor == 1:
            return self
        return self.with_parameters(n_estimators=max(1, round(factor * self.n_trees)))

    def limited(self, max_depth: int | None) -> Self:
        forest = self.model
        if forest._random_thresholds or forest.max_depth:
            return self
        return self.with_max_depth(max_depth)

    def with_max_depth(self, max_depth: int | None) -> Self:
        return self if max_depth is None else self.with_parameters(max_depth=max_depth)

    def for_later_layers(self) -> ForestMember | None:
        return self

    def check(self, trainer: Trainer) -> None:
        widths = trainer.task.n_classes_per_output
        if self.model.bootstrap == "balanced" and widths is not None:
            raise ValueError(
                "bootstrap='balanced' is for the classes of one output, got the member "
                f"{self.name!r} and {len(widths)} outputs"
            )

    @classmethod
    def fit(
        cls, members: Mapping[int, Self], trainer: Trainer, job: Job
    ) -> Iterator[tuple[int, Iterable[Fit]]]:
        numbers = members if job.numbers_forests else range(len(members))
        growing = trainer.grow_forests(dict(zip(numbers, members.values(), strict=True)), job)
        with closing(growing):
            for i in members:
                yield i, islice(growing, len(job.splits))

    @classmethod
    def batches(cls, members: Mapping[int, Self]) -> list[tuple[str, dict[int, Self]]]:
        """All forests grow side by side."""
        return [("forests", dict(members))]

    @classmethod
    def train(
        cls,
        batch: Mapping[int, Self],
        trainer: Trainer,
        splits: Sequence[Split],
        *,
        first: int,
        is_only_member: bool,
    ) -> dict[int, Evidence]:
        job = Job(
            splits=splits,
            entropy_of=one_stream(trainer.seeds.entropy_for(Purpose.FORESTS, first)),
            description="layer 1",
            numbers_forests=True,
            importances=True,
        )
        evidence = {}
        for i, fits in cls.fit(batch, trainer, job):
            evidence[i] = Evidence.from_fits(batch[i], fits, trainer, job)
        return evidence

    def _in_full(self, trainer: Trainer) -> Self:
        """A named forest of all samples has more trees."""
        if self.role is None:
            return self
        return self.with_parameters(n_estimators=trainer.task.refit_tree_factor * self.n_trees)

    def refit_seconds(self, trainer: Trainer, seconds: float) -> float:
        return trainer.task.refit_tree_factor * super().refit_seconds(trainer, seconds)

    def freeze(
        self, models: list[Any], trainer: Trainer, *, weight: float = 0.0, exponent: float = 1.0
    ) -> FittedMember:
        return FittedMember(
            [block for result in models for block in result.trees],
            trainer.task.n_columns,
            exponents=trainer.task.leaf_exponents,
            weight=weight,
            exponent=exponent,
            name=self.name,
        )

    def importances(self, models: Sequence[Any]) -> list[np.ndarray]:
        return [result.importances for result in models]

    def cut(self, evidence: Evidence) -> str:
        n_trees = min(sum(block.n_trees for block in result.trees) for result in evidence.models)
        return _counted(n_trees, "tree") if n_trees < self.n_trees else ""


@dataclass(frozen=True)
class BoostedMember(Member):
    """Gradient boosting that grows on the binned table.

    A classifier keeps the models of all folds, unless these saw only the past of their fold: on 36
    development sets, models of all samples had 0.997 times the log-loss (without the two best and
    the two worst sets), but up to 1.02 times on churn, and areas under the curve that were no
    larger.
    """

    @property
    def reads(self) -> tuple[str, ...]:
        return ("levels",)

    def check(self, trainer: Trainer) -> None:
        warn_of_ignored(self.model)
        with blaming(self.name, "be fitted"):
            for n_classes in sorted({n for _, n in trainer.task.outputs}):
                boosting_options(self.model, trainer.feature_table, n_classes)

    @property
    def n_rounds(self) -> list[int] | None:
        """Number of rounds for each output; None before the first training."""
        return None if self.chosen is None else self.chosen["n_rounds"]

    def can_race(self, *, is_timed: bool) -> bool:
        return False  # its folds grow side by side

    def boost(
        self,
        trainer: Trainer,
        splits: Sequence[Split],
        entropy: Sequence[int],
        *,
        # Share of the remaining time after which no further rounds are grown.
        time_share: float = 1.0,
        # Raise TimeIsUp if the time does not suffice to start and to grow some rounds.
        may_skip: bool = False,
        # Whether rounds of named members go on after `max_iter` while the loss falls.
        goes_on: bool = True,
    ) -> list[Fit]:
        """Boosted trees of splits, by default with the rounds of least loss over all splits."""
        clock = trainer.clock
        start_by = np.inf
        if clock.runs and may_skip:
            start_by = clock.until(_START_SHARE * time_share)
        # Boosted trees stop by rows held out: all their splits have some.
        parts = [(s.train, s.held_out) for s in splits if isinstance(s.held_out, np.ndarray)]
        return boost_parts(
            self.model,
            trainer.feature_table,
            trainer.task,
            parts,
            weights=boosting_weights(trainer.weights.row, trainer.weights.sample),
            keys=trainer.row_keys,
            levels=trainer.levels,
            entropy=entropy,
            rounds=self.n_rounds,
            n_jobs=trainer.n_jobs,
            screens=self.role is not None,
            goes_on=goes_on and self.role is not None,
            until=clock.until(time_share),
            start_by=start_by,
            whole=clock.whole,
        )

    def _fit(self, trainer: Trainer, job: Job, entropy: Sequence[int]) -> list[Fit]:
        return self.boost(
            trainer, job.splits, entropy, may_skip=job.is_trial, goes_on=not job.is_trial
        )

    def _train(
        self, i: int, trainer: Trainer, splits: Sequence[Split], first: int, *, may_skip: bool
    ) -> Evidence:
        aggregator = trainer.mean_of_folds
        if self.role is not None and trainer.boosting_folds is not None:
            splits = splits_from_folds(trainer.boosting_folds)
            aggregator = MeanOfFolds.from_folds(trainer.task, trainer.boosting_folds)
        entropy = trainer.seeds.entropy_for(Purpose.ESTIMATORS, i)
        # The models of the folds are kept in any case: they predict the classes.
        splits = [split._replace(keep=True) for split in splits]
        job = Job(splits=splits, entropy_of=one_stream(entropy), aggregator=aggregator)
        end = trainer.clock.until(_BOOSTING_SHARE)
        fits = self.boost(trainer, splits, entropy, time_share=_BOOSTING_SHARE, may_skip=may_skip)
        n_rounds = fits[0].model.rounds
        member = self.with_chosen({"n_rounds": n_rounds})
        evidence = Evidence.from_fits(member, fits, trainer, job)
        if monotonic() > end:
            evidence.cut = _counted(max(n_rounds, default=0), "round")
        return evidence

    @classmethod
    def predict_without_parts(
        cls,
        members: Mapping[int, Self],
        trainer: Trainer,
        parts: np.ndarray,
        job: Job,
        vectors: dict[int, list[np.ndarray]],
    ) -> None:
        """The rows of a part take no part in the early stopping of models without it."""
        for i, member in members.items():
            for part in vectors:
                member._predict_without_part(i, trainer, parts, part, vectors[part][i])

    def _predict_without_part(
        self, i: int, trainer: Trainer, parts: np.ndarray, part: int, vectors: np.ndarray
    ) -> None:
        others = np.unique(parts[parts != part])
        splits = [
            Split(rows_of((parts != part) & (parts != other)), rows_of(parts == other))
            for other in others
        ]
        entropy = trainer.seeds.entropy_for(Purpose.FIGURES, 2, i, part)
        fits = replace(self, chosen=None).boost(trainer, splits, entropy)
        stopped = self.with_chosen({"n_rounds": fits[0].model.rounds})
        own = Split(rows_of(parts != part), rows_of(parts == part))
        for fit in [*fits, *stopped.boost(trainer, [own], entropy)]:
            vectors[fit.held_out] = fit.vectors

    @classmethod
    def refit(
        cls, members: Mapping[int, Self], trainer: Trainer, layer_input: LayerInput | None, n: int
    ) -> dict[int, list[Any]]:
        """Several models with different seeds, and with more rounds than on a fold."""
        n_models = _n_refitted_boosting(trainer)
        models = {}
        for i, member in members.items() if n_models else ():
            entropy = trainer.seeds.entropy_for(Purpose.REFITTED_ESTIMATORS, i)
            seeds: list[tuple[int, ...]] = [entropy]
            if not trainer.is_in_time_order:
                n_most = most_rounds(member.model, any_held_out=True)
                if member.role is not None:
                    n_most *= MOST_TIMES
                n_rounds = [
                    min(round(_ROUNDS_FACTOR * number), n_most) for number in member.n_rounds or []
                ]
                member = member.with_chosen({"n_rounds": n_rounds})
                seeds = [(*entropy, number) for number in range(n_models)]
            # The number of rounds is known, so that the rows held out do not matter.
            split = Split(trainer.all_rows, trainer.folds[0][1])
            models[i] = [member.boost(trainer, [split], seed)[0].model for seed in seeds]
        return models

    def refit_seconds(self, trainer: Trainer, seconds: float) -> float:
        n_models = _ROUNDS_FACTOR * _n_refitted_boosting(trainer)
        return n_models * super().refit_seconds(trainer, seconds)

    def freeze(
        self, models: list[Any], trainer: Trainer, *, weight: float = 0.0, exponent: float = 1.0
    ) -> FittedMember:
        return BoostedFolds(
            models,
            trainer.task.n_columns,
            is_rounded=False,
            weight=weight,
            exponent=exponent,
            name=self.name,
        )


@dataclass(frozen=True)
class EstimatorMember(Member):
    """An estimator that is fitted to numbers or to a data frame.

    It is a model of this package that is a member by its name, or an estimator of the user.
    """

    is_external: bool = True  # whether it is an estimator of the user
    # Whether its vectors are multiples of `GRAIN`, as in cascades.
    is_rounded: bool = False

    adapts_to_time: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[str, ...]:
        return ("numbers", "frames") if self.is_external else ("numbers",)

    def with_chosen(self, chosen: Mapping[str, Any] | None) -> Self:
        return self if chosen is None else replace(self.with_parameters(**chosen), chosen=chosen)

    def check(self, trainer: Trainer) -> None:
        if trainer.weights.row is not None:
            check_takes_weights("members", self.name, self.model)

    def can_race(self, *, is_timed: bool) -> bool:
        return not is_timed

    def _fit(self, trainer: Trainer, job: Job, entropy: Sequence[int]) -> list[Fit]:
        splits = job.splits
        clock = trainer.clock
        n_at_once = len(splits)
        if clock.whole:
            n_at_once = job_count(trainer.n_jobs, len(splits), require=None)
        fits: list[Fit] = []
        for first in range(0, len(splits), n_at_once):
            if clock.whole and clock.left < 0:
                raise TimeIsUp
            fits += trainer.fit_estimator(
                self.model,
                splits[first : first + n_at_once],
                (*entropy, first) if first else entropy,
                name=self.name,
                layer_input=job.layer_input,
                frame_columns=trainer.frame_columns if self.is_external else None,
            )
        return fits

    def _train(
        self, i: int, trainer: Trainer, splits: Sequence[Split], first: int, *, may_skip: bool
    ) -> Evidence:
        """The first fold chooses the options of a kernel for the others."""
        member = self
        evidence = None
        # The first fold has a random stream of its own, and the others share one.
        steps: list[tuple[Sequence[Split], tuple[int, ...]]] = [(splits, (i, 1))]
        if first == 0:
            steps = [(splits[:1], (i,)), (splits[1:], (i, 1))]
        for splits_of_step, numbers in steps:
            if not splits_of_step:
                continue
            entropy = trainer.seeds.entropy_for(Purpose.ESTIMATORS, *numbers)
            job = Job(
                splits=splits_of_step,
                entropy_of=one_stream(entropy),
            )
            fits = member._fit(trainer, job, entropy)
            if evidence is None and first == 0:
                model = fits[0].model
                if isinstance(model, KernelRidge | KernelLogisticClassifier):
                    member = member.with_chosen(model.chosen())
            new_evidence = Evidence.from_fits(member, fits, trainer, job)
            evidence = new_evidence if evidence is None else evidence.joined(new_evidence)
        assert evidence is not None
        return evidence

    def expected_seconds(self, trainer: Trainer, n_splits: int, first_fold: float) -> float:
        if first_fold:
            # The first fold shows the time of a fold. A fit of all rows may follow.
            share = 1.0 if self.chosen is None else _SHARE_WITHOUT_CHOICE
            return first_fold * (n_splits + 2) * share
        bins = trainer.table.bins.columns(0, trainer.n_features)
        n_encoded = int(np.where(bins.categorical, np.diff(bins.start), 1).sum())
        n_rows = min(trainer.n_samples, MOST_ROWS)
        n_cells = min(n_rows * n_encoded, _MAX_CELLS)
        seconds = max(_SECONDS_PER_ROW * n_rows, _SECONDS_PER_CELL * n_cells)
        n_models = n_fits(self.model, trainer.task.n_classes_per_output)
        return n_models * seconds * trainer.clock.pace

    def freeze(
        self, models: list[Any], trainer: Trainer, *, weight: float = 0.0, exponent: float = 1.0
    ) -> FittedMember:
        return ExternalMember(
            models,
            trainer.task.n_columns,
            is_rounded=self.is_rounded,
            weight=weight,
            exponent=exponent,
            name=self.name,
            frame_columns=trainer.frame_columns if self.is_external else None,
        )


def by_kind(members: Mapping[int, Member]) -> list[tuple[type[Member], dict[int, Any]]]:
    """Members by their kinds: forests, then boosted trees, then estimators, the slowest ones."""
    groups = [
        (kind, {i: member for i, member in members.items() if type(member) is kind})
        for kind in (ForestMember, BoostedMember, EstimatorMember)
    ]
    return [(kind, group) for kind, group in groups if group]


def fit_all(
    members: Mapping[int, Member], trainer: Trainer, job: Job
) -> Iterator[tuple[int, Iterable[Fit]]]:
    """Fit members of all kinds to splits; yields their numbers, with a fit for each split."""
    for kind, group in by_kind(members):
        yield from kind.fit(group, trainer, job)


def members_of_later_layers(members: Iterable[Member]) -> list[ForestMember]:
    """The members that later layers can have."""
    later_members = (member.for_later_layers() for member in members)
    return [member for member in later_members if member is not None]


def rows_of(is_chosen: np.ndarray) -> np.ndarray:
    """Numbers of the rows of a mask."""
    return np.flatnonzero(is_chosen).astype(np.int32)


def _n_refitted_boosting(trainer: Trainer) -> int:
    """Number of models as which boosted trees are fitted again on all samples."""
    # In time order, the first fold has seen nearly all samples, and one model replaces its model.
    if trainer.is_in_time_order:
        return 1
    n_models = trainer.task.n_refitted_boosting
    return min(n_models, 1) if trainer.task.is_large else n_models


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + "s" * (n != 1)
