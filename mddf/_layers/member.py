"""Members of layers: each kind trains, refits and freezes its models in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone

from mddf._base.deadline import TimeIsUp
from mddf._base.parallel import job_count
from mddf._base.serialization import is_serializable
from mddf._fitted.fitted_model import FittedMember
from mddf._forest.base import Forest
from mddf._gradient.options import warn_of_ignored
from mddf._gradient.rounds import MOST_TIMES, most_rounds
from mddf._gradient.weights import boosting_weights
from mddf._layers.fold_trainer import FoldTrainer, is_large_table
from mddf._layers.layer_trainer import (
    EstimatorFit,
    LayerInput,
    LayerJob,
    LayerTrainer,
    MeanOfFolds,
    OutOfFoldAggregator,
    Split,
    TrainedMember,
    splits_from_folds,
)
from mddf._layers.seeds import Purpose
from mddf._members.boosted import (
    BoostedFit,
    BoostedFolds,
    BoostingData,
    boost_parts,
    boosting_options,
)
from mddf._members.external import blaming, check_takes_weights
from mddf._members.external_member import ExternalMember
from mddf._members.external_training import n_fits
from mddf._members.kernel import MOST_ROWS, KernelRidge
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._trees.grower import GrowthResult

if TYPE_CHECKING:
    from mddf._members.boosted import BoostedModel

# Share of the remaining time that boosted trees of the first layer get. It leaves time for other
# members and for a refit. Set by hand.
_BOOSTING_SHARE = 0.7
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


# Members with their models of the folds, by their numbers.
WithModels: TypeAlias = Mapping[int, tuple[Any, list[Any]]]


@dataclass(frozen=True)
class FirstLayerJob:
    """Splits on which members of the first layer of a deep forest are trained."""

    splits: Sequence[Split]
    first: int  # number of the first split
    keep_models: bool  # whether models of the folds are kept, if they are not needed
    is_only_member: bool  # whether a member is trained however short the time is


@dataclass(frozen=True)
class FurtherJob:
    """Further splits on which members are trained after the folds."""

    splits: Sequence[Split]
    # Entropy of a member by its number; of members that grow together, for None.
    entropy_of: Callable[[int | None], Sequence[int]]
    description: str


@dataclass(frozen=True)
class Member(ABC):
    """An untrained member of a layer."""

    name: str  # in tables
    model: BaseEstimator  # not fitted
    # Name of a member whose options a deep forest chooses, since it is a member by its name:
    # "random", "completely-random", "boosted" or "boosted-leaf-wise".
    role: str | None = None
    # Parameters that the fit on the first fold has chosen for the other folds.
    chosen: Mapping[str, object] | None = None

    # Whether its input is numbers instead of the binned table.
    reads_numbers: ClassVar[bool] = False
    # Whether it makes statistics of the levels of columns with many categories.
    reads_levels: ClassVar[bool] = False
    # Whether the first fold can be trained before the others, to race against other members.
    races: ClassVar[bool] = True
    # Whether its training ends by itself when the time is over, with fewer trees or rounds.
    adapts_to_time: ClassVar[bool] = True
    # Whether held-out rows choose its number of rounds.
    stops_early: ClassVar[bool] = False
    # Whether members of this kind grow side by side, and share the time.
    trains_in_batches: ClassVar[bool] = False

    @property
    def is_plain(self) -> bool:
        """Whether its models are plain arrays when fitted."""
        return True

    @property
    def n_trees(self) -> int:
        """Number of trees that are grown on each split; 0 if it is not a forest."""
        return 0

    @property
    def takes_frames(self) -> bool:
        """Whether it gets the original columns of a data frame."""
        return False

    @abstractmethod
    def check(self, trainer: FoldTrainer) -> None:
        """Refuse a member that cannot be trained on these rows, before it is trained."""

    def for_later_layers(self) -> ForestMember | None:
        """The member as it is in later layers; None if they cannot have it."""
        return None

    def with_parameters(self, **parameters: object) -> Self:
        """Copy with other parameters of the model."""
        return replace(self, model=clone(self.model).set_params(**parameters))

    def with_chosen(self, chosen: Mapping[str, object] | None) -> Self:
        """Copy with these parameters, if there are any."""
        return self if chosen is None else replace(self.with_parameters(**chosen), chosen=chosen)

    def with_more_trees(self, factor: float) -> Self:
        """Copy with the number of trees multiplied by a factor, if it is a forest."""
        return self

    def limited(self, max_depth: int | None) -> Self:
        """Copy with a depth limit, if it is a random forest without a limit."""
        return self

    @classmethod
    @abstractmethod
    def train_batch(
        cls, batch: Mapping[int, Self], trainer: FoldTrainer, job: FirstLayerJob
    ) -> dict[int, TrainedMember]:
        """Train members of the first layer of a deep forest.

        May raise TimeIsUp.
        """

    @classmethod
    def train_in_cascade(
        cls,
        members: Mapping[int, Self],
        trainer: LayerTrainer,
        job: LayerJob,
        aggregator: OutOfFoldAggregator,
    ) -> dict[int, TrainedMember]:
        """Train members of a cascade's layer, in which boosting is an estimator as any other."""
        raise NotImplementedError

    @classmethod
    @abstractmethod
    def held_out_vectors(
        cls, members: WithModels, trainer: FoldTrainer, job: FurtherJob
    ) -> dict[int, list[np.ndarray]]:
        """Train members, given with their models of the folds, on further splits.

        Returns the vectors of the rows that each split holds out.
        """

    def vectors_without_part(
        self,
        trainer: FoldTrainer,
        i: int,  # number of the member
        vectors: np.ndarray,
        parts: np.ndarray,  # (n_samples,): number of each row's part
        part: int,
    ) -> np.ndarray:
        """Out-of-fold vectors in whose early stopping the rows of a part took no part."""
        return vectors

    @classmethod
    @abstractmethod
    def refit(
        cls, members: WithModels, trainer: FoldTrainer, layer_input: LayerInput, number: int
    ) -> dict[int, list[Any]]:
        """Train members of layer `number`, given with their models of the folds, on all samples.

        Members that keep the models of the folds are not among the results.
        """

    def expected_seconds(self, trainer: FoldTrainer, n_splits: int, first_fold: float) -> float:
        """Seconds that the training on some splits takes, if the first fold took `first_fold`.

        `first_fold` is 0 if the first fold is not trained yet.
        """
        return 0.0

    @abstractmethod
    def refit_seconds(self, trainer: FoldTrainer, seconds: float) -> float:
        """Seconds that a refit takes, if all folds together took `seconds`."""

    def freeze(
        self,
        models: list[Any],
        trainer: LayerTrainer,
        *,
        weight: float = 0.0,
        exponent: float = 1.0,
    ) -> FittedMember:
        """The member as it predicts and is stored."""
        frozen = self._frozen(models, trainer)
        return replace(frozen, weight=weight, exponent=exponent, name=self.name)

    @abstractmethod
    def _frozen(self, models: list[Any], trainer: LayerTrainer) -> FittedMember: ...

    def importances(self, models: Sequence[Any]) -> list[np.ndarray]:
        """Importances of the columns to each model; empty if they are unknown."""
        return []

    def cut(self, trained: TrainedMember) -> str:
        """What a limit of time has left of the trees or rounds; empty if nothing is missing."""
        return trained.cut

    def plain_models(self, models: Sequence[Any]) -> list[Any]:
        """Models of the folds in a form that a checkpoint can hold."""
        return list(models)

    def models_from_plain(self, plain: Sequence[Any]) -> list[Any]:
        """Undo `plain_models`."""
        return list(plain)


