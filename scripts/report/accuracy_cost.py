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


def points(text):
    """Read seconds of a fit and mean rank of each method from the text of the league's page."""
    ranks = tables.read_markdown(text, "Mean ranks of the nine")["log-loss"].astype(float)
    costs = tables.read_markdown(text, "Costs, means over the sets")
    # The league timed fit and prediction of DF21 together: its fit has no cell of its own.
    seconds = costs["fit, s"].where(costs["fit, s"] != "", costs["predict, s"])
    seconds = seconds.str.partition(",")[0].astype(float)
    return {method: (seconds[method], ranks[method]) for method in LABELS}


def described(points_by_method):
    """Return the alternative text of the picture."""
    parts = [
        f"{LABELS[method].text} rank {rank:.1f} at {seconds:.1f} s"
        for method, (seconds, rank) in points_by_method.items()
    ]
    return f"Mean rank by log-loss against the time of a fit: {', '.join(parts)}"


def draw(points_by_method, n_sets):
    """Draw the picture, best methods at the top; font sizes are readable on a phone."""
    figure, ((axis,),) = pictures.panels([3.7], 1, 5.5)
    for method, point in points_by_method.items():
        label = LABELS[method]
        size = 260 if label.marker == "*" else 90
        axis.scatter(*point, s=size, color=label.color, marker=label.marker)
        axis.annotate(
            label.text,
            point,
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


def main(argv=None):
    options = cli.Parser(__doc__, "accuracy-cost", format=["png"]).read(argv)
    text = LEAGUE.read_text(encoding="utf-8")
    points_by_method = points(text)
    n_sets = len(tables.read_markdown(text, "Log-loss, mean of three splits"))
    figure = draw(points_by_method, n_sets)
    pictures.save(figure, options, "accuracy-cost", described(points_by_method))


if __name__ == "__main__":
    main()
