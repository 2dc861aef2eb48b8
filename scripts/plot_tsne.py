"""Draw what run_tsne.py computed: the layers' features of training and test rows in the plane.

    python scripts/plot_tsne.py results/tsne --out pictures
    python scripts/plot_tsne.py --quick         what run_tsne.py --quick wrote

A picture for each set, named tsne-SET: a row for training rows, one for test rows; a column for
the raw features and for each layer.
"""

from __future__ import annotations

import numpy as np
from _lab import cli, pictures, records
from _lab.models import title_of


def parse(argv=None):
    return cli.read_picture(cli.picture(__doc__, "tsne"), argv)


def scatter(axis, plane, labels, classes):
    """One embedding; each class has a colour and a marker."""
    order = np.random.default_rng(0).permutation(len(labels))  # no class lies on top throughout
    styles = dict(zip(classes, pictures.class_styles(len(classes)), strict=True))
    for label, style in styles.items():
        axis.scatter([], [], s=22, linewidths=0, label=str(label), **style)
    for chunk in np.array_split(order, 8):
        for label, style in styles.items():
            rows = chunk[labels[chunk] == label]
            axis.scatter(*plane[rows].T, s=9, linewidths=0.2, edgecolors="white", **style)
    axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axis.grid(False)


def draw(cell, options):
    """Training rows above, test rows below; a column for each layer."""
    parts = {part: cell["result"][part] for part in ("train", "test")}
    n_columns = len(parts["train"]["planes"])
    figure, axes = pictures.panels(2, n_columns, 1.75, 2.1)
    classes = np.unique(parts["train"]["labels"]).tolist()
    for row, (part, found) in zip(axes, parts.items(), strict=True):
        labels = np.array(found["labels"])
        for layer, (axis, plane) in enumerate(zip(row, found["planes"], strict=True)):
            scatter(axis, np.array(plane), labels, classes)
            name = "raw features" if layer == 0 else f"layer {layer}"
            axis.set_title(f"{name}, {found['in_plane'][layer]:.3f}")
        row[0].set_ylabel({"train": "training rows", "test": "test rows"}[part])
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside right center",
        title="class",
        ncols=1 + (len(names) - 1) // 14,
        columnspacing=0.6,
        handletextpad=0.1,
    )
    settings, name = cell["settings"], cell["key"]["set"]
    caption = (
        f"t-SNE of {len(parts['train']['labels'])} training and {len(parts['test']['labels'])} "
        f"test rows of {name}, {title_of(cell['key']['method'])}, seed {cell['key']['seed']}, 4 x "
        f"{settings['n_estimators']} trees in 5 folds a layer, perplexity "
        f"{settings['perplexity']:g}; class vectors of training rows are out-of-fold. Titles: "
        "ratio of intra-class to inter-class variance in the plane."
    )
    pictures.save(figure, options, f"tsne-{name}", caption)


def main(argv=None):
    options = parse(argv)
    for cell in records.read_cells(options.source, "tsne"):
        draw(cell, options)


if __name__ == "__main__":
    main()
