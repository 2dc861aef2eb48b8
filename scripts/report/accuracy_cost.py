"""Draw accuracy against cost at defaults, from the results in docs/results/league.csv.

    python scripts/report/accuracy_cost.py --out docs/pictures

The picture shows the mean rank by log-loss over the sets of the league, and the mean time of a fit
in seconds. The command fits no model: if the results are stale, measure the league first. It also
prints the alternative text of the picture.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import cli, pictures, stats, tables

LEAGUE = Path(__file__).resolve().parents[2] / "docs" / "results" / "league.csv"


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
    "deepforest": Label("DeepForest (mddf)", "#D55E00", "*", (0, 14), "center"),
    "catboost": Label("CatBoost", "#0072B2", "s", (-10, 8), "right"),
    "mddf": Label("mdDF (mddf)", "#D55E00", "v", (-10, 2), "right"),
    "df21": Label("DF21", "#666666", "P", (10, -2), "left"),
    "sklearn-rf": Label("random forest", "#009E73", "D", (10, -6), "left"),
    "extratrees": Label("extra trees", "#009E73", "<", (-10, 2), "right"),
    "lightgbm": Label("LightGBM", "#CC79A7", "^", (10, 0), "left"),
    "histgb": Label("HistGradientBoosting", "#882255", "h", (10, -4), "left"),
    "xgboost": Label("XGBoost", "#000000", "o", (10, -12), "left"),
}


def points(league):
    """Return seconds of a fit and mean rank of each method."""
    ranks = stats.ranks(stats.by_set(league, "log_loss"), greater=False).mean()
    costs = league.groupby(["set", "method"]).mean(numeric_only=True).groupby("method").mean()
    seconds = costs["fit_seconds"]
    # DF21 fits when it predicts: the league timed both together.
    seconds["df21"] = costs.loc["df21", "predict_seconds"]
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
    league = tables.read(LEAGUE)
    points_by_method = points(league)
    figure = draw(points_by_method, league["set"].nunique())
    pictures.save(figure, options, "accuracy-cost", described(points_by_method))


if __name__ == "__main__":
    main()
