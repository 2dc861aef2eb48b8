"""Stands for scripts/_lab, which `python scripts/ROOM/NAME.py` does not find in its room."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
del sys.modules["_lab"]
import _lab  # noqa: E402, F401
