"""``mddf versions``: what a report of a bug has to say of versions and of the build."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import re
import sys

import joblib
import threadpoolctl

import mddf
from mddf import _core

DESCRIPTION = "Print versions and how mddf was built, for reports of bugs."


def add_options(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> None:
    """Print the versions."""
    sys.stdout.write(report() + "\n")


def report() -> str:
    """Versions and options of the build, a line for each.

    Returns
    -------
    str
        mddf, Python, the platform, how the kernel was built and what it uses here; then the
        libraries that mddf needs or can use, as far as they are installed.
    """
    found = {
        "mddf": mddf.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "processors": f"{joblib.cpu_count()} ({platform.machine()})",
        **{f"kernel {name}": value for name, value in _core.build_options().items()},
    }
    for line in importlib.metadata.requires("mddf") or []:
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        try:
            found.setdefault(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            continue
    pools = [
        f"{pool['internal_api']} {pool['version']} ({pool['num_threads']} threads)"
        for pool in threadpoolctl.threadpool_info()
    ]
    found["thread pools"] = ", ".join(pools) or "none"
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in found.items())
