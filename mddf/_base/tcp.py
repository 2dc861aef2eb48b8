"""Communication over TCP, with a connection between each two processes."""

from __future__ import annotations

import hmac
import selectors
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from time import monotonic

from mddf._base.communication import Communicator, Message

Address = tuple[str, int]

_LENGTH = struct.Struct("<Q")  # precedes each message
_RANK = struct.Struct("<I")  # follows the token when a connection is opened
# Seconds between two looks at `cancelled` while a process waits for others. Not tuned.
_SECONDS_BETWEEN_LOOKS = 0.5
# A host that vanished without closing its connections is noticed after about 40 seconds: 10
# seconds without traffic, then 6 unanswered probes 5 seconds apart.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6}


class LostWorkerError(ConnectionError):
    """Another process has ended, or does not answer."""


@dataclass
class _Outgoing:
    rank: int
    parts: list[memoryview]


@dataclass
class _Incoming:
    """A message that is being received: first its length, then its bytes."""

    rank: int
    buffer: bytearray
    n_received: int = 0
    has_length: bool = False


def listen(host: str) -> socket.socket:
    """Socket on a free port of this host, on which other processes connect."""
    family = socket.getaddrinfo(host, None)[0][0]
    listener = socket.create_server((host, 0), family=family, backlog=1024)
    listener.setblocking(True)
    return listener


