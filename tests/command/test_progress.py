"""The progress bar of `mddf fit`, and the lines that replace it."""

import io
import sys

import pytest

from mddf._command import progress
from mddf._command.progress import Progress


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    def isatty(self):
        return True


def fit(is_shown=True):
    with Progress(shown=is_shown).running() as bar:
        with bar.step("fit to the training rows", 0.4):
            bar.trees("growing", 5, 10)
            bar.trees("growing", 10, 10)
        with bar.step("fit to all rows", 0.6):
            bar.work("layer 1: linear", 0.5)
            bar.trees("trials", 1, 10)


def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    fit()
    text = sys.stderr.getvalue()
    for part in ("fit to the training rows: 5 of 10 trees", " 20%|", " 40%|",
                 "fit to all rows: layer 1: linear", " 70%|", " left"):  # fmt: skip
        assert part in text
    assert "trials" not in text
    assert text.endswith("\r")  # the bar is gone at the end


def test_lines_without_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    fit()
    assert sys.stderr.getvalue() == ""  # a short fit is silent
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    fit()
    lines = sys.stderr.getvalue().splitlines()
    assert lines[0] == "fit to the training rows: 0 % after 00:00"
    assert (
        lines[1] == "fit to the training rows: 5 of 10 trees: 20 % after 00:00, about 00:00 left"
    )
    assert lines[-1].startswith("fit to all rows: layer 1: linear: 70 % after 00:00, about")


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_nothing_is_shown_if_the_fit_prints_itself(stream, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    fit(is_shown=False)
    assert sys.stderr.getvalue() == ""


def test_an_error_closes_the_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = Progress(shown=True)
    with pytest.raises(KeyError), bar.running(), bar.step("fit", 1.0):
        raise KeyError
    assert sys.stderr.getvalue().endswith("\r")
