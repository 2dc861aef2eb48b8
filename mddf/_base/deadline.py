"""The time that a fit may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, process_time

from mddf._base.parallel import TimeIsUp as TimeIsUp

# Share of a limit after which no work goes on: what is left to do then takes time, too.
_SHARE = 0.95


class Clock:
    """What is left of a limit.

    Parameters
    ----------
    limit : float or None
        Seconds from now on; None for no limit.

    Attributes
    ----------
    end : float
        When work is cut off, as `monotonic` has it.
    whole : bool
        Whether what is cut off is of no use in part: then `TimeIsUp` is raised.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit, self.end, self.whole = limit, float("inf"), False
        self._start = monotonic(), process_time()
        if limit is not None:
            self.end = self._start[0] + _SHARE * float(limit)  # single precision holds no clock

    @property
    def pace(self) -> float:
        """How long a second of CPU time takes, 1 at least: other processes may want it, too."""
        start, start_cpu = self._start
        return max(1.0, (monotonic() - start) / max(1e-3, process_time() - start_cpu))

    @property
    def runs(self) -> bool:
        """Whether there is a limit."""
        return self.limit is not None

    @property
    def left(self) -> float:
        """Seconds, perhaps below 0; infinite without a limit."""
        return self.end - monotonic()

    def allows(self, seconds: float, share: float = 1.0) -> bool:
        """Whether so many seconds fit into a share of what is left."""
        return not self.runs or seconds <= share * self.left

    @contextmanager
    def cut(self, share: float, *, whole: bool = False) -> Iterator[None]:
        """Have work end when a share of what is left is over, if there is a limit."""
        before = self.end, self.whole
        if self.runs:
            self.end, self.whole = self.until(share), whole
        try:
            yield
        finally:
            self.end, self.whole = before

    @contextmanager
    def kept_back(self, seconds: float) -> Iterator[None]:
        """Leave seconds of CPU time to what follows, half of what is left at most."""
        before = self.end
        if self.runs:
            self.end -= min(seconds * self.pace, 0.5 * max(0.0, self.left))
        try:
            yield
        finally:
            self.end = before

    def until(self, share: float) -> float:
        """When a share of what is left is over, as `monotonic` has it."""
        return monotonic() + share * max(0.0, self.left)
