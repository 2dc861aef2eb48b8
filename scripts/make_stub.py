#!/usr/bin/env python3
"""Write mddf/_core.pyi, what type checkers know of the kernel, from the compiled module.

Needs nanobind and ruff. With --check nothing is written: the exit code says whether the file is
up to date.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import mddf._core

STUB = Path(__file__).resolve().parent.parent / "mddf" / "_core.pyi"
# Arrays that can be written are a case of those that need not be.
HEAD = '# Written by scripts/make_stub.py.\n# mypy: disable-error-code="overload-cannot-match"\n'


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STUB), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def stub() -> str:
    """What the file should say."""
    generator = StubGen(mddf._core)
    generator.put(mddf._core)
    text = HEAD + generator.get()
    return _ruff(_ruff(text, "check", "--fix", "--exit-zero", "--quiet"), "format")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = stub()
    if not parser.parse_args().check:
        STUB.write_text(text)
        return 0
    return int(STUB.read_text() != text)


if __name__ == "__main__":
    sys.exit(main())
