"""How pictures look: readable in print, lines and classes told apart without colour."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from . import need

# Colours of Okabe and Ito, which colour-blind readers tell apart; every line also has a dash
# pattern and a marker of its own.
STYLES = (
    {"color": "#000000", "linestyle": "-", "marker": "o"},
    {"color": "#0072B2", "linestyle": "--", "marker": "s"},
    {"color": "#D55E00", "linestyle": "-.", "marker": "^"},
    {"color": "#009E73", "linestyle": ":", "marker": "D"},
    {"color": "#CC79A7", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
    {"color": "#E69F00", "linestyle": (0, (8, 2)), "marker": "P"},
    {"color": "#56B4E9", "linestyle": (0, (3, 1, 1, 1)), "marker": "X"},
    {"color": "#666666", "linestyle": (0, (1, 3)), "marker": "*"},
)
ORDER = ("mddf", "gcforest", "xgboost", "rf", "mddf-sf", "mddf-st", "mddf-np", "mlp")
MARKERS = "os^Dv"


def style_of(method, methods=ORDER):
    """The style of a method, the same in all pictures of the project's own methods."""
    order = [*ORDER, *(name for name in methods if name not in ORDER)]
    return STYLES[order.index(method) % len(STYLES)]


def class_styles(n_classes):
    """Colour and marker of each class: eight colours, then the same with the next marker."""
    return [
        {"color": STYLES[i % 8]["color"], "marker": MARKERS[(i // 8 + i) % len(MARKERS)]}
        for i in range(n_classes)
    ]


def pyplot():
    """The plotting module without a screen, in the project's style."""
    need("matplotlib", "plots").use("agg")
    from matplotlib import pyplot as plt

    plt.style.use(Path(__file__).with_name("style.mplstyle"))
    return plt


def panels(n_rows, n_columns, width, height, **options):
    """A figure of so many panels of a size in inches, and its axes as a 2-D array."""
    size = (max(n_columns * width, 5.2), n_rows * height)
    return pyplot().subplots(n_rows, n_columns, figsize=size, squeeze=False, **options)


def line(axis, x, values, style, label=None, error=None, **options):
    """Means over seeds (the rows of `values`) with a band of one deviation, or of `error`."""
    values = np.atleast_2d(values)
    mean = values.mean(axis=0)
    if error is None:
        error = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(mean))
    axis.plot(x, mean, label=label, **style, **options)
    axis.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.15, linewidth=0)


def save(figure, options, name, caption):
    """Write a picture in all formats asked for, with its caption below it."""
    width = figure.get_size_inches()[0]
    figure.supxlabel(
        textwrap.fill(caption, int(width * 17)), fontsize=8, color="0.25", x=0.01, ha="left"
    )
    options.out.mkdir(parents=True, exist_ok=True)
    for form in options.format:
        path = options.out / f"{name}.{form}"
        figure.savefig(path, metadata={"Date": None} if form == "svg" else None)
        if form == "png":
            _use_palette(path)
        print(path)
    pyplot().close(figure)


def _use_palette(path):
    """Make a picture a third of its size: 256 colours are more than these have use for."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
        small.save(path, optimize=True, dpi=image.info["dpi"])


def seeds_in_words(n):
    """Such as "1 seed" or "mean over 3 seeds, bands of one standard deviation"."""
    return "1 seed" if n == 1 else f"mean over {n} seeds, bands of one standard deviation"
