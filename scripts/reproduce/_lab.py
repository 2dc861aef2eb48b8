"""Import scripts/_lab for `python scripts/ROOM/NAME.py`, which searches its own folder only."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
del sys.modules["_lab"]
import _lab  # noqa: E402, F401
