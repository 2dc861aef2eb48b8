"""A communicator of threads of one process, and fits with one thread for each shard."""

from concurrent.futures import ThreadPoolExecutor
from queue import Queue

from mddf._base.communication import Communicator

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
