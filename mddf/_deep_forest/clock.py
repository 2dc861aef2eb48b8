"""The time that a fit may take."""

from __future__ import annotations

from time import monotonic, process_time


class Clock:
    """What is left of a limit.

    Parameters
    ----------
    limit : float or None
        Seconds from now on; None for no limit.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit, self._end = limit, float("inf")
        self._start = monotonic(), process_time()
        if limit is not None:
            self._end = self._start[0] + limit

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
        return self._end - monotonic()

    def allows(self, seconds: float, share: float = 1.0) -> bool:
        """Whether so many seconds fit into a share of what is left."""
        return not self.runs or seconds <= share * self.left

    def until(self, share: float) -> float:
        """When a share of what is left is over, as `monotonic` has it."""
        return monotonic() + share * max(0.0, self.left)
