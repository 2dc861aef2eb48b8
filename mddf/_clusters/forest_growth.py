"""Growing trees on rows that are divided among several processes.

A process grows some of the trees, each in a thread. The kernel asks `ClassPeers` or `ValuePeers`
for sums over the rows of all processes, and for the rows of small nodes. All processes answer the
questions of all trees together, round after round: a round begins when each tree of a process
has a question. The threads wait meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from threading import Condition, Thread
from typing import Any, NamedTuple

import numpy as np

from mddf import _core
from mddf._base.parallel import progress_bar, stopped_on_error
from mddf._clusters.communication import Communicator
from mddf._clusters.forest_rows import NodeRows, Shard
from mddf._core import Cancel, TreeOptions
from mddf._trees.arrays import Trees, ValueTrees, trees_from_reader
from mddf._trees.grower import most_trees_of_block

# Trees that grow at the same time, on all processes together. Each takes eight bytes for every row
# that it drew from a shard, so that 16 bootstraps take about as much as 80 columns of codes. More
# trees than processes are only needed if processes have several threads. Not tuned.
_MOST_TREES_AT_ONCE = 16
# Nodes of at most this share of the rows of a shard, and of at most this number of rows in any
# case, are grown on copies of their rows. A larger share needs fewer rounds and more memory. The
# least number keeps small tables from many rounds. Not tuned.
_COPIED_SHARE = 1 / 8
_LEAST_COPIED = 4096
# Subtrees of at most 64 rows have code of their own in the kernel, which needs all of the rows.
_SMALL = 64


class Sums(NamedTuple):
    """`ValueSums` of the kernel: the fixed-point targets of some rows.

    Attributes
    ----------
    n_rows, weight : int
        Number of rows, and how often they were drawn in all.
    least, most : int
        Smallest and largest target.
    low, high : int
        Halves of the sum of the targets, a number of 128 bits.
    """

    n_rows: int
    weight: int
    least: int
    most: int
    low: int
    high: int

    @classmethod
    def added(cls, parts: Sequence[Sums]) -> Sums:
        """Add up the sums of several shards."""
        total = sum((part.high << 64) + part.low for part in parts)
        with_rows = [part for part in parts if part.n_rows]
        return cls(
            n_rows=sum(part.n_rows for part in parts),
            weight=sum(part.weight for part in parts),
            least=min(part.least for part in with_rows),
            most=max(part.most for part in with_rows),
            low=total & (2**64 - 1),
            high=total >> 64,
        )


@dataclass(frozen=True)
class Begin:
    """Draw the rows of a tree, and add them up."""

    tree: int

    def answer(self, shard: Shard) -> Any:
        """Answer for the rows of a shard."""
        root = shard.begin(self.tree)
        if shard.n_classes:
            return len(root.rows), _class_weights(shard, root)
        return _sums_of(shard, root), int(root.counts.max(initial=0))


@dataclass(frozen=True)
class CountBins:
    """Count the rows of a node by the bins of columns, for the present classes."""

    tree: int
    node: int
    present: np.ndarray
    columns: np.ndarray

    def answer(self, shard: Shard) -> Any:
        """Answer for the rows of a shard."""
        rows = shard.nodes[self.tree][self.node]
        return _core.count_shard_bins(
            shard.table.cells, rows.rows, rows.counts, shard.target, self.present, self.columns
        )


@dataclass(frozen=True)
class AddUpBins:
    """Add up the targets of a node by the bins of columns."""

    tree: int
    node: int
    columns: np.ndarray
    least: int
    shift: int

    def answer(self, shard: Shard) -> Any:
        """Answer for the rows of a shard."""
        rows = shard.nodes[self.tree][self.node]
        return _core.add_up_shard_bins(
            shard.table.cells,
            rows.rows,
            rows.counts,
            shard.target,
            self.columns,
            self.least,
            self.shift,
        )


@dataclass(frozen=True)
class Divide:
    """Divide the rows of a node between its children."""

    tree: int
    node: int
    column: int
    left_codes: np.ndarray
    left: int

    def answer(self, shard: Shard) -> Any:
        """Answer for the rows of a shard."""
        children = shard.divide(self.tree, self.node, self.column, self.left_codes, self.left)
        return None if shard.n_classes else tuple(_sums_of(shard, child) for child in children)


@dataclass(frozen=True)
class Copy:
    """Copy the codes, targets and counts of the rows of a node, which the shards then forget."""

    tree: int
    node: int

    def answer(self, shard: Shard) -> Any:
        """Answer for the rows of a shard."""
        rows = shard.nodes[self.tree].pop(self.node)
        return shard.table.codes[rows.rows], shard.target[rows.rows], rows.counts


@dataclass(frozen=True)
class End:
    """Forget a tree."""

    tree: int

    def answer(self, shard: Shard) -> Any:
        """Answer for the rows of a shard."""
        shard.end(self.tree)


Question = Begin | CountBins | AddUpBins | Divide | Copy | End


def _class_weights(shard: Shard, rows: NodeRows) -> np.ndarray:
    weights = np.bincount(shard.target[rows.rows], rows.counts, minlength=shard.n_classes)
    return weights.astype(np.uint32)


def _sums_of(shard: Shard, rows: NodeRows) -> Sums:
    return Sums(*_core.add_up_shard(rows.rows, rows.counts, shard.target))


class _Stopped(Exception):
    """The other processes are lost, or a tree of this process has failed."""


class _Rounds:
    """Questions of the trees of this process, which wait for the answers of a round."""

    def __init__(self, n_trees_at_once: int) -> None:
        self._changed = Condition()
        self._n_working = n_trees_at_once
        self._questions: dict[int, list[Question]] = {}
        self._answers: dict[int, list[Any]] = {}
        self._is_stopped = False

    def ask(self, slot: int, questions: list[Question]) -> list[Any]:
        """Answers of all shards to the last of some questions, by rank."""
        with self._changed:
            self._questions[slot] = questions
            self._n_working -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: slot in self._answers or self._is_stopped)
            if self._is_stopped:
                raise _Stopped
            return self._answers.pop(slot)

    def finish(self) -> None:
        """Count a thread as ended."""
        with self._changed:
            self._n_working -= 1
            self._changed.notify_all()

    def questions(self) -> dict[int, list[Question]]:
        """Wait for all threads, and return their questions."""
        with self._changed:
            self._changed.wait_for(lambda: self._n_working == 0)
            questions = self._questions
            self._questions = {}
            return questions

    def answer(self, answers: dict[int, list[Any]]) -> None:
        """Let the threads go on."""
        with self._changed:
            self._answers = answers
            self._n_working = len(answers)
            self._changed.notify_all()

    def stop(self) -> None:
        """Let all threads fail."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


