"""The type stub of the kernel matches the kernel."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nanobind", minversion="3.1", reason="another version words it otherwise")


def test_the_stub_is_up_to_date():
    maker = Path(__file__).parents[2] / "mddf/_kernel/make_stub.py"
    done = subprocess.run([sys.executable, maker, "--check"])
    assert done.returncode == 0, "run mddf/_kernel/make_stub.py"
