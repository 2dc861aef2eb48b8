"""Options that describe the format of a table."""

import argparse
from types import SimpleNamespace

import pytest

from mddf._command.table_options import Format, add_marks, add_options, format_from, seed


def test_options_become_a_format():
    parser = argparse.ArgumentParser()
    add_options(parser)
    assert format_from(parser.parse_args([])) == Format()
    words = ["--sep", "\\t", "--missing", "?", "-", "--text", "a"]
    expected = Format(sep="\t", missing=("?", "-"), text=("a",))
    assert format_from(parser.parse_args(words)) == expected
    with pytest.raises(SystemExit):
        parser.parse_args(["--sep", "ab"])
    with pytest.raises(SystemExit, match=r"--thousands must differ from --decimal, got '\.'"):
        format_from(SimpleNamespace(thousands="."))


def test_later_files_may_have_another_format():
    parser = argparse.ArgumentParser()
    add_marks(parser, "as in the fit")
    fitted = Format(sep=";", decimal=",", text=("a",), missing=("?",))
    assert format_from(parser.parse_args([]), fitted) == fitted
    words = ["--sep", ",", "--decimal", ".", "--encoding", "latin1"]
    expected = Format(sep=",", text=("a",), missing=("?",), encoding="iso8859-1")
    assert format_from(parser.parse_args(words), fitted) == expected
    assert format_from(parser.parse_args(["--encoding", "UTF8"])) == Format()
    with pytest.raises(SystemExit):
        parser.parse_args(["--encoding", "klingon"])


def test_seeds():
    assert [seed("0"), seed("12"), seed("4294967295")] == [0, 12, 2**32 - 1]
    for text in ("-1", "4294967296", "1.5", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="whole number from 0 to 4294967295"):
            seed(text)
