"""Pictures that are readable in print: lines and classes also differ without colour."""

import textwrap
from itertools import chain, count
from pathlib import Path

import numpy as np

from . import need
from .models import title_of

# Colours of Okabe and Ito, which colour-blind readers can distinguish, and two more (wine and
# olive). Every line also has its own dash pattern and marker.
STYLES = (
    {"color": "#000000", "linestyle": "-", "marker": "o"},
    {"color": "#0072B2", "linestyle": "--", "marker": "s"},
    {"color": "#D55E00", "linestyle": "-.", "marker": "^"},
    {"color": "#009E73", "linestyle": ":", "marker": "D"},
    {"color": "#CC79A7", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
    {"color": "#E69F00", "linestyle": (0, (8, 2)), "marker": "P"},
    {"color": "#56B4E9", "linestyle": (0, (3, 1, 1, 1)), "marker": "X"},
    {"color": "#666666", "linestyle": (0, (1, 3)), "marker": "*"},
    {"color": "#882255", "linestyle": "-", "marker": "h"},
    {"color": "#999933", "linestyle": "-", "marker": "<"},
)
# These methods have the same style in all pictures.
ORDER = (
    "mddf", "gcforest", "xgboost", "rf", "mddf-sf", "mddf-st", "mddf-np", "mlp", "mddf-paper",
    "deepforest",
)  # fmt: skip
MARKERS = "os^Dv"
# More lines than this get thin lines, small markers and faint bands, so that they stay apart.
MANY_LINES = 4


def class_styles(n_classes):
    """Return colour and marker of each class: after ten colours the markers change."""
    n_colours = len(STYLES)
    return [
        {
            "color": STYLES[i % n_colours]["color"],
            "marker": MARKERS[(i // n_colours + i) % len(MARKERS)],
        }
        for i in range(n_classes)
    ]


def pyplot():
    """Return matplotlib.pyplot in the style of the project, without a screen."""
    need("matplotlib", "plots").use("agg")
    from matplotlib import pyplot as plt

    plt.style.use(Path(__file__).with_name("style.mplstyle"))
    return plt


def panels(heights, n_columns, width, **options):
    """Return a figure with rows of these heights in inches, and its axes as a 2-D array."""
    size = (max(n_columns * width, 5.2), sum(heights))
    ratios = {"height_ratios": heights}
    shape = {"figsize": size, "squeeze": False, "gridspec_kw": ratios, **options}
    return pyplot().subplots(len(heights), n_columns, **shape)


def curves(rows, x, quantities, by="method", *, heights=None, width=3.2):
    """Draw curves: a column for each set, a row for each quantity, a line for each method.

    `rows` are means with the columns set, x, `by` and the quantities; columns that end in "_std"
    hold the half-widths of the bands. `quantities` maps columns to labels, from top to bottom.
    Heights and width are in inches. Returns the figure and its axes.
    """
    sets, lines = rows["set"].unique(), rows[by].unique()
    styles = {name: STYLES[ORDER.index(name)] for name in ORDER if name in lines}
    free = [style for style in STYLES if style not in styles.values()]
    more = ({**style, "marker": f"${n}$"} for n in count(2) for style in STYLES)
    new_lines = [name for name in lines if name not in styles]
    styles |= zip(new_lines, chain(free, more), strict=False)
    alpha = 0.15
    if len(lines) > MANY_LINES:
        alpha = 0.08
        thin = {"linewidth": 1.2, "markersize": 3.5}
        styles = {name: style | thin for name, style in styles.items()}
    figure, axes = panels(heights or [1.9] * len(quantities), len(sets), width, sharex="col")
    for column, name in zip(axes.T, sets, strict=True):
        column[0].set_title(name)
        for axis, quantity in zip(column, quantities, strict=True):
            for place, (line, style) in enumerate(styles.items()):
                line_rows = rows[(rows["set"] == name) & (rows[by] == line)].sort_values(x)
                line_rows = line_rows.dropna(subset=quantity)
                every = (5 * place, len(line_rows) // 8) if len(line_rows) > 20 else None
                mean, band = line_rows[quantity], line_rows[f"{quantity}_std"].fillna(0)
                axis.plot(line_rows[x], mean, label=title_of(str(line)), markevery=every, **style)
                axis.fill_between(
                    line_rows[x], mean - band, mean + band, color=style["color"], alpha=alpha, lw=0
                )
    for axis, label in zip(axes[:, 0], quantities.values(), strict=True):
        axis.set_ylabel(label)
    for axis in axes.flat:
        axis.ticklabel_format(axis="y", useOffset=False)
    longest = max(len(title_of(str(line))) for line in lines)
    # Width in inches of an entry of the legend: 0.65 for line and gaps, 0.095 for each letter.
    n_fit = max(1, int(figure.get_size_inches()[0] / (0.65 + 0.095 * longest)))
    n_rows = -(-len(lines) // min(6, n_fit))
    ncols = -(-len(lines) // n_rows)  # as many in each row of the legend
    # A legend of many rows makes the figure higher, so that the axes keep their height.
    figure.set_figheight(figure.get_figheight() + 0.3 * max(0, n_rows - 2))
    title = by if by != "method" else None
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=ncols, title=title)
    return figure, axes


def scatter(axis, plane, labels):
    """Draw points in the plane; each class has a colour and a marker."""
    plane, labels = np.asarray(plane), np.asarray(labels)
    classes = np.unique(labels)
    styles = dict(zip(classes, class_styles(len(classes)), strict=True))
    for label, style in styles.items():
        axis.scatter([], [], s=22, linewidths=0, label=str(label), **style)
    order = np.random.default_rng(0).permutation(len(labels))  # no class lies on top throughout
    for chunk in np.array_split(order, 8):
        for label, style in styles.items():
            rows = plane[chunk[labels[chunk] == label]]
            axis.scatter(*rows.T, s=9, linewidths=0.2, edgecolors="white", **style)
    axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axis.grid(False)


def save(figure, options, name, caption):
    """Write a picture in the formats of --format, and print its caption."""
    for form in options.format:
        path = options.out / f"{name}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        dated = {"Date": None} if form == "svg" else None
        figure.savefig(path, metadata=dated, bbox_inches="tight", pad_inches=0.05)
        if form == "png":
            _use_palette(path)
        print(path)
    print(textwrap.fill(caption, 79))
    pyplot().close(figure)


def _use_palette(path):
    """Reduce a picture to 256 colours, which makes the file about a third as large."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
        small.save(path, optimize=True, dpi=image.info["dpi"])


def seeds_of(rows):
    """Describe the seeds of a picture, such as "mean over 3 seeds", and its bands."""
    least, most = int(rows["n_seeds"].min()), int(rows["n_seeds"].max())
    if most == 1:
        return "one seed"
    n_seeds = f"{least} to {most}" if least < most else f"{most}"
    return f"mean over {n_seeds} seeds, bands of one standard deviation"
