"""Results of the kernel in a process without wide vectors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled import _core

needs_wide_vectors = pytest.mark.skipif(
    not _core.build_options()["wide_vectors_in_use"],
    reason="no wide vectors here: both methods are the same",
)
# The module has a function `hashed`.
_PROGRAM = """
import sys
sys.path[:0] = {paths}
import {module}
print({module}.hashed())
"""


def hashed_with_narrow_vectors(file):
    """Return the result of the function `hashed` of a test module, without wide vectors."""
    paths = [str(Path(file).parent), str(Path(__file__).parent)]
    program = _PROGRAM.format(paths=paths, module=Path(file).stem)
    process = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "MDDF_WIDE_VECTORS": "0"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()
