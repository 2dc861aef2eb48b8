"""Growing boosted trees in the kernel: one model, or the models of several folds together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from mddf import _core
from mddf._base.parallel import (
    Task,
    TimeIsUp,
    from_threads,
    job_count,
    progress_bar,
    stopped_on_error,
)
from mddf._base.progress import has_listener
from mddf._core import BoostOptions, Cancel
from mddf._gradient.custom_booster import CustomBooster
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import TargetKind
from mddf._gradient.rounds import Rounds
from mddf._gradient.target_statistics import Encoding, TargetStatistics
from mddf._gradient.trees import BoostedTrees, code_positions

# Rounds between two updates of a progress bar. Not tuned.
_PROGRESS_STEP = 10
# Rounds between two comparisons of the common loss of folds. The step does not change the result,
# because rounds after the best one are dropped. Not tuned.
_FOLDS_STEP = 25
# Seconds for one cell of target statistics on a fast processor: a lower bound. Folds are not
# started if even this bound exceeds the time that is left.
_SECONDS_PER_STATISTIC = 1e-7
# Fewest cells of the table for each thread. Not tuned.
_MIN_CELLS_PER_THREAD = 2**16

Fold = tuple[np.ndarray, np.ndarray]  # rows to train on, rows held out


@dataclass(frozen=True)
class Boosted:
    """Result of boosting."""

    trees: BoostedTrees  # up to the best round if rows are held out, else all
    # Held-out scores before the first round and after each round, larger if better: minus the
    # loss, or the values of the parameter `score`. Empty without held-out rows.
    scores: np.ndarray
    train_scores: np.ndarray  # minus the training loss; empty unless `watch_training`
    # (n_held_out, n_scores): raw predictions after the best round, with offsets.
    raw: np.ndarray
    statistics: TargetStatistics | None = None  # of the training rows of a fold
    # Absolute residual above which Huber's loss is linear, after the last round.
    large_residual: float = np.inf
    # `raw` after the best round of the other folds, which the held-out rows did not choose; None
    # stands for `raw`.
    blind_raw: np.ndarray | None = None


class _GrowingModel:
    """A model while it is grown."""

    def __init__(
        self,
        rows: BoostingRows,
        options: BoostOptions,
        cancel: Cancel,
        *,
        keys: np.ndarray | None,
        objective: TargetKind | None,
        start: np.ndarray | None = None,
        # Adds statistics of the training rows for columns with many categories.
        encoding: Encoding | None = None,
    ) -> None:
        self._statistics: TargetStatistics | None = None
        if encoding is not None:
            rows, self._statistics = rows.ordered(encoding)
            keys = None if keys is None else rows.draw_keys
        self._rows = rows
        bins = rows.table.bins
        self._symmetric = options.symmetric
        self._n_columns = bins.n_columns
        self._positions = code_positions(bins) if options.linear_leaves else None
        self.booster: _core.GradientBooster | CustomBooster
        if objective is not None:
            self.booster = CustomBooster(
                rows, options, objective, cancel, keys=keys, start=start, positions=self._positions
            )
            return
        self.booster = _core.GradientBooster(
            rows.table.cells,
            rows.y.ravel(),
            rows.weights,
            rows.train,
            rows.held_out,
            options=options,
            start=start,
            cancel=cancel,
            keys=keys,
            offset=rows.offset,
            communicator=rows.exchange,
            positions=self._positions,
        )

    def grow(self, rounds: Rounds, **options: Any) -> bool:
        """Grow a tree for each round; return whether patience has ended boosting."""
        return self.booster.grow(rounds.seeds, rates=rounds.rates, **options)

    def trees(self) -> BoostedTrees:
        arrays = self.booster.trees()
        if self._positions is not None:
            arrays["positions"] = self._positions
        return BoostedTrees(arrays, self._symmetric, self._n_columns, self.booster.start)

    def finish(self, n_trees: int, n_blind_trees: int) -> Boosted:
        """Keep the first trees of a fold's model; the blind ones only predict held-out rows."""
        all_trees = self.trees()
        trees = all_trees.first(n_trees).compact()
        codes = self._rows.table.codes_of(self._rows.held_out)
        blind_raw = None
        if n_blind_trees != n_trees:
            blind_raw = self._held_out_raw(all_trees.first(n_blind_trees).compact(), codes)
        return Boosted(
            trees,
            -self.booster.losses(),
            np.zeros(0),
            self._held_out_raw(trees, codes),
            self._statistics,
            blind_raw=blind_raw,
        )

    def _held_out_raw(self, trees: BoostedTrees, codes: np.ndarray) -> np.ndarray:
        raw = trees.raw(codes, 1)
        offset = self._rows.offset
        return raw if offset is None else raw + offset[self._rows.held_out]


