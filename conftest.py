"""Tests use mddf as it is installed: `python -m pytest` would import the sources here."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != ROOT]

if importlib.util.find_spec("mddf") is None:
    raise pytest.UsageError(
        'mddf must be installed for its tests: make dev, or pip install -e ".[test]"'
    )
