"""Draw what run_deepboost.py and compare_boosting.py computed: tree sizes, margins, ROC curves.

    python scripts/plot_boosting.py results/deepboost results/comparison
    python scripts/plot_boosting.py --quick results/deepboost-quick

Without a source, what run_deepboost.py writes by default. Of Table 2, a picture for each set with
run 0: deepboost-SET (DeepBoost's Figures 3 and 4); of the comparison, roc.
"""

from __future__ import annotations

import numpy as np
from _lab import cli, pictures, records


def parse(argv=None):
    return cli.read_picture(cli.picture(__doc__, "deepboost"), argv)


def parameters(setting) -> str:
    """Such as "beta 0.001, lambda 1e-05, depth 4"; those that are 0 are left out."""
    names = {"beta": "beta", "lambda_": "lambda", "max_depth": "depth"}
    shown = [f"{name} {setting[key]:g}" for key, name in names.items() if setting.get(key)]
    return ", ".join(shown)


def draw_deepboost(name, methods, settings, options):
    """DeepBoost's Figures 3 and 4: tree sizes, and cumulative margins of the methods."""
    figure, ((left, right),) = pictures.panels(1, 2, 3.7, 3.4)
    sizes, counts = np.unique(methods["DeepBoost"]["tree_sizes"], return_counts=True)
    left.bar(sizes, counts, width=1.5, color="0.5")
    left.set(xlabel="nodes", ylabel="trees", title=f"DeepBoost on {name}")
    left.xaxis.get_major_locator().set_params(integer=True)
    for (method, result), style in zip(methods.items(), pictures.STYLES, strict=False):
        margins = np.array(result["margins"])
        share = 100 * np.arange(1, len(margins) + 1) / len(margins)
        right.step(margins, share, label=method, markevery=0.12, **style)
    right.set(xlabel="normalised margin", ylabel="share of training rows (%)", title="margins")
    right.legend(loc="best")
    chosen = "; ".join(f"{m}: {parameters(r['first_setting'])}" for m, r in methods.items())
    caption = (
        f"{name}, first of ten runs, {len(margins)} training rows, at most {settings['rounds']} "
        f"rounds, seed {settings['seed']}. Settings of least validation error: {chosen}. Left: "
        "sizes of the trees with a weight. Right: cumulative margins of the training rows, over "
        "the sum of the weights."
    )
    pictures.save(figure, options, f"deepboost-{name}", caption)


def draw_curves(cells, options):
    """ROC curves, the mean over the splits of each set and method."""
    curves: dict[str, dict[str, list]] = {}
    for cell in cells:
        by_method = curves.setdefault(cell["key"]["set"], {})
        by_method.setdefault(cell["key"]["method"], []).append(cell["result"])
    figure, axes = pictures.panels(1, len(curves), 2.9, 3.6, sharey=True)
    for axis, (name, by_method) in zip(axes[0], curves.items(), strict=True):
        for (method, results), style in zip(by_method.items(), pictures.STYLES, strict=False):
            auc = np.mean([result["auc"] for result in results])
            rises = [result["roc_true_positive"] for result in results]
            x = results[0]["roc_false_positive"]
            label = f"{method}, AUC {auc:.3f}"
            pictures.line(axis, x, rises, style, label, markevery=0.12)
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axis.set(xlabel="false positive rate", title=name)
        axis.legend(loc="lower right")
    axes[0, 0].set_ylabel("true positive rate")
    firsts = {name: next(iter(by_method.values())) for name, by_method in curves.items()}
    rows = ", ".join(f"{results[0]['n_test']} of {name}" for name, results in firsts.items())
    n_splits = min(map(len, firsts.values()))
    caption = (
        f"Test rows ({rows}); stratified random splits ({n_splits}), a quarter "
        f"for testing, seeds from 0; {cells[0]['settings']['rounds']} rounds; AdaBoost with "
        "stumps, DeepBoost with trees of depth 4, nothing tuned."
    )
    pictures.save(figure, options, "roc", caption)


def main(argv=None):
    options = parse(argv)
    for source in options.source:
        cells = records.read_cells([source], ("deepboost", "comparison"))
        if cells[0]["settings"]["study"] == "comparison":
            draw_curves(cells, options)
            continue
        sets: dict[str, dict] = {}
        for cell in cells:
            if "margins" in cell["result"]:
                methods = sets.setdefault(cell["key"]["set"], {})
                methods[cell["key"]["method"]] = cell["result"]
        if not sets:
            raise SystemExit(f"{source} has no run 0 of Table 2: "
                             "python scripts/run_deepboost.py --tables 2 makes it")  # fmt: skip
        for name, methods in sets.items():
            if "DeepBoost" in methods:
                draw_deepboost(name, methods, cells[0]["settings"], options)


if __name__ == "__main__":
    main()
