"""What ``python -m mddf`` says."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mddf import __version__
from mddf.__main__ import main


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


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("foo", 2), ("--foo", 2)])
def test_no_arguments(argument, code, capsys):
    with pytest.raises(SystemExit) as ended:
        main([argument])
    assert ended.value.code == code
    shown = capsys.readouterr()
    assert ("reports of bugs" in shown.out) == (code == 0)
    assert ("unrecognized arguments" in shown.err) == (code == 2)
