"""Test accuracy of forests, boosting and cascades on shares of the training set (mdDF, Fig. 6).

    python scripts/run_small_sample.py --datasets satimage letter
    python scripts/run_small_sample.py --quick        the bundled digits, few trees, 2 seeds

For each seed, all methods train on the same stratified subsets, of which the larger ones hold the
smaller ones, and are tested on the whole test set. A cascade's layer has 4 x 5 x --n-estimators
trees, RandomForest as many in all, and XGBoost --rounds rounds (its trees are as many as the
classes in each round). Every result is kept in --out as soon as it is there; the same command goes
on where the last one stopped. Draw with plot_small_sample.py.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass

import numpy as np
from _results import write_csv, write_json
from _study import StudyParser, open_record
from _subsets import by_subset, nested_subsets
from _uci_data import Split, splits
from _uci_methods import ALL_METHODS, Budget, missing
from _uci_run import run_cell
from sklearn.utils import _safe_indexing
from tqdm import tqdm

from mddf import datasets

METHODS = ("rf", "xgboost", "gcforest", "mddf")
FRACTIONS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0]
DEFAULT_SETS = ["satimage", "letter"]  # unless the paper's, har, is there


def parse(argv):
    parser = StudyParser(
        __doc__,
        name="small-sample",
        full={
            "datasets": DEFAULT_SETS,
            "seeds": 10,
            "n_estimators": 100,
            "n_layers": 4,
            "rounds": 300,
            "fractions": FRACTIONS,
        },
        quick={
            "datasets": ["digits"],
            "seeds": 2,
            "n_estimators": 5,
            "rounds": 10,
            "fractions": [0.02, 0.1, 0.5, 1.0],
        },
    )
    parser.add_argument("--methods", nargs="+", choices=ALL_METHODS, default=list(METHODS))
    parser.add_argument(
        "--fractions", nargs="+", type=fraction, help="shares of the training set, in (0, 1]"
    )
    parser.add_count("rounds", "XGBoost's rounds")
    options = parser.parse_study(argv)
    if options.datasets is DEFAULT_SETS and has_har(options.data_home):
        options.datasets = ["har"]
    absent = [name for name in options.methods if missing(name)]
    if absent:
        print(f"left out, not installed: {', '.join(absent)}")
    options.methods = [name for name in options.methods if name not in absent]
    return options


def fraction(text):
    """A parser of shares."""
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must lie in (0, 1], got {text}")
    return value


def has_har(data_home) -> bool:
    """Whether the paper's set is there."""
    try:
        datasets.load("har", data_home=data_home, download=False)
    except (datasets.DataFileNotFoundError, ImportError):
        return False
    return True


@dataclass(frozen=True)
class Rounds(Budget):
    """A budget of boosting rounds, whatever the cascades' trees."""

    rounds: int = 1

    @property
    def n_trees(self) -> int:
        """The rounds."""
        return self.rounds


def budgets(options) -> dict[str, Budget]:
    """What each method may use; XGBoost's rounds are counted for themselves."""
    cascade = Budget(
        n_estimators=options.n_estimators, n_layers=options.n_layers, n_jobs=options.n_jobs
    )
    xgboost = Rounds(n_jobs=options.n_jobs, rounds=options.rounds)
    return {name: xgboost if name == "xgboost" else cascade for name in options.methods}


def subset(split, rows) -> Split:
    """A split with the rows of its training part."""
    return Split(_safe_indexing(split.X, rows), split.y[rows], split.X_test, split.y_test)


def run_set(name, options, record, bar) -> None:
    """All seeds, shares and methods of a set."""
    for seed, split in splits(name, range(options.seeds), options.data_home):
        subsets = nested_subsets(split.y, options.fractions, seed)
        for fraction, rows in subsets.items():
            part = subset(split, rows)
            for method, budget in budgets(options).items():
                bar.set_description(f"{name}, seed {seed}, {fraction:.0%}, {method}")

                def compute(method=method, budget=budget, part=part, fraction=fraction, seed=seed):
                    return {"fraction": fraction, **run_cell(name, method, seed, part, budget)}

                record.get(f"{name}/{seed}/{fraction}/{method}", compute)
                bar.update()


