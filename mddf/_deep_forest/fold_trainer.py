"""What the members of a deep forest are trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from mddf._base.deadline import Clock, TimeIsUp
from mddf._base.parallel import job_count
from mddf._binning.binned_table import BinnedTable
from mddf._binning.bins import Bins, apply_bins, find_bins
from mddf._binning.high_cardinality import CategoryLevels
from mddf._gradient.options import warn_of_ignored
from mddf._gradient.target_encoding import groups_of
from mddf._gradient.weights import boosting_weights
from mddf._members.boosted import BoostedModel, BoostingData, boost_parts, boosting_options
from mddf._members.dataframes import FrameMaker
from mddf._members.external import blaming
from mddf._members.screening import best_columns, is_wide, split_gains
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import Folds, make_folds
from mddf._resampling.sampling import row_hashes
from mddf._training.layer_trainer import LayerTrainer, Split
from mddf._training.tasks import RegressionTask
from mddf._trees.grower import GrowthResult

# Of the time for boosted trees, that in which they are to start.
_SHARE_TO_START = 0.8
# Of the margins' loss: those of `MDDFClassifier`.
TARGET_MARGIN, MU = 0.9, 0.1
# Named boosted trees of small tables have so many folds of their own; see `Preset`.
_BOOSTING_FOLDS = 10
# A table is small up to so many cells, times what a round of boosting costs.
_SMALL = 2**20
# Leaves of the forests that are tried; screening for all of them takes one sort of each column.
_SCREENED_LEAVES = (1, 2, 5)
# On which members of other packages are tried.
_FEW_ROWS = 40


@dataclass(frozen=True)
class Features:
    """Binned vectors that a layer adds to the table for the next one."""

    codes: np.ndarray  # (n_samples, n_new)
    bins: Bins


@dataclass(frozen=True, kw_only=True)
class Training(LayerTrainer):
    """The same as for other cascades, and the folds.

    Attributes
    ----------
    folds : list of (train, held out)
        Of the out-of-fold vectors.
    outer_folds : list of (train, held out)
        On which later layers are judged; see :mod:`mddf._deep_forest.nested_cv`.
    clock : Clock
        Without a limit by default.
    out_of_bag : bool, default=True
        Whether rows that a tree did not draw may judge it. Not where groups, a splitter or splits
        say what is held out together: others of a row's group may have been drawn. Nor in wide
        tables, whose columns are chosen by all rows that a forest trains on.
    units : ndarray of int of shape (n_samples,), default=None
        Rows of the same number, those of a group, tell nothing apart; None: each tells its own.
    levels : CategoryLevels or None, default=None
        Of the columns of many categories, for boosted trees.
    boosting_folds : list of (train, held_out) or None, default=None
        Of the named boosted trees, if they are others. The models of all are kept, so that more
        folds are more data for each, and more models.
    frames : FrameMaker or None, default=None
        Makes data frames for users' estimators.
    """

    folds: Folds
    outer_folds: Folds
    clock: Clock = field(default_factory=Clock)
    out_of_bag: bool = True
    units: np.ndarray | None = None
    levels: CategoryLevels | None = None
    boosting_folds: Folds | None = None
    frames: FrameMaker | None = None

    @cached_property
    def features(self) -> BinnedTable:
        """The columns of features alone."""
        table, n_raw = self.table, self.n_raw
        if table.bins.n_columns == n_raw:
            return table
        by_column = None if table.by_column is None else table.by_column[:n_raw]
        codes = np.ascontiguousarray(table.codes[:, :n_raw])
        return BinnedTable(table.bins.columns(0, n_raw), codes, by_column)

    @cached_property
    def keys(self) -> np.ndarray:
        """Of what rows hold, by which boosting draws them."""
        return row_hashes(self.features.codes, self.task.key)

    def check(self, members: Sequence[MemberSpec], entropy: tuple[int, ...]) -> None:
        """Refuse members that cannot be trained on these rows, before any work is done.

        What other packages refuse is only known by trying: few rows do. Where these are too few
        for a member, the first fold tells.
        """
        for number, member in enumerate(members):
            if member.is_external:
                self._try(member, (*entropy, 13, number))
            if member.is_boosted:
                warn_of_ignored(member.model)
                with blaming(member.name, "be fitted"):
                    for n_classes in sorted({n for _, n in self.task.outputs}):
                        boosting_options(member.model, self.features, n_classes)

    def _try(self, member: MemberSpec, entropy: tuple[int, ...]) -> None:
        train, held_out = self.folds[0]
        few = Split(_few(train, self.task.strata), held_out[:_FEW_ROWS])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that are few
            try:
                self.fit_member(member, [few], entropy)
                return
            except Exception:
                pass
        self.fit_member(member, parts_of(self.folds[:1]), entropy)

    @property
    def limits(self) -> dict[str, Any]:
        """See LayerTrainer."""
        return {"until": self.clock.end, "whole": self.clock.whole} if self.clock.runs else {}

    def fit_member(
        self, member: MemberSpec, parts: Sequence[Split], entropy: Sequence[int]
    ) -> list[tuple[Any, np.ndarray]]:
        """A member that is fitted by itself on parts of the rows, as `fit` gives it."""
        frames = self.frames if member.is_external else None
        n_at_once = len(parts)
        if self.clock.whole:
            n_at_once = job_count(self.n_jobs, len(parts), require=None)
        fitted = []
        for first in range(0, len(parts), n_at_once):
            if self.clock.whole and self.clock.left < 0:
                raise TimeIsUp
            some = parts[first : first + n_at_once]
            seeds = (*entropy, first) if first else entropy
            fitted += self.fit(member.model, some, seeds, member.name, frames=frames)
        return fitted

    def boost(
        self,
        member: MemberSpec,
        parts: Sequence[Any],
        entropy: Any,
        rounds: Sequence[int] | None = None,
        share: float = 1.0,
        *,
        must: bool = True,
    ) -> list[tuple[BoostedModel, np.ndarray]]:
        """Boosted trees on parts of the rows, and what they predict of those held out.

        Without `rounds`, those of the least loss over all parts. Fewer of them, if a share of
        the time that is left is over before; without `must`, `TimeIsUp` is raised where that
        does not suffice to start and to grow some.
        """
        rows = [(part[0], part[1]) for part in parts]
        weights = boosting_weights(self.weights.row, self.weights.sample)
        data = BoostingData(self.features, self.task, weights, self.keys, self.levels)
        limits: dict[str, Any] = {"until": self.clock.until(share), "whole": self.clock.whole}
        if self.clock.runs and not must:
            limits["start_by"] = self.clock.until(_SHARE_TO_START * share)
        limits["screens"] = member.kind is not None
        return boost_parts(member.model, data, rows, entropy, rounds, n_jobs=self.n_jobs, **limits)

    @property
    def raw_columns(self) -> np.ndarray:
        """Those of the features."""
        return np.arange(self.n_raw, dtype=np.int32)

    def bin_features(self, vectors: np.ndarray) -> Features:
        """What a layer adds, of shape (n_samples, n_new), as the table has it."""
        bins = find_bins(vectors, sample_weight=self.weights.row, n_jobs=self.n_jobs)
        return Features(apply_bins(vectors, bins, n_jobs=self.n_jobs), bins)

    def show(self, features: Features) -> np.ndarray:
        """Put the features of the layer before into the table; all its columns."""
        self.table.replace_codes(self.n_raw, features.codes, features.bins)
        return np.arange(self.n_raw + features.codes.shape[1], dtype=np.int32)

    def seen_columns(self, member: MemberSpec, columns: np.ndarray, train: Any) -> np.ndarray:
        """Columns that a forest sees: of wide tables, named regressors see those that split best.

        They look at all columns for each split, which takes long where these outnumber the rows.
        """
        named_regressor = member.kind is not None and isinstance(self.task, RegressionTask)
        if not (named_regressor and is_wide(len(train), len(columns))):
            return columns
        leaf = member.model.min_samples_leaf
        gains = self._feature_gains(train, leaf)
        added = columns[self.n_raw :]
        if len(added):
            gains = np.append(gains, *self._gains(train, added, [leaf]))
        return columns[best_columns(gains, len(train))]

    def _feature_gains(self, train: np.ndarray, leaf: int) -> np.ndarray:
        """What splits of the features gain; sorting their columns serves all forests of a fold."""
        known = self._known_gains.setdefault(train.tobytes(), {})
        if leaf not in known:
            leaves = sorted({leaf, *_SCREENED_LEAVES} - known.keys())
            known.update(zip(leaves, self._gains(train, self.raw_columns, leaves), strict=True))
        return known[leaf]

    def _gains(
        self, train: np.ndarray, columns: np.ndarray, leaves: Sequence[int]
    ) -> list[np.ndarray]:
        weight = None if self.weights.row is None else self.weights.row[train]
        codes = self.table.codes[train][:, columns]
        return split_gains(codes, self.task.target[train], weight, leaves)

    @cached_property
    def _known_gains(self) -> dict[bytes, dict[int, np.ndarray]]:
        """By the training rows of a fold, and by the rows that a leaf has at least."""
        return {}


def _few(rows: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Some rows from all over, two of each stratum at least if there are as many."""
    _, place, n_each = np.unique(strata[rows], return_inverse=True, return_counts=True)
    ends = np.cumsum(n_each)
    most = max(2, _FEW_ROWS // len(n_each))
    chosen = [
        np.unique(np.linspace(end - n, end - 1, min(n, most)).astype(int))
        for end, n in zip(ends.tolist(), n_each.tolist(), strict=True)
    ]
    return rows[np.argsort(place, kind="stable")[np.concatenate(chosen)]]


def parts_of(folds: Sequence[tuple[np.ndarray, Any]], keep: bool = False) -> list[Split]:
    """Folds as parts."""
    return [Split(train, held_out, keep) for train, held_out in folds]


@dataclass(frozen=True)
class OutOfFoldLayer:
    """The members that were fitted on all folds, with their predictions of the held-out rows.

    Attributes
    ----------
    members : list of MemberSpec
    vectors : ndarray of shape (n_members, n_samples, n_columns)
    models : list of list
        Of each member those of the folds, if they are kept; of a forest what grew there.
    seconds : ndarray of shape (n_members,)
    pruned : list of dict
        Rows of the leaderboard, of members that were left out after one fold.
    strength : float, default=0.0
        With which losses of margins decided what a later layer drew.
    lost_importances : tuple of ndarray
        Of the forests among those that were left out.
    """

    members: list[MemberSpec]
    vectors: np.ndarray
    models: list[Any]
    seconds: np.ndarray
    pruned: list[dict[str, Any]]
    strength: float = 0.0
    lost_importances: tuple[np.ndarray, ...] = ()

    def to_store(self) -> tuple[Any, ...]:
        """Names, what was chosen, arrays and plain models, for a checkpoint."""
        models = [
            [(of_fold.trees, of_fold.importances) for of_fold in of_folds]
            if member.is_forest
            else of_folds
            for member, of_folds in zip(self.members, self.models, strict=True)
        ]
        names = [(member.name, member.chosen) for member in self.members]
        rest = self.seconds, self.pruned, self.strength, list(self.lost_importances)
        return names, self.vectors, models, *rest

    @classmethod
    def from_stored(
        cls,
        members: list[MemberSpec],
        training: Training,
        names: list[tuple[str, dict[str, Any] | None]],
        vectors: np.ndarray,
        models: list[Any],
        seconds: np.ndarray,
        pruned: list[dict[str, Any]],
        strength: float,
        lost_importances: list[np.ndarray],
    ) -> OutOfFoldLayer:
        """What `to_store` gave, of some of these members."""
        by_name = {member.name: member for member in members}
        found = [by_name[name].with_chosen(chosen) for name, chosen in names]
        shape = len(found), len(training.order), training.task.n_columns
        if vectors.shape != shape or seconds.shape != shape[:1]:
            raise ValueError(f"its vectors must have shape {shape}")
        models = [
            [GrowthResult(trees, importances=importances) for trees, importances in of_folds]
            if member.is_forest
            else of_folds
            for member, of_folds in zip(found, models, strict=True)
        ]
        rest = seconds, pruned, strength, tuple(lost_importances)
        return cls(found, vectors, models, *rest)


def leaderboard_row(
    number: int, name: str, figures: dict[str, float], seconds: float
) -> dict[str, Any]:
    """A row of the leaderboard, of a member that has no weight yet."""
    unknown = {"weight": 0.0, "seconds": float(seconds), "bytes": 0}
    return {"layer": number + 1, "member": name} | figures | unknown


def is_small(training: Training) -> bool:
    """Whether boosting takes little: cells, statistics included, of which each class asks."""
    n_columns = training.n_raw
    if training.levels is not None:
        n_columns += len(groups_of(training.levels))
    cells = len(training.order) * n_columns
    return cells * training.task.numbers_of_a_round <= _SMALL


def boosting_folds(training: Training, entropy: tuple[int, ...], repeats: int) -> Folds | None:
    """Folds of the named boosted trees; None where they have those of the layer."""
    has_as_many = len(training.folds) >= repeats * _BOOSTING_FOLDS
    if has_as_many or not is_small(training):
        return None
    seeds = np.random.SeedSequence((*entropy, 15)).generate_state(repeats)
    strata = training.task.strata
    each = [make_folds(_BOOSTING_FOLDS, None, None, strata, int(seed)) for seed in seeds]
    return list(chain(*each))
