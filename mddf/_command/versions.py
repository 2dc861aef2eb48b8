"""``mddf versions``: versions of mddf, its build and its libraries, for bug reports."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import re

import joblib
import threadpoolctl

import mddf
from mddf import _core

from .command import Command


class VersionsCommand(Command):
    """``mddf versions``."""

    description = "Print versions and how mddf was built, for bug reports."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add nothing: the command has no options."""

    def run(self, options: argparse.Namespace) -> None:
        """Print a line for each version and each option of the build.

        Libraries that mddf needs or can use are listed if they are installed.
        """
        versions = {
            "mddf": mddf.__version__,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "platform": platform.platform(),
            "processors": f"{joblib.cpu_count()} ({platform.machine()})",
            **{f"kernel {name}": value for name, value in _core.build_options().items()},
        }
        for requirement in importlib.metadata.requires("mddf") or []:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
            try:
                versions.setdefault(name, importlib.metadata.version(name))
            except importlib.metadata.PackageNotFoundError:
                continue
        pools = [
            f"{pool['internal_api']} {pool['version']} ({pool['num_threads']} threads)"
            for pool in threadpoolctl.threadpool_info()
        ]
        versions["thread pools"] = ", ".join(pools) or "none"
        for name, version in versions.items():
            print(f"{name.replace('_', ' ')}: {version}")


command = VersionsCommand()
