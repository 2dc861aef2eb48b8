"""The commands of mddf that pages show are understood."""

import re
import shlex
from pathlib import Path

import pytest

from mddf.__main__ import _COMMANDS, parser

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


def test_commands_are_found():
    assert {line.split()[1] for line in SHOWN} >= {"fit", "predict", "explain", "bench"}


@pytest.mark.parametrize("line", SHOWN)
def test_command_is_understood(line):
    words = shlex.split(line)[1:]
    options = parser(words).parse_args(words)
    assert callable(options.run)


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_option_has_help(command):
    (subparsers,) = [a for a in parser([command])._actions if hasattr(a.choices, "items")]
    command_parser = subparsers.choices[command]
    assert command_parser.description
    for action in command_parser._actions:
        assert action.help, action.option_strings or action.dest
    if "--estimator" in command_parser.format_help():
        for name in ("deep-forest", "gradient-boosting", "random-forest"):
            assert name in command_parser.format_help()


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_is_on_its_page(command):
    assert f"`mddf {command}" in (ROOT / "docs/commands.md").read_text()
