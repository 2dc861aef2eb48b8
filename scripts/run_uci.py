"""mdDF beside gcForest, XGBoost, random forests and perceptrons: test accuracy on real data.

    python scripts/run_uci.py                       the bundled sets; a minute and a half
    python scripts/run_uci.py --quick               the same with a fifth of the trees, one seed
    python scripts/run_uci.py --suite paper         the mdDF paper's eight sets; takes hours
    python scripts/run_uci.py --suite paper --ablations
    python scripts/run_uci.py --datasets adult,yeast --methods rf,mddf --seeds 3 --out results/mine

All methods have the same budget: the cascades grow 2 random and 2 completely-random forests of
100 trees in each of 5 folds, which is 2000 trees a layer; RandomForest has 2000 trees, XGBoost
2000 rounds (the paper: 400 k trees, k being the folds, of which it gives no number). The
perceptron is the best of the paper's five architectures on held-out training rows. All other
settings are defaults; only `--methods mddf-c`, which is not among the default ones, chooses mdDF's
depth step among the paper's by out-of-fold accuracy, with five times the budget. Sets without a
standard split are split anew for each seed: yeast into 1038 and 446 rows as in the paper, others
into 70 % and 30 % of each class.

Every result is kept in --out as soon as it is there; the same command goes on where the last one
stopped. Written at the end: cells.csv (one row for each fit), summary.csv, table.md and run.json
(settings, seeds, versions, machine, times, failures). results.json is what a run goes on from.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
from pathlib import Path

from _results import Record, provenance, versions, write_csv, write_json
from _study import count, known_set
from _uci_data import SUITES, n_seeds
from _uci_methods import ABLATIONS, ALL_METHODS, METHODS, Budget, missing
from _uci_run import Run, key
from _uci_tables import Grid, any_published, markdown_table, summarise, text_table
from joblib import effective_n_jobs
from tqdm import tqdm


def names_of(check):
    """A parser of comma-separated names, each of which is checked."""

    def parse(text):
        names = [check(name.strip().lower()) for name in text.split(",") if name.strip()]
        if not names:
            raise argparse.ArgumentTypeError(f"must have at least one name, got {text!r}")
        return list(dict.fromkeys(names))

    return parse


def known_method(name):
    """A parser of the names of methods."""
    if name not in ALL_METHODS:
        raise argparse.ArgumentTypeError(f"must be among {', '.join(ALL_METHODS)}, got {name!r}")
    return name


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--suite", choices=SUITES, default="bundled")
    which.add_argument(
        "--datasets",
        type=names_of(known_set),
        metavar="A,B",
        help="names of mddf.datasets",
    )
    parser.add_argument(
        "--methods",
        type=names_of(known_method),
        metavar="A,B",
        help=f"among {', '.join(ALL_METHODS)} (default: the first {len(METHODS)})",
    )
    parser.add_argument("--ablations", action="store_true", help=f"also {', '.join(ABLATIONS)}")
    parser.add_argument(
        "--seeds", type=count, help="number of seeds (default 5; yeast 10; bundled sets 2)"
    )
    parser.add_argument(
        "--n-estimators", type=count, help="trees of a cascade's forest (default 100)"
    )
    parser.add_argument(
        "--n-layers", type=count, help="most layers of a cascade (default: each class's own)"
    )
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--quick", action="store_true", help="20 trees, one seed, 40 epochs")
    parser.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
    parser.add_argument("--out", help="folder of the results (default: results/uci-...)")
    options = parser.parse_args(argv)
    if options.out is None:
        kind = "datasets" if options.datasets else options.suite
        options.out = f"results/uci-{kind}{'-quick' if options.quick else ''}"
    if options.methods is None:
        options.methods = list(METHODS)
    if options.ablations:
        options.methods = list(dict.fromkeys([*options.methods, *ABLATIONS]))
    return options


def budget_of(options) -> Budget:
    n_estimators = options.n_estimators or (20 if options.quick else 100)
    return Budget(
        n_estimators=n_estimators,
        n_layers=options.n_layers,
        max_epochs=40 if options.quick else 100,
        n_jobs=effective_n_jobs(options.n_jobs),
    )


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((s.split(":")[1].strip() for s in lines if s.startswith("model name")), "")


def settings_of(budget) -> dict:
    """What results of one folder must have in common."""
    budget = {name: value for name, value in vars(budget).items() if name != "n_jobs"}
    return {**budget, "versions": versions()}


def introduce(budget, seeds, methods):
    """Say what is going to happen."""
    print(
        f"sets (seeds): {', '.join(f'{name} ({n})' for name, n in seeds.items())}\n"
        f"methods: {', '.join(ALL_METHODS[m].title for m in methods)}\n"
        f"budget: {describe(budget)}",
        flush=True,
    )


def describe(budget) -> str:
    """The budget in words."""
    layers = "" if budget.n_layers is None else f", at most {budget.n_layers} layers"
    return (
        f"cascades 4 x {budget.n_estimators} trees in {budget.n_folds} folds a layer{layers}; "
        f"RandomForest {budget.n_trees} trees; XGBoost {budget.n_trees} rounds; "
        f"{budget.n_jobs} {'thread' if budget.n_jobs == 1 else 'threads'}"
    )


def remarks(grid, run, budget, absent, n_cells) -> list[str]:
    """What a reader of the table has to know."""
    notes = [describe(budget)]
    if any_published(grid):
        notes.append("published: the mdDF paper's Tables 2 and 3, without seeds or deviations")
    _, n_ranked = grid.mean_ranks("accuracy")
    if n_ranked < len(grid.datasets):
        notes.append(f"mean rank over the {n_ranked} sets with a result of every method")
    if run.n_found:
        notes.append(f"{run.n_found} of {n_cells} results were there from earlier runs")
    for method, module in absent.items():
        notes.append(f"{ALL_METHODS[method].title} left out: {module} is not installed")
    for name, why in run.left_out.items():
        notes.append(f"{name} left out: {why.splitlines()[0]}")
    for failure in run.failures:
        notes.append(f"FAILED: {failure['cell']}: {failure['error'].splitlines()[0]}")
    return notes


CAPTION = "Test accuracy in %, mean ± standard deviation over seeds"


def report(out, cells, run, budget, methods, absent, command):
    """Print the table, and write it with what it is made of."""
    summary = summarise(cells)
    grid = Grid.of(summary, methods)
    notes = remarks(grid, run, budget, absent, len(cells))
    print(f"\n{CAPTION}\n\n{text_table(grid)}\n")
    print("\n".join(notes))
    write_csv(out / "cells.csv", cells)
    write_csv(out / "summary.csv", summary)
    beside = " (published)" if any_published(grid) else ""
    listed = "".join(f"- {note}\n" for note in notes)
    page = f"{CAPTION}{beside}: `{command}`\n\n{markdown_table(grid)}\n\n{listed}"
    (out / "table.md").write_text(page)
    print(f"\nwritten to {out}: cells.csv, summary.csv, table.md, run.json")


def main(argv=None) -> int:
    options = parse(argv)
    budget = budget_of(options)
    out = Path(options.out)
    origin = provenance(options)
    record = Record(out / "results.json", settings_of(budget), origin)
    absent = {m: module for m in options.methods if (module := missing(m)) is not None}
    methods = [m for m in options.methods if m not in absent]
    names = options.datasets or SUITES[options.suite]
    seeds = {name: n_seeds(name, options.seeds, options.quick) for name in names}
    introduce(budget, seeds, methods)
    start, stopped = time.perf_counter(), False
    with tqdm(total=sum(seeds.values()) * len(methods), dynamic_ncols=True) as bar:
        run = Run(record, budget, methods, options.data_home, origin["revision"], bar)
        try:
            for name, n in seeds.items():
                run.dataset(name, range(n))
            bar.set_description("done")
        except KeyboardInterrupt:
            stopped = True
    keys = [key(d, seed, m) for d, n in seeds.items() for m in methods for seed in range(n)]
    cells = [record.results[k] for k in keys if k in record.results]
    command = shlex.join(
        ["python", "scripts/run_uci.py", *(sys.argv[1:] if argv is None else argv)]
    )
    about = {
        **origin,
        "command": command,
        "settings": {**settings_of(budget), "n_jobs": budget.n_jobs},
        "seeds": seeds,
        "methods": {m: ALL_METHODS[m].title for m in methods},
        "processor": processor(),
        "cores": os.cpu_count(),
        "seconds": time.perf_counter() - start,
        "stopped": stopped,
        "results_of_earlier_runs": run.n_found,
        "left_out": {**absent, **run.left_out},
        "failures": run.failures,
    }
    write_json(out / "run.json", about)
    if cells:
        report(out, cells, run, budget, methods, absent, command)
    else:
        print("\nno results", *run.left_out.values(), sep="\n\n")
    if stopped:
        print("stopped; the same command goes on from here")
    return 130 if stopped else 1 if run.failures or not cells else 0


if __name__ == "__main__":
    raise SystemExit(main())
