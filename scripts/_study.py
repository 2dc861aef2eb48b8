"""What the studies of cascades have in common: their options, and where they write to."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

RESULTS = Path("results")

COUNTS = {
    "seeds": "number of seeds",
    "n_estimators": "trees of each of a cascade's forests",
    "n_layers": "most layers of a cascade",
}


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
        self.add_argument(option, type=self._count, help=f"{text} (default: {self.full[key]})")

    @staticmethod
    def _count(text):
        value = int(text)
        if value < 1:
            raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
        return value

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


def read_results(path):
    """What a study wrote; an error for people where it has not."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise SystemExit(f"no {path}: let the script that computes it run first") from None