@dataclass(frozen=True)
class ForestMember(Member):
    """A forest of this package, which grows on the binned table."""

    model: Forest[Any]

    trains_in_batches: ClassVar[bool] = True

    @property
    def n_trees(self) -> int:
        return int(self.model.n_estimators)

    def check(self, trainer: FoldTrainer) -> None:
        widths = trainer.task.n_classes_per_output
        if self.model.bootstrap == "balanced" and widths is not None:
            raise ValueError(
                "bootstrap='balanced' is for the classes of one output, got the member "
                f"{self.name!r} and {len(widths)} outputs"
            )

    def for_later_layers(self) -> ForestMember | None:
        return self

    def with_more_trees(self, factor: float) -> Self:
        if factor == 1:
            return self
        return self.with_parameters(n_estimators=max(1, round(factor * self.n_trees)))

    def limited(self, max_depth: int | None) -> Self:
        forest = self.model
        if max_depth is None or forest._random_thresholds or forest.max_depth:
            return self
        return self.with_parameters(max_depth=max_depth)

    @classmethod
    def train_batch(
        cls, batch: Mapping[int, Self], trainer: FoldTrainer, job: FirstLayerJob
    ) -> dict[int, TrainedMember]:
        entropy = trainer.seeds.entropy_for(Purpose.FORESTS, job.first)
        layer_input = LayerInput(trainer.feature_columns)
        layer_job = LayerJob(layer_input, job.splits, entropy, "layer 1")
        return trainer.train_forests(batch, layer_job, trainer.mean_of_folds, importances=True)

    @classmethod
    def train_in_cascade(
        cls,
        members: Mapping[int, Self],
        trainer: LayerTrainer,
        job: LayerJob,
        aggregator: OutOfFoldAggregator,
    ) -> dict[int, TrainedMember]:
        return trainer.train_forests(members, job, aggregator)

    @classmethod
    def held_out_vectors(
        cls, members: WithModels, trainer: FoldTrainer, job: FurtherJob
    ) -> dict[int, list[np.ndarray]]:
        layer_input = LayerInput(trainer.feature_columns)
        layer_job = LayerJob(layer_input, job.splits, job.entropy_of(None), job.description)
        growth = trainer.grow_all([member for member, _ in members.values()], layer_job)
        held_out_vectors = trainer.mean_of_folds.held_out_vectors
        return {
            i: [held_out_vectors(result) for result in results]
            for i, results in zip(members, growth, strict=True)
        }

    @classmethod
    def refit(
        cls, members: WithModels, trainer: FoldTrainer, layer_input: LayerInput, number: int
    ) -> dict[int, list[Any]]:
        job = LayerJob(
            layer_input,
            [Split(trainer.all_rows, None)],
            trainer.seeds.entropy_for(Purpose.REFITTED_FORESTS, number),
            f"layer {number + 1} on all samples",
        )
        forests = [member._in_full(trainer) for member, _ in members.values()]
        return dict(zip(members, trainer.grow_all(forests, job), strict=True))

    def _in_full(self, trainer: FoldTrainer) -> Self:
        """Forest for a fit on all samples: a named one has more trees."""
        if self.role is None:
            return self
        return self.with_parameters(n_estimators=trainer.task.refit_tree_factor * self.n_trees)

    def refit_seconds(self, trainer: FoldTrainer, seconds: float) -> float:
        return trainer.task.refit_tree_factor * _seconds_of_fold(trainer, seconds)

    def _frozen(self, models: list[Any], trainer: LayerTrainer) -> FittedMember:
        return FittedMember(
            [block for result in models for block in result.trees],
            trainer.task.n_columns,
            exponents=trainer.task.leaf_exponents,
        )

    def importances(self, models: Sequence[Any]) -> list[np.ndarray]:
        return [result.importances for result in models]

    def cut(self, trained: TrainedMember) -> str:
        n_trees = min(sum(block.n_trees for block in result.trees) for result in trained.models)
        return _counted(n_trees, "tree") if n_trees < self.n_trees else ""

    def plain_models(self, models: Sequence[Any]) -> list[Any]:
        return [(result.trees, result.importances) for result in models]

    def models_from_plain(self, plain: Sequence[Any]) -> list[Any]:
        return [GrowthResult(trees, importances=totals) for trees, totals in plain]


