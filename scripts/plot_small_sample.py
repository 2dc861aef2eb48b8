"""Draw what run_small_sample.py computed: test accuracy over the share of the training set.

    python scripts/plot_small_sample.py results/small-sample --out pictures
    python scripts/plot_small_sample.py --quick         what run_small_sample.py --quick wrote

Above the accuracies, below what they differ by from RandomForest's on the same rows.
"""

from __future__ import annotations

from _lab import cli, pictures, records
from _lab.models import title_of


def parse(argv=None):
    return cli.read_picture(cli.picture(__doc__, "small-sample"), argv)


def accuracies(frame) -> dict:
    """Accuracies in % by set: a table of (share, seed) by method, of what all methods have."""
    found = {}
    for name, group in frame.groupby("set", sort=False):
        wide = 100 * group.pivot_table("accuracy", ["fraction", "seed"], "method").dropna()
        order = [m for m in pictures.ORDER if m in wide]
        if len(wide):
            found[name] = wide[[*order, *wide.columns.difference(order)]]
    return found


def draw_set(above, below, wide):
    """Accuracies, and their differences from those of the random forest on the same subsets."""
    shares = wide.index.unique("fraction")
    x = 100 * shares
    for method in wide:
        style, groups = pictures.style_of(method, list(wide)), wide[method].groupby("fraction")
        mean, deviation = groups.mean(), groups.std().fillna(0)
        pictures.line(above, x, mean, style, title_of(method), error=deviation)
        if "rf" in wide:
            gains = (wide[method] - wide["rf"]).groupby("fraction")
            pictures.line(below, x, gains.mean(), style, error=gains.sem().fillna(0))
    above.set_xscale("log")
    below.set_xticks(x, [f"{share:g}" for share in x])
    below.minorticks_off()
    below.set_xlabel("share of the training set (%)")


def seeds_of(wide) -> str:
    """Such as "10", or "4 to 10" where shares differ."""
    counts = wide.groupby("fraction").size()
    return f"{counts.max()}" if counts.nunique() == 1 else f"{counts.min()} to {counts.max()}"


def draw(cells, options):
    """A column for each set."""
    sets = accuracies(records.frame(cells))
    if not sets:
        raise SystemExit("no seed is complete yet: python scripts/run_small_sample.py goes on")
    figure, axes = pictures.panels(
        2, len(sets), 3.0, 2.7, sharex="col", gridspec_kw={"height_ratios": (3, 2)}
    )
    for (above, below), (name, wide) in zip(axes.T, sets.items(), strict=True):
        draw_set(above, below, wide)
        above.set_title(name)
    axes[0, 0].set_ylabel("test accuracy (%)")
    axes[1, 0].set_ylabel("minus RandomForest\n(points)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    settings = cells[0]["settings"]
    seeds = ", ".join(f"{seeds_of(wide)} on {name}" for name, wide in sets.items())
    caption = (
        f"Mean over seeds ({seeds}), for each seed the same stratified subsets for all methods; "
        "bands: standard deviation above, standard error of the paired difference below. "
        f"Cascades: 4 x {settings['n_estimators']} trees in 5 folds a layer, at most "
        f"{settings['n_layers']} layers; RandomForest: {20 * settings['n_estimators']} trees; "
        f"XGBoost: {settings['rounds']} rounds."
    )
    pictures.save(figure, options, "small-sample", caption)


def main(argv=None):
    options = parse(argv)
    draw(records.read_cells(options.source, "small-sample"), options)


if __name__ == "__main__":
    main()
