"""What the studies of cascades have in common: their options, and where they write to."""

from __future__ import annotations

import argparse
from pathlib import Path

from _results import Record, provenance, read_json, versions
from mddf.datasets._registry import resolve

RESULTS = Path("results")

COUNTS = {
    "seeds": "number of seeds",
    "n_estimators": "trees of each of a cascade's forests",
    "n_layers": "most layers of a cascade",
}


def count(text):
    """A parser of whole numbers above zero."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return value


def known_set(text):
    """A parser of the names of sets; says which one may be meant."""
    try:
        resolve(text, {})
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text.lower()


class StudyParser(argparse.ArgumentParser):
    """A parser with the options of a study.

    Parameters
    ----------
    doc : str
        The script's own docstring.
    name : str
        Of the folder below "results", if --out is not given.
    full, quick : dict
        Values of options that are not given, without and with --quick: of `datasets`, `seeds`,
        `n_estimators`, `n_layers`, and of those that the script adds with a default of None.
    """

    def __init__(self, doc, *, name, full, quick):
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.name, self.full, self.quick = name, full, quick
        if "datasets" in full:
            self.add_argument(
                "--datasets",
                nargs="+",
                type=known_set,
                metavar="NAME",
                help=f"names of mddf.datasets (default: {' '.join(full['datasets'])})",
            )
        for key, text in COUNTS.items():
            if key in full:
                self.add_count(key, text)
        self.add_argument("--n-jobs", type=int, default=1, help="threads (default: 1)")
        self.add_argument("--quick", action="store_true", help=self._quick_values())
        self.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
        self.add_argument("--out", type=Path, help=f"folder (default: results/{name})")

    def add_count(self, key, text):
        """An option with a whole number above zero, whose default is in `full`."""
        option = f"--{key.replace('_', '-')}"
        self.add_argument(option, type=count, help=f"{text} (default: {self.full[key]})")

    def _quick_values(self):
        return "; ".join(
            f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}"
            for key, value in self.quick.items()
        )

    def parse_study(self, argv=None):
        """The options, with the defaults of a full or a quick run."""
        options = self.parse_args(argv)
        chosen = self.full | self.quick if options.quick else self.full
        for key, value in chosen.items():
            if getattr(options, key) is None:
                setattr(options, key, value)
        if options.out is None:
            options.out = folder(self.name, options.quick)
        return options


def open_record(options, **settings) -> Record:
    """The results of a study, with the versions among the settings they must agree in."""
    kept = {**settings, "versions": versions()}
    return Record(options.out / "results.json", kept, provenance(options))


def folder(name: str, quick: bool) -> Path:
    """Where a study writes to, and its pictures are drawn from, if nothing else is asked for."""
    return RESULTS / f"{name}{'-quick' if quick else ''}"


class PictureParser(argparse.ArgumentParser):
    """A parser with the options of what draws a study.

    Parameters
    ----------
    doc : str
        The script's own docstring.
    source : str
        What the results are: help of the first argument, which may be left out.
    out : str
        Help of --out.
    """

    def __init__(self, doc, *, source, out):
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument("source", nargs="?", type=Path, help=source)
        self.add_argument("--quick", action="store_true", help="draw the study's --quick run")
        self.add_argument("--out", type=Path, help=out)

    def parse_picture(self, argv, name, file="", quick_file=""):
        """The options; without a source, what the study of that name writes by default."""
        options = self.parse_args(argv)
        if options.source is None:
            options.source = folder(name, options.quick) / (quick_file if options.quick else file)
        return options


def read_results(path, of_each):
    """What a study wrote; its results must each have the key `of_each`."""
    content = read_json(path, "settings", "results")
    if not content["results"]:
        raise SystemExit(f"{path} has no results yet: let the script that computes it go on")
    if not all(of_each in result for result in content["results"].values()):
        raise SystemExit(f"{path} is a file of another kind: its results have no {of_each}")
    return content
