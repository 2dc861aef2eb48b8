"""Progress of ``mddf fit`` and ``mddf bench``: a bar for all of its fits together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from mddf._base.progress import listening

# Without a terminal, the bar is printed after so many seconds, so that short fits are silent and
# long ones show that they go on.
_SECONDS_BETWEEN_LINES = 15.0
# Descriptions are cut or filled up, so that the bar does not jump.
_WIDTH = 44
_FORMAT = "{desc} {percentage:3.0f}%|{bar:20}| {elapsed}, {remaining} left"


class Progress:
    """Progress over the steps of a command, as a share of the estimated time.

    Parameters
    ----------
    shown : bool
        Whether anything is shown.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
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
        if not self._shown:
            yield self
            return
        interval = 0.0 if sys.stderr.isatty() else _SECONDS_BETWEEN_LINES
        with tqdm(
            total=1.0, leave=False, smoothing=0, file=sys.stderr, mininterval=interval, miniters=0,
            delay=interval, bar_format=_FORMAT,
        ) as self._bar:  # fmt: skip
            yield self

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
        if self._bar is None:
            return
        self._bar.set_description_str(f"{text:{_WIDTH}.{_WIDTH}}", refresh=False)
        # Threads may report earlier shares later.
        done = min(1.0, self._first + self._weight * share)
        self._bar.update(max(0.0, done - self._bar.n))
