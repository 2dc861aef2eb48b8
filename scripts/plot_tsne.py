"""Draw what run_tsne.py computed: the layers' features of training and test rows in the plane.

    python scripts/plot_tsne.py results/tsne/satimage.json --out tsne.png
    python scripts/plot_tsne.py --quick         what run_tsne.py --quick wrote

A row for training rows, one for test rows; a column for the raw features and for each layer.
"""

from __future__ import annotations

import numpy as np
from _pictures import MARKERS, pyplot, save
from _results import read_json
from _study import PictureParser
from _uci_methods import ALL_METHODS


def scatter(axis, plane, labels, classes):
    """One embedding; each class has a colour and a marker."""
    from matplotlib import colormaps

    colours = colormaps["tab10" if len(classes) <= 10 else "turbo"]
    for number, label in enumerate(classes):
        rows = labels == label
        colour = colours(number if len(classes) <= 10 else number / (len(classes) - 1))
        marker = MARKERS[number % len(MARKERS)]
        axis.scatter(
            *plane[rows].T, s=3, marker=marker, color=colour, linewidths=0.3, label=str(label)
        )
    axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axis.grid(False)


def draw(path, out):
    """Training rows above, test rows below; a column for each layer."""
    plt = pyplot()
    content = read_json(path, "set", "settings", "ratios")
    found = {(row["part"], row["layer"]): row for row in content["ratios"]}
    n_columns = max(layer for _, layer in found) + 1
    figure, axes = plt.subplots(
        2, n_columns, figsize=(1.45 * n_columns + 0.7, 4.4), layout="constrained"
    )
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as arrays:
        classes = np.unique(arrays["train_labels"])
        for row, part in zip(axes, ("train", "test"), strict=True):
            for layer, axis in enumerate(row):
                plane, labels = arrays[f"{part}_{layer}"], arrays[f"{part}_labels"]
                scatter(axis, plane, labels, classes)
                name = "raw features" if layer == 0 else f"layer {layer}"
                axis.set_title(f"{name}\n{found[part, layer]['ratio_embedding']:.3f}")
            row[0].set_ylabel({"train": "training rows", "test": "test rows"}[part])
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside right center",
        title="class",
        markerscale=2.2,
        ncols=1 + (len(names) - 1) // 14,
        columnspacing=0.6,
        handletextpad=0.1,
    )
    settings = content["settings"]
    caption = (
        f"t-SNE of {settings['rows']} rows of either part of {content['set']}, "
        f"{ALL_METHODS[settings['method']].title}, seed {settings['seed']}, 4 x "
        f"{settings['n_estimators']} trees in 5 folds a layer, perplexity "
        f"{settings['perplexity']:g}; class vectors of training rows are out-of-fold. Titles: "
        "ratio of intra-class to inter-class variance in the plane."
    )
    return save(figure, out, caption)


def parse(argv):
    parser = PictureParser(
        __doc__,
        source="a .json that run_tsne.py wrote (default: that of satimage)",
        out=".png, .pdf or .svg (default: the same name with .png)",
    )
    return parser.parse_picture(argv, "tsne", "satimage.json", "digits.json")


def main(argv=None):
    options = parse(argv)
    draw(options.source, options.out or options.source.with_suffix(".png"))


if __name__ == "__main__":
    main()
