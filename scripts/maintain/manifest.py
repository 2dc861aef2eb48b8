"""The evidence of measured tables: which command, commit and methods each one comes from.

    python scripts/maintain/manifest.py stale            tables whose methods have changed since
    python scripts/maintain/manifest.py update league    after the league was measured again
    python scripts/maintain/manifest.py write            after the manifest was edited by hand

docs/results/manifest.toml has an entry for each table or group of tables. It names the methods
that the tables measure, and has a digest of their entries in tests/record.json as they were at
the commit of the measurement. A table is stale if a digest differs from that of today's record.
`update` sets commit, date, version, installed packages and digests of the named entries, and
rewrites the lines at the ends of their pages. Correct the command in the manifest first if it has
changed. `--commit` and `--date` are for a measurement that was made earlier.
"""

import argparse
import hashlib
import json
import re
import subprocess
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MANIFEST = DOCS / "results" / "manifest.toml"
RECORD = ROOT / "tests" / "record.json"

HEADER = """\
# Where the measured tables of the pages come from. `python scripts/maintain/manifest.py` reads and
# writes this file, and writes the lines at the ends of the pages from it.
#
# [methods] names the entries of tests/record.json that stand for a method.
# [[measurement]] describes a table or a group of tables:
#   page      relative to docs
#   tables    which tables of the page; may be missing if there is one measurement
#   commands  the commands that print the tables; empty for records of experiments whose code was
#             not kept, which are on the page design-records.md only
#   commit    the commit that was measured. Measurements from before this file existed have the
#             commit that brought their figures to the page.
#   packages  versions of the packages that took part
#   methods   for each method a digest of its entries in tests/record.json at that commit
"""

# 48 bits: enough to tell a few hundred states of the record apart, and short in the file.
DIGEST_LENGTH = 12

HEADING = "## How this was measured"


@dataclass(frozen=True)
class Measurement:
    """Evidence of a table or a group of tables."""

    name: str
    page: str
    commit: str
    date: date
    mddf: str
    commands: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    methods: dict[str, str] = field(default_factory=dict)
    tables: str = ""
    note: str = ""


@dataclass(frozen=True)
class Manifest:
    """All measurements, and the entries of the record that stand for each method."""

    methods: dict[str, list[str]]
    measurements: list[Measurement]


def read(path: Path = MANIFEST) -> Manifest:
    """The manifest of a file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    measurements = [Measurement(**entry) for entry in content["measurement"]]
    return Manifest(content["methods"], measurements)


def dumps(manifest: Manifest) -> str:
    """The manifest as TOML. JSON's texts and lists of texts are also TOML's."""

    def text(value: str | list[str]) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = [HEADER, "[methods]"]
    lines += [f"{text(name)} = {text(cases)}" for name, cases in manifest.methods.items()]
    for entry in manifest.measurements:
        lines += [
            "",
            "[[measurement]]",
            f"name = {text(entry.name)}",
            f"page = {text(entry.page)}",
        ]
        lines += [f"tables = {text(entry.tables)}"] if entry.tables else []
        lines += ["commands = [", *(f"    {text(c)}," for c in entry.commands), "]"]
        lines += [f"commit = {text(entry.commit)}", f"date = {entry.date.isoformat()}"]
        lines += [f"mddf = {text(entry.mddf)}", f"packages = {text(entry.packages)}"]
        digests = (f"{text(method)} = {text(digest)}" for method, digest in entry.methods.items())
        lines += [f"methods = {{ {', '.join(digests)} }}"]
        lines += [f"note = {text(entry.note)}"] if entry.note else []
    return "\n".join(lines) + "\n"


def digest(hashes: dict[str, dict[str, str]], cases: list[str]) -> str:
    """A digest of some entries of the record; an entry that is not there counts as empty."""
    content = json.dumps([[case, hashes.get(case)] for case in cases], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:DIGEST_LENGTH]


def git(*arguments: str) -> str:
    """The output of a git command in the repository."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def record_at(commit: str | None = None) -> dict[str, dict[str, str]]:
    """Hashes of predictions that are on record, today or at a commit."""
    relative = RECORD.relative_to(ROOT).as_posix()
    text = RECORD.read_text() if commit is None else git("show", f"{commit}:{relative}")
    return json.loads(text)["hashes"]


