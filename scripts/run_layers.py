"""What happens layer by layer: accuracy, margins and Theorem 1's bound (mdDF, Figs. 8 and 9).

    python scripts/run_layers.py --datasets satimage letter
    python scripts/run_layers.py --quick        the bundled digits, few trees, 1 seed, 3 layers

mdDF, gcForest and mdDF's ablations (SF: random forests only; ST: later layers see the layers
before and not x; NP: later layers see x alone) grow --n-layers layers each, without stopping. For
each number of layers there are the accuracy on the training set as the finished forests see it
(about 100 %: they have seen these labels), the out-of-fold and the test accuracy, and the mean,
the standard deviation and the cumulative distribution of the out-of-fold margins.

The table of bounds is Theorem 1 over the layers of mdDF, delta = 0.05, in two ways. "Trees of any
shape": |H_t| counts all trees that could have been grown on m rows, which a bound must do whose
classes are fixed beforehand; with trees grown to purity it is far above 1 and says nothing. "As if
|H| = trees": |H_t| is the number of trees of a layer; this is no bound on the error, but shows the
part of the theorem that depends on the margins.

Every result is a file of its own in --out; the same command goes on where the last one stopped.
Draw with plot_layers.py.
"""

from __future__ import annotations

import numpy as np
from _lab import cli, data, models, tables
from _lab.running import conduct

from mddf.analysis import log_n_trees, margin_distribution_bound

THRESHOLDS = np.round(np.linspace(-1, 1, 201), 2)


def parse(argv=None):
    return cli.study(
        __doc__,
        "layers",
        quick={"datasets": ["digits"], "seeds": 1, "n_estimators": 5, "n_layers": 3},
        checks={"methods": models.CASCADES},
        **{"datasets": ["satimage", "letter"], "methods": list(models.CASCADES)},
        **{"seeds": 3, "n_estimators": 100, "n_layers": 6},
    ).read(argv)


def layers_of(options, set, seed, method) -> dict:
    """Fit a cascade; for each number of layers what there is to say."""
    split = data.split(data.Source(set, options.data_home), seed)
    budget = models.Budget(options.n_estimators, options.n_layers)
    model = models.build(models.METHODS[method], seed, budget=budget, n_jobs=options.n_jobs)
    model.set_params(early_stopping=False).fit(split.X, split.y)
    n_classes, (m, n_features) = len(model.classes_), split.X.shape
    # The later layers have features of the layers before besides those of the table.
    log_size = log_n_trees(m, n_features + n_classes * len(model.forests), n_classes)
    rows = []
    staged = zip(model.staged_predict(split.X), model.staged_predict(split.X_test), strict=True)
    for layer, (seen, new) in enumerate(staged):
        margins = np.clip(model.margins_[layer], -1, 1)
        anything, _ = margin_distribution_bound(margins, log_size)
        trees, r = margin_distribution_bound(margins, np.log(budget.n_trees))
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
                "bound": anything,
                "bound_of_trees": trees,
                "bound_margin": r,
                "cumulative": shares.round(5).tolist(),
            }
        )
    return {"layers": rows}


def by_layer(frame):
    """A row for each layer of each cell."""
    long = frame.explode("layers", ignore_index=True)
    return long.drop(columns="layers").join(tables.pd.DataFrame(long["layers"].tolist()))


LAYERS = """
set method layer seeds=n_seeds train=train_accuracy:.2% out-of-fold=oof_accuracy:.2%
test=test_accuracy:.2% alpha:.3f margin_mean=margin_mean:.3f std=margin_std:.3f
ratio=margin_ratio:.3f
"""
BOUNDS = """
set layer margin_ratio=margin_ratio:.3f out-of-fold_error=oof:.4f test_error=test:.4f
trees_of_any_shape=bound:.3g as_if_|H|_is_trees=bound_of_trees:.3f at_r=bound_margin:.2f
"""


def report(frame):
    """Accuracies and margins of all methods, and Theorem 1 over the layers of mdDF."""
    long = by_layer(tables.in_order(frame, "method", models.CASCADES)).drop(columns="cumulative")
    by = ["set", "method", "layer"]
    rows = tables.means(long, by, [c for c in long if c not in (*by, "seed")])
    mddf = rows[rows["method"] == "mddf"]
    mddf = mddf.assign(oof=1 - mddf["oof_accuracy"], test=1 - mddf["test_accuracy"])
    rows["method"] = rows["method"].map(models.title_of)
    title = "Theorem 1 over the layers of mdDF, delta = 0.05"
    return [
        tables.columns("layers", "mean over seeds", rows, LAYERS, 3),
        *([tables.columns("bounds", title, mddf, BOUNDS, 2)] if len(mddf) else []),
    ]


def main(argv=None) -> int:
    options = parse(argv)
    seeds = range(options.seeds)
    keys = {"set": options.datasets, "seed": seeds, "method": options.methods}
    return conduct(options, keys, layers_of, report, settings=("n_estimators", "n_layers"))


if __name__ == "__main__":
    raise SystemExit(main())
