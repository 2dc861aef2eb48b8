#!/usr/bin/env python3
"""Write mddf/_core.pyi, the types of the kernel for type checkers, from the compiled module.

Each kind of array gets a name in the file. Docstrings are left out, because the kernel has them.
The script needs nanobind and ruff. With --check it writes nothing, and its exit code is 1 if the
file is out of date.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import mddf._core

STUB = Path(__file__).resolve().parents[1] / "_core.pyi"
# Overloads differ in whether an array is read-only. A writable array also matches a read-only
# parameter, which mypy reports as an overload that cannot match.
HEAD = """\
# Written by mddf/_kernel/make_stub.py.
# mypy: disable-error-code="overload-cannot-match"
"""
ARRAY = re.compile(r"Annotated\[NDArray\[[^]]*\], dict\([^]]*\)\]")


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STUB), "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return result.stdout


def _name(kind: str) -> str:
    """Name a kind of array, such as "ReadFloat64Table" for a read-only table of doubles."""
    write = "Read" if "writable=False" in kind else ""
    dtype = re.search(r"numpy\.(\w+)", kind)[1].capitalize()
    dimensions = re.search(r"shape=\((.*?)\)", kind)
    shape = "Array"
    if dimensions:
        n_dimensions = dimensions[1].count("None")
        shape = {1: "s", 2: "Table"}.get(n_dimensions, f"Array{n_dimensions}d")
    return write + dtype + shape + ("InOrder" if "order=" in kind else "")


def _arrays_named(text: str) -> str:
    """Replace each kind of array by a name, which is defined once."""
    kinds = {kind: _name(kind) for kind in ARRAY.findall(text)}
    if len(set(kinds.values())) < len(kinds):
        raise ValueError(f"two kinds of arrays have one name: {kinds}")
    head, first, rest = ARRAY.sub(lambda match: kinds[match[0]], text).partition("\nclass ")
    definitions = "".join(f"{name} = {kind}\n" for kind, name in kinds.items())
    return head + definitions + first + rest


def stub() -> str:
    """Make the text of the file."""
    generator = StubGen(mddf._core, include_docstrings=False)
    generator.put(mddf._core)
    text = HEAD + _arrays_named(generator.get())
    return _ruff(_ruff(text, "check", "--fix", "--exit-zero", "--quiet"), "format")


def main() -> int:
    """Write the file, or check that it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = stub()
    if not parser.parse_args().check:
        STUB.write_text(text)
        return 0
    return int(STUB.read_text() != text)


if __name__ == "__main__":
    sys.exit(main())
