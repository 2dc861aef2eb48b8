"""Draw what run_layers.py computed: accuracy, margin ratio and margins over layers.

    python scripts/plot_layers.py results/layers --out pictures
    python scripts/plot_layers.py --quick               what run_layers.py --quick wrote

layers (mdDF, Fig. 8) has a column for each set, and a row each for test accuracy, out-of-fold
accuracy and margin ratio, with a line for each method; margins (Fig. 9) the cumulative
distribution of mdDF's out-of-fold margins after each layer.
"""

from __future__ import annotations

import numpy as np
from _lab import cli, pictures, records
from _lab.models import title_of

THRESHOLDS = np.linspace(-1, 1, 201)
ROWS = {
    "test_accuracy": ("test (%)", 100),
    "oof_accuracy": ("out-of-fold (%)", 100),
    "margin_ratio": ("margin ratio", 1),
}


def parse(argv=None):
    return cli.read_picture(cli.picture(__doc__, "layers"), argv)


def by_set_and_method(cells):
    """Layers of each seed, by set and method, in the order of the styles."""
    found: dict[str, dict[str, list]] = {}
    order = {name: place for place, name in enumerate(pictures.ORDER)}
    for cell in sorted(cells, key=lambda cell: order.get(cell["key"]["method"], len(order))):
        methods = found.setdefault(cell["key"]["set"], {})
        methods.setdefault(cell["key"]["method"], []).append(cell["result"]["layers"])
    return found


def values(seeds, name):
    """A quantity by seed and layer."""
    return np.array([[layer[name] for layer in layers] for layers in seeds])


def describe(cells, sets) -> str:
    """Sets, seeds and settings in words."""
    n_seeds = min(len(seeds) for methods in sets.values() for seeds in methods.values())
    settings = cells[0]["settings"]
    return (
        f"{pictures.seeds_in_words(n_seeds)}; 4 x {settings['n_estimators']} trees in 5 folds a "
        f"layer, {settings['n_layers']} layers without stopping"
    )


def draw_layers(cells, options):
    """Fig. 8."""
    sets = by_set_and_method(cells)
    figure, axes = pictures.panels(len(ROWS), len(sets), 3.4, 1.9, sharex="col")
    least = 1.0
    for column, (name, methods) in zip(axes.T, sets.items(), strict=True):
        for axis, (quantity, (title, scale)) in zip(column, ROWS.items(), strict=True):
            for method, seeds in methods.items():
                layers = [layer["layer"] for layer in seeds[0]]
                style = pictures.style_of(method)
                found = scale * values(seeds, quantity)
                pictures.line(axis, layers, found, style, title_of(method))
                least = min(least, values(seeds, "train_accuracy").min())
            if axis in axes[:, 0]:
                axis.set_ylabel(title)
        column[0].set_title(name)
        column[-1].set(xlabel="layers", xticks=layers)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    caption = (
        "Accuracy of the first layers together on test rows and out-of-fold, and the ratio "
        "std/mean of their out-of-fold margins; "
        f"{describe(cells, sets)}. Accuracy on the training rows themselves is "
        f"{100 * least:.1f} % or more throughout."
    )
    pictures.save(figure, options, "layers", caption)


def draw_margins(cells, options):
    """Fig. 9."""
    sets = by_set_and_method([cell for cell in cells if cell["key"]["method"] == "mddf"])
    figure, axes = pictures.panels(
        2, len(sets), 4.4, 2.8, sharex=True, gridspec_kw={"height_ratios": (3, 2)}
    )
    for (above, below), (name, methods) in zip(axes.T, sets.items(), strict=True):
        draw_distributions(above, below, methods["mddf"])
        above.set_title(name)
    axes[0, 0].set_ylabel("share of the training set (%)")
    axes[1, 0].set_ylabel("minus one layer's (points)")
    caption = (
        "Cumulative distribution of mdDF's out-of-fold margins after each layer (left of 0: "
        f"errors), and how it differs from that after one layer; {describe(cells, sets)}."
    )
    pictures.save(figure, options, "margins", caption)


def draw_distributions(above, below, seeds):
    """The shares of rows up to each margin, and what they are less than after one layer."""
    cumulative = 100 * values(seeds, "cumulative")
    mean, std = (values(seeds, f"margin_{kind}").mean(axis=0) for kind in ("mean", "std"))
    for layer in range(cumulative.shape[1]):
        style = pictures.STYLES[layer % len(pictures.STYLES)]
        marks = {"markevery": (4 * layer, 25)}
        label = f"{layer + 1}: mean {mean[layer]:.3f}, std {std[layer]:.3f}"
        shares = cumulative[:, layer]
        pictures.line(above, THRESHOLDS, shares, style, label, **marks)
        pictures.line(below, THRESHOLDS, shares - cumulative[:, 0], style, **marks)
    for axis in (above, below):
        axis.axvline(0, color="0.5", linewidth=0.8)
    above.set(xlim=(-1, 1), ylim=(0, 100))
    above.legend(loc="upper left", title="layers", title_fontsize=8)
    below.set_xlabel("out-of-fold margin")


def main(argv=None):
    options = parse(argv)
    cells = records.read_cells(options.source, "layers")
    draw_layers(cells, options)
    if any(cell["key"]["method"] == "mddf" for cell in cells):
        draw_margins(cells, options)


if __name__ == "__main__":
    main()