def summarise(results) -> list[dict]:
    """Mean and standard deviation over seeds of each set, share and method."""
    groups: dict[tuple, list[dict]] = {}
    for cell in results.values():
        groups.setdefault((cell["dataset"], cell["fraction"], cell["method"]), []).append(cell)
    rows = []
    for (name, fraction, method), cells in sorted(groups.items()):
        accuracy = np.array([cell["accuracy"] for cell in cells])
        rows.append(
            {
                "dataset": name,
                "fraction": fraction,
                "method": method,
                "n_train": cells[0]["n_train"],
                "seeds": len(cells),
                "accuracy": float(accuracy.mean()),
                "accuracy_std": float(accuracy.std(ddof=1)) if len(cells) > 1 else None,
                "fit_seconds": float(np.mean([cell["fit_seconds"] for cell in cells])),
            }
        )
    return rows


def table(rows) -> str:
    """A Markdown table: accuracy in %, mean and standard deviation over seeds."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = [
        f"| set | share | rows | seeds | {' | '.join(ALL_METHODS[m].title for m in methods)} |",
        f"|---|--:|--:|--:|{'--:|' * len(methods)}",
    ]
    found = {(r["dataset"], r["fraction"], r["method"]): r for r in rows}
    for name, fraction in dict.fromkeys((r["dataset"], r["fraction"]) for r in rows):
        there = [found.get((name, fraction, method)) for method in methods]
        first = next(row for row in there if row)
        shown = [
            ""
            if r is None
            else f"{100 * r['accuracy']:.2f} ± {100 * (r['accuracy_std'] or 0):.2f}"
            for r in there
        ]
        lines.append(
            f"| {name} | {fraction:.0%} | {first['n_train']} | {first['seeds']} | "
            f"{' | '.join(shown)} |"
        )
    return "\n".join(lines)


def differences(results) -> str:
    """A Markdown table: what mdDF has above each other method on the same subsets."""
    found = by_subset(results)
    others = [m for m in ALL_METHODS if m != "mddf" and any(m in v for v in found.values())]
    lines = [
        f"| mdDF minus | share | {' | '.join(ALL_METHODS[m].title for m in others)} |",
        f"|---|--:|{'--:|' * len(others)}",
    ]
    for (name, share), by_method in sorted(found.items()):
        own = by_method.get("mddf", {})
        shown = []
        for method in others:
            pairs = [(own[s], a) for s, a in by_method.get(method, {}).items() if s in own]
            shown.append(_difference(np.array(pairs)) if pairs else "")
        lines.append(f"| {name} | {share:.0%} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _difference(pairs) -> str:
    """Mean and standard error of paired differences, and how many are above 0."""
    gains = pairs[:, 0] - pairs[:, 1]
    error = f" ± {gains.std(ddof=1) / np.sqrt(len(gains)):.2f}" if len(gains) > 1 else ""
    return f"{gains.mean():+.2f}{error} ({(gains > 0).sum()} of {len(gains)})"


def main(argv=None) -> None:
    options = parse(argv)
    record = open_record(
        options,
        n_estimators=options.n_estimators,
        n_layers=options.n_layers,
        rounds=options.rounds,
    )
    n_cells = len(options.datasets) * options.seeds * len(options.fractions) * len(options.methods)
    with tqdm(total=n_cells, dynamic_ncols=True) as bar:
        for name in options.datasets:
            run_set(name, options, record, bar)
    rows = summarise(record.asked)
    write_csv(options.out / "summary.csv", rows)
    shown = table(rows)
    if "mddf" in options.methods and len(options.methods) > 1:
        shown += (
            "\n\nPoints, mean ± standard error over seeds, and on how many subsets mdDF is ahead:"
            f"\n\n{differences(record.asked)}"
        )
    (options.out / "table.md").write_text(f"{shown}\n")
    budget = {name: asdict(budget) for name, budget in budgets(options).items()}
    write_json(options.out / "run.json", {**record.origin, "budgets": budget})
    print(f"\nTest accuracy in %, mean ± standard deviation over seeds\n\n{shown}\n")
    print(f"written to {options.out}: results.json, summary.csv, table.md, run.json")


if __name__ == "__main__":
    main()