class TcpCommunicator(Communicator):
    """Communicator over TCP connections.

    Parameters
    ----------
    rank : int
    addresses : sequence of (host, port)
        Addresses on which the processes listen, by rank.
    listener : socket
        Socket of this process, from `listen`; it is closed.
    token : bytes
        Secret of these processes. Connections without it are refused.
    timeout : float
        Seconds to wait for a message.
    cancelled : threading.Event or None, default=None
        Another thread sets it to end all waiting.

    Attributes
    ----------
    n_bytes_sent : int
        Bytes that this process has sent, with the lengths of messages.
    n_messages_sent : int
    """

    def __init__(
        self,
        rank: int,
        addresses: Sequence[Address],
        listener: socket.socket,
        *,
        token: bytes,
        timeout: float,
        cancelled: Event | None = None,
    ) -> None:
        self.rank = rank
        self.size = len(addresses)
        self.n_bytes_sent = 0
        self.n_messages_sent = 0
        self._addresses = addresses
        self._timeout = timeout
        self._cancelled = cancelled or Event()
        self._sockets: dict[int, socket.socket] = {}
        try:
            with listener:
                self._connect(listener, token)
            for connection in self._sockets.values():
                connection.setblocking(False)
        except BaseException:
            self.close()
            raise

    def _connect(self, listener: socket.socket, token: bytes) -> None:
        """Connect to all lower ranks, and accept connections of all higher ranks."""
        deadline = monotonic() + self._timeout
        for rank in range(self.rank):
            try:
                connection = socket.create_connection(
                    self._addresses[rank], max(0.1, deadline - monotonic())
                )
            except OSError as error:
                raise LostWorkerError(
                    f"{self._name(rank)} cannot be reached from rank {self.rank}: {error}"
                ) from error
            self._sockets[rank] = connection
            _set_options(connection)
            connection.sendall(token + _RANK.pack(self.rank))
        while len(self._sockets) < self.size - 1:
            listener.settimeout(_SECONDS_BETWEEN_LOOKS)
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                self._refuse_cancelled()
                if monotonic() < deadline:
                    continue
                absent = [r for r in self.others if r not in self._sockets]
                raise LostWorkerError(
                    f"{self._name(absent[0])} has not connected within {self._timeout:g} s"
                ) from None
            other = _rank_of(connection, token, deadline)
            if other is None or other in self._sockets or not self.rank < other < self.size:
                connection.close()
                continue
            _set_options(connection)
            self._sockets[other] = connection

    def _name(self, rank: int) -> str:
        host, port = self._addresses[rank][:2]
        return f"the worker of rank {rank} ({host}:{port})"

    def swap(
        self, outgoing: Mapping[int, Message], sources: Iterable[int]
    ) -> dict[int, bytearray]:
        """Send and receive messages at the same time, so that no two processes block each other.

        Raises
        ------
        LostWorkerError
            If a process has closed its connection, or nothing arrives for `timeout` seconds.
        """
        sending: dict[int, _Outgoing] = {}
        for rank, message in outgoing.items():
            data = memoryview(message).cast("B")
            sending[rank] = _Outgoing(rank, [memoryview(_LENGTH.pack(len(data))), data])
            self.n_bytes_sent += _LENGTH.size + len(data)
            self.n_messages_sent += 1
        receiving = {rank: _Incoming(rank, bytearray(_LENGTH.size)) for rank in sources}
        received: dict[int, bytearray] = {}
        # Small messages are sent at once, without asking whether the connection is ready.
        for rank in list(sending):
            if self._send(sending[rank]):
                del sending[rank]
        with selectors.DefaultSelector() as selector:
            for rank in sending.keys() | receiving.keys():
                selector.register(self._sockets[rank], _events(rank, sending, receiving), rank)
            deadline = monotonic() + self._timeout
            while sending or receiving:
                ready = selector.select(min(self._timeout, _SECONDS_BETWEEN_LOOKS))
                if not ready:
                    self._refuse_cancelled()
                    if monotonic() < deadline:
                        continue
                    rank = next(iter(sending.keys() | receiving.keys()))
                    raise LostWorkerError(
                        f"{self._name(rank)} has not answered rank {self.rank} within "
                        f"{self._timeout:g} s"
                    )
                deadline = monotonic() + self._timeout
                for key, events in ready:
                    rank = key.data
                    before = _events(rank, sending, receiving)
                    if events & selectors.EVENT_WRITE and self._send(sending[rank]):
                        del sending[rank]
                    if events & selectors.EVENT_READ and self._receive(receiving[rank]):
                        received[rank] = receiving.pop(rank).buffer
                    after = _events(rank, sending, receiving)
                    if not after:
                        selector.unregister(key.fileobj)
                    elif after != before:
                        selector.modify(key.fileobj, after, rank)
        return received

    def _send(self, message: _Outgoing) -> bool:
        """Send as much as the connection takes; return whether the message is sent."""
        connection = self._sockets[message.rank]
        while message.parts:
            try:
                n_sent = connection.send(message.parts[0])
            except BlockingIOError:
                return False
            except OSError as error:
                raise self._lost(message.rank) from error
            message.parts[0] = message.parts[0][n_sent:]
            if not len(message.parts[0]):
                del message.parts[0]
        return True

    def _receive(self, message: _Incoming) -> bool:
        """Receive as many bytes as there are; return whether the message is complete."""
        connection = self._sockets[message.rank]
        while True:
            if message.n_received == len(message.buffer):
                if message.has_length:
                    return True
                (length,) = _LENGTH.unpack(message.buffer)
                message.buffer = bytearray(length)
                message.n_received = 0
                message.has_length = True
                continue
            try:
                n = connection.recv_into(memoryview(message.buffer)[message.n_received :])
            except BlockingIOError:
                return False
            except OSError as error:
                raise self._lost(message.rank) from error
            if n == 0:
                raise self._lost(message.rank)
            message.n_received += n

    def _refuse_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise LostWorkerError(f"cancelled while rank {self.rank} waited for others")

    def _lost(self, rank: int) -> LostWorkerError:
        return LostWorkerError(f"{self._name(rank)} has ended during the fit")

    def close(self) -> None:
        """Close all connections; the other processes then raise `LostWorkerError`."""
        for connection in self._sockets.values():
            connection.close()


def _events(
    rank: int, sending: Mapping[int, _Outgoing], receiving: Mapping[int, _Incoming]
) -> int:
    writes = selectors.EVENT_WRITE if rank in sending else 0
    return writes | (selectors.EVENT_READ if rank in receiving else 0)


def _set_options(connection: socket.socket) -> None:
    """Send small messages without delay, and notice hosts that have vanished."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _rank_of(connection: socket.socket, token: bytes, deadline: float) -> int | None:
    """Rank of a process that has connected; None if it does not know the token."""
    greeting = bytearray()
    length = len(token) + _RANK.size
    try:
        while len(greeting) < length:
            connection.settimeout(max(0.1, deadline - monotonic()))
            part = connection.recv(length - len(greeting))
            if not part:
                return None
            greeting += part
    except OSError:
        return None
    if not hmac.compare_digest(bytes(greeting[: len(token)]), token):
        return None
    return int(_RANK.unpack(greeting[len(token) :])[0])
