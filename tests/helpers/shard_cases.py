"""Fits on divided rows, with one thread of this process for each shard."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from queue import Queue

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from mddf._clusters.boosting import fit_boosting_shard
from mddf._clusters.communication import Communicator
from mddf._clusters.forests import fit_forest_shard
from mddf._clusters.shard_inputs import RowsOfUser

_SECONDS = 60  # after which a test fails instead of hanging


class ThreadCommunicator(Communicator):
    """Messages in queues, one for each pair of threads."""

    def __init__(self, rank, queues):
        self.rank = rank
        self.size = len(queues)
        self._queues = queues

    def swap(self, outgoing, sources):
        for rank, message in outgoing.items():
            self._queues[self.rank][rank].put(bytes(message))
        return {rank: self._received_from(rank) for rank in sources}

    def _received_from(self, rank):
        message = self._queues[rank][self.rank].get(timeout=_SECONDS)
        if message is None:
            raise ConnectionError(f"the thread of rank {rank} has ended")
        return bytearray(message)

    def close(self):
        for queue in self._queues[self.rank]:
            queue.put(None)


def run_in_threads(n_shards, work):
    """Call work(communicator) in a thread for each shard; return the results by rank."""
    queues = [[Queue() for _ in range(n_shards)] for _ in range(n_shards)]

    def work_and_close(rank):
        communicator = ThreadCommunicator(rank, queues)
        try:
            return work(communicator)
        finally:
            communicator.close()  # so that the others do not wait for it

    with ThreadPoolExecutor(n_shards) as pool:
        futures = [pool.submit(work_and_close, rank) for rank in range(n_shards)]
    errors = [future.exception() for future in futures]
    # The first cause, and not the threads that lost their peer because of it.
    for error in sorted(filter(None, errors), key=lambda e: isinstance(e, ConnectionError)):
        raise error
    return [future.result() for future in futures]


@dataclass(frozen=True)
class Data:
    """A table, its targets and weights."""

    X: object
    y: np.ndarray
    sample_weight: np.ndarray | None = None

    def divided(self, cuts):
        """The rows between the cuts, one part for each shard."""
        weight = self.sample_weight
        for first, last in pairwise([0, *cuts, len(self.y)]):
            X = self.X[first:last] if isinstance(self.X, np.ndarray) else self.X.iloc[first:last]
            rows_weight = None if weight is None else weight[first:last]
            yield RowsOfUser(X, self.y[first:last], rows_weight)


def made_weights(rng, n, kind):
    """Weights of the kind "whole", "real" or "equal", or None; some of them are zero."""
    if kind == "whole":
        weights = rng.integers(0, 4, n).astype(float)
        weights[0] = 1
    elif kind == "real":
        weights = rng.random(n) * (rng.random(n) < 0.9)
        weights[0] = 0.5
    else:
        weights = None if kind is None else np.full(n, 2.0)
    return weights


def entropy_of(model):
    return check_random_state(model.random_state).randint(0, 2**32, 4, np.uint64).tolist()


def forest_shards(model, data, cuts):
    """The forests that threads fit, one for each shard."""
    shards = list(data.divided(cuts))
    entropy = entropy_of(model)
    return run_in_threads(
        len(shards),
        lambda communicator: fit_forest_shard(
            clone(model), shards[communicator.rank], communicator=communicator, entropy=entropy
        ),
    )


def boosting_shards(model, data, cuts, validation=None, validation_cuts=()):
    """The boosted trees that threads fit, one for each shard."""
    shards = list(data.divided(cuts))
    held_out = [None] * len(shards)
    if validation is not None:
        held_out = [part if len(part.y) else None for part in validation.divided(validation_cuts)]
    entropy = entropy_of(model)
    return run_in_threads(
        len(shards),
        lambda communicator: fit_boosting_shard(
            clone(model),
            shards[communicator.rank],
            held_out[communicator.rank],
            has_validation_set=validation is not None,
            communicator=communicator,
            entropy=entropy,
        ),
    )
