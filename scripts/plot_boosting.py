"""Draw what run_deepboost.py and compare_boosting.py computed: tree sizes, margins, ROC curves.

    python scripts/plot_boosting.py results/deepboost_figures.json results/comparison.json

Each picture lies beside its file, with the ending .png.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np


def draw_deepboost(content, path):
    """DeepBoost's Figures 3 and 4: tree sizes, and cumulative margins of the methods."""
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes, counts = np.unique(content["methods"]["DeepBoost"]["tree_sizes"], return_counts=True)
    left.bar(sizes, counts, width=1.5)
    left.set(xlabel="nodes", ylabel="trees", title=f"DeepBoost on {content['set']}")
    for method, result in content["methods"].items():
        margins = np.array(result["margins"])
        right.step(margins, np.arange(1, len(margins) + 1) / len(margins), label=method)
    right.set(xlabel="normalised margin", ylabel="share of training rows", title="margins")
    right.legend()
    figure.savefig(path)
    plt.close(figure)


def draw_curves(content, path):
    """ROC curves, the mean over the splits of each set and method."""
    from matplotlib import pyplot as plt

    curves: dict[str, dict[str, list]] = {}
    for key, result in content["results"].items():
        name, method, _ = key.rsplit("/", 2)
        curves.setdefault(name, {}).setdefault(method, []).append(result)
    figure, axes = plt.subplots(
        1, len(curves), figsize=(4.5 * len(curves), 4.2), layout="constrained", squeeze=False
    )
    for axis, (name, by_method) in zip(axes[0], curves.items(), strict=True):
        for method, results in by_method.items():
            auc = np.mean([result["auc"] for result in results])
            mean = np.mean([result["roc_true_positive"] for result in results], axis=0)
            axis.plot(results[0]["roc_false_positive"], mean, label=f"{method}, AUC {auc:.3f}")
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axis.set(xlabel="false positive rate", ylabel="true positive rate", title=name)
        axis.legend(loc="lower right")
    figure.savefig(path)
    plt.close(figure)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    return parser.parse_args(argv)


def main(argv=None):
    for path in parse(argv).files:
        content = json.loads(path.read_text())
        draw = draw_deepboost if "methods" in content else draw_curves
        picture = path.with_suffix(".png")
        draw(content, picture)
        print(picture)


if __name__ == "__main__":
    main()
