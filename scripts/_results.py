"""Results of the scripts: files that a run can be resumed from, and their provenance."""

from __future__ import annotations

import csv
import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def versions():
    """Versions of what results come from."""
    return {name: version(name) for name in ("mddf", "numpy", "scipy", "scikit-learn")}


def provenance(arguments, tables=None):
    """Say what produced a result: versions, machine, revision, arguments, and the data."""
    try:
        revision = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        revision = "unknown"
    found = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": versions(),
        "arguments": json.loads(json.dumps(vars(arguments), default=str)),
    }
    if tables is not None:
        found["data"] = {
            name: f"{t.source}, {t.X.shape[0]} x {t.X.shape[1]}" for name, t in tables.items()
        }
    return found


def write_json(path, content):
    """Write a JSON file, with its folder; the old one stays until the new one is complete."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n")
    partial.replace(path)


def write_csv(path, rows):
    """Write dicts with the same keys as a CSV file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


class Record:
    """Results by key, saved after each, so that a run takes up where the last one stopped.

    A key is made of what determines a result; with other settings under the same file name the
    file is refused rather than mixed. The file says where its results come from: `origin` is
    added to its list of origins when something is computed. `asked` are the results of this run,
    those that were there and those that were computed; `results` are all.
    """

    def __init__(self, path, settings, origin):
        self.path = Path(path)
        self.settings = json.loads(json.dumps(settings))
        self.origin = origin
        self.origins: list[dict] = []
        self.results: dict[str, dict] = {}
        self.asked: dict[str, dict] = {}
        if self.path.exists():
            found = read_json(self.path, "settings", "origins", "results")
            check_settings(self.path, found["settings"], self.settings)
            self.results, self.origins = found["results"], found["origins"]

    def get(self, key, compute):
        """Return the result of a key: the one kept, else computed and kept."""
        if key not in self.results:
            self.results[key] = compute()
            if self.origin not in self.origins:
                self.origins.append(self.origin)
            content = ("settings", "origins", "results")
            write_json(self.path, {name: getattr(self, name) for name in content})
        self.asked[key] = self.results[key]
        return self.results[key]


def read_json(path, *keys):
    """Read a JSON file that must have some keys; an error for people where it is not like that."""
    try:
        content = json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise SystemExit(
            f"no {path}: let the script that computes it run first, or say where it wrote to"
        ) from None
    except (OSError, ValueError) as error:
        raise SystemExit(
            f"{path} cannot be read: {error}; remove it and compute it again, or give another one"
        ) from None
    if not isinstance(content, dict):
        raise SystemExit(f"{path} is a file of another kind: it holds a {type(content).__name__}")
    missing = [key for key in keys if key not in content]
    if missing:
        raise SystemExit(f"{path} is a file of another kind: it has no {', '.join(missing)}")
    return content


def check_settings(path, there, here):
    """Refuse a file whose results come from other settings."""
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if names:
        differ = ", ".join(f"{n} {there.get(n)!r} there, {here.get(n)!r} here" for n in names)
        raise SystemExit(
            f"{path} holds results of other settings: {differ}; remove it or choose another --out"
        )


def aligned(rows):
    """Rows of cells, the first one the header, as an aligned Markdown table."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = (" | ".join(map(str.ljust, row, widths)) for row in cells)
    return "\n".join(f"| {line} |" for line in lines)


def published(name):
    """Rows of a published table as dicts; none when the file is not present."""
    path = Path(__file__).parent / "published" / name
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
