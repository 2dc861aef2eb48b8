"""Command lines: options with the same meaning in all scripts, checked before a run."""

import argparse
import ast
import math
import os
import pkgutil
import re
import sys
import textwrap
from pathlib import Path

from joblib import effective_n_jobs
from mddf.datasets._registry import resolve

from mddf._command import table_options

from . import in_a_line

RESULTS = Path("results")
FORMATS = ("png", "pdf", "svg", "eps", "jpg", "tif", "webp")
HELP = {
    "ablations": "also run mdDF without each of its parts",
    "adaboost_rounds": "largest number of AdaBoost rounds",
    "bayes": "add Bayesian comparisons of each pair of methods",
    "columns": "number of columns of the table",
    "combinations": "ways to combine layers",
    "components": "number of eigenvectors of --representation kernel",
    "conditions": "conditions of the training rows",
    "data_home": "folder with the files of the data sets",
    "datasets": "names of data sets, which python -m mddf.datasets lists",
    "designs": "training rows of a study",
    "df21_python": "interpreter that has the package deep-forest, for DF21",
    "engines": "engines that run the workers",
    "estimator": "model that makes the features (default: mddf, or deepforest for regression)",
    "flipped": "shares of the labels to replace by another class",
    "forests": "kinds of forests that are measured",
    "format": "formats of the files",
    "fractions": "shares of the training rows in (0, 1]",
    "labelled": "shares of the training rows that have labels, in (0, 1]",
    "layer": "layer whose leaves or kernel are exported, such as 1 (-1 is the last one)",
    "level": "level of significance of the tests",
    "libraries": "libraries to measure",
    "limit": "largest anonymous memory of a fit in GiB (default: no limit)",
    "max_train": "largest number of training rows",
    "max_windows": "largest number of windows to scan",
    "measures": "measurements to make",
    "method": "cascade whose layers are drawn",
    "methods": "names of methods",
    "metric": "names of metrics",
    "models": "models to measure",
    "n_estimators": "number of trees of each forest",
    "n_iter": "number of configurations that a search tries",
    "n_jobs": "threads of a cell that can use several (default: all cores)",
    "n_layers": "largest number of layers of a cascade",
    "overwrite": "replace files that exist",
    "own_sets": "Python file with your own data sets: NAMES, and a function load(name)",
    "peers": "other libraries to compare with",
    "places": "where the codes of a table are",
    "predicted": "number of rows to predict",
    "raw": "also write the original features",
    "repeats": "number of repeats of each measurement",
    "representation": "features: class vectors, leaves or eigenvectors of the forest kernel",
    "reweightings": "ways to reweight samples between layers",
    "rope": "differences of scores up to this size count as equal in Bayesian comparisons",
    "rounds": "number of boosting rounds",
    "rows": "largest number of rows",
    "runs": "number of runs",
    "scanner_trees": "number of trees of each forest of a scanner",
    "seed": "seed of splits and folds",
    "seeds": "number of seeds",
    "smaller_is_better": "smaller values of --metric are better",
    "splits": "number of random splits of data sets without a standard split",
    "stride": "distance between neighbouring windows",
    "studies": "number of studies",
    "suite": "group of data sets",
    "tables": "tables to reproduce or to measure",
    "task": "task of --csv",
    "tasks": "kinds of targets",
    "test": "test of differences between methods",
    "test_csv": "table with test rows, with labels or without",
    "threads": "numbers of threads of all libraries",
    "thin": "try only every n-th value of the grids",
    "time_limit": "seconds of each fit",
    "train": "number of training rows",
    "trees": "number of trees of each forest",
    "tuned": "tune each peer over its published search space",
    "verbose": "report progress",
    "windows": "widths of the scanned windows",
}


def fill(text):
    """Wrap a text to 79 columns."""
    return textwrap.fill(text, 79, subsequent_indent="  ", break_on_hyphens=False)


def refuse(must, got):
    """Return the error that argparse prints in one line."""
    return argparse.ArgumentTypeError(f"{must}, got {got!r}")


def count(text):
    """Read a whole number of at least 1."""
    if not re.fullmatch(r"0*[1-9]\d*", text):
        raise refuse("must be a whole number of at least 1", text)
    return int(text)


