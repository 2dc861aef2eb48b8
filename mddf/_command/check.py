"""``mddf check``: look for leakage and columns of poor quality in a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from mddf._quality.check import check

from . import dependent_rows, files, rows, table_options
from .command import Command


class CheckCommand(Command):
    """``mddf check``."""

    description = """\
Check a table before a fit: columns that equal the target or predict it nearly
alone, identifiers, constant and mostly missing columns, columns of many different
texts or with several spellings of one, and copies of rows. `mddf fit` makes the same
checks for its report.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        table_options.add_training_table(parser)
        dependent_rows.add_groups_option(
            parser, "so that a column is a leak only if it predicts other subjects"
        )
        parser.add_argument(
            "--test", type=Path, metavar="TABLE",
            help="table of test rows, among which copies of training rows are searched",
        )  # fmt: skip
        parser.add_argument(
            "--out", type=Path, metavar="FILE",
            help=".csv or .parquet file for the findings (default: a table on the screen)",
        )  # fmt: skip

    def run(self, options: argparse.Namespace) -> None:
        """Read, check, write."""
        if options.out is not None:
            files.check_output("--out", options.out, files.TABLES, options.overwrite)
        groups = dependent_rows.read_groups(options)
        table = rows.read_training(
            options.table, options.target, options.drop,
            not_features=[] if groups is None else [options.groups],
            task=options.task, form=table_options.format_from(options),
            drop_unlabelled=options.drop_unlabelled, warn=True,
        )  # fmt: skip
        X_test = None
        if options.test is not None:
            X_test, _ = rows.read_features(options.test, table.schema)
        if groups is not None:
            groups = groups[table.rows]
        findings = check(table.X, table.y, groups=groups, X_test=X_test, task=table.task)
        if options.out is None:
            print(findings)
        else:
            files.write_table(options.out, findings.to_frame())
            print(f"{options.out}: {len(findings)} findings about {options.table}")


command = CheckCommand()
