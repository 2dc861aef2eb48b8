"""What happens layer by layer: accuracy, margins and Theorem 1's bound (mdDF, Figs. 8 and 9).

    python scripts/run_layers.py --datasets satimage letter
    python scripts/run_layers.py --quick        the bundled digits, few trees, 1 seed, 3 layers

mdDF, gcForest and mdDF's ablations (SF: random forests only; ST: later layers see the layers
before and not x; NP: later layers see x alone) grow --n-layers layers each, without stopping. For
each number of layers there are the accuracy on the training set as the finished forests see it
(about 100 %: they have seen these labels), the out-of-fold and the test accuracy, and the mean,
the standard deviation and the cumulative distribution of the out-of-fold margins.

bounds.md is Theorem 1 over the layers of mdDF, delta = 0.05, in two ways. "Trees of any shape":
|H_t| counts all trees that could have been grown on m rows, which a bound must do whose classes
are fixed beforehand; with trees grown to purity it is far above 1 and says nothing. "As if
|H| = trees": |H_t| is the number of trees of a layer; this is no bound on the error, but shows the
part of the theorem that depends on the margins.

Every result is kept in --out as soon as it is there; the same command goes on where the last one
stopped. Draw with plot_layers.py.
"""

from __future__ import annotations

import numpy as np
from _results import write_csv, write_json
from _study import StudyParser, open_record
from _uci_data import splits
from _uci_methods import ALL_METHODS, Budget
from tqdm import tqdm

from mddf.analysis import log_n_trees, margin_distribution_bound

PARTS = ("train", "oof", "test")
METHODS = ("mddf", "gcforest", "mddf-sf", "mddf-st", "mddf-np")
THRESHOLDS = np.round(np.linspace(-1, 1, 201), 2)


def parse(argv):
    parser = StudyParser(
        __doc__,
        name="layers",
        full={"datasets": ["satimage", "letter"], "seeds": 3, "n_estimators": 100, "n_layers": 6},
        quick={"datasets": ["digits"], "seeds": 1, "n_estimators": 5, "n_layers": 3},
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    return parser.parse_study(argv)


def bounds_of(margins, log_size, n_trees) -> dict:
    """Theorem 1 in both ways."""
    (anything, _), (trees, r) = (
        margin_distribution_bound(margins, size) for size in (log_size, np.log(n_trees))
    )
    return {"bound": anything, "bound_of_trees": trees, "bound_margin": r}


def layers_of(method, split, seed, options) -> list[dict]:
    """Fit a cascade; for each number of layers what there is to say."""
    budget = Budget(options.n_estimators, options.n_layers, n_jobs=options.n_jobs)
    model = ALL_METHODS[method].make(budget, split.X, seed).set_params(early_stopping=False)
    model.fit(split.X, split.y)
    n_classes, (m, n_features) = len(model.classes_), split.X.shape
    # The later layers have features of the layers before besides those of the table.
    log_size = log_n_trees(m, n_features + n_classes * len(model.forests), n_classes)
    n_trees = budget.n_trees
    rows = []
    staged = zip(model.staged_predict(split.X), model.staged_predict(split.X_test), strict=True)
    for layer, (seen, new) in enumerate(staged):
        margins = np.clip(model.margins_[layer], -1, 1)
        shares = np.searchsorted(np.sort(margins), THRESHOLDS, side="right") / m
        rows.append(
            {
                "layer": layer + 1,
                "train_accuracy": float(np.mean(seen == split.y)),
                "oof_accuracy": float(model.history_["accuracy"][layer]),
                "test_accuracy": float(np.mean(new == split.y_test)),
                "alpha": float(model.alphas_[layer]),
                "margin_mean": float(margins.mean()),
                "margin_std": float(margins.std()),
                "margin_ratio": float(margins.std() / margins.mean()),
                **bounds_of(margins, log_size, n_trees),
                "cumulative": shares.round(5).tolist(),
            }
        )
    return rows


def run_set(name, options, record, bar) -> None:
    """All seeds and methods of a set."""
    for seed, split in splits(name, range(options.seeds), options.data_home):
        for method in options.methods:
            bar.set_description(f"{name}, seed {seed}, {method}")

            def compute(method=method, split=split, seed=seed):
                rows = layers_of(method, split, seed, options)
                return {"dataset": name, "method": method, "seed": seed, "layers": rows}

            record.get(f"{name}/{seed}/{method}", compute)
            bar.update()


def summarise(results) -> list[dict]:
    """Means over seeds for each set, method and layer."""
    groups: dict[tuple, list[dict]] = {}
    for cell in results.values():
        for row in cell["layers"]:
            groups.setdefault((cell["dataset"], cell["method"], row["layer"]), []).append(row)
    rows = []
    for (name, method, layer), cells in groups.items():
        numbers = [key for key in cells[0] if key not in ("layer", "cumulative")]
        means = {key: float(np.mean([cell[key] for cell in cells])) for key in numbers}
        rows.append(
            {"dataset": name, "method": method, "layer": layer, "seeds": len(cells), **means}
        )
    return rows


def layer_table(rows) -> str:
    """Accuracies and margins of all methods in Markdown."""
    lines = [
        "| set | method | layer | seeds | train % | out-of-fold % | test % | alpha | margin mean "
        "| margin std | ratio |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in rows:
        accuracies = " | ".join(f"{100 * r[f'{part}_accuracy']:.2f}" for part in PARTS)
        margins = " | ".join(f"{r[f'margin_{k}']:.3f}" for k in ("mean", "std", "ratio"))
        lines.append(
            f"| {r['dataset']} | {ALL_METHODS[r['method']].title} | {r['layer']} | {r['seeds']} "
            f"| {accuracies} | {r['alpha']:.3f} | {margins} |"
        )
    return "\n".join(lines)


def bound_table(rows) -> str:
    """Theorem 1 over the layers of mdDF in Markdown."""
    lines = [
        "| set | layer | margin ratio | out-of-fold error | test error | trees of any shape "
        "| as if \\|H\\| = trees | at r |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in (row for row in rows if row["method"] == "mddf"):
        lines.append(
            f"| {r['dataset']} | {r['layer']} | {r['margin_ratio']:.3f} "
            f"| {1 - r['oof_accuracy']:.4f} | {1 - r['test_accuracy']:.4f} | {r['bound']:.3g} "
            f"| {r['bound_of_trees']:.3f} | {r['bound_margin']:.2f} |"
        )
    return "\n".join(lines)


def main(argv=None) -> None:
    options = parse(argv)
    record = open_record(options, n_estimators=options.n_estimators, n_layers=options.n_layers)
    total = len(options.datasets) * options.seeds * len(options.methods)
    with tqdm(total=total, dynamic_ncols=True) as bar:
        for name in options.datasets:
            run_set(name, options, record, bar)
    rows = summarise(record.asked)
    write_csv(options.out / "summary.csv", rows)
    for name, make in (("layers", layer_table), ("bounds", bound_table)):
        (options.out / f"{name}.md").write_text(make(rows) + "\n")
        print(make(rows), end="\n\n")
    write_json(options.out / "run.json", record.origin)
    print(f"written to {options.out}: results.json, summary.csv, layers.md, bounds.md, run.json")


if __name__ == "__main__":
    main()
