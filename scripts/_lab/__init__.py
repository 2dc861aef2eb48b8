"""What the commands in this folder share.

cli        options that mean the same everywhere, checked before anything runs
data       sets by name or CSV file, splits, encodings
models     the registry of methods: adding one is one entry
libraries  forests of several libraries at equal settings
chosen     methods that choose among variants of themselves
scores     metrics for classes and numbers
records    results: one file per cell
study      a command: cells, the tables and the pictures of them
contest    methods on sets, for run_uci and run_league
running    going through cells: progress, failures, Ctrl-C
tables     means over seeds as text, Markdown, LaTeX and CSV
stats      ranks, tests, intervals
pictures   one style, PNG and PDF
bench      CPU seconds, memory, two sides in turns
"""

import importlib


def need(module, extra):
    """A module that only an extra installs; an error of one line without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise SystemExit(
            f'{module.split(".")[0]} is not installed: pip install "mddf[{extra}]"'
        ) from None
