"""The examples of the boosting page and docstrings."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "name",
    [
        *("baselines.adaboost", "baselines.deepboost", "baselines.quadboost"),
        *("baselines.lpboost", "baselines.scanning"),
        *("analysis._bounds", "analysis._margins", "analysis._significance"),
    ],
)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"mddf.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_examples_of_the_page(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/boosting.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), "boosting.md", "exec"), {"__name__": "page"})
    assert "LPBoostClassifier" in capsys.readouterr().out
