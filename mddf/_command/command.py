"""The protocol of the commands."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from typing import ClassVar


class Command(ABC):
    """A command of ``mddf``. Its module has an object of the class as `command`."""

    description: ClassVar[str]

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""

    @abstractmethod
    def run(self, options: argparse.Namespace) -> None:
        """Run the command; SystemExit with a message ends it."""
