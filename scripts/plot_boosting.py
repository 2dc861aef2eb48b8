"""Draw what run_deepboost.py and compare_boosting.py computed: tree sizes, margins, ROC curves.

    python scripts/plot_boosting.py results/deepboost_figures.json results/comparison.json
    python scripts/plot_boosting.py --quick         what both wrote with --quick

Without a file, what both write by default.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from _pictures import STYLES, pyplot, save
from _results import read_json
from _study import RESULTS, read_results

WRITTEN = ("deepboost_figures.json", "comparison.json")
WRITTEN_QUICK = ("deepboost_quick_figures.json", "comparison_quick.json")


def parameters(setting) -> str:
    """Such as "beta 0.001, lambda 1e-05, depth 4"; those that are 0 are left out."""
    names = {"beta": "beta", "lambda_": "lambda", "max_depth": "depth"}
    shown = [f"{name} {setting[key]:g}" for key, name in names.items() if setting.get(key)]
    return ", ".join(shown)


def draw_deepboost(content, path):
    """DeepBoost's Figures 3 and 4: tree sizes, and cumulative margins of the methods."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
    sizes, counts = np.unique(content["methods"]["DeepBoost"]["tree_sizes"], return_counts=True)
    left.bar(sizes, counts, width=1.5, color="0.5")
    left.set_xticks(sizes)
    left.set(xlabel="nodes", ylabel="trees", title=f"DeepBoost on {content['set']}")
    for (method, result), style in zip(content["methods"].items(), STYLES, strict=False):
        margins = np.array(result["margins"])
        share = 100 * np.arange(1, len(margins) + 1) / len(margins)
        right.step(margins, share, label=method, markevery=0.12, **style)
    right.set(xlabel="normalised margin", ylabel="share of training rows (%)", title="margins")
    right.legend(loc="lower right")
    chosen = "; ".join(
        f"{method}: {parameters(result['setting'])}"
        for method, result in content["methods"].items()
    )
    caption = (
        f"{content['set']}, first of {content['n_runs']} runs, {len(margins)} training rows, at "
        f"most {content['rounds']} rounds, seed {content['seed']}. Settings of least "
        f"validation error: {chosen}. Left: sizes of the trees with a weight. Right: "
        "cumulative margins of the training rows, over the sum of the weights."
    )
    return save(figure, path, caption)


def draw_curves(content, path):
    """ROC curves, the mean over the splits of each set and method."""
    plt = pyplot()
    curves: dict[str, dict[str, list]] = {}
    for key, result in content["results"].items():
        name, method, _ = key.rsplit("/", 2)
        curves.setdefault(name, {}).setdefault(method, []).append(result)
    width = max(2.9 * len(curves), 5.2)
    figure, axes = plt.subplots(
        1, len(curves), figsize=(width, 3.6), layout="constrained", squeeze=False, sharey=True
    )
    for axis, (name, by_method) in zip(axes[0], curves.items(), strict=True):
        for (method, results), style in zip(by_method.items(), STYLES, strict=False):
            auc = np.mean([result["auc"] for result in results])
            mean = np.mean([result["roc_true_positive"] for result in results], axis=0)
            label = f"{method}, AUC {auc:.3f}"
            axis.plot(results[0]["roc_false_positive"], mean, label=label, markevery=0.12, **style)
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axis.set(xlabel="false positive rate", title=name)
        axis.legend(loc="lower right")
    axes[0, 0].set_ylabel("true positive rate")
    settings = content["settings"]
    rows = ", ".join(
        f"{result['n_test']} of {name}"
        for name, by_method in curves.items()
        for result in next(iter(by_method.values()))[:1]
    )
    caption = (
        f"Test rows ({rows}); mean over {settings['splits']} stratified random splits, a quarter "
        f"for testing, seeds from 0; {settings['rounds']} rounds; AdaBoost with stumps, DeepBoost "
        "with trees of depth 4, nothing tuned."
    )
    return save(figure, path, caption)


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="what the scripts wrote")
    parser.add_argument("--quick", action="store_true", help="draw what --quick wrote")
    parser.add_argument("--out", type=Path, help="folder of the pictures (default: the file's)")
    options = parser.parse_args(argv)
    if not options.files:
        options.files = [RESULTS / name for name in (WRITTEN_QUICK if options.quick else WRITTEN)]
    return options


def main(argv=None):
    options = parse(argv)
    for path in options.files:
        # run_deepboost.py's ..._figures.json, or the .json of compare_boosting.py
        if "methods" in read_json(path):
            content = read_json(path, "set", "n_runs", "rounds", "seed", "methods")
            draw = draw_deepboost
        else:
            content = read_results(path, "roc_true_positive")
            draw = draw_curves
        draw(content, (options.out or path.parent) / path.with_suffix(".png").name)


if __name__ == "__main__":
    main()
