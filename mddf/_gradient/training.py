"""Growing boosted trees in the kernel: one model, or those of several folds side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.parallel import (
    Task,
    TimeIsUp,
    from_threads,
    job_count,
    progress_bar,
    stopped_on_error,
)
from mddf._binning.binned_table import BinnedTable
from mddf._core import BoostOptions, Cancel
from mddf._gradient.dataset import Rows
from mddf._gradient.target_encoding import Encoding, TargetStatistics
from mddf._gradient.trees import BoostedTrees

# Rounds that are grown before a bar is moved.
_STEP = 10
# The same of several models that are to have the same number of rounds.
_STEP_OF_FOLDS = 25
# Of a copy of a training row, on a fast processor.
_SECONDS_OF_A_STATISTIC = 1e-7
# Cells of the table that are worth a thread.
_CELLS_OF_A_THREAD = 2**16
# What splits have.
_KINDS = {
    "column": np.int32,
    "shift": np.uint8,
    "threshold": np.uint8,
    "set": np.int32,
    "left": np.int32,
    "right": np.int32,
    "gain": float,
}


@dataclass(frozen=True)
class Stopping:
    """When boosting stops before its last round.

    Attributes
    ----------
    patience : int
        After so many rounds without a better score; 0 for never.
    tol : float
        By how much a score must be better.
    score : callable or None
        From raw predictions of the rows held out to a score, larger if better; None for the loss,
        which the kernel knows.
    """

    patience: int = 0
    tol: float = 0.0
    score: Callable[[np.ndarray], float] | None = None


@dataclass(frozen=True)
class Boosted:
    """What has been grown.

    Attributes
    ----------
    trees : BoostedTrees
        Up to the best round, if there are scores of rows held out; else all.
    scores : ndarray
        Of the rows held out, before the first round and after each one: minus the loss, or by
        `Stopping.score`. Empty without such rows.
    train_scores : ndarray
        Minus the loss of the training rows; empty if they are not watched.
    raw : ndarray of shape (n_held_out, n_scores)
        Raw predictions of the rows held out, after the best round.
    statistics : TargetStatistics or None
        Of the training rows of a fold.
    """

    trees: BoostedTrees
    scores: np.ndarray
    train_scores: np.ndarray
    raw: np.ndarray
    statistics: TargetStatistics | None = None

    @classmethod
    def nothing(cls, n_columns: int, symmetric: bool) -> Boosted:
        """No trees, where all is known before."""
        none = {name: np.zeros(0, kind) for name, kind in _KINDS.items()}
        none |= {"first_split": np.zeros(1, np.int64), "first_leaf": np.zeros(1, np.int64)}
        none |= {
            "sets": np.zeros((0, 4), np.uint64),
            "values": np.zeros((0, 1)),
            "weight": np.zeros(0),
        }
        trees = BoostedTrees(none, symmetric, n_columns, np.zeros(1))
        return cls(trees, np.zeros(0), np.zeros(0), np.zeros((0, 1)))


def boost(
    table: BinnedTable,
    y: np.ndarray,
    weights: np.ndarray | None,
    train: np.ndarray,
    held_out: np.ndarray,
    options: BoostOptions,
    seeds: np.ndarray,
    *,
    stopping: Stopping | None = None,
    start: np.ndarray | None = None,
    watch_training: bool = False,
    keys: np.ndarray | None = None,
    shown: str | None = None,
    n_jobs: int | None = None,
) -> Boosted:
    """Boost on some rows of a table, in threads if there are many.

    Parameters
    ----------
    table : BinnedTable
    y : ndarray of float64 of shape (n_rows,)
        Numbers or classes, of all rows of the table.
    weights : ndarray of float64 of shape (n_rows,) or None
        Whole numbers make a row count as so many.
    train, held_out : ndarray of int32
        Rows; the former without weight 0.
    options : BoostOptions
    seeds : ndarray of uint64
        One for each round.
    stopping : Stopping or None, default=None
        None stops never, but keeps the best round, too.
    start : ndarray of shape (n_rows, n_scores), default=None
        Raw predictions to go on from.
    watch_training : bool, default=False
        Whether scores of the training rows are wanted.
    keys : ndarray of uint64 of shape (n_rows,), default=None
        Rows of the same key are drawn together; None draws rows by where they stand.
    shown : str, default=None
        What a progress bar says; None shows none.
    n_jobs : int, default=None
        Number of threads; does not change the result.

    Returns
    -------
    Boosted
    """
    given = (table, y, weights, train, held_out, options, seeds)
    named: dict[str, Any] = {
        "stopping": stopping or Stopping(),
        "start": start,
        "watch_training": watch_training,
        "keys": keys,
        "shown": shown,
    }
    n_cells = len(train) * table.bins.n_columns
    n_threads = job_count(n_jobs, n_cells // _CELLS_OF_A_THREAD)
    with stopped_on_error() as cancel:
        if n_threads == 1:
            return _boost(*given, **named, team=None, cancel=cancel)
        team = _core.BoostTeam(n_threads)
        tasks: list[Task] = [(_boost, given, {**named, "team": team, "cancel": cancel})]
        tasks += [(team.help, (cancel,), {})] * (n_threads - 1)
        return next(iter(from_threads(tasks, n_threads, cancel)))


def _boost(
    table: BinnedTable,
    y: Any,
    weights: np.ndarray | None,
    train: np.ndarray,
    held_out: np.ndarray,
    options: Any,
    seeds: np.ndarray,
    *,
    stopping: Any,
    start: Any,
    watch_training: Any,
    keys: Any,
    shown: Any,
    team: Any,
    cancel: Cancel,
) -> Boosted:
    booster = _core.GradientBooster(
        table.cells, y, weights, train, held_out, options, start, cancel, keys
    )
    n_columns = table.bins.n_columns
    run = _Run(booster, options.symmetric, n_columns, stopping, watch_training, team, cancel)
    shown_bar = progress_bar(len(seeds), shown or "", "tree", shown=shown is not None)
    with closing(team) if team else nullcontext(), shown_bar as bar:
        if stopping.score is None or not len(held_out):
            steps = _steps(len(seeds), len(seeds) if shown is None else _STEP)
            return run.by_loss(seeds, steps, bar, len(held_out) > 0)
        return run.by_score(seeds, bar)


def _steps(n: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(first + size, n)) for first in range(0, n, max(1, size))]


@dataclass(frozen=True)
class _Run:
    booster: _core.GradientBooster
    symmetric: bool
    n_columns: int
    stopping: Stopping
    watch_training: bool
    team: _core.BoostTeam | None
    cancel: Cancel

    def trees(self) -> BoostedTrees:
        """Those that there are."""
        booster = self.booster
        return BoostedTrees(booster.trees(), self.symmetric, self.n_columns, booster.start)

    def grow(self, seeds: np.ndarray, patience: int) -> bool:
        return self.booster.grow(
            seeds, patience, self.stopping.tol, self.watch_training, self.team, self.cancel
        )

    def by_loss(
        self, seeds: np.ndarray, steps: list[tuple[int, int]], bar: Any, any_held_out: bool
    ) -> Boosted:
        """The kernel looks at the loss."""
        patience = self.stopping.patience if any_held_out else 0
        for first, last in steps:
            stopped = self.grow(seeds[first:last], patience)
            bar.update(last - first)
            if stopped:
                break
        trees = self.trees()
        if any_held_out:
            trees = trees.first(self.booster.best_round)
        losses = self.booster.losses(), self.booster.train_losses()
        return Boosted(trees, -losses[0], -losses[1], self.booster.raw())

    def by_score(self, seeds: np.ndarray, bar: Any) -> Boosted:
        """A function scores raw predictions after each tree."""
        stopping, raw = self.stopping, self.booster.raw(best=False)
        assert stopping.score is not None
        scores, best, best_raw = [stopping.score(raw)], 0, raw
        for n_grown in range(1, len(seeds) + 1):
            self.grow(seeds[n_grown - 1 : n_grown], 0)
            bar.update(1)
            raw = self.booster.raw(best=False)
            scores.append(stopping.score(raw))
            if scores[-1] > scores[best] + stopping.tol:
                best, best_raw = n_grown, raw
            if stopping.patience and n_grown - best >= stopping.patience:
                break
        of_training = -self.booster.train_losses()
        return Boosted(self.trees().first(best), np.array(scores), of_training, best_raw)


def _steps_until(n: int, patience: int, until: float) -> Iterator[tuple[int, int]]:
    """Rounds of several models, some at a time; fewer than `n` where time ends.

    A step is to take half of the time that is left at most, if rounds take as long as so far.
    """
    if until == np.inf:
        yield from _steps(n, _STEP_OF_FOLDS if patience else n)
        return
    start, first, size = monotonic(), 0, 1
    while first < n:
        yield first, min(first + size, n)
        first = min(first + size, n)
        now = monotonic()
        if now >= until:
            return
        fitting = int((until - now) / 2 / max(1e-9, (now - start) / first))
        size = max(1, min(2 * size, _STEP_OF_FOLDS, fitting))


def _seconds_of_statistics(encoding: Encoding | None, folds: Sequence[Sequence[Any]]) -> float:
    """About what they take of a processor, at least."""
    if encoding is None:
        return 0.0
    n_copies = encoding.n_copies * sum(len(train) for train, _ in folds)
    return _SECONDS_OF_A_STATISTIC * n_copies * encoding.n_columns


def boost_folds(
    table: BinnedTable,
    y: np.ndarray,
    weights: np.ndarray | None,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    options: BoostOptions,
    seeds: np.ndarray,
    *,
    patience: int = 0,
    keys: np.ndarray | None = None,
    encoding: Encoding | None = None,
    until: float = np.inf,
    start_by: float = np.inf,
    whole: bool = False,
    n_jobs: int | None = None,
) -> list[Boosted]:
    """The models of a cross-validation, grown side by side on one table, of equally many rounds.

    Stopping each by the rows that it then predicts would flatter them: all have the number of
    rounds with the least loss over the rows held out of all folds.

    Parameters
    ----------
    folds : sequence of (train, held out)
        Rows of the table.
    seeds : ndarray of uint64 of shape (n_rounds,)
        All models have the same.
    patience : int, default=0
        Stop after so many rounds that did not lower the loss; 0 grows and keeps all rounds.
    encoding : Encoding or None, default=None
        Of columns of many categories: each model gets statistics of its training rows, and the
        options are those of a table with copies and columns of statistics.
    until : float, default=inf
        When to stop in any case, as `time.monotonic` has it, after a round at least.
    start_by : float, default=inf
        When all models are to have their rows and statistics: `TimeIsUp` is raised where they are
        not going to.
    whole : bool, default=False
        Whether fewer rounds than all are of no use then: `TimeIsUp` is raised.
    n_jobs : int, default=None
        Number of threads; does not change the result.

    See :func:`boost` for the others, and for what each model comes as: with `compact` trees.
    """
    rows = [tuple(np.asarray(part, np.int32) for part in fold) for fold in folds]
    held_out = [of_fold for _, of_fold in rows]
    shares = np.array([len(r) if weights is None else weights[r].sum() for r in held_out])
    shares = shares / (shares.sum() or 1.0)
    n_threads, losses, best = job_count(n_jobs, len(rows)), np.zeros(0), len(seeds)
    with stopped_on_error() as cancel:

        def each(function: Callable[..., Any], *given: Iterable[Any]) -> list[Any]:
            tasks: list[Task] = [(function, one, {}) for one in zip(*given, strict=True)]
            return list(from_threads(tasks, n_threads, cancel))

        def start(train: np.ndarray, of_fold: np.ndarray) -> Any:
            rows, statistics = Rows(table, y, weights, train, of_fold), None
            of_rows = keys
            if encoding is not None:
                rows, statistics = rows.ordered(encoding)
                of_rows = None if keys is None else rows.keys
            codes = rows.table.codes[rows.held_out]
            booster = _core.GradientBooster(
                *(rows.table.cells, rows.y, rows.weights, rows.train, rows.held_out),
                *(options, None, cancel, of_rows),
            )
            return booster, codes, statistics

        n_at_once = len(rows) if start_by == np.inf else n_threads
        if monotonic() + _seconds_of_statistics(encoding, rows) / n_threads > start_by:
            raise TimeIsUp
        started, begin = [], monotonic()
        for first in range(0, len(rows), n_at_once):
            some = rows[first : first + n_at_once]
            started += each(start, *zip(*some, strict=True))
            now = monotonic()
            if now + (now - begin) * (len(rows) / len(started) - 1) > start_by:
                raise TimeIsUp
        boosters = [booster for booster, *_ in started]
        for first, last in _steps_until(len(seeds), patience, until):
            given = (seeds[first:last], 0, 0.0, False, None, cancel)
            each(lambda booster, given=given: booster.grow(*given), boosters)
            best = last
            if patience:
                losses = shares @ np.stack([booster.losses() for booster in boosters])
                best = int(losses.argmin())
                if last - best >= patience:
                    break
            if whole and last < len(seeds) and monotonic() > until:
                raise TimeIsUp

        def finish(booster: _core.GradientBooster, codes: np.ndarray, statistics: Any) -> Any:
            n_columns = table.bins.n_columns + (statistics.n_columns if statistics else 0)
            trees = BoostedTrees(booster.trees(), options.symmetric, n_columns, booster.start)
            trees = trees.first(best).compact()
            losses = -booster.losses()
            return Boosted(trees, losses, np.zeros(0), trees.raw(codes, 1), statistics)

        return each(finish, *zip(*started, strict=True))
