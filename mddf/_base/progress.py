"""Progress of long work for a listener, such as the bar of a command, and for logging."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

# Without a handler of the user, a library is silent.
LOGGER = logging.getLogger("mddf")
LOGGER.addHandler(logging.NullHandler())


class Listener(Protocol):
    """Receives the progress of fits."""

    def trees(self, description: str, n_grown: int, n_trees: int) -> None:
        """Receive the number of trees of a forest or a boosted model."""

    def work(self, description: str, share: float) -> None:
        """Receive the finished share of a deep forest's fit, and its next task."""


# One listener of the process: trees grow in threads, which do not inherit context variables.
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def has_listener() -> bool:
    return bool(_listeners)


def tell_trees(description: str, n_grown: int, n_trees: int) -> None:
    for listener in _listeners:
        listener.trees(description, n_grown, n_trees)


def tell_work(description: str, share: float) -> None:
    """Pass the share of a fit on."""
    LOGGER.debug("%s (%.0f %% of the fit are done)", description, 100 * share)
    for listener in _listeners:
        listener.work(description, share)


def is_told(verbose: bool) -> bool:
    """Whether a line about a fit is printed or logged."""
    return verbose or LOGGER.isEnabledFor(logging.INFO)


def tell_line(line: str, *, verbose: bool, width: int | None = None) -> None:
    """Log a line about a fit, and print it with `verbose`, wrapped to some columns."""
    LOGGER.info("%s", line.strip())
    if verbose:
        print(line if width is None else textwrap.fill(line, width, subsequent_indent="    "))
