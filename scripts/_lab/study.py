"""A study: what its cells are, how one is computed, and what is made of all of them."""

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
from .running import run, spread


class Study:
    """A command: it computes the cells that are not there yet, and writes tables of all.

    `module` are the script's globals. It has a docstring and these functions:

    - ``cell(options, **key)`` makes the result of a cell, a dict;
    - ``report(frame, options)`` makes a list of `tables.Table` from a row for each result;
    - perhaps ``draw(frame, options)``, which draws results or a table of them (--plot),
      ``prepare(options, parser)``, which looks at the options before anything runs,
      ``settings(options)``, what all results must have in common (or `common`, names of options),
      and ``notes(options)``, lines that a reader of the tables has to know.

    `name` is that of the study, and of the folder below "results". `keys` are parts of a cell's
    key with the options that hold their values (or a value that is no option's name), such as
    "set=datasets seed=seeds", of which all combinations are computed, those of the first part
    together; or a function that makes a list of keys from the options. A `fresh` study is a
    benchmark: it measures anew what is there already, and libraries have one thread. With `own`,
    the user's own table, methods and parameters can be had; "as they are" leaves out --set, the
    parameters. `quick`, `checks` and `options` are
    as `cli.Parser` has them.
    """

    def __init__(
        self, module, name, keys, common=(), *, fresh=False, own=False, quick=None, checks=None,
        **options,
    ):  # fmt: skip
        self.module, self.name, self.keys, self.fresh, self.own = module, name, keys, fresh, own
        self.draw, self.cell, self.report = (module.get(f) for f in ("draw", "cell", "report"))
        self.common = module.get("settings", lambda o: {n: getattr(o, n) for n in common})
        self.prepare = module.get("prepare", lambda options, parser: None)
        self.notes = module.get("notes", lambda options: [])
        if self.draw is not None:
            options |= {"format": ["png", "pdf"], "no_titles": False}
        if not fresh:
            options |= {"backend": None, "scheduler": None}
        self.options = {"quick": quick, "checks": checks, **options}

    def parse(self, argv=None):
        """The options."""
        parser = cli.study(self.module["__doc__"], self.name, **self.options)
        if self.own:
            parser.add_own(settings=self.own is True)
        if self.draw is not None:
            parser.add_argument(
                "--plot", nargs="*", type=Path, metavar="SOURCE",
                help="compute nothing, but draw the results in folders or files (default: --out)",
            )  # fmt: skip
        options = parser.read(argv)
        if self.own and (options.csv is None) != (options.target is None):
            parser.error("--csv and --target go together")
        if self.own and options.csv is not None and options.datasets:
            parser.error("give either --datasets or --csv")
        self.prepare(options, parser)
        return options

    def main(self, argv=None) -> int:
        """Run the command; returns the exit code."""
        try:
            return self._main(self.parse(argv))
        except KeyboardInterrupt:  # while nothing is computed
            return 130

    def _main(self, options):
        if getattr(options, "plot", None) is not None:
            self.plot(options)
            return 0
        store = records.Store(options.out, {"study": self.name, **self.common(options)})
        notes, start = list(self.notes(options)), time.perf_counter()
        keys = self.all_keys(options)
        compute = partial(self.cell, options)
        if self.fresh:
            outcome = run(store, keys, one_thread(compute), fresh=True)
        else:
            engine = options.backend and spread(options.backend, options.scheduler)
            outcome = run(store, keys, compute, engine=engine)
        shown = publish(store, keys, partial(self.report, options=options), notes)
        if shown is None:
            print("\nno results", *outcome.left_out.values(), sep="\n\n")
        else:
            print("\n".join(["", *(table.text() for table in shown)]))
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
        return 1 if outcome.failures or shown is None else 0

    def all_keys(self, options):
        """Keys of all cells that are asked for."""
        if callable(self.keys):
            return self.keys(options)
        parts = dict(word.split("=") for word in self.keys.split())
        values = [_values(getattr(options, n, n), part == n) for part, n in parts.items()]
        return [dict(zip(parts, found, strict=True)) for found in product(*values)]

    def plot(self, options):
        """Draw results; pictures go to --out, or beside the first source."""
        if options.plot and options.asked_out is None:
            first = options.plot[0]
            options.out = first if first.is_dir() else first.parent
        sources = options.plot or [options.out]
        scripts = Path(__file__).resolve().parents[1]
        command = Path(self.module["__file__"]).resolve().relative_to(scripts)
        maker = f"python scripts/{command.as_posix()}"
        parts = [tables.read(path, self.name, maker) for path in sources]
        for path, part in zip(sources, parts, strict=True):
            if differ := ",\n".join(records.clashes(part.attrs, parts[0].attrs)):
                raise SystemExit(f"{path} has other settings than {sources[0]}: {differ}")
        frame = tables.each_once(tables.pd.concat(parts, ignore_index=True))
        frame.attrs = parts[0].attrs
        try:
            self.draw(frame, options)
        except (KeyError, TypeError) as error:  # of a table of another kind
            names = ", ".join(map(str, sources))
            raise SystemExit(f"{names} cannot be drawn ({error}): {maker} makes it") from error


def _values(found, single):
    """Values of a part of a key: a number of seeds counts from 0."""
    if isinstance(found, int):
        return [found] if single else range(found)
    return [found] if isinstance(found, str) else list(found)


def publish(store, keys, report, notes=()):
    """Write the tables of all results, those of some keys first; again if others have added some
    meanwhile."""  # noqa: D205, D209
    places = {store.path(key): place for place, key in enumerate(keys)}
    while True:
        paths = store.paths()
        if not paths:
            return None
        paths_in_order = sorted(paths, key=lambda path: places.get(path, len(places)))
        cells = [records.read_cell(path) for path in paths_in_order]
        frame = records.frame(cells)
        records.write(store.folder / "cells.csv", tables.flat(frame).to_csv(index=False))
        shown = report(frame)
        stamp = records.stamp(cells, records.command())
        tables.write(store.folder, shown, [*notes, *about_versions(cells)], stamp)
        if store.paths() == paths:
            return shown


def about_versions(cells):
    """Lines about packages of which results have several versions."""
    found = tables.pd.DataFrame([cell["provenance"]["versions"] for cell in cells])
    several = {name: sorted(found[name].dropna().unique()) for name in found}
    return [f"results of {name} {' and '.join(v)}" for name, v in several.items() if len(v) > 1]