def number(must, fits):
    """Return a reader of numbers that accepts those for which `fits` is true."""

    def check(text):
        try:
            if fits(parsed := float(text)):
                return parsed
        except ValueError:
            pass
        raise refuse(must, text)

    return check


share = number("must lie in (0, 1]", lambda x: 0 < x <= 1)
at_least_0 = number("must be a number of at least 0", lambda x: 0 <= x < math.inf)


def threads(text):
    """Read a number of threads as joblib does: -1 means all cores."""
    try:
        return effective_n_jobs(int(text))
    except ValueError:
        raise refuse("must be a whole number other than 0 (-1: all cores)", text) from None


def dataset(text):
    """Read the name of a data set; the error suggests similar names."""
    try:
        resolve(text, {})
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text.lower()


def among(names):
    """Return a reader that accepts the names only."""

    def check(text):
        if text not in names:
            raise refuse(f"must be among {', '.join(names)}", text)
        return text

    return check


def folder(text):
    """Read the path of a folder to write to, which exists or can be created."""
    path = Path(text)
    existing = next(part for part in (path, *path.parents, Path()) if part.exists())
    if not existing.is_dir():
        raise argparse.ArgumentTypeError(f"must be a folder, but {existing} is a file")
    if not os.access(existing, os.W_OK):
        raise argparse.ArgumentTypeError(f"must be a folder to write to, but {existing} is not")
    return path


