"""The examples of the boosting page and docstrings."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_examples_of_the_page(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/boosting.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), "boosting.md", "exec"), {"__name__": "page"})
    assert "LPBoostClassifier" in capsys.readouterr().out
