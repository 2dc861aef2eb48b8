"""Runs the tests that are written in C++."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNEL = HERE.parents[1] / "mddf/_kernel"


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a compiler")
@pytest.mark.parametrize("name", ["count_test", "threshold_test"])
def test_program(name, tmp_path):
    program = tmp_path / name
    source = HERE / f"{name}.cpp"
    command = ["c++", "-std=c++17", "-pthread", f"-I{KERNEL}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
