"""Storage of results: one file for each cell, written in full or not at all.

A cell is the result of one fit (or of another indivisible computation). Its file holds its key
(set, method, seed, …), the settings, the result, and its provenance. Files of different cells have
different names, so any number of processes may write to one folder. Tables use all its files.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

FORMAT = "mddf cell 1"
PACKAGES = (
    "mddf", "numpy", "scipy", "scikit-learn", "pandas", "xgboost", "xgboost-cpu", "lightgbm",
    "catboost", "scikit-learn-intelex", "ydf", "fastforest",
)  # fmt: skip
PARTS = ("key", "settings", "result", "provenance")


def versions():
    """Return the versions of the installed packages that influence results."""
    installed = {distribution.name: distribution.version for distribution in distributions()}
    return {name: installed[name] for name in PACKAGES if name in installed}


@cache
def provenance():
    """Return the origin of a result: versions, machine, revision of the sources, command."""
    try:
        revision = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=7"],
            capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        revision = None
    return {
        "versions": versions(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "revision": revision,
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


SCRIPTS = Path(__file__).resolve().parents[1]
# Options with places of files: they do not change results, and differ between machines.
PLACES = ("--out", "--data-home")


def command():
    """Return the running command as pages print it: without places of files."""
    program, *arguments = sys.argv
    path = Path(program).resolve()
    name = f"scripts/{path.relative_to(SCRIPTS)}" if path.is_relative_to(SCRIPTS) else path.name
    kept = []
    is_place = False  # whether the argument is the value of an option of PLACES
    for argument in arguments:
        option, sign, _ = argument.partition("=")
        if not is_place and option not in PLACES:
            kept.append(argument)
        is_place = option in PLACES and not sign
    return shlex.join(["python", name, *kept])


def stamp(cells, command_line):
    """Return a line about the origin of results: commits, days, command and versions."""
    origins = [cell["provenance"] for cell in cells]
    commits = sorted({str(origin.get("revision") or "unknown") for origin in origins})
    days = sorted({str(origin.get("time", "unknown"))[:10] for origin in origins})
    parts = {f"{name} {v}" for origin in origins for name, v in origin["versions"].items()}
    several = "s" if len(commits) > 1 else ""
    when = " to ".join(dict.fromkeys([days[0], days[-1]]))
    return (
        f"Measured at commit{several} {', '.join(commits)} on {when} by `{command_line}`, "
        f"with {', '.join(sorted(parts))}."
    )


def now():
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def plain(content):
    """Convert content to the types of JSON."""
    return json.loads(json.dumps(content, default=str))


def write(path, text):
    """Write a file and create its folder; the old file stays until the new one is complete."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_cell(path, hint="; remove it or choose another folder"):
    """Read a cell; damaged files and other kinds of files raise an error of one line."""
    try:
        cell = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}{hint}") from None
    if not (isinstance(cell, dict) and cell.get("format") == FORMAT):
        raise SystemExit(f"{path} is no result of these scripts{hint}")
    whole = all(isinstance(cell.get(part), dict) for part in PARTS) and cell["key"]
    if not (whole and isinstance(cell["provenance"].get("versions"), dict)):
        raise SystemExit(f"{path} is damaged: it must have {', '.join(PARTS)}{hint}")
    return cell


def read_cells(source, study=None, maker="a run_ command"):
    """Read all cells of a folder of results, or the cell of a file.

    Cells of another study are an error. Errors name the command that makes the results (`maker`).
    """
    if not source.exists():
        raise SystemExit(f"no {source}: {maker} makes it")
    paths = sorted((source / "cells").glob("*.json"))
    cells = [read_cell(path) for path in paths] if source.is_dir() else [read_cell(source, "")]
    if not cells:
        raise SystemExit(f"{source} has no results yet: {maker} makes it")
    stored_study = cells[-1]["settings"].get("study")
    if study is not None and stored_study != study:
        raise SystemExit(
            f"{source} has results of another kind, {stored_study!r}: {maker} makes it"
        )
    return cells


def frame(cells):
    """Return a DataFrame with the key and the result of each cell; `attrs` are the settings."""
    import pandas as pd

    rows = pd.DataFrame([{**cell["key"], **cell["result"]} for cell in cells])
    rows.attrs = cells[0]["settings"]
    return rows


class Store:
    """The cells of a study in a folder; all have the same settings.

    A folder with results of other settings is refused. Dicts in the settings, such as those of
    methods and sets, must agree for the names that both have.
    """

    def __init__(self, folder, settings):
        self.folder = Path(folder)
        self.settings = plain(settings)
        (self.folder / "cells").mkdir(parents=True, exist_ok=True)
        for path in self.paths():
            if differ := ",\n".join(clashes(read_cell(path)["settings"], self.settings)):
                raise SystemExit(
                    f"{self.folder} holds results of other settings: {differ}; "
                    "choose another --out"
                )

    def paths(self):
        """Return the files of all cells."""
        return sorted((self.folder / "cells").glob("*.json"))

    def path(self, key):
        """Return the file of a cell: its key in words, and a hash that makes it unique."""
        words = "-".join(re.sub(r"[^\w.]+", "_", str(part)) for part in key.values())
        mark = hashlib.sha256(json.dumps(plain(key)).encode()).hexdigest()[:10]
        return self.folder / "cells" / f"{words[:80]}-{mark}.json"

    def has(self, key):
        """Return whether a cell exists."""
        return self.path(key).exists()

    def save(self, key, result):
        """Write the result of a cell."""
        content = {
            "format": FORMAT,
            "key": key,
            "settings": self.settings,
            "result": result,
            "provenance": {**provenance(), "time": now()},
        }
        write(self.path(key), json.dumps(content, default=_number) + "\n")

    def cells(self):
        """Read all cells."""
        return [read_cell(path) for path in self.paths()]


def _number(value):
    """Convert NumPy numbers and arrays for JSON; other objects become text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def clashes(stored, current, place=""):
    """Yield the differences of stored and current settings; none if results may be mixed."""
    # Names of methods and sets: only those of both sides are compared.
    only_common = place.count(".") == 1
    for name in sorted({*current} & {*stored} if only_common else {*current, *stored}):
        value, stored_value = current.get(name, "not given"), stored.get(name, "not given")
        if isinstance(value, dict) and isinstance(stored_value, dict):
            yield from clashes(stored_value, value, f"{place}{name}.")
        elif value != stored_value:
            yield f"{place}{name} {stored_value!r} there, {value!r} here"