def boost(
    rows: BoostingRows,
    options: BoostOptions,
    rounds: Rounds,
    *,
    patience: int = 0,
    tol: float = 0.0,
    score: Callable[[np.ndarray], float] | None = None,
    start: np.ndarray | None = None,
    large_residual: float = np.inf,
    watch_training: bool = False,
    keys: np.ndarray | None = None,
    objective: TargetKind | None = None,
    progress_label: str | None = None,
    n_jobs: int | None = None,
) -> Boosted:
    """Grow a model on the training rows, and keep the trees up to the best round.

    Boosting stops after `patience` rounds (0: never) without an improvement of the score by `tol`.
    `score` is a function from raw predictions of the held-out rows to a score, larger if better;
    None stands for the loss, which the kernel computes. `objective` is a target with a custom
    loss; None stands for the loss of the options. A fit goes on from the raw predictions `start`,
    of shape (n_rows, n_scores) without offsets, and from `large_residual`. Rows with the same key
    are drawn together; without `keys`, rows are drawn by position.
    """
    n_threads = job_count(
        n_jobs, len(rows.train) * rows.table.bins.n_columns // _MIN_CELLS_PER_THREAD
    )
    any_held_out = rows.any_held_out

    def grow(team: _core.BoostTeam | None) -> Boosted:
        model = _GrowingModel(rows, options, cancel, keys=keys, objective=objective, start=start)
        booster = model.booster
        booster.large_residual = large_residual
        settings = {"tol": tol, "watch_training": watch_training, "team": team, "cancel": cancel}
        is_shown = progress_label is not None
        label = progress_label or "boosting"
        progress = progress_bar(len(rounds), label, "tree", shown=is_shown)
        with closing(team) if team else nullcontext(), progress as bar:
            if score is not None and any_held_out:
                n_best, scores, raw = _grow_by_score(model, rounds, score, patience, settings, bar)
            else:
                step = _PROGRESS_STEP if is_shown or has_listener() else len(rounds)
                for first, last in _round_ranges(len(rounds), step):
                    has_ended = model.grow(
                        rounds[first:last], patience=patience if any_held_out else 0, **settings
                    )
                    bar.update(last - first)
                    if has_ended:
                        break
                n_best = booster.best_round if any_held_out else len(rounds)
                scores = -booster.losses()
                raw = booster.raw()
            return Boosted(
                model.trees().first(n_best),
                scores,
                -booster.train_losses(),
                raw,
                large_residual=booster.large_residual,
            )

    with stopped_on_error() as cancel:
        if n_threads == 1:
            return grow(None)
        # This thread grows the trees; the others help the kernel with parts of each one.
        team = _core.BoostTeam(n_threads)
        tasks: list[Task] = [(grow, (team,), {})]
        tasks += [(team.help, (cancel,), {})] * (n_threads - 1)
        return next(iter(from_threads(tasks, n_threads, cancel)))


def _grow_by_score(
    model: _GrowingModel,
    rounds: Rounds,
    score: Callable[[np.ndarray], float],
    patience: int,
    settings: dict[str, Any],
    bar: Any,
) -> tuple[int, np.ndarray, np.ndarray]:
    """Score raw predictions after each tree.

    Returns the number of trees with the best score, all scores, and the best raw predictions.
    """
    best = 0
    best_raw = model.booster.raw(best=False)
    scores = [score(best_raw)]
    for n_grown in range(1, len(rounds) + 1):
        model.grow(rounds[n_grown - 1 : n_grown], patience=0, **settings)
        bar.update(1)
        raw = model.booster.raw(best=False)
        scores.append(score(raw))
        if scores[-1] > scores[best] + settings["tol"]:
            best = n_grown
            best_raw = raw
        if patience and n_grown - best >= patience:
            break
    return best, np.array(scores), best_raw


def _round_ranges(n: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(first + size, n)) for first in range(0, n, max(1, size))]


def _steps_until(n: int, patience: int, until: float) -> Iterator[tuple[int, int]]:
    """Ranges of rounds of several models; they end before round `n` if the time is up.

    A range takes at most half of the time left, if rounds take as long as before.
    """
    if until == np.inf:
        yield from _round_ranges(n, _FOLDS_STEP if patience else n)
        return
    start = monotonic()
    first = 0
    size = 1
    while first < n:
        yield first, min(first + size, n)
        first = min(first + size, n)
        now = monotonic()
        if now >= until:
            return
        n_fitting = int((until - now) / 2 / max(1e-9, (now - start) / first))
        size = max(1, min(2 * size, _FOLDS_STEP, n_fitting))


def _seconds_of_statistics(encoding: Encoding | None, folds: Sequence[Fold]) -> float:
    """Lower bound of the processor time of target statistics."""
    if encoding is None:
        return 0.0
    n_copies = encoding.n_copies * sum(len(train) for train, _ in folds)
    return _SECONDS_PER_STATISTIC * n_copies * encoding.n_columns


