"""What README shows, runs."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parent.parent / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example(code):
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
