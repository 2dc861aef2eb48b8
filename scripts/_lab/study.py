"""Studies: commands that compute cells, and write tables and pictures of them."""

import json
import os
import sys
import time
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path

from . import cli, records, tables
from .bench import one_thread
from .running import run


class Study:
    """A command that computes missing cells, and writes tables of all cells.

    Parameters
    ----------
    module : dict
        Globals of the script: its docstring, and the functions

        - ``cell(options, **key)``, which returns the result of a cell, a dict;
        - ``report(frame, options)``, which returns a list of `tables.Table` from a frame with a
          row for each result;
        - optionally ``draw(frame, options)``, which draws results or a table (--plot);
        - optionally ``prepare(options, parser)``, which checks the options before a run;
        - optionally ``settings(options)``, which returns the settings that all results share;
        - optionally ``notes(options)``, which returns lines below the tables.
    name : str
        Name of the study, and of its folder below "results".
    keys : str or callable
        Parts of a key with the options that hold their values, such as
        "set=datasets seed=seeds". All combinations are computed; the first part varies slowest.
        A word that is not the name of an option is itself the value. A function gets the options
        and returns a list of keys.
    common : sequence of str
        Options whose values all results share; used without ``settings``.
    fresh : bool
        Whether the study is a benchmark: existing cells are measured again, and libraries use
        one thread.
    own : bool or "as they are"
        Whether users can add their own table, methods and parameters; "as they are" leaves out
        the parameters (--set).
    quick, checks, **options
        Arguments of `cli.Parser`.
    """

    def __init__(
        self, module, name, keys, common=(), *, fresh=False, own=False, quick=None, checks=None,
        **options,
    ):  # fmt: skip
        self.module = module
        self.name = name
        self.keys = keys
        self.fresh = fresh
        self.own = own
        self.draw = module.get("draw")
        self.cell = module.get("cell")
        self.report = module.get("report")
        self.common = module.get("settings", lambda o: {n: getattr(o, n) for n in common})
        self.prepare = module.get("prepare", lambda options, parser: None)
        self.notes = module.get("notes", lambda options: [])
        if self.draw is not None:
            options["format"] = ["png", "pdf"]
        self.options = {"quick": quick, "checks": checks, **options}

    def parse(self, argv=None):
        """Parse and check the options."""
        parser = cli.study(self.module["__doc__"], self.name, **self.options)
        if self.own:
            parser.add_own(settings=self.own is True)
        if self.draw is not None:
            parser.add_argument(
                "--plot", nargs="?", const=False, type=Path, metavar="SOURCE",
                help="compute nothing, but draw the results in a folder or file (default: --out)",
            )  # fmt: skip
        options = parser.read(argv)
        self.prepare(options, parser)
        return options

    def main(self, argv=None) -> int:
        """Run the command; returns the exit code."""
        try:
            return self._main(self.parse(argv))
        except KeyboardInterrupt:  # Ctrl-C outside the computation of cells
            return 130

    def _main(self, options):
        if getattr(options, "plot", None) is not None:
            self.plot(options)
            return 0
        store = records.Store(options.out, {"study": self.name, **self.common(options)})
        notes = list(self.notes(options))
        start = time.perf_counter()
        keys = self.all_keys(options)
        compute = partial(self.cell, options)
        outcome = run(store, keys, one_thread(compute) if self.fresh else compute, self.fresh)
        written_tables = publish(store, keys, partial(self.report, options=options), notes)
        if written_tables is None:
            print("\nno results", *outcome.left_out.values(), sep="\n\n")
        else:
            print("\n".join(["", *(table.text() for table in written_tables)]))
        print(*notes, *map(cli.fill, outcome.notes()), sep="\n")
        about = {**records.provenance(), "settings": store.settings, **vars(outcome)}
        about["seconds"] = time.perf_counter() - start
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}"
        text = json.dumps(about, indent=1, default=str)
        records.write(store.folder / "runs" / f"{stamp}.json", text + "\n")
        print(f"written to {store.folder}", flush=True)
        if outcome.stopped:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
        return 1 if outcome.failures or written_tables is None else 0

    def all_keys(self, options):
        """Return the keys of all cells of the options."""
        if callable(self.keys):
            return self.keys(options)
        parts = dict(word.split("=") for word in self.keys.split())
        values = [_values(getattr(options, n, n), part == n) for part, n in parts.items()]
        return [dict(zip(parts, combination, strict=True)) for combination in product(*values)]

    def plot(self, options):
        """Draw results; pictures go to --out, or next to the source."""
        source = options.plot or options.out
        if options.plot and options.asked_out is None:
            options.out = source if source.is_dir() else source.parent
        command = Path(self.module["__file__"]).resolve().relative_to(records.SCRIPTS)
        maker = f"python scripts/{command.as_posix()}"
        try:
            self.draw(tables.read(source, self.name, maker), options)
        except (KeyError, TypeError) as error:  # the source is a table of another kind
            raise SystemExit(f"{source} cannot be drawn ({error}): {maker} makes it") from error


def _values(option_value, single):
    """Return the values of a part of a key; a number of seeds counts from 0."""
    if isinstance(option_value, int):
        return [option_value] if single else range(option_value)
    return [option_value] if isinstance(option_value, str) else list(option_value)


def publish(store, keys, report, notes=()):
    """Write the tables of all results, in the order of the keys.

    Tables are written again if other processes have added results in the meantime.
    """
    places = {store.path(key): place for place, key in enumerate(keys)}
    while True:
        paths = store.paths()
        if not paths:
            return None
        paths_in_order = sorted(paths, key=lambda path: places.get(path, len(places)))
        cells = [records.read_cell(path) for path in paths_in_order]
        frame = records.frame(cells)
        records.write(store.folder / "cells.csv", tables.flat(frame).to_csv(index=False))
        report_tables = report(frame)
        stamp = records.stamp(cells, records.command())
        tables.write(store.folder, report_tables, [*notes, *about_versions(cells)], stamp)
        if store.paths() == paths:
            return report_tables


def about_versions(cells):
    """Return a line for each package of which the results have several versions."""
    versions = tables.pd.DataFrame([cell["provenance"]["versions"] for cell in cells])
    several = {name: sorted(versions[name].dropna().unique()) for name in versions}
    return [f"results of {name} {' and '.join(v)}" for name, v in several.items() if len(v) > 1]
