"""What type checkers are told about the kernel is what it is."""

from pathlib import Path

import pytest

pytest.importorskip("nanobind", minversion="3.1", reason="another version words it otherwise")


def test_the_stub_is_up_to_date(script):
    stub = script("make_stub")
    assert Path(stub.STUB).read_text() == stub.stub(), "run scripts/make_stub.py"