def stale(manifest: Manifest, hashes: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Methods that have changed since each measurement, of measurements with such methods.

    Records without commands tell why something was chosen. They are never stale.
    """
    changed = {
        entry.name: [
            method
            for method, measured in entry.methods.items()
            if measured != digest(hashes, manifest.methods[method])
        ]
        for entry in manifest.measurements
        if entry.commands
    }
    return {name: methods for name, methods in changed.items() if methods}


def installed(packages: list[str]) -> list[str]:
    """Return the packages of an entry with the installed versions."""
    with_versions = []
    for package in packages:
        name, _, measured_version = package.rpartition(" ")
        try:
            with_versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # measured in an environment of its own
            with_versions.append(f"{name} {measured_version}")
    return with_versions


def updated(
    manifest: Manifest, names: list[str], commit: str | None, day: date | None
) -> Manifest:
    """The manifest with the evidence of today, or of a commit, for some measurements."""
    known = [entry.name for entry in manifest.measurements]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no measurement {unknown[0]!r}: there are {', '.join(known)}")
    if commit is None and git("status", "--porcelain", "--", "mddf", "scripts").strip():
        raise SystemExit(
            "mddf or scripts have changes: commit them, or name the --commit measured"
        )
    source = git("show", f"{commit or 'HEAD'}:mddf/__init__.py")
    release = re.search(r'__version__ = "([^"]+)"', source)
    if release is None:
        raise SystemExit(f"mddf/__init__.py of {commit or 'HEAD'} has no __version__")
    hashes = record_at(commit)
    short = git("rev-parse", "--short=7", commit or "HEAD").strip()

    def renewed(entry: Measurement) -> Measurement:
        return replace(
            entry,
            commit=short,
            date=day or datetime.now(UTC).date(),
            mddf=release[1],
            packages=entry.packages if commit else installed(entry.packages),
            methods={name: digest(hashes, manifest.methods[name]) for name in entry.methods},
        )

    entries = [renewed(e) if e.name in names else e for e in manifest.measurements]
    return replace(manifest, measurements=entries)


def sentence(entry: Measurement) -> str:
    """Return the sentence about a measurement for its page."""
    start = f"{entry.tables}: measured" if entry.tables else "Measured"
    text = f"{start} at commit {entry.commit} on {entry.date.isoformat()}"
    if entry.commands:
        text += " by " + " and ".join(f"`{command}`" for command in entry.commands)
    else:
        text += " by code that was not kept"
    text += f", with {', '.join([f'mddf {entry.mddf}', *entry.packages])}."
    return f"{text} {entry.note}" if entry.note else text


def block(entries: list[Measurement]) -> str:
    """The last lines of a page."""
    lines = [sentence(entry) for entry in entries]
    listed = lines if len(lines) == 1 else [f"- {line}" for line in lines]
    return "\n".join([HEADING, "", *listed]) + "\n"


def with_block(text: str, entries: list[Measurement]) -> str:
    """A page with its last lines renewed."""
    body = text.split(f"{HEADING}\n")[0].rstrip()
    return f"{body}\n\n{block(entries)}"


def pages(manifest: Manifest) -> dict[Path, list[Measurement]]:
    """Return the measurements by page."""
    by_page: dict[Path, list[Measurement]] = {}
    for entry in manifest.measurements:
        by_page.setdefault(DOCS / entry.page, []).append(entry)
    return by_page


def write_pages(manifest: Manifest) -> None:
    """Renew the last lines of all pages."""
    for path, entries in pages(manifest).items():
        text = path.read_text(encoding="utf-8")
        if (new := with_block(text, entries)) != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: last lines renewed")


def parse(argv=None):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True, help="what to do")
    listing = actions.add_parser("stale", help="list tables whose methods have changed")
    listing.add_argument("--fail", action="store_true", help="exit code 1 if there are some")
    renewal = actions.add_parser("update", help="after tables were measured again")
    renewal.add_argument("names", nargs="+", metavar="NAME", help="names in the manifest")
    renewal.add_argument("--commit", help="the commit that was measured (default: HEAD)")
    renewal.add_argument("--date", type=date.fromisoformat, help="the day (default: today)")
    actions.add_parser("write", help="renew the last lines of the pages")
    return parser.parse_args(argv)


def main(argv=None) -> int:
    """Run the command; returns the exit code."""
    options = parse(argv)
    manifest = read()
    if options.action == "stale":
        changed = stale(manifest, record_at())
        for entry in manifest.measurements:
            if entry.name in changed:
                methods = ", ".join(changed[entry.name])
                print(
                    f"{entry.name} (docs/{entry.page}, {entry.commit}): changed since: {methods}"
                )
        print(f"{len(changed)} of {len(manifest.measurements)} measurements are stale")
        return 1 if options.fail and changed else 0
    if options.action == "update":
        manifest = updated(manifest, options.names, options.commit, options.date)
        MANIFEST.write_text(dumps(manifest), encoding="utf-8")
    write_pages(manifest)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
