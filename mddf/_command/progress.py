"""Progress of ``mddf fit``: a bar on a terminal, else a line from time to time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from tqdm import tqdm

from mddf._base.progress import listening

# Without a terminal, a line is printed after so many seconds, so that short fits are silent and
# long ones show that they go on.
_SECONDS_BETWEEN_LINES = 15.0
# Descriptions are cut or filled up, so that the bar does not jump.
_WIDTH = 44


class Progress:
    """Progress over the steps of a command, as a share of the estimated time.

    Parameters
    ----------
    shown : bool
        Whether anything is shown.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._is_terminal = sys.stderr.isatty()
        self._start = monotonic()
        self._last_line = self._start
        self._first = 0.0
        self._weight = 0.0
        self._has_work = False
        self._text = ""
        self._bar: tqdm | None = None

    @contextmanager
    def step(self, text: str, weight: float) -> Iterator[None]:
        """Do a step that takes this share of the whole time."""
        self._text = text
        self._weight = weight
        self._has_work = False
        self._show(text, 0.0)
        with listening(self):
            yield
        self._first += weight
        self._weight = 0.0

    @contextmanager
    def running(self) -> Iterator[Progress]:
        """Show the bar while a block runs."""
        if self._shown and self._is_terminal:
            self._bar = tqdm(
                total=1.0, leave=False, smoothing=0, file=sys.stderr,
                bar_format="{desc} {percentage:3.0f}%|{bar:20}| {elapsed}, {remaining} left",
            )  # fmt: skip
        try:
            yield self
        finally:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def trees(self, description: str, n_grown: int, n_trees: int) -> None:
        """Show the trees of a forest, or of a part of a deep forest."""
        # A deep forest has many parts, whose trees say little about the whole.
        if not self._has_work and n_trees:
            self._show(f"{self._text}: {n_grown} of {n_trees} trees", n_grown / n_trees)

    def work(self, description: str, share: float) -> None:
        """Show what a deep forest does."""
        self._has_work = True
        self._show(f"{self._text}: {description}", share)

    def _show(self, text: str, share: float) -> None:
        if not self._shown:
            return
        done = min(1.0, self._first + self._weight * share)
        if self._bar is not None:
            self._bar.set_description_str(f"{text:{_WIDTH}.{_WIDTH}}", refresh=False)
            # Threads may report earlier shares later.
            self._bar.n = max(self._bar.n, done)
            self._bar.refresh()
            return
        now = monotonic()
        if self._is_terminal or now - self._last_line < _SECONDS_BETWEEN_LINES:
            return
        self._last_line = now
        elapsed = now - self._start
        left = f", about {_seconds_as_text(elapsed * (1 - done) / done)} left" if done > 0 else ""
        sys.stderr.write(f"{text}: {100 * done:.0f} % after {_seconds_as_text(elapsed)}{left}\n")


def _seconds_as_text(seconds: float) -> str:
    return tqdm.format_interval(seconds)