class _Peers:
    """Rows of all processes as the kernel sees them, for the trees that one thread grows."""

    def __init__(self, rounds: _Rounds, slot: int, first_tree: int) -> None:
        self._rounds = rounds
        self._slot = slot
        self._first_tree = first_tree
        self._tree = first_tree
        # Questions without an answer, which are sent with the next one.
        self._before: list[Question] = []

    def _ask(self, question: Question) -> list[Any]:
        questions = [*self._before, question]
        self._before = []
        return self._rounds.ask(self._slot, questions)

    def _begin(self, number: int) -> list[Any]:
        if number > 0:
            self._before.append(End(self._tree))
        self._tree = self._first_tree + number
        return self._ask(Begin(self._tree))

    def end(self) -> None:
        """Forget the last tree."""
        self._ask(End(self._tree))

    def copy(self, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes, targets and counts of the rows of a node."""
        parts = self._ask(Copy(self._tree, node))
        codes, targets, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return codes, targets, counts


class ClassPeers(_Peers):
    """Rows with classes."""

    def begin(self, number: int) -> tuple[int, np.ndarray]:
        """Begin a tree: the number of its rows, and the weights of the classes."""
        n_rows, weights = zip(*self._begin(number), strict=True)
        return sum(n_rows), _sum_of(weights)

    def count_bins(self, node: int, present: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Cells of the bins of some columns."""
        return _sum_of(self._ask(CountBins(self._tree, node, present, columns)))

    def divide(self, node: int, column: int, left_codes: np.ndarray, left: int) -> None:
        """Divide a node at the beginning of the next round."""
        self._before.append(Divide(self._tree, node, column, left_codes, left))


class ValuePeers(_Peers):
    """Rows with targets that are numbers."""

    def begin(self, number: int) -> tuple[Sums, int]:
        """Begin a tree: the sums of its rows, and the largest weight of a row."""
        sums, most = zip(*self._begin(number), strict=True)
        return Sums.added(sums), max(most)

    def add_up_bins(self, node: int, columns: np.ndarray, least: int, shift: int) -> np.ndarray:
        """Cells of the bins of some columns."""
        return _sum_of(self._ask(AddUpBins(self._tree, node, columns, least, shift)))

    def divide(
        self, node: int, column: int, left_codes: np.ndarray, left: int
    ) -> tuple[Sums, Sums]:
        """Divide a node, and return the sums of both children."""
        children = self._ask(Divide(self._tree, node, column, left_codes, left))
        left_sums, right_sums = zip(*children, strict=True)
        return Sums.added(left_sums), Sums.added(right_sums)


def _sum_of(arrays: Sequence[np.ndarray]) -> np.ndarray:
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


@dataclass(frozen=True)
class GrownBlock:
    """Trees of one block of the forest that one thread has grown, and their importances."""

    first_tree: int
    trees: Trees | ValueTrees
    importances: np.ndarray


class _Growth:
    """Trees of one process while they grow."""

    def __init__(
        self,
        shard: Shard,
        options: TreeOptions,
        communicator: Communicator,
        *,
        n_trees_at_once: int,
        n_trees_of_block: int,
        most_copied: int,
    ) -> None:
        self._shard = shard
        self._options = options
        self._communicator = communicator
        self._n_trees_of_block = n_trees_of_block
        self._most_copied = most_copied
        n_trees = len(shard.draws.seeds)
        self._bounds = [n_trees * slot // n_trees_at_once for slot in range(n_trees_at_once + 1)]
        self._slots = range(communicator.rank, n_trees_at_once, communicator.size)
        self._rounds = _Rounds(len(self._slots))
        self._errors: list[BaseException] = []
        self.blocks: list[GrownBlock] = []

    def run(self, pool: ThreadPoolExecutor, cancel: Cancel) -> Iterator[int]:
        """Grow all trees, and yield the numbers of trees that end in each round."""
        threads = [Thread(target=self._grow_slot, args=(slot, cancel)) for slot in self._slots]
        try:
            for thread in threads:
                thread.start()
            while (n_ended := self._answer_round(pool)) is not None:
                yield n_ended
        except BaseException:
            # Threads end that wait for answers, and threads that grow subtrees of copied rows.
            self._rounds.stop()
            cancel.stop()
            raise
        finally:
            for thread in threads:
                if thread.ident is not None:  # it has started
                    thread.join()

    def _grow_slot(self, slot: int, cancel: Cancel) -> None:
        """Grow the trees of one thread."""
        try:
            kind = ClassPeers if self._shard.n_classes else ValuePeers
            first, end = self._bounds[slot : slot + 2]
            size = self._n_trees_of_block
            starts_of_blocks = range(size * (first // size + 1), end, size)
            for start, stop in pairwise([first, *starts_of_blocks, end]):
                peers = kind(self._rounds, slot, start)
                reader, importances = self._grow(
                    peers, self._shard.draws.seeds[start:stop], cancel
                )
                peers.end()
                self.blocks.append(GrownBlock(start, trees_from_reader(reader), importances))
        except _Stopped:
            pass
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._rounds.finish()

    def _grow(
        self, peers: _Peers, seeds: np.ndarray, cancel: Cancel
    ) -> tuple[_core.TreeReader | _core.ValueTreeReader, np.ndarray]:
        table = self._shard.table.cells
        n_classes = self._shard.n_classes
        options = self._options
        n_draws = self._shard.draws.n_draws
        if n_classes:
            return _core.grow_divided_classes(
                table, n_classes, options, seeds, n_draws, peers, self._most_copied, cancel
            )
        return _core.grow_divided_values(
            table, options, seeds, n_draws, peers, self._most_copied, cancel
        )

    def _answer_round(self, pool: ThreadPoolExecutor) -> int | None:
        """Answer the questions of all trees, and count the trees that end; None after the last."""
        own = self._rounds.questions()
        if self._errors:
            raise self._errors[0]
        all_questions = self._communicator.gather(list(own.values()))
        if not any(all_questions):
            return None
        by_tree = [questions for rank_questions in all_questions for questions in rank_questions]
        all_answers = iter(pool.map(self._answer, by_tree))
        answers = [[next(all_answers) for _ in questions] for questions in all_questions]
        received = self._communicator.distribute(answers)
        self._rounds.answer(
            {slot: [answers[number] for answers in received] for number, slot in enumerate(own)}
        )
        return sum(isinstance(question, End) for questions in by_tree for question in questions)

    def _answer(self, questions: list[Question]) -> Any:
        """Answer to the last of the questions of a tree."""
        return [question.answer(self._shard) for question in questions][-1]


def grow_divided(
    shard: Shard,
    options: TreeOptions,
    communicator: Communicator,
    *,
    n_jobs: int,
    n_all_rows: int,
    verbose: bool | int = False,
) -> list[GrownBlock]:
    """Grow all trees together with the other processes; return the trees of this process.

    Parameters
    ----------
    shard : Shard
    options : TreeOptions
    communicator : Communicator
    n_jobs : int
        Number of threads of this process.
    n_all_rows : int
        Number of rows of all shards.
    """
    n_trees = len(shard.draws.seeds)
    n_threads = sum(communicator.gather(n_jobs))
    growth = _Growth(
        shard,
        options,
        communicator,
        n_trees_at_once=min(_MOST_TREES_AT_ONCE, n_threads, n_trees),
        n_trees_of_block=most_trees_of_block(n_all_rows),
        most_copied=max(
            _SMALL, _LEAST_COPIED, int(_COPIED_SHARE * n_all_rows / communicator.size)
        ),
    )
    optional_bar = progress_bar(n_trees, "growing", "tree", shown=verbose)
    with (
        stopped_on_error() as cancel,
        optional_bar as bar,
        ThreadPoolExecutor(max(1, n_jobs)) as pool,
    ):
        for n_ended in growth.run(pool, cancel):
            bar.update(n_ended)
    return growth.blocks
