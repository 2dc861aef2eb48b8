"""How the scripts' pictures look: readable in print, lines told apart without colour."""

from __future__ import annotations

import textwrap
from pathlib import Path

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
METHODS = ("mddf", "gcforest", "xgboost", "rf", "mddf-sf", "mddf-st", "mddf-np", "mlp")
MARKERS = "osv^DPX*<>phd+x1234|_"


def method_style(method: str) -> dict:
    """The style of a method, the same in all pictures."""
    return STYLES[METHODS.index(method) % len(STYLES)]


def pyplot():
    """The plotting module without a screen, with sizes for print."""
    try:
        import matplotlib
    except ImportError as error:
        raise SystemExit("pictures need matplotlib: python -m pip install matplotlib") from error

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 9,
            "axes.titlesize": 9,
            "legend.fontsize": 8,
            "lines.linewidth": 1.3,
            "lines.markersize": 4,
            "axes.grid": True,
            "grid.color": "0.9",
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "savefig.dpi": 150,
            "pdf.fonttype": 42,
            "svg.hashsalt": "mddf",
        }
    )
    return plt


def save(figure, path, caption: str) -> Path:
    """Write a picture with its caption below it, as the suffix says: .png, .pdf, .svg."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    width = figure.get_size_inches()[0]
    figure.supxlabel(
        textwrap.fill(caption, int(width * 17)), fontsize=8, color="0.25", x=0.01, ha="left"
    )
    figure.savefig(path)
    pyplot().close(figure)
    if path.suffix == ".png":
        _use_palette(path)
    print(path)
    return path


def _use_palette(path):
    """Make a picture a third of its size: 256 colours are more than these have use for."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
        small.save(path, optimize=True, dpi=image.info["dpi"])


def seeds_in_words(n: int) -> str:
    """Such as "1 seed" or "mean over 3 seeds"."""
    return "1 seed" if n == 1 else f"mean over {n} seeds"
