#!/usr/bin/env python3
"""Write mddf/_core.pyi, what type checkers know of the kernel, from the compiled module.

Kinds of arrays get names there; what a function does, its docstring in the kernel says. Needs
nanobind and ruff. With --check nothing is written: the exit code says whether the file is
up to date.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import mddf._core

STUB = Path(__file__).resolve().parents[1] / "_core.pyi"
# Arrays that can be written are a case of those that need not be.
HEAD = """\
# Written by mddf/_kernel/make_stub.py.
# mypy: disable-error-code="overload-cannot-match"
"""
ARRAY = re.compile(r"Annotated\[NDArray\[[^]]*\], dict\([^]]*\)\]")


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STUB), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def _name(kind: str) -> str:
    """What to call a kind of array, such as "ReadFloat64Table" for one that is only read."""
    write = "Read" if "writable=False" in kind else ""
    dtype = re.search(r"numpy\.(\w+)", kind)[1].capitalize()
    dimensions = re.search(r"shape=\((.*?)\)", kind)
    shape = ("s", "Table")[dimensions[1].count("None") - 1] if dimensions else "Array"
    return write + dtype + shape + ("InOrder" if "order=" in kind else "")


def _arrays_named(text: str) -> str:
    """The stub with one definition for each kind of array."""
    kinds = {kind: _name(kind) for kind in ARRAY.findall(text)}
    if len(set(kinds.values())) < len(kinds):
        raise ValueError(f"two kinds of arrays have one name: {kinds}")
    head, first, rest = ARRAY.sub(lambda found: kinds[found[0]], text).partition("\nclass ")
    definitions = "".join(f"{name} = {kind}\n" for kind, name in kinds.items())
    return head + definitions + first + rest


def stub() -> str:
    """What the file should say."""
    generator = StubGen(mddf._core, include_docstrings=False)
    generator.put(mddf._core)
    text = HEAD + _arrays_named(generator.get())
    return _ruff(_ruff(text, "check", "--fix", "--exit-zero", "--quiet"), "format")


def main() -> int:
    """Write the file, or look at it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = stub()
    if not parser.parse_args().check:
        STUB.write_text(text)
        return 0
    return int(STUB.read_text() != text)


if __name__ == "__main__":
    sys.exit(main())
