"""Messages between the workers of a fit, over the connections of Dask's workers.

They have the encryption and authentication of the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any, cast

import numpy as np
from distributed import Worker
from distributed.protocol import to_serialize

from mddf._clusters.communication import Communicator, LostWorkerError, Message

# Name under which Dask's workers know the function that takes messages.
_HANDLER = "mddf_message"
# Messages of fits that are at work in this process, by fit and rank.
_inboxes: dict[tuple[str, int], Inbox] = {}


class Inbox:
    """Messages that have arrived for one rank of a fit.

    All methods run on the event loop of the rank's worker.
    """

    def __init__(self) -> None:
        # By the rank that sent a message, and the number of the message among its messages.
        self._messages: dict[tuple[int, int], np.ndarray] = {}
        self._has_changed = asyncio.Event()
        self._swap: asyncio.Task[object] | None = None
        self._is_cancelled = False

    def put(self, sender: int, number: int, data: np.ndarray) -> None:
        """Add a message that has arrived."""
        self._messages[sender, number] = data
        self._has_changed.set()

    async def take(self, sender: int, number: int) -> np.ndarray:
        """Wait for a message."""
        while (sender, number) not in self._messages:
            self._has_changed.clear()
            await self._has_changed.wait()
        return self._messages.pop((sender, number))

    def begin_swap(self) -> None:
        """Let `cancel` end the coroutine that calls this."""
        if self._is_cancelled:
            raise LostWorkerError("the fit is cancelled")
        self._swap = asyncio.current_task()

    def cancel(self) -> None:
        """End the swap that is under way, and refuse further ones."""
        self._is_cancelled = True
        if self._swap is not None:
            self._swap.cancel()


def _receive(fit: str, to: int, sender: int, number: int, data: np.ndarray) -> None:
    inbox = _inboxes.get((fit, to))
    if inbox is not None:  # a message to a fit that has failed here is dropped
        inbox.put(sender, number, data)


def open_inbox(worker: Worker, fit: str, rank: int) -> None:
    """Let a worker take messages for a rank of a fit."""
    worker.handlers[_HANDLER] = _receive
    _inboxes[fit, rank] = Inbox()


def close_inbox(fit: str, rank: int) -> None:
    """Drop the messages for a rank of a fit."""
    _inboxes.pop((fit, rank), None)


def cancel_swaps(worker: Worker, fit: str) -> None:
    """End the waiting of a fit's ranks in this process."""
    for (name, _), inbox in list(_inboxes.items()):
        if name == fit:
            worker.loop.add_callback(inbox.cancel)


class DaskCommunicator(Communicator):
    """Communicator of a task on a worker, whose inbox has been opened.

    Parameters
    ----------
    worker : distributed.Worker
    fit : str
        Unique name of the fit.
    rank : int
    addresses : sequence of str
        Addresses of the workers, by rank.
    timeout : float
        Seconds to wait for a message.

    Attributes
    ----------
    n_bytes_sent : int
        Bytes that this process has sent.
    """

    def __init__(
        self, worker: Worker, fit: str, rank: int, addresses: Sequence[str], timeout: float
    ) -> None:
        self.rank = rank
        self.size = len(addresses)
        self.n_bytes_sent = 0
        self._worker = worker
        self._fit = fit
        self._addresses = addresses
        self._timeout = timeout
        self._inbox = _inboxes[fit, rank]
        self._n_sent = [0] * self.size
        self._n_received = [0] * self.size

    def swap(self, outgoing: Mapping[int, Message], sources: Iterable[int]) -> dict[int, Message]:
        """Send and receive messages at the same time.

        Raises
        ------
        LostWorkerError
            If a worker cannot be reached, if one has not answered for `timeout` seconds, or if the
            fit is cancelled.
        """
        # Workers of one process get the very object, while the caller may change its array.
        copies = {
            rank: np.frombuffer(bytes(message), np.uint8) for rank, message in outgoing.items()
        }
        swapping = self._swap(copies, list(sources))
        loop = cast(Any, self._worker.loop).asyncio_loop  # an attribute of a subclass of IOLoop
        future = asyncio.run_coroutine_threadsafe(swapping, loop)
        try:
            received = future.result()
        except (asyncio.CancelledError, CancelledError):
            raise LostWorkerError("the fit is cancelled") from None
        return {rank: data.data for rank, data in received.items()}

    async def _swap(
        self, outgoing: Mapping[int, np.ndarray], sources: Sequence[int]
    ) -> dict[int, np.ndarray]:
        self._inbox.begin_swap()
        waiting_for = set(outgoing) | set(sources)
        received = {}
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.gather(*(self._send(rank, data) for rank, data in outgoing.items()))
                waiting_for = set(sources)
                for rank in sources:
                    received[rank] = await self._inbox.take(rank, self._n_received[rank])
                    self._n_received[rank] += 1
                    waiting_for.remove(rank)
        except TimeoutError:
            rank = min(waiting_for)
            raise LostWorkerError(
                f"the worker of rank {rank} ({self._addresses[rank]}) has not answered rank "
                f"{self.rank} within {self._timeout:g} s"
            ) from None
        return received

    async def _send(self, rank: int, data: np.ndarray) -> None:
        number = self._n_sent[rank]
        self._n_sent[rank] += 1
        self.n_bytes_sent += data.nbytes
        try:
            await getattr(self._worker.rpc(self._addresses[rank]), _HANDLER)(
                fit=self._fit,
                to=rank,
                sender=self.rank,
                number=number,
                data=to_serialize(data),
                reply=False,
            )
        except OSError as error:
            raise LostWorkerError(
                f"the worker of rank {rank} ({self._addresses[rank]}) has ended during the fit"
            ) from error
