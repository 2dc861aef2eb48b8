"""Draw accuracy against cost at defaults, from the tables on docs/results/league.md.

    python scripts/report/accuracy_cost.py --out docs/pictures

The picture shows the mean rank by log-loss over the sets of the league, and the mean time of a fit
in seconds. The command fits no model: if the tables are stale, measure the league first. It also
prints the alternative text of the picture.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import cli, pictures, tables

LEAGUE = Path(__file__).resolve().parents[2] / "docs" / "results" / "league.md"


@dataclass(frozen=True)
class Label:
    """The name of a method in the picture, its look, and where the name stands."""

    text: str
    color: str
    marker: str
    offset: tuple[int, int]
    align: str


# All methods of the league. Offsets in points keep the names apart.
LABELS = {
    "DeepForest": Label("DeepForest (mddf)", "#D55E00", "*", (0, 14), "center"),
    "CatBoost": Label("CatBoost", "#0072B2", "s", (-10, 8), "right"),
    "mdDF": Label("mdDF (mddf)", "#D55E00", "v", (-10, 2), "right"),
    "DF21": Label("DF21", "#666666", "P", (10, -2), "left"),
    "sklearn's forest": Label("random forest", "#009E73", "D", (10, -6), "left"),
    "ExtraTrees": Label("extra trees", "#009E73", "<", (-10, 2), "right"),
    "LightGBM": Label("LightGBM", "#CC79A7", "^", (10, 0), "left"),
    "HistGradientBoosting": Label("HistGradientBoosting", "#882255", "h", (10, -4), "left"),
    "XGBoost": Label("XGBoost", "#000000", "o", (10, -12), "left"),
}


@dataclass(frozen=True)
class Point:
    """Cost and accuracy of a method."""

    method: str
    fit_seconds: float
    mean_rank: float


def points(text):
    """Read the points of the picture from the text of the league's page."""
    ranks = tables.read_markdown(text, "Mean ranks of the nine")["log-loss"]
    costs = tables.read_markdown(text, "Costs, means over the sets")
    # The league timed fit and prediction of DF21 together: its fit has no cell of its own.
    seconds = costs["fit, s"].where(costs["fit, s"] != "", costs["predict, s"])
    seconds = seconds.str.partition(",")[0].astype(float)
    return [Point(method, seconds[method], float(ranks[method])) for method in LABELS]


def described(method_points):
    """Return the alternative text of the picture."""
    parts = [
        f"{LABELS[point.method].text} rank {point.mean_rank:.1f} at {point.fit_seconds:.1f} s"
        for point in method_points
    ]
    return f"Mean rank by log-loss against the time of a fit: {', '.join(parts)}"


def draw(method_points, n_sets):
    """Draw the picture, best methods at the top; font sizes are readable on a phone."""
    figure, ((axis,),) = pictures.panels([3.7], 1, 5.5)
    for point in method_points:
        label = LABELS[point.method]
        size = 260 if label.marker == "*" else 90
        axis.scatter(
            point.fit_seconds, point.mean_rank, s=size, color=label.color, marker=label.marker
        )
        axis.annotate(
            label.text,
            (point.fit_seconds, point.mean_rank),
            xytext=label.offset,
            textcoords="offset points",
            ha=label.align,
            fontsize=12,
            color=label.color,
            fontweight="bold" if label.marker == "*" else "normal",
        )
    axis.set_xscale("log")
    axis.set(xlim=(0.1, 40), ylim=(7.6, 0.6))
    axis.set_xticks([0.1, 1, 10], ["0.1 s", "1 s", "10 s"])
    axis.tick_params(labelsize=12)
    axis.set_yticks(range(1, 8))
    axis.set_xlabel(f"time of a fit, mean over {n_sets} data sets, one thread", fontsize=12)
    axis.set_ylabel("mean rank by log-loss\n(1 is best of nine)", fontsize=12)
    return figure


def parse(argv=None):
    return cli.Parser(__doc__, "accuracy-cost", format=["png"], no_titles=False).read(argv)


def main(argv=None):
    options = parse(argv)
    text = LEAGUE.read_text(encoding="utf-8")
    method_points = points(text)
    n_sets = len(tables.read_markdown(text, "Log-loss, mean of three splits"))
    pictures.save(draw(method_points, n_sets), options, "accuracy-cost", described(method_points))


if __name__ == "__main__":
    main()
