"""Results: one file per cell, which is there in full or not at all.

A cell is what one fit (or one indivisible computation) gave. Its file holds its key (set, method,
seed, ...), the settings, the result, and its provenance. Files of different cells have different
names, so any number of processes may write into one folder; tables are made of all files there.
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
    """Versions of the packages that results come from, of those that are installed."""
    there = {found.name: found.version for found in distributions()}
    return {name: there[name] for name in PACKAGES if name in there}


@cache
def provenance():
    """What produced a result: versions, machine, revision of the sources, command."""
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
# Options that say where files are: they do not change results, and are of one machine.
PLACES = ("--out", "--data-home")


def command(argv=None):
    """The command that runs, as a page prints it: from the repository, without places of files."""
    program, *arguments = sys.argv if argv is None else argv
    path = Path(program).resolve()
    name = f"scripts/{path.relative_to(SCRIPTS)}" if path.is_relative_to(SCRIPTS) else path.name
    kept, place = [], False
    for argument in arguments:
        option, sign, _ = argument.partition("=")
        if not place and option not in PLACES:
            kept.append(argument)
        place = option in PLACES and not sign
    return shlex.join(["python", name, *kept])


def stamp(cells, command_line):
    """A line about the evidence of results: commits, days, command and versions."""
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
    """The time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def plain(content):
    """The same as JSON has it."""
    return json.loads(json.dumps(content, default=str))


def write(path, text):
    """Write a file, with its folder; the old one stays until the new one is complete."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_cell(path, hint="; remove it or choose another folder"):
    """One cell; an error of one line where the file is damaged or of another kind."""
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
    """All cells of a folder that a command wrote to, or that of a file.

    Errors name the command that makes them (`maker`), also where they are of another study.
    """
    if not source.exists():
        raise SystemExit(f"no {source}: {maker} makes it")
    paths = sorted((source / "cells").glob("*.json"))
    cells = [read_cell(path) for path in paths] if source.is_dir() else [read_cell(source, "")]
    if not cells:
        raise SystemExit(f"{source} has no results yet: {maker} makes it")
    there = cells[-1]["settings"].get("study")
    if study is not None and there != study:
        raise SystemExit(f"{source} has results of another kind, {there!r}: {maker} makes it")
    return cells


def frame(cells):
    """A DataFrame with a row for each cell: its key, then its result; `attrs` are settings."""
    import pandas as pd

    found = pd.DataFrame([{**cell["key"], **cell["result"]} for cell in cells])
    found.attrs = cells[0]["settings"]
    return found


class Store:
    """The cells of a study in a folder, which all have the same settings.

    With others it is refused rather than mixed. Of dicts in the settings, such as those of methods
    and of sets, what both have a name of must be the same in full.
    """

    def __init__(self, folder, settings):
        self.folder, self.settings = Path(folder), plain(settings)
        try:
            (self.folder / "cells").mkdir(parents=True, exist_ok=True)
            write(self.folder / "cells" / ".probe", "")
            (self.folder / "cells" / ".probe").unlink(missing_ok=True)
        except OSError as error:
            raise SystemExit(f"--out must be a folder to write to: {error}") from None
        for path in self.paths():
            there, here = read_cell(path)["settings"], self.settings
            if there.get("study") != here.get("study"):  # the rest would be of no interest
                there, here = ({"study": of.get("study")} for of in (there, here))
            differ = ",\n".join(clashes(there, here))
            if differ:
                raise SystemExit(
                    f"{self.folder} holds results of other settings: {differ}; "
                    "choose another --out"
                )

    def paths(self):
        """Files of all cells."""
        return sorted((self.folder / "cells").glob("*.json"))

    def path(self, key):
        """File of a cell: its key in words, and enough of a hash to tell any two apart."""
        words = "-".join(re.sub(r"[^\w.]+", "_", str(part)) for part in key.values())
        mark = hashlib.sha256(json.dumps(plain(key)).encode()).hexdigest()[:10]
        return self.folder / "cells" / f"{words[:80]}-{mark}.json"

    def has(self, key):
        """Whether a cell is there."""
        return self.path(key).exists()

    def save(self, key, result):
        """Keep a result."""
        content = {
            "format": FORMAT,
            "key": key,
            "settings": self.settings,
            "result": result,
            "provenance": {**provenance(), "time": now()},
        }
        write(self.path(key), json.dumps(content, default=_number) + "\n")

    def cells(self):
        """All cells, whoever wrote them."""
        return [read_cell(path) for path in self.paths()]


def _number(value):
    """JSON of numpy's numbers and arrays; of all else its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def clashes(there, here, place=""):
    """How the settings of results differ from others; nothing if they may stand together."""
    both = place.count(".") == 1  # names of methods and sets
    for name in sorted({*here} & {*there} if both else {*here, *there}):
        mine, found = here.get(name, "not given"), there.get(name, "not given")
        if isinstance(mine, dict) and isinstance(found, dict):
            yield from clashes(found, mine, f"{place}{name}.")
        elif mine != found:
            yield f"{place}{name} {found!r} there, {mine!r} here"
