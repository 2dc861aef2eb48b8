"""Results of the scripts: files that a run can be resumed from, and their provenance."""

from __future__ import annotations

import csv
import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


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
        "versions": {name: version(name) for name in ("mddf", "numpy", "scipy", "scikit-learn")},
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
    added to its list of origins when something is computed, unless it is None.
    """

    def __init__(self, path, settings, origin=None):
        self.path = Path(path)
        self.settings = settings
        self.origin = origin
        self.origins: list[dict] = []
        self.results: dict[str, dict] = {}
        if self.path.exists():
            found = json.loads(self.path.read_text())
            if found["settings"] != json.loads(json.dumps(settings)):
                raise SystemExit(
                    f"{self.path} holds results of other settings, {found['settings']}; "
                    "remove it or choose another --out"
                )
            self.results, self.origins = found["results"], found["origins"]

    def get(self, key, compute):
        """Return the result of a key: the one kept, else computed and kept."""
        if key not in self.results:
            self.results[key] = compute()
            if self.origin is not None and self.origin not in self.origins:
                self.origins.append(self.origin)
            content = ("settings", "origins", "results")
            write_json(self.path, {name: getattr(self, name) for name in content})
        return self.results[key]


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
