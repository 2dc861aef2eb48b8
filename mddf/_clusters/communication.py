"""Messages between the processes that fit one model, each of which has a shard of the rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
Message = bytes | bytearray | memoryview

# Arrays of more bytes are added up in parts, one by each process, so that every process sends
# about twice the array instead of one copy to each other process. Smaller arrays, and those of two
# processes, are sent whole, which needs one message instead of two that wait for each other. Not
# tuned.
_MAX_WHOLE_BYTES = 2**15


class LostWorkerError(ConnectionError):
    """Another process has ended, or does not answer."""


class Communicator:
    """Exchange of messages with the other processes; all make the same calls in the same order.

    Attributes
    ----------
    rank : int
        Number of this process. The shards of the rows follow each other in the order of the ranks.
    size : int
        Number of processes.
    """

    rank: int
    size: int

    def swap(
        self, outgoing: Mapping[int, Message], sources: Iterable[int]
    ) -> Mapping[int, Message]:
        """Send a message to each rank of `outgoing`, and return one from each of `sources`."""
        raise NotImplementedError

    @property
    def others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def gather(self, item: Item) -> list[Item]:
        """Send an object to all processes; return the objects of all processes by rank."""
        return self.distribute([item] * self.size)

    def distribute(self, items: Sequence[Item]) -> list[Item]:
        """Send an object to each process; return the objects sent to this one, by rank."""
        pickled = {rank: pickle.dumps(items[rank], protocol=5) for rank in self.others}
        received = self.swap(pickled, self.others)
        return [
            items[rank] if rank == self.rank else pickle.loads(received[rank])
            for rank in range(self.size)
        ]

    def gather_array(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate(self.gather(values))

    def add_up(self, numbers: np.ndarray) -> None:
        """Replace numbers by their sums over all processes.

        The sums must be exact: they are of whole numbers, and added in any order.
        """
        self._reduce(numbers, np.add)

    def maximize(self, numbers: np.ndarray) -> None:
        """Replace numbers by their maxima over all processes."""
        self._reduce(numbers, np.maximum)

    def add_up_and_maximize(self, sums: np.ndarray, maxima: np.ndarray) -> None:
        """Do both in one message, for a few numbers."""
        message = np.concatenate([sums, maxima]).tobytes()
        received = self.swap(dict.fromkeys(self.others, message), self.others)
        for other in received.values():
            numbers = np.frombuffer(other, sums.dtype)
            np.add(sums, numbers[: len(sums)], out=sums)
            np.maximum(maxima, numbers[len(sums) :], out=maxima)

    def _reduce(self, numbers: np.ndarray, combine: np.ufunc) -> None:
        if self.size == 1:
            self.swap({}, [])  # notices that the fit is cancelled
            return
        if numbers.nbytes <= _MAX_WHOLE_BYTES or self.size == 2:
            message = numbers.tobytes()
            received = self.swap(dict.fromkeys(self.others, message), self.others)
            for other in received.values():
                combine(numbers, np.frombuffer(other, numbers.dtype), out=numbers)
            return
        bounds = [len(numbers) * rank // self.size for rank in range(self.size + 1)]
        parts = [numbers[bounds[r] : bounds[r + 1]] for r in range(self.size)]
        own = parts[self.rank]
        received = self.swap({r: _bytes_of(parts[r]) for r in self.others}, self.others)
        for other in received.values():
            combine(own, np.frombuffer(other, numbers.dtype), out=own)
        received = self.swap(dict.fromkeys(self.others, _bytes_of(own)), self.others)
        for rank, other in received.items():
            parts[rank][:] = np.frombuffer(other, numbers.dtype)

    def receive_from_before(self, numbers: np.ndarray) -> None:
        """Wait for the numbers that the rank before has passed on; the first keeps its own."""
        if self.rank > 0:
            received = self.swap({}, [self.rank - 1])[self.rank - 1]
            numbers[:] = np.frombuffer(received, numbers.dtype)

    def pass_on(self, numbers: np.ndarray) -> None:
        """Pass numbers on to the next rank. All processes get the numbers of the last rank."""
        last = self.size - 1
        if self.rank == last:
            self.swap(dict.fromkeys(self.others, numbers.tobytes()), [])
            return
        received = self.swap({self.rank + 1: numbers.tobytes()}, [last])
        numbers[:] = np.frombuffer(received[last], numbers.dtype)


def _bytes_of(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).data.cast("B")


def same_for_all(communicator: Communicator, value: Any, message: str) -> None:
    """Refuse values that differ between the shards, with the two values after the message."""
    for other in communicator.gather(value):
        if other != value:
            raise ValueError(f"{message}, got {value!r} and {other!r}")