def value(text):
    """Read a Python literal, such as a number or None; any other text stays text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def words(text, check=str):
    """Split a text at commas, and check each word."""
    return [check(word.strip()) for word in text.split(",") if word.strip()]


def setting(text):
    """Read a setting such as mddf.strength=0.7: method, parameter and value."""
    match = re.fullmatch(r"([^.=]+)\.(\w+)=(.*)", text)
    if match is None:
        raise refuse("must be method.parameter=value", text)
    return match[1], match[2], value(match[3])


class Parser(argparse.ArgumentParser):
    """A parser with the common options of all scripts, and options made from their defaults.

    Parameters
    ----------
    doc : str
        Docstring of the script.
    study : str
        Folder below "results" for the results, unless --out names another one.
    quick : dict, optional
        Defaults with --quick.
    checks : dict, optional
        Allowed values by option: a sequence of names, or a function that reads text. Needed where
        the type of the default does not tell.
    known : dict, optional
        Names by option that --help lists, and to which --method adds the user's own.
    **defaults
        Options with their defaults. A list takes several values, a dict or tuple several of its
        names; None and whole numbers take a count. `HELP` has a text for each.
    """

    def __init__(self, doc, study, *, quick=None, checks=None, known=None, texts=None, **defaults):
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(description=for_screen(doc), formatter_class=raw)
        self.texts = HELP | (texts or {})  # of options that mean something else here
        self.study = study
        self.defaults = defaults
        self.quick = quick or {}
        self.several = set()  # options with several values
        for name, default in defaults.items():
            self._add(name, default, (checks or {}).get(name), (known or {}).get(name))
        quick_values = "; ".join(
            f"{name} {_shown(default)}" for name, default in self.quick.items()
        )
        self.add_argument(
            "--quick",
            action="store_true",
            help=f"run a small version{f' ({quick_values})' if quick_values else ''}",
        )
        self.add_argument(
            "--out", type=folder, help=f"folder for the results (default: results/{study})"
        )

    def _add(self, name, default, check, known=None):
        option = f"--{name.replace('_', '-')}"
        text = self.texts[name]
        if isinstance(default, dict | tuple):
            default = self.defaults[name] = list(default)
            check = check or among(default)
        if known is not None:
            text += f": {', '.join(known)}, and the names of --method"
        if default not in (None, [], False, ""):
            text += f" (default: {_shown(default)})"
        check = check or (FORMATS if name == "format" else None)
        if isinstance(check, tuple | list):
            text, check = f"{text}; among {', '.join(check)}", among(check)
        check_by_name = {"n_jobs": threads, "data_home": str, "seed": int,
                         "datasets": lambda v: v if v in default else dataset(v)}  # fmt: skip
        check = check or check_by_name.get(name)
        if default is False:
            self.add_argument(option, action="store_true", help=text)
        elif isinstance(default, list):
            check = check or type((default or [""])[0])
            self.several.add(name)
            self.add_argument(
                option, nargs="+", help=text, type=lambda text: words(text, check),
                metavar=re.sub("ies$", "y", name).removesuffix("s").upper(),
            )  # fmt: skip
        else:
            check = check or {float: float, str: str}.get(type(default), count)
            self.add_argument(option, type=check, help=text)

    def add_own(self, settings=True):
        """Add options for the user's own table, methods and parameters."""
        own = self.add_argument_group("own data and methods")
        add_table(own, "--datasets")
        own.add_argument(
            "--method", dest="own", nargs="+", action="append", default=[],
            help="add any scikit-learn estimator under a name of its own",
            metavar=("NAME=MODULE:CLASS", "KEY=VALUE"),
        )  # fmt: skip
        if not settings:
            return
        add_drop(own)
        own.add_argument(
            "--set", nargs="+", action="extend", default=[], type=setting,
            metavar="METHOD.PARAMETER=VALUE",
            help="set a parameter of a method; results name the method with this value",
        )  # fmt: skip

    def _own(self, words):
        """Read the words name=module:Class key=value … as a tuple (name, path, arguments)."""
        match = re.fullmatch(r"([\w-]+)=([\w.]+):(\w+)", words[0])
        pairs = [text.partition("=") for text in words[1:]]
        if match is None or not all(key.isidentifier() and sign for key, sign, _ in pairs):
            self.error(
                "argument --method: must be name=module:Class, then key=value arguments, "
                f"got {' '.join(words)!r}"
            )
        name, module, class_name = match.groups()
        sys.path += {os.getcwd()} - {*sys.path}  # the user's modules may be in this folder
        try:
            estimator_class = pkgutil.resolve_name(f"{module}:{class_name}")
        except Exception as error:  # importing a module can raise any error
            self.error(f"argument --method: {name} cannot be had: {in_a_line(error)}")
        if not hasattr(estimator_class, "fit"):
            self.error(f"argument --method: {module}:{class_name} must be a class with fit")
        return name, f"{module}:{class_name}", {key: value(text) for key, _, text in pairs}

    def read(self, argv=None):
        """Parse the options, and fill in the defaults of a full or a quick run."""
        options = self.parse_args(argv)
        if "csv" in options and (options.csv is None) != (options.target is None):
            self.error("--csv and --target go together")
        if "csv" in options and options.csv is not None and getattr(options, "datasets", None):
            self.error("give either --datasets or --csv")
        if "own" in options:
            options.own = [self._own(words) for words in options.own]
        for name, default in (self.defaults | (self.quick if options.quick else {})).items():
            parsed = getattr(options, name)
            if parsed is None and name == "n_jobs":
                options.n_jobs = threads("-1")
            elif parsed is None:
                setattr(options, name, default)
            elif name in self.several:  # "A B" or "A,B", without repetitions
                setattr(options, name, list(dict.fromkeys(v for group in parsed for v in group)))
        options.study, options.asked_out = self.study, options.out
        if options.out is None:
            try:
                options.out = folder(RESULTS / f"{self.study}{'-quick' * options.quick}")
            except argparse.ArgumentTypeError as error:
                self.error(f"without --out, the folder of results {error}")
        return options


def add_table(group, other):
    """Add the options of the user's own table, which takes the place of another option."""
    group.add_argument(
        "--csv", type=Path, metavar="TABLE",
        help=f"CSV or Parquet file with a header, used instead of {other}",
    )  # fmt: skip
    group.add_argument("--target", metavar="COLUMN", help="column of --csv to predict")
    table_options.add_column_options(group)


def add_drop(group):
    """Add the option for columns that are left out."""
    group.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )


def for_screen(doc):
    """Wrap a docstring to 79 columns; comments of long commands move below the command."""
    doc = re.sub(r"^( (?=.{79}).*?\S)  +", r"\1\n        ", doc, flags=re.MULTILINE)
    doc = re.sub(r"^( (?=.{79}).{,75}) ", r"\1 \\\n        ", doc, flags=re.MULTILINE)
    parts = doc.split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else textwrap.fill(p, 79) for p in parts)


def study(doc, name, *, checks=None, **options):
    """Return the parser of a study: it also has --n-jobs and --data-home."""
    return Parser(doc, name, n_jobs=None, data_home=None, checks=checks, **options)


def _shown(values):
    return " ".join(map(str, values)) if isinstance(values, list | tuple) else values