@dataclass(frozen=True)
class BoostedMember(Member):
    """Gradient boosting that grows on the binned table.

    A classifier keeps the models of all folds, unless these saw only the past of their fold: on 36
    development sets, models of all samples had 0.997 times the log-loss (without the two best and
    the two worst sets), but up to 1.02 times on churn, and areas under the curve that were no
    larger.
    """

    reads_levels: ClassVar[bool] = True
    stops_early: ClassVar[bool] = True
    races: ClassVar[bool] = False  # its folds grow side by side

    def check(self, trainer: FoldTrainer) -> None:
        warn_of_ignored(self.model)
        with blaming(self.name, "be fitted"):
            for n_classes in sorted({n for _, n in trainer.task.outputs}):
                boosting_options(self.model, trainer.feature_table, n_classes)

    def boost(
        self,
        trainer: FoldTrainer,
        splits: Sequence[Split],
        entropy: Sequence[int],
        *,
        # Number of rounds for each output; by default, the number of least loss over all splits.
        n_rounds: Sequence[int] | None = None,
        # Share of the remaining time after which no further rounds are grown.
        time_share: float = 1.0,
        # Raise TimeIsUp if the time does not suffice to start and to grow some rounds.
        may_skip: bool = False,
        # Whether rounds of named members go on after `max_iter` while the loss falls.
        goes_on: bool = False,
    ) -> list[BoostedFit]:
        """Boosted trees on splits of the rows, and their predictions of the held-out rows."""
        weights = boosting_weights(trainer.weights.row, trainer.weights.sample)
        data = BoostingData(
            trainer.feature_table, trainer.task, weights, trainer.row_keys, trainer.levels
        )
        clock = trainer.clock
        start_by = np.inf
        if clock.runs and may_skip:
            start_by = clock.until(_START_SHARE * time_share)
        # Boosted trees stop by rows held out: all their splits have some.
        parts = [(s.train, s.held_out) for s in splits if isinstance(s.held_out, np.ndarray)]
        return boost_parts(
            self.model,
            data,
            parts,
            entropy,
            n_rounds,
            n_jobs=trainer.n_jobs,
            screens=self.role is not None,
            goes_on=goes_on and self.role is not None,
            until=clock.until(time_share),
            start_by=start_by,
            whole=clock.whole,
        )

    @classmethod
    def train_batch(
        cls, batch: Mapping[int, Self], trainer: FoldTrainer, job: FirstLayerJob
    ) -> dict[int, TrainedMember]:
        # The models of the folds are kept in any case: they predict the classes, and a refit needs
        # their numbers of rounds.
        trained = {}
        for i, member in batch.items():
            splits = job.splits
            aggregator = trainer.mean_of_folds
            if member.role is not None and trainer.boosting_folds is not None:
                splits = splits_from_folds(trainer.boosting_folds)
                aggregator = MeanOfFolds.from_folds(trainer.task, trainer.boosting_folds)
            end = trainer.clock.until(_BOOSTING_SHARE)
            fits = member.boost(
                trainer,
                splits,
                trainer.seeds.entropy_for(Purpose.ESTIMATORS, i),
                time_share=_BOOSTING_SHARE,
                may_skip=not job.is_only_member,
                goes_on=True,
            )
            n_rounds = max(fits[0].model.rounds, default=0)
            vectors, blind_vectors = (
                trainer.out_of_fold_vectors(list(fold_vectors), splits, aggregator)
                for fold_vectors in (
                    [fit.vectors for fit in fits],
                    [fit.blind_vectors for fit in fits],
                )
            )
            trained[i] = TrainedMember(
                [fit.model for fit in fits],
                vectors,
                blind_vectors=blind_vectors,
                cut=_counted(n_rounds, "round") if monotonic() > end else "",
            )
        return trained

    @classmethod
    def held_out_vectors(
        cls, members: WithModels, trainer: FoldTrainer, job: FurtherJob
    ) -> dict[int, list[np.ndarray]]:
        vectors = {}
        for i, (member, models) in members.items():
            n_rounds = models[0].rounds
            entropy = job.entropy_of(i)
            fits = member.boost(trainer, job.splits, entropy, n_rounds=n_rounds, goes_on=True)
            vectors[i] = [fit.vectors for fit in fits]
        return vectors

    def vectors_without_part(
        self, trainer: FoldTrainer, i: int, vectors: np.ndarray, parts: np.ndarray, part: int
    ) -> np.ndarray:
        vectors = vectors.copy()
        splits = [
            Split(_rows((parts != part) & (parts != other)), _rows(parts == other))
            for other in np.unique(parts[parts != part])
        ]
        entropy = trainer.seeds.entropy_for(Purpose.FIGURES, 2, i, part)
        fits = self.boost(trainer, splits, entropy, goes_on=True)
        for split, fit in zip(splits, fits, strict=True):
            vectors[split.held_out_rows()] = fit.vectors
        rows = _rows(parts == part)
        own = Split(_rows(parts != part), rows)
        n_rounds = fits[0].model.rounds
        (fit,) = self.boost(trainer, [own], entropy, n_rounds=n_rounds, goes_on=True)
        vectors[rows] = fit.vectors
        return vectors

    @classmethod
    def refit(
        cls, members: WithModels, trainer: FoldTrainer, layer_input: LayerInput, number: int
    ) -> dict[int, list[Any]]:
        if not _n_refitted_boosting(trainer):
            return {}
        return {
            i: member._refitted(trainer, models[0], i) for i, (member, models) in members.items()
        }

    def _refitted(
        self, trainer: FoldTrainer, model_of_fold: BoostedModel, i: int
    ) -> list[BoostedModel]:
        """Models of boosted trees of all samples, with different seeds."""
        entropy = trainer.seeds.entropy_for(Purpose.REFITTED_ESTIMATORS, i)
        n_rounds = model_of_fold.rounds
        seeds: list[tuple[int, ...]] = [entropy]
        if not trainer.is_in_time_order:
            n_most = most_rounds(self.model, any_held_out=True)
            if self.role is not None:
                n_most *= MOST_TIMES
            n_rounds = [min(round(_ROUNDS_FACTOR * n), n_most) for n in n_rounds]
            seeds = [(*entropy, number) for number in range(_n_refitted_boosting(trainer))]
        # The number of rounds is known, so that the rows held out do not matter.
        split = Split(trainer.all_rows, trainer.folds[0][1])
        return [
            self.boost(trainer, [split], seed, n_rounds=n_rounds, goes_on=True)[0].model
            for seed in seeds
        ]

    def refit_seconds(self, trainer: FoldTrainer, seconds: float) -> float:
        n_models = _ROUNDS_FACTOR * _n_refitted_boosting(trainer)
        return n_models * _seconds_of_fold(trainer, seconds)

    def _frozen(self, models: list[Any], trainer: LayerTrainer) -> FittedMember:
        return BoostedFolds(
            models,
            trainer.task.n_columns,
            is_rounded=False,
        )


