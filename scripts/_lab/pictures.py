"""How pictures look: readable in print, lines and classes that differ without colour."""

import textwrap
from itertools import chain, count
from pathlib import Path

import numpy as np

from . import need, records
from .models import title_of

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
    {"color": "#0072B2", "linestyle": "-", "marker": "h"},
)
# The project's methods have the same style in all pictures.
ORDER = ("mddf", "gcforest", "xgboost", "rf", "mddf-sf", "mddf-st", "mddf-np", "mlp", "deepforest")
MARKERS = "os^Dv"
N_COLOURS = 8


def class_styles(n_classes):
    """Colour and marker of each class: eight colours, then the same with the next marker."""
    return [
        {
            "color": STYLES[i % N_COLOURS]["color"],
            "marker": MARKERS[(i // N_COLOURS + i) % len(MARKERS)],
        }
        for i in range(n_classes)
    ]


def pyplot():
    """The plotting module without a screen, in the project's style."""
    need("matplotlib", "plots").use("agg")
    from matplotlib import pyplot as plt

    plt.style.use(Path(__file__).with_name("style.mplstyle"))
    return plt


def panels(heights, n_columns, width, **options):
    """A figure with rows of such heights in inches, and its axes as a 2-D array."""
    size = (max(n_columns * width, 5.2), sum(heights))
    ratios = {"height_ratios": heights}
    shape = {"figsize": size, "squeeze": False, "gridspec_kw": ratios, **options}
    return pyplot().subplots(len(heights), n_columns, **shape)


def curves(rows, x, quantities, by="method", *, heights=None, width=3.2):
    """A figure and its axes: a column for each set, a row for each quantity, a line by method.

    `rows` are means with columns set, x, `by`, the quantities, and what their bands reach to
    either side in columns that end in "_std"; `quantities` has labels of columns, from the top to
    the bottom. Heights and width are in inches.
    """
    sets, lines = rows["set"].unique(), rows[by].unique()
    styles = {name: STYLES[ORDER.index(name)] for name in ORDER if name in lines}
    free = [style for style in STYLES if style not in styles.values()]
    more = ({**style, "marker": f"${n}$"} for n in count(2) for style in STYLES)
    others = [name for name in lines if name not in styles]
    styles |= zip(others, chain(free, more), strict=False)
    figure, axes = panels(heights or [1.9] * len(quantities), len(sets), width, sharex="col")
    for column, name in zip(axes.T, sets, strict=True):
        column[0].set_title(name)
        for axis, quantity in zip(column, quantities, strict=True):
            for place, (line, style) in enumerate(styles.items()):
                found = rows[(rows["set"] == name) & (rows[by] == line)].sort_values(x)
                found = found.dropna(subset=quantity)
                every = (5 * place, len(found) // 8) if len(found) > 20 else None
                mean, band = found[quantity], found[f"{quantity}_std"].fillna(0)
                axis.plot(found[x], mean, label=title_of(str(line)), markevery=every, **style)
                axis.fill_between(
                    found[x], mean - band, mean + band, color=style["color"], alpha=0.15, lw=0
                )
    for axis, label in zip(axes[:, 0], quantities.values(), strict=True):
        axis.set_ylabel(label)
    longest = max(len(title_of(str(line))) for line in lines)
    # Inches of a legend's entry at its font size: line and gaps, and a letter.
    n_fit = max(1, int(figure.get_size_inches()[0] / (0.65 + 0.095 * longest)))
    n_rows = -(-len(lines) // min(6, n_fit))
    ncols = -(-len(lines) // n_rows)  # as many in each row of the legend
    # A legend of many rows gets room of its own, so that the axes keep theirs.
    figure.set_figheight(figure.get_figheight() + 0.3 * max(0, n_rows - 2))
    title = by if by != "method" else None
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=ncols, title=title)
    return figure, axes


def scatter(axis, plane, labels):
    """Points in the plane; each class has a colour and a marker.

    Of more classes than there are colours, names stand where the points of each are.
    """
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
    if len(classes) > N_COLOURS:
        from matplotlib.patheffects import withStroke

        around = [withStroke(linewidth=1.5, foreground="white")]
        style = {"ha": "center", "va": "center", "fontsize": 6, "path_effects": around}
        for label in classes:
            axis.annotate(str(label), _middle(plane[labels == label]), **style)
    axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axis.grid(False)


def _middle(points):
    """The point that is nearest to the median of all: it lies among them."""
    return points[np.square(points - np.median(points, axis=0)).sum(axis=1).argmin()]


def save(figure, options, name, caption):
    """Write a picture in all formats asked for, without titles if these are not wanted.

    The caption is for the text around it: it is printed, and kept in captions.md.
    """
    if getattr(options, "no_titles", False):
        for axis in figure.axes:
            axis.set_title("")
    for form in options.format:
        path = options.out / f"{name}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        dated = {"Date": None} if form == "svg" else None
        figure.savefig(path, metadata=dated, bbox_inches="tight", pad_inches=0.05)
        if form == "png":
            _use_palette(path)
        print(path)
    print(textwrap.fill(caption, 79))
    _keep_caption(options.out / "captions.md", name, caption)
    pyplot().close(figure)


def _keep_caption(path, name, caption):
    """Write the caption of a picture in place of the one that there is."""
    there = path.read_text("utf-8").split("\n\n") if path.exists() else []
    texts = {text.split("**")[1]: text.strip() for text in there if text.startswith("**")}
    texts[name] = f"**{name}** {caption}"
    records.write(path, "\n\n".join(texts[key] for key in sorted(texts)) + "\n")


def _use_palette(path):
    """Make a picture a third of its size: 256 colours are more than these have use for."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
        small.save(path, optimize=True, dpi=image.info["dpi"])


def seeds_of(rows):
    """Such as "mean over 3 seeds", or "4 to 10 seeds", with what the bands are."""
    least, most = int(rows["n_seeds"].min()), int(rows["n_seeds"].max())
    if most == 1:
        return "one seed"
    of = f"{least} to {most}" if least < most else f"{most}"
    return f"mean over {of} seeds, bands of one standard deviation"