def boost_folds(
    rows: BoostingRows,
    folds: Sequence[Fold],
    options: BoostOptions,
    rounds: Rounds,
    *,
    patience: int = 0,
    keys: np.ndarray | None = None,
    encoding: Encoding | None = None,
    objective: TargetKind | None = None,
    until: float = np.inf,
    start_by: float = np.inf,
    whole: bool = False,
    n_jobs: int | None = None,
) -> list[Boosted]:
    """Grow the models of a cross-validation together, with the same number of rounds.

    If each model chose its number of rounds on the rows that it then predicts, the predictions
    would be too optimistic. Instead, all models have the number of rounds with the least loss over
    the held-out rows of all folds. With few rows, even this number fits the held-out rows too
    well: `Boosted.blind_raw` has the number with the least loss over the other folds. The trees of
    the result are `compact`.

    Parameters
    ----------
    rows, keys, objective
        As in `boost`; the folds hold out the rows.
    options : BoostOptions
        With an `encoding`, for a table with copies and columns of statistics.
    rounds : Rounds
        The same for all models.
    patience : int, default=0
        Rounds that do not lower the loss before boosting stops; 0 grows and keeps all rounds.
    encoding : Encoding or None, default=None
        Each model gets statistics of its training rows for columns with many categories.
    until : float, default=inf
        Value of `time.monotonic` at which growth stops, after at least one round.
    start_by : float, default=inf
        Value of `time.monotonic` by which the rows and statistics of all models must be ready.
        `TimeIsUp` is raised as soon as this cannot be met.
    whole : bool, default=False
        Whether to raise `TimeIsUp` if not all rounds are grown by `until`.
    """
    folds = [(np.asarray(train, np.int32), np.asarray(test, np.int32)) for train, test in folds]
    n_threads = job_count(n_jobs, len(folds))
    rows_of_fold = [replace(rows, train=train, held_out=held_out) for train, held_out in folds]
    with stopped_on_error() as cancel:
        # 1. Prepare the rows and statistics of all models. If time is limited, prepare as many
        # models at a time as there are threads, and look at the clock between.
        begin = monotonic()
        if begin + _seconds_of_statistics(encoding, folds) / n_threads > start_by:
            raise TimeIsUp
        models: list[_GrowingModel] = []
        n_at_once = len(folds) if start_by == np.inf else n_threads
        for first in range(0, len(folds), n_at_once):
            starts: list[Task] = [
                (
                    _GrowingModel,
                    (fold_rows, options, cancel),
                    {"keys": keys, "encoding": encoding, "objective": objective},
                )
                for fold_rows in rows_of_fold[first : first + n_at_once]
            ]
            models += from_threads(starts, n_threads, cancel)
            now = monotonic()
            if now + (now - begin) * (len(folds) / len(models) - 1) > start_by:
                raise TimeIsUp
        # 2. Grow them until the common loss has not fallen for `patience` rounds.
        sums = held_out_sums(folds, rows.weights)
        shares = sums / (sums.sum() or 1.0)
        best = len(rounds)
        blind_bests = [best] * len(folds)
        for first, last in _steps_until(len(rounds), patience, until):
            grows: list[Task] = [
                (model.grow, (rounds[first:last],), {"cancel": cancel}) for model in models
            ]
            list(from_threads(grows, n_threads, cancel))
            best = last
            blind_bests = [best] * len(folds)
            if patience:
                losses_of_folds = np.stack([model.booster.losses() for model in models])
                best = int((shares @ losses_of_folds).argmin())
                others = _shares_without_own_rows(folds, shares)
                blind_bests = (others @ losses_of_folds).argmin(axis=1).tolist()
                if last - best >= patience:
                    break
            if whole and last < len(rounds) and monotonic() > until:
                raise TimeIsUp
        # 3. Keep the best rounds.
        ends: list[Task] = [
            (model.finish, (best, blind_best), {})
            for model, blind_best in zip(models, blind_bests, strict=True)
        ]
        return list(from_threads(ends, n_threads, cancel))


def _shares_without_own_rows(folds: Sequence[Fold], shares: np.ndarray) -> np.ndarray:
    """Shares of the folds in a loss for each fold, 0 for folds that hold out rows of its own.

    A fold whose rows are in all others has the shares of all folds.
    """
    rows = np.concatenate([held_out for _, held_out in folds])
    ends = np.cumsum([0, *(len(held_out) for _, held_out in folds)])
    shape = len(folds), 1 + rows.max(initial=0)
    is_held_out = sparse.csr_matrix((np.ones(len(rows), np.int64), rows, ends), shape)
    without_own = np.where((is_held_out @ is_held_out.T).toarray() > 0, 0.0, shares)
    return np.where(without_own.any(axis=1, keepdims=True), without_own, shares)


def held_out_sums(folds: Sequence[Fold], weights: np.ndarray | None) -> np.ndarray:
    """Number of held-out rows of each fold, or the sum of their weights."""
    return np.array([len(rows) if weights is None else weights[rows].sum() for _, rows in folds])