@dataclass(frozen=True)
class EstimatorMember(Member):
    """An estimator that is fitted to numbers or to a data frame.

    It is a model of this package that is a member by its name, or an estimator of the user.
    """

    is_external: bool = True  # whether it is an estimator of the user
    # Whether its vectors are multiples of `GRAIN`, as in cascades.
    is_rounded: bool = False

    reads_numbers: ClassVar[bool] = True
    adapts_to_time: ClassVar[bool] = False

    @property
    def is_plain(self) -> bool:
        return is_serializable(self.model)

    @property
    def takes_frames(self) -> bool:
        return self.is_external

    def check(self, trainer: FoldTrainer) -> None:
        if trainer.weights.row is not None:
            check_takes_weights("members", self.name, self.model)

    def fit(
        self, trainer: FoldTrainer, splits: Sequence[Split], entropy: Sequence[int]
    ) -> list[EstimatorFit]:
        """Fit clones on splits of the rows, and predict the held-out rows."""
        frames = trainer.frames if self.is_external else None
        clock = trainer.clock
        n_at_once = len(splits)
        if clock.whole:
            n_at_once = job_count(trainer.n_jobs, len(splits), require=None)
        fits: list[EstimatorFit] = []
        for first in range(0, len(splits), n_at_once):
            if clock.whole and clock.left < 0:
                raise TimeIsUp
            fits += trainer.fit_estimator(
                self.model,
                splits[first : first + n_at_once],
                (*entropy, first) if first else entropy,
                name=self.name,
                frames=frames,
            )
        return fits

    @classmethod
    def train_batch(
        cls, batch: Mapping[int, Self], trainer: FoldTrainer, job: FirstLayerJob
    ) -> dict[int, TrainedMember]:
        return {i: member._train(i, trainer, job) for i, member in batch.items()}

    def _train(self, i: int, trainer: FoldTrainer, job: FirstLayerJob) -> TrainedMember:
        """The first fold chooses the options of a kernel for the others."""
        seeds = trainer.seeds
        splits = job.splits
        trained = None
        member = self
        if job.first == 0:
            fits = self.fit(trainer, splits[:1], seeds.entropy_for(Purpose.ESTIMATORS, i))
            model, _ = fits[0]
            if isinstance(model, KernelRidge | KernelLogisticClassifier):
                member = self.with_chosen(model.chosen())
            trained = _from_fits(trainer, fits, splits[:1], keep_models=job.keep_models)
            splits = splits[1:]
        if splits:
            fits = member.fit(trainer, splits, seeds.entropy_for(Purpose.ESTIMATORS, i, 1))
            rest = _from_fits(trainer, fits, splits, keep_models=job.keep_models)
            trained = rest if trained is None else trained.joined(rest)
        assert trained is not None
        trained.chosen = member.chosen
        return trained

    @classmethod
    def train_in_cascade(
        cls,
        members: Mapping[int, Self],
        trainer: LayerTrainer,
        job: LayerJob,
        aggregator: OutOfFoldAggregator,
    ) -> dict[int, TrainedMember]:
        trained = {}
        for i, member in members.items():
            fits = trainer.fit_estimator(
                member.model,
                job.splits,
                (*job.entropy, i),
                name=member.name,
                layer_input=job.layer_input,
            )
            vectors = trainer.out_of_fold_vectors(
                [fold_vectors for _, fold_vectors in fits], job.splits, aggregator
            )
            trained[i] = TrainedMember([model for model, _ in fits], vectors)
        return trained

    @classmethod
    def held_out_vectors(
        cls, members: WithModels, trainer: FoldTrainer, job: FurtherJob
    ) -> dict[int, list[np.ndarray]]:
        vectors = {}
        for i, (member, _) in members.items():
            fits = member.fit(trainer, job.splits, job.entropy_of(i))
            vectors[i] = [fold_vectors for _, fold_vectors in fits]
        return vectors

    @classmethod
    def refit(
        cls, members: WithModels, trainer: FoldTrainer, layer_input: LayerInput, number: int
    ) -> dict[int, list[Any]]:
        models = {}
        split = Split(trainer.all_rows, None)
        for i, (member, _) in members.items():
            entropy = trainer.seeds.entropy_for(Purpose.REFITTED_ESTIMATORS, i)
            models[i] = [model for model, _ in member.fit(trainer, [split], entropy)]
        return models

    def expected_seconds(self, trainer: FoldTrainer, n_splits: int, first_fold: float) -> float:
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

    def refit_seconds(self, trainer: FoldTrainer, seconds: float) -> float:
        return _seconds_of_fold(trainer, seconds)

    def _frozen(self, models: list[Any], trainer: LayerTrainer) -> FittedMember:
        frames = trainer.frames if self.is_external else None
        return ExternalMember(
            models,
            trainer.task.n_columns,
            is_rounded=self.is_rounded,
            frame_columns=None if frames is None else frames.columns,
        )


