"""Draw what run_layers.py computed: accuracy, margin ratio and margins over layers.

    python scripts/plot_layers.py results/layers --out pictures
    python scripts/plot_layers.py --quick               what run_layers.py --quick wrote

layers.png (mdDF, Fig. 8) has a row for each set and a panel for each method; margins.png (Fig. 9)
the cumulative distribution of mdDF's out-of-fold margins after each layer.
"""

from __future__ import annotations

import numpy as np
from _pictures import STYLES, pyplot, save, seeds_in_words
from _study import PictureParser, read_results
from _uci_methods import ALL_METHODS
from run_layers import THRESHOLDS

ACCURACIES = {"train_accuracy": "train", "oof_accuracy": "out-of-fold", "test_accuracy": "test"}


def by_set_and_method(results) -> dict[str, dict[str, list]]:
    """Layers of each seed."""
    found: dict[str, dict[str, list]] = {}
    for cell in results.values():
        methods = found.setdefault(cell["dataset"], {})
        methods.setdefault(cell["method"], []).append(cell["layers"])
    return found


def mean_over_seeds(seeds, name) -> np.ndarray:
    """Of a quantity after each layer."""
    return np.mean([[layer[name] for layer in layers] for layers in seeds], axis=0)


def describe(content) -> str:
    """Sets, seeds and settings in words."""
    found = by_set_and_method(content["results"])
    n_seeds = {len(seeds) for methods in found.values() for seeds in methods.values()}
    settings = content["settings"]
    seeds = seeds_in_words(n_seeds.pop()) if len(n_seeds) == 1 else "means over seeds"
    return (
        f"{', '.join(found)}; {seeds}; 4 x {settings['n_estimators']} trees in 5 folds a layer, "
        f"{settings['n_layers']} layers without stopping"
    )


def draw_panel(axis, seeds):
    """Accuracies of a method on the left axis, its margin ratio on the right one."""
    layers = [layer["layer"] for layer in seeds[0]]
    lines = []
    for (name, title), style in zip(ACCURACIES.items(), STYLES, strict=False):
        lines += axis.plot(layers, 100 * mean_over_seeds(seeds, name), label=title, **style)
    right = axis.twinx()
    ratio = mean_over_seeds(seeds, "margin_ratio")
    lines += right.plot(layers, ratio, label="margin ratio (right)", **STYLES[3])
    right.grid(False)
    axis.set_xticks(layers)
    return right, lines


def draw_layers(content, path):
    """Fig. 8."""
    plt = pyplot()
    sets = by_set_and_method(content["results"])
    methods = list(dict.fromkeys(m for found in sets.values() for m in found))
    figure, axes = plt.subplots(
        len(sets),
        len(methods),
        figsize=(max(1.4 * len(methods) + 0.9, 5), 2.4 * len(sets) + 1.0),
        layout="constrained",
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    for row, (name, found) in zip(axes, sets.items(), strict=True):
        rights = []
        for axis, method in zip(row, methods, strict=True):
            if method not in found:
                axis.set_axis_off()
                continue
            right, lines = draw_panel(axis, found[method])
            rights.append(right)
            axis.set_title(ALL_METHODS[method].title)
        ends = np.array([right.get_ylim() for right in rights])
        for right in rights:
            right.set_ylim(ends[:, 0].min(), ends[:, 1].max())
            right.tick_params(right=right is rights[-1], labelright=right is rights[-1])
            right.spines["right"].set_visible(right is rights[-1])
        rights[-1].set_ylabel("margin ratio")
        row[0].set_ylabel(f"{name}: accuracy (%)")
    for axis in axes[-1]:
        axis.set_xlabel("layers")
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines))
    caption = (
        f"Accuracy of the first layers together, and margin ratio std/mean of the out-of-fold "
        f"margins; {describe(content)}."
    )
    return save(figure, path, caption)


def draw_margins(content, path):
    """Fig. 9."""
    plt = pyplot()
    sets = {
        name: found["mddf"]
        for name, found in by_set_and_method(content["results"]).items()
        if "mddf" in found
    }
    figure, axes = plt.subplots(
        2,
        len(sets),
        figsize=(max(4.4 * len(sets), 5.2), 5.6),
        layout="constrained",
        squeeze=False,
        sharex=True,
        height_ratios=(3, 2),
    )
    for (above, below), (name, seeds) in zip(axes.T, sets.items(), strict=True):
        draw_distributions(above, below, seeds)
        above.set_title(name)
    axes[0, 0].set_ylabel("share of the training set (%)")
    axes[1, 0].set_ylabel("minus one layer's (points)")
    caption = (
        "Cumulative distribution of mdDF's out-of-fold margins after each layer (left of 0: "
        f"errors), and how it differs from that after one layer; {describe(content)}."
    )
    return save(figure, path, caption)


def draw_distributions(above, below, seeds):
    """The shares of rows up to each margin, and what they are less than after one layer."""
    cumulative = 100 * mean_over_seeds(seeds, "cumulative")
    mean, std = (mean_over_seeds(seeds, f"margin_{kind}") for kind in ("mean", "std"))
    for layer, shares in enumerate(cumulative):
        style = {"markevery": (4 * layer, 25), **STYLES[layer % len(STYLES)]}
        label = f"{layer + 1}: mean {mean[layer]:.3f}, std {std[layer]:.3f}"
        above.plot(THRESHOLDS, shares, label=label, **style)
        below.plot(THRESHOLDS, shares - cumulative[0], **style)
    for axis in (above, below):
        axis.axvline(0, color="0.5", linewidth=0.8)
    above.set(xlim=(-1, 1), ylim=(0, 100))
    above.legend(loc="upper left", title="layers", title_fontsize=8)
    below.set_xlabel("out-of-fold margin")


def parse(argv):
    parser = PictureParser(
        __doc__,
        source="folder that run_layers.py wrote to (default: its own)",
        out="folder of the pictures (default: the same)",
    )
    parser.add_argument("--format", choices=("png", "pdf", "svg"), default="png")
    return parser.parse_picture(argv, "layers")


def main(argv=None):
    options = parse(argv)
    content = read_results(options.source / "results.json", "layers")
    out = options.out or options.source
    draw_layers(content, out / f"layers.{options.format}")
    if any(cell["method"] == "mddf" for cell in content["results"].values()):
        draw_margins(content, out / f"margins.{options.format}")


if __name__ == "__main__":
    main()
