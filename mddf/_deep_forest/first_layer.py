"""The first layer of a deep forest: members on the folds, or on one if they lose the race."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._deep_forest.fit_report import FitLog
from mddf._deep_forest.fold_trainer import OutOfFoldLayer, Training, leaderboard_row, parts_of
from mddf._deep_forest.member_pruning import goes_on, is_enough, race
from mddf._members.external_training import n_fits
from mddf._members.kernel import MOST_ROWS, KernelRidge
from mddf._members.spec import MemberSpec
from mddf._training.layer_trainer import LayerInput, MeanOfFolds, Split, Trained

# Shares of what is left of the time for forests, boosted trees, and a member that is fitted by
# itself, on one fold if it takes as long as the slowest ones do.
_SHARE_OF_FORESTS, _SHARE_OF_BOOSTING, _SHARE_OF_ONE = 0.5, 0.7, 0.4
_SHARE_OF_RACE = 0.2
# Kernels and networks take about so long for each row, and in tables of many columns for each
# number as they encode it, up to so many.
_SECONDS_OF_A_ROW, _SECONDS_OF_A_CELL, _MOST_CELLS = 3e-4, 1.5e-6, 2**21


def fit_on_folds(
    members: list[MemberSpec],
    training: Training,
    entropy: tuple[int, ...],
    log: FitLog,
    tried: Mapping[int, tuple[np.ndarray, bool]],
    *,
    keep: bool,
) -> OutOfFoldLayer:
    """Fit the members of the first layer: all on one fold, those with a weight there on all.

    Parameters
    ----------
    members : list of MemberSpec
    training : Training
    entropy : tuple of int
    log : FitLog
    tried : dict of int to (ndarray, bool)
        Of boosted trees that were tried on the first fold, by their numbers: what they predict of
        the rows held out, and whether more rounds would not be better: else they go on. Other
        boosted trees do not race: their folds grow side by side.
    keep : bool
        Whether the models of folds are those that predict; boosting's are kept in any case.
    """
    fits = _Fits(members, training, entropy, keep)
    lost = _losers(fits, tried, log)
    left = [i for i in range(len(members)) if i not in lost]
    _fit_left(fits, left)
    for i, decision in sorted(fits.cuts().items()):
        log.cut(members[i].name, decision, len(training.order))
    return _on_folds(
        fits, [i for i in left if i not in fits.no_time], sorted({*lost, *fits.no_time})
    )


def _fit_left(fits: _Fits, left: Sequence[int]) -> None:
    """Fit the members that are left on all folds, or on the others than that of the race.

    Forests first, then boosted trees, then what may take longest; of these, a fold by itself shows
    whether the time suffices for more.
    """
    members, clock, raced = fits.members, fits.training.clock, set(fits.found)
    fits.keep_to_time([i for i in left if i in raced and members[i].is_forest])
    others = [i for i in left if i not in raced]
    with clock.cut(_SHARE_OF_FORESTS):
        fits.fit([i for i in left if i in raced and i not in fits.no_time], fits.parts[1:], 1)
        fits.fit([i for i in others if members[i].is_forest], fits.parts, 0)
    for i in others:
        if members[i].is_boosted:
            fits.boost(i)
    alone = [i for i in others if members[i].needs_numbers]
    if clock.runs:
        fits.fit(alone, fits.parts[:1], 0)
        fits.fit([i for i in alone if i in fits.found], fits.parts[1:], 1)
    else:
        fits.fit(alone, fits.parts, 0)


def _on_folds(fits: _Fits, left: Sequence[int], lost: Sequence[int]) -> OutOfFoldLayer:
    """What was fitted, of members that are left, and what the leaderboard shows of the others."""
    members, found, seconds = fits.members, fits.found, fits.seconds
    vectors = np.stack([found[i].vectors for i in left])
    unknown = dict.fromkeys(fits.training.task.figures(vectors[0]), np.nan)
    forests = [found[i].models[0] for i in lost if members[i].is_forest]
    return OutOfFoldLayer(
        [members[i] for i in left],
        vectors,
        [found[i].models for i in left],
        np.array([seconds[i] for i in left]),
        [leaderboard_row(0, members[i].name, unknown, seconds.get(i, 0.0)) for i in lost],
        lost_importances=tuple(grown.importances for grown in forests),
    )


def _losers(fits: _Fits, tried: Mapping[int, tuple[np.ndarray, bool]], log: FitLog) -> list[int]:
    """Members that are fitted on the first fold, where enough is held out, and left out then."""
    members, training, held_out = fits.members, fits.training, fits.parts[0].held_out
    racing = [i for i, member in enumerate(members) if i in tried or not member.is_boosted]
    if training.clock.runs:  # it may not suffice for others
        racing = [i for i in racing if not members[i].needs_numbers]
    if len(racing) < 2 or not is_enough(len(training.order), len(held_out)):
        return []
    with training.clock.cut(_SHARE_OF_RACE):
        fits.fit([i for i in racing if i not in tried], fits.parts[:1], 0)
    forecasts = [tried[i][0] if i in tried else fits.found[i].vectors[held_out] for i in racing]
    weights, losses = race(training.task.of_rows(held_out), forecasts, (*fits.entropy, 12))
    lost, found = [], []
    for i, loss, weight, goes in zip(racing, losses, weights, goes_on(weights), strict=True):
        decision = f"weight {weight:.2f}"
        if not goes and (i not in tried or tried[i][1]):
            lost.append(i)
            decision += ", left out"
        found.append((members[i].name, loss, decision))
    log.note("race", "", found, len(held_out), 1)
    return lost


def _seconds_of_one(member: MemberSpec, training: Training) -> float:
    """About what a member that is fitted by itself takes on a fold, if it is a slow one."""
    bins = training.table.bins.columns(0, training.n_raw)
    n_encoded = int(np.where(bins.categorical, np.diff(bins.start), 1).sum())
    n_rows = min(len(training.order), MOST_ROWS)
    n_cells = min(n_rows * n_encoded, _MOST_CELLS)
    return n_fits(member.model, training.task.widths) * max(
        _SECONDS_OF_A_ROW * n_rows, _SECONDS_OF_A_CELL * n_cells
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + "s" * (n != 1)


class _Fits:
    """Members on folds, by their numbers: models and vectors so far, and the seconds they took."""

    def __init__(
        self, members: list[MemberSpec], training: Training, entropy: tuple[int, ...], keep: bool
    ) -> None:
        self.members, self.training, self.entropy, self.keep = [*members], training, entropy, keep
        self.parts = parts_of(training.folds, keep)
        self.folding = MeanOfFolds.of(training.task, training.folds)
        self.found: dict[int, Trained] = {}
        self.seconds: dict[int, float] = {}
        self.no_time: set[int] = set()  # members that were left out for it
        self._fewer: dict[int, str] = {}  # how many rounds of others it left

    def fit(self, numbers: Iterable[int], parts: Sequence[Split], first: int) -> None:
        """Fit all but boosted trees on parts, which follow `first` others."""
        if not parts:
            return
        numbers = list(numbers)
        self._grow([i for i in numbers if self.members[i].is_forest], parts, first)
        for i in numbers:
            if not self.members[i].is_forest and self._has_time(i, parts, first):
                start = perf_counter()
                self._fit(i, parts, first)
                self._took(i, perf_counter() - start)

    def keep_to_time(self, forests: list[int]) -> None:
        """Leave out all but the first of these forests, if the time does not suffice for all."""
        seconds = sum(self.seconds[i] for i in forests) * len(self.parts)
        if not self.training.clock.allows(seconds, _SHARE_OF_FORESTS):
            self.no_time.update(forests[1:])

    def _has_time(self, i: int, parts: Sequence[Split], first: int) -> bool:
        """Whether a member that is fitted by itself fits into the time that is left."""
        clock = self.training.clock
        if not clock.runs or all(member.needs_numbers for member in self.members):
            return True
        seconds = _seconds_of_one(self.members[i], self.training) * clock.pace
        if first:  # one fold is known; a fit of all rows may follow
            seconds = self.seconds[i] * (len(parts) + 2)
        if not clock.allows(seconds, _SHARE_OF_ONE):
            self.no_time.add(i)
        return i not in self.no_time

    def _grow(self, numbers: list[int], parts: Sequence[Split], first: int) -> None:
        """Forests, which grow together and share their seconds."""
        start = perf_counter()
        found = self.training.train_forests(
            {i: self.members[i] for i in numbers},
            LayerInput(self.training.raw_columns),
            parts,
            (*self.entropy, 0, first),
            "layer 1",
            self.folding,
            importances=True,
        )
        for i, trained in found.items():
            self._add(i, trained)
            self._took(i, (perf_counter() - start) / len(numbers))

    def _fit(self, i: int, parts: Sequence[Split], first: int) -> None:
        """A member that is fitted by itself: the first fold chooses its kernel for the others."""
        member, entropy = self.members[i], (*self.entropy, 5, i)
        if first == 0:
            fitted = self._fitted(member, parts[:1], entropy)
            if isinstance(fitted[0][0], KernelRidge):
                self.members[i] = member = member.with_chosen(fitted[0][0].chosen())
            self._join(i, fitted, parts[:1])
            parts = parts[1:]
        if parts:
            self._join(i, self._fitted(member, parts, (*entropy, 1)), parts)

    def _fitted(
        self, member: MemberSpec, parts: Sequence[Split], entropy: Sequence[int]
    ) -> list[Any]:
        return self.training.fit_member(member, parts, entropy)

    def boost(self, i: int) -> None:
        """Boosted trees on all folds."""
        start, training = perf_counter(), self.training
        member, entropy = self.members[i], (*self.entropy, 5, i)
        parts, folding = self.parts, self.folding
        if member.kind is not None and training.boosting_folds is not None:
            parts = parts_of(training.boosting_folds)
            folding = MeanOfFolds.of(training.task, training.boosting_folds)
        share, must = _SHARE_OF_BOOSTING, not self.found
        end = training.clock.until(share)
        try:
            fitted = training.boost(member, parts, entropy, share=share, must=must)
        except TimeIsUp:
            self.no_time.add(i)
            return
        if monotonic() > end:
            self._fewer[i] = _count(max(fitted[0][0].rounds, default=0), "round")
        models = [model for model, _ in fitted]
        self._add(i, Trained(models, training.join(fitted, parts, folding)))
        self._took(i, perf_counter() - start)

    def cuts(self) -> dict[int, str]:
        """What the limit of time ended or left out, of members by their numbers."""
        cuts = self._fewer | dict.fromkeys(self.no_time, "left out")
        for i, trained in self.found.items() if self.training.clock.runs else ():
            if self.members[i].is_forest and i not in cuts:
                n_trees = min(sum(t.n_trees for t in grown.trees) for grown in trained.models)
                if n_trees < self.members[i].model.n_estimators:
                    cuts[i] = _count(n_trees, "tree")
        return cuts

    def _join(self, i: int, fitted: Sequence[Any], parts: Sequence[Split]) -> None:
        models = [model for model, _ in fitted] if self.keep else []
        self._add(i, Trained(models, self.training.join(fitted, parts, self.folding)))

    def _add(self, i: int, trained: Trained) -> None:
        if i in self.found:
            before = self.found[i]
            trained = Trained(before.models + trained.models, before.vectors + trained.vectors)
        self.found[i] = trained

    def _took(self, i: int, seconds: float) -> None:
        self.seconds[i] = self.seconds.get(i, 0.0) + seconds