def by_kind(members: Mapping[int, Member]) -> list[tuple[type[Member], dict[int, Any]]]:
    """Members by their kinds: forests, then boosted trees, then estimators, the slowest ones."""
    groups = [
        (kind, {i: member for i, member in members.items() if type(member) is kind})
        for kind in (ForestMember, BoostedMember, EstimatorMember)
    ]
    return [(kind, group) for kind, group in groups if group]


def members_of_later_layers(members: Iterable[Member]) -> list[ForestMember]:
    """The members that later layers can have."""
    later_members = (member.for_later_layers() for member in members)
    return [member for member in later_members if member is not None]


def _from_fits(
    trainer: FoldTrainer,
    fits: Sequence[EstimatorFit],
    splits: Sequence[Split],
    *,
    keep_models: bool,
) -> TrainedMember:
    vectors = trainer.out_of_fold_vectors(
        [fold_vectors for _, fold_vectors in fits], splits, trainer.mean_of_folds
    )
    return TrainedMember([model for model, _ in fits] if keep_models else [], vectors)


def _rows(is_chosen: np.ndarray) -> np.ndarray:
    return np.flatnonzero(is_chosen).astype(np.int32)


def _seconds_of_fold(trainer: FoldTrainer, seconds: float) -> float:
    return seconds / max(1, len(trainer.folds) - 1)


def _n_refitted_boosting(trainer: FoldTrainer) -> int:
    """Number of models as which boosted trees are fitted again on all samples."""
    # In time order, the first fold has seen nearly all samples, and one model replaces its model.
    if trainer.is_in_time_order:
        return 1
    n_models = trainer.task.n_refitted_boosting
    return min(n_models, 1) if is_large_table(trainer.task) else n_models


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + "s" * (n != 1)
