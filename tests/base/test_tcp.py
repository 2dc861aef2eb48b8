"""Messages over TCP, between threads instead of processes."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from thread_communicator import run_in_threads

from mddf._base.tcp import LostWorkerError, TcpCommunicator, listen

TOKEN = b"t" * 32


def run_over_tcp(n, work, *, timeout=20.0):
    """Call work(communicator) in n threads; return the results or exceptions by rank."""
    listeners = [listen("127.0.0.1") for _ in range(n)]
    addresses = [listener.getsockname()[:2] for listener in listeners]

    def run(rank):
        communicator = TcpCommunicator(
            rank, addresses, listeners[rank], token=TOKEN, timeout=timeout
        )
        try:
            return work(communicator)
        finally:
            communicator.close()

    with ThreadPoolExecutor(n) as pool:
        futures = [pool.submit(run, rank) for rank in range(n)]
    return [future.exception() or future.result() for future in futures]


@pytest.mark.parametrize("run", [run_over_tcp, run_in_threads])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("length", [1, 3, 9001])  # the last one is added up in parts
def test_sums_and_maxima(run, n, length):
    numbers = np.random.default_rng(0).integers(-100, 100, (n, length)).astype(float)

    def work(communicator):
        total = numbers[communicator.rank].copy()
        whole = total.astype(np.int32)
        most = total.copy()
        communicator.add_up(total)
        communicator.add_up(whole)
        communicator.maximize(most)
        return total, whole, most

    for total, whole, most in run(n, work):
        np.testing.assert_array_equal(total, numbers.sum(axis=0))
        np.testing.assert_array_equal(whole, numbers.sum(axis=0))
        assert whole.dtype == np.int32
        np.testing.assert_array_equal(most, numbers.max(axis=0))


@pytest.mark.parametrize("run", [run_over_tcp, run_in_threads])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_sums_in_the_order_of_the_ranks(run, n):
    terms = [1e16, 1.0, -1e16, 3.0][:n]  # another order gives another sum

    def work(communicator):
        state = np.zeros(1)
        communicator.receive_from_before(state)
        state += terms[communicator.rank]
        communicator.pass_on(state)
        return state[0]

    expected = 0.0
    for term in terms:
        expected += term
    assert run(n, work) == [expected] * n


@pytest.mark.parametrize("n", [1, 3])
def test_objects(n):
    def work(communicator):
        rank = communicator.rank
        sent = communicator.distribute([(rank, to) for to in range(n)])
        return communicator.gather({"rank": rank}), sent

    for rank, (gathered, sent) in enumerate(run_over_tcp(n, work)):
        assert gathered == [{"rank": other} for other in range(n)]
        assert sent == [(other, rank) for other in range(n)]


def test_large_messages_both_ways_do_not_block_each_other():
    message = bytes(range(256)) * 40_000  # 10 MB, more than the buffers of a connection

    def work(communicator):
        other = 1 - communicator.rank
        received = communicator.swap({other: message}, [other])[other]
        return bytes(received) == message, communicator.n_bytes_sent

    assert run_over_tcp(2, work) == [(True, len(message) + 8)] * 2


def test_a_process_that_ends():
    def work(communicator):
        if communicator.rank == 1:
            raise ValueError("its own error")
        communicator.gather(0)

    first, second, third = run_over_tcp(3, work)
    assert str(second) == "its own error"
    for error in (first, third):
        assert isinstance(error, LostWorkerError)
        assert "has ended during the fit" in str(error)


def test_a_process_that_does_not_answer():
    done = threading.Event()

    def work(communicator):
        if communicator.rank == 1:
            return done.wait(10)
        try:
            return communicator.gather(0)
        finally:
            done.set()

    error, waited = run_over_tcp(2, work, timeout=0.2)
    assert waited is True
    assert isinstance(error, LostWorkerError)
    assert "rank 1" in str(error)
    assert "has not answered rank 0 within 0.2 s" in str(error)


def test_waiting_is_cancelled():
    cancelled = threading.Event()
    listener = listen("127.0.0.1")
    addresses = [listener.getsockname()[:2], ("127.0.0.1", 1)]
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(LostWorkerError, match="cancelled while rank 0 waited for others"):
        TcpCommunicator(0, addresses, listener, token=TOKEN, timeout=100, cancelled=cancelled)

    def work(communicator):
        if communicator.rank == 0:
            return done.wait(20)
        threading.Timer(0.2, communicator._cancelled.set).start()
        try:
            return communicator.gather(0)
        finally:
            done.set()

    done = threading.Event()
    _, error = run_over_tcp(2, work)
    assert "cancelled while rank 1 waited for others" in str(error)


def test_a_process_that_never_connects():
    listener = listen("127.0.0.1")
    addresses = [listener.getsockname()[:2], ("127.0.0.1", 1)]
    with pytest.raises(LostWorkerError, match=r"rank 1 .* has not connected within 0.1 s"):
        TcpCommunicator(0, addresses, listener, token=TOKEN, timeout=0.1)
    assert listener.fileno() == -1


def test_strangers_are_refused():
    listeners = [listen("127.0.0.1") for _ in range(2)]
    addresses = [listener.getsockname()[:2] for listener in listeners]
    with socket.create_connection(addresses[0]) as stranger, ThreadPoolExecutor(2) as pool:
        stranger.sendall(b"x" * 36)

        def run(rank):
            communicator = TcpCommunicator(
                rank, addresses, listeners[rank], token=TOKEN, timeout=20
            )
            try:
                return communicator.gather(rank)
            finally:
                communicator.close()

        assert list(pool.map(run, range(2))) == [[0, 1], [0, 1]]
        assert stranger.recv(1) == b""
