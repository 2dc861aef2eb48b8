"""Time limit of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, process_time

# Work is cut off after this share of the limit: what follows, such as storing the model, takes
# time as well. Not tuned.
_SHARE_BEFORE_CUT = 0.95
# Shortest CPU time in seconds by which the pace is divided: the clock of a process is coarse.
_MIN_CPU_SECONDS = 1e-3


class Clock:
    """Remaining time of a fit with a limit in seconds from now on; None for no limit.

    Work is cut off at `end`, by the clock `monotonic`, which is infinite without a limit. If it is
    useless in part (`whole`), it then raises `TimeIsUp`.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.end = float("inf")
        self.whole = False
        self._start = monotonic()
        self._cpu_start = process_time()
        if limit is not None:
            # Limits in NumPy's single precision would round the clock.
            self.end = self._start + _SHARE_BEFORE_CUT * float(limit)

    @property
    def pace(self) -> float:
        """Seconds that a second of CPU time takes, at least 1: more if other processes compete."""
        cpu_seconds = max(_MIN_CPU_SECONDS, process_time() - self._cpu_start)
        return max(1.0, (monotonic() - self._start) / cpu_seconds)

    @property
    def runs(self) -> bool:
        """Whether there is a limit."""
        return self.limit is not None

    @property
    def left(self) -> float:
        """Remaining seconds, negative after the end; infinite without a limit."""
        return self.end - monotonic()

    def allows(self, seconds: float, share: float = 1.0) -> bool:
        """Whether so many seconds fit into a share of the remaining time."""
        return not self.runs or seconds <= share * self.left

    @contextmanager
    def cut(self, share: float, *, whole: bool = False) -> Iterator[None]:
        """End the work in this context after a share of the remaining time."""
        end_before = self.end
        whole_before = self.whole
        if self.runs:
            self.end = self.until(share)
            self.whole = whole
        try:
            yield
        finally:
            self.end = end_before
            self.whole = whole_before

    @contextmanager
    def kept_back(self, seconds: float) -> Iterator[None]:
        """End the work in this context early, to leave seconds of CPU time to the work after it.

        At most half of the remaining time is left.
        """
        end_before = self.end
        if self.runs:
            self.end -= min(seconds * self.pace, 0.5 * max(0.0, self.left))
        try:
            yield
        finally:
            self.end = end_before

    def until(self, share: float) -> float:
        """Return when a share of the remaining time is over, by the clock `monotonic`."""
        return monotonic() + share * max(0.0, self.left)
