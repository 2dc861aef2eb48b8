"""``mddf drift``: compare the rows of a table with the training rows of a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from mddf._quality.drift import DriftReference

from . import files, rows, table_options
from .command import Command

# Exit status with --fail, so that a script can tell drift from an error, which has 1.
_DRIFTED = 3


class DriftCommand(Command):
    """``mddf drift``."""

    description = """\
Compare the rows of a table with the training rows of a model: the size of the
change of each column (population stability index, PSI), a p-value, and its shares
of missing cells, unknown categories and infinite values. A column has drifted if
the p-value is below 0.001 and the PSI is at least 0.02.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        table_options.add_model_and_table(parser)
        parser.add_argument(
            "--train", type=Path, metavar="TABLE",
            help="table of training rows (default: the summary in the model file)",
        )  # fmt: skip
        parser.add_argument(
            "--out", type=Path, metavar="FILE",
            help=".csv or .parquet file for the table (default: a table on the screen)",
        )  # fmt: skip
        parser.add_argument(
            "--fail",
            action="store_true",
            help=f"end with status {_DRIFTED} if a column has drifted",
        )

    def run(self, options: argparse.Namespace) -> None:
        """Read, compare, write."""
        if options.out is not None:
            files.check_output("--out", options.out, files.TABLES, options.overwrite)
        stored = files.read_model(options.model)
        schema = table_options.schema_for(options, stored.schema)
        if options.train is not None:
            X_train, _ = rows.read_features(options.train, schema, allow_infinite=True)
            reference = DriftReference.from_table(X_train)
        else:
            reference = DriftReference.from_json(stored.reference)
        X, _ = rows.read_features(options.table, schema, allow_infinite=True)
        table = reference.compare(X)
        if options.out is None:
            print(table)
        else:
            files.write_table(options.out, table.to_frame())
            print(f"{options.out}: {len(table.drifted)} of {len(table)} columns have drifted")
        if options.fail and table.drifted:
            raise SystemExit(_DRIFTED)


command = DriftCommand()
