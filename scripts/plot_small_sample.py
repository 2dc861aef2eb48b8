"""Draw what run_small_sample.py computed: test accuracy over the share of the training set.

    python scripts/plot_small_sample.py results/small-sample --out small_sample.png
    python scripts/plot_small_sample.py --quick         what run_small_sample.py --quick wrote

Above the accuracies, below what they differ by from RandomForest's on the same rows.
"""

from __future__ import annotations

import numpy as np
from _pictures import METHODS, method_style, pyplot, save
from _study import PictureParser, read_results
from _subsets import by_subset
from _uci_methods import ALL_METHODS


def accuracies(results) -> dict[str, dict[str, dict[float, np.ndarray]]]:
    """Accuracies in % by set, method and share, of the seeds that all methods have there."""
    cells = by_subset(results)
    n_methods = {
        name: len({method for (other, _), v in cells.items() if other == name for method in v})
        for name, _ in cells
    }
    found: dict[str, dict[str, dict[float, np.ndarray]]] = {}
    for (name, share), by_method in sorted(cells.items(), key=lambda item: item[0][1]):
        common = sorted(set.intersection(*map(set, by_method.values())))
        if len(by_method) < n_methods[name] or not common:
            continue
        for method in sorted(by_method, key=METHODS.index):
            values = np.array([by_method[method][seed] for seed in common])
            found.setdefault(name, {}).setdefault(method, {})[share] = values
    return found


def band(axis, x, mean, spread, method):
    """A method's mean over seeds with a band of a spread to both sides."""
    style = method_style(method)
    mean, spread = np.array(mean), np.array(spread)
    axis.plot(x, mean, label=ALL_METHODS[method].title, **style)
    axis.fill_between(
        x, mean - spread, mean + spread, color=style["color"], alpha=0.12, linewidth=0
    )


def deviation(values) -> float:
    """Standard deviation over seeds; 0 where there is one seed."""
    return values.std(ddof=1) if len(values) > 1 else 0.0


def draw_set(above, below, name, curves):
    """Accuracies, and their differences from those of the random forest on the same subsets."""
    for method, by_share in curves.items():
        x = [100 * share for share in by_share]
        means = [values.mean() for values in by_share.values()]
        band(above, x, means, [deviation(values) for values in by_share.values()], method)
        if "rf" in curves:
            gains = [values - curves["rf"][share] for share, values in by_share.items()]
            errors = [deviation(gain) / np.sqrt(len(gain)) for gain in gains]
            band(below, x, [gain.mean() for gain in gains], errors, method)
    above.set_title(name)
    above.set_xscale("log")
    above.legend(loc="lower right")
    below.set_xticks(x, [f"{share:g}" for share in x])
    below.minorticks_off()
    below.set_xlabel("share of the training set (%)")


def seeds_of(curves) -> str:
    """Such as "10", or "4 to 10" where shares differ."""
    counts = [len(values) for values in next(iter(curves.values())).values()]
    return f"{max(counts)}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def draw(content, path):
    """A column for each set."""
    plt = pyplot()
    sets = accuracies(content["results"])
    if not sets:
        raise SystemExit("no seed is complete yet: let run_small_sample.py go on")
    figure, axes = plt.subplots(
        2,
        len(sets),
        figsize=(max(2.7 * len(sets), 5.2), 5.4),
        layout="constrained",
        squeeze=False,
        sharex="col",
        height_ratios=(3, 2),
    )
    for (above, below), (name, curves) in zip(axes.T, sets.items(), strict=True):
        draw_set(above, below, name, curves)
    axes[0, 0].set_ylabel("test accuracy (%)")
    axes[1, 0].set_ylabel("minus RandomForest (points)")
    settings = content["settings"]
    seeds = ", ".join(f"{seeds_of(curves)} on {name}" for name, curves in sets.items())
    caption = (
        f"Mean over seeds ({seeds}), for each seed the same stratified subsets for all methods; "
        "bands: standard deviation above, standard error of the paired difference below. "
        f"Cascades: 4 x {settings['n_estimators']} trees in 5 folds a layer, at most "
        f"{settings['n_layers']} layers; RandomForest: {20 * settings['n_estimators']} trees; "
        f"XGBoost: {settings['rounds']} rounds."
    )
    return save(figure, path, caption)


def parse(argv):
    parser = PictureParser(
        __doc__,
        source="folder that run_small_sample.py wrote to (default: its own)",
        out=".png, .pdf or .svg (default: figure.png in the folder)",
    )
    return parser.parse_picture(argv, "small-sample")


def main(argv=None):
    options = parse(argv)
    content = read_results(options.source / "results.json", "fraction")
    draw(content, options.out or options.source / "figure.png")


if __name__ == "__main__":
    main()
