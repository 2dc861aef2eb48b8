"""The commands of mddf that pages show are understood."""

import re
import shlex
from pathlib import Path

import pytest

from mddf.__main__ import parser

ROOT = Path(__file__).parents[2]
SHOWN = sorted(
    {
        line
        for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), flags=re.DOTALL)
        for line in block.splitlines()
        if line.startswith("mddf ")
    }
)


def test_there_are_some():
    assert {line.split()[1] for line in SHOWN} >= {"fit", "predict", "explain", "bench"}


@pytest.mark.parametrize("line", SHOWN)
def test_command_is_understood(line):
    words = shlex.split(line)[1:]
    options = parser(words).parse_args(words)
    assert callable(options.run)
