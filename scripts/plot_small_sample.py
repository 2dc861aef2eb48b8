"""Draw what run_small_sample.py computed: test accuracy over the share of the training set.

    python scripts/plot_small_sample.py results/small-sample --out small_sample.png
    python scripts/plot_small_sample.py --quick         what run_small_sample.py --quick wrote

Above the accuracies, below what they differ by from RandomForest's on the same rows.
"""

from __future__ import annotations

import numpy as np
from _pictures import METHODS, method_style, pyplot, save
from _study import PictureParser, read_results
from _uci_methods import ALL_METHODS


def accuracies(results) -> dict[str, dict[str, np.ndarray]]:
    """Accuracy by set and method, (n_seeds, n_shares), of the seeds that all methods have."""
    sets: dict[str, dict] = {}
    for cell in results.values():
        cells = sets.setdefault(cell["dataset"], {})
        cells[cell["method"], cell["seed"], cell["fraction"]] = cell["accuracy"]
    found = {}
    for name, cells in sets.items():
        methods, seeds, shares = (sorted(set(values)) for values in zip(*cells, strict=True))
        complete = [
            seed
            for seed in seeds
            if all((method, seed, share) in cells for method in methods for share in shares)
        ]
        found[name] = {
            "shares": np.array(shares),
            **{
                m: np.array([[cells[m, seed, share] for share in shares] for seed in complete])
                for m in sorted(methods, key=METHODS.index)
                if complete
            },
        }
    return {name: curves for name, curves in found.items() if len(curves) > 1}


def band(axis, x, values, spread, method):
    """A method's mean over seeds with a band of a spread to both sides."""
    style = method_style(method)
    mean = values.mean(axis=0)
    axis.plot(x, mean, label=ALL_METHODS[method].title, **style)
    axis.fill_between(
        x, mean - spread, mean + spread, color=style["color"], alpha=0.12, linewidth=0
    )


def deviation(values):
    """Standard deviation over seeds; 0 where there is one seed."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])


def draw_set(above, below, name, curves):
    """Accuracies, and their differences from those of the random forest on the same subsets."""
    x = 100 * curves["shares"]
    methods = [method for method in curves if method != "shares"]
    for method in methods:
        values = 100 * curves[method]
        band(above, x, values, deviation(values), method)
        if "rf" in methods:
            difference = values - 100 * curves["rf"]
            error = deviation(difference) / np.sqrt(len(difference))
            band(below, x, difference, error, method)
    above.set_title(name)
    above.set_xscale("log")
    above.legend(loc="lower right")
    below.set_xticks(x, [f"{share:g}" for share in x])
    below.minorticks_off()
    below.set_xlabel("share of the training set (%)")


def draw(content, path):
    """A column for each set."""
    plt = pyplot()
    sets = accuracies(content["results"])
    if not sets:
        raise SystemExit("no seed is complete yet: let run_small_sample.py go on")
    figure, axes = plt.subplots(
        2,
        len(sets),
        figsize=(max(4.4 * len(sets), 5.2), 5.8),
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
    n_seeds = {name: len(next(reversed(curves.values()))) for name, curves in sets.items()}
    seeds = ", ".join(f"{n} on {name}" for name, n in n_seeds.items())
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
