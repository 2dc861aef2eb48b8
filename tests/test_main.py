"""What ``python -m mddf`` says."""

import os
import subprocess
import sys

import numpy as np

from mddf import __version__, _core


def test_report(tmp_path):
    command = [sys.executable, "-m", "mddf"]
    environment = {**os.environ, "MDDF_WIDE_VECTORS": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert told["mddf"] == __version__
    assert told["numpy"] == np.__version__
    assert told["kernel wide vectors in use"] == "False"
    assert "thread pools" in told
    assert not done.stderr


def test_build_options():
    options = _core.build_options()
    assert options["compiler"].split()[0] in ("gcc", "clang", "msvc")
    assert options["stable_abi"] in (True, False)
    assert options["wide_vectors_in_use"] == _core.wide_vectors_supported()
    assert options["wide_vectors"] != "none" or not options["wide_vectors_in_use"]
