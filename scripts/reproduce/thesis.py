"""Test the thesis of mdDF: reweighting lowers the ratio of the margins, and thereby the errors.

    python scripts/reproduce/thesis.py --quick
    python scripts/reproduce/thesis.py --rows 600 --seeds 2

The paper says that the weights of the samples in the next layer lower the margin ratio, which is
the standard deviation of the margins divided by their mean, and that a small ratio means good
generalisation. Each cascade here has one reweighting and one combination of the layers:

reweighting   none; 0.25 and 1, the share of the losses in the weights (1 is the paper's); and
              "near-zero", weights 1 - |margin|, which are ours: they are small for samples far
              on the wrong side, where labels are often wrong
combination   simplex, mean-margin, equal (the same coefficient for all layers) or last-layer
              (the last layer alone, as in gcForest)

The target margin, mu and the depth step are drawn from the paper's grids, --n-iter times, the same
draws for all cascades. The draw with the best out-of-fold accuracy of the training rows is kept;
test rows choose nothing. All cascades grow --n-layers layers. Three stopping rules then choose
among the layers: all of them, the best out-of-fold accuracy, and the least out-of-fold ratio.

Each data set has three conditions: at most --rows training rows; the same with one label in five
replaced by another class; and 100 training rows. Test rows always have their true labels.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import ParameterSampler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, stats, tables
from _lab.conditions import DATASETS, describe_layers, split_under
from _lab.study import Study

from mddf import MDDFClassifier
from mddf.rules import MarginRules

CONDITIONS = ("clean", "flipped", "small")
# Grids of the paper.
GRIDS = {
    "target_margin": [0.7, 0.75, 0.8, 0.85, 0.9, 0.95],
    "mu": [0.01, 0.05, 0.1],
    "depth_step": [2, 4, 8, 16],
}
# Rows whose margins are measured.
ROWS = ("train", "oof", "test")
# Reweighting, combination and stopping rule of gcForest.
GCFOREST = "none | last-layer | accuracy"
FIT = ["set", "condition", "seed", "combination", "reweighting"]


def equal(margins_by_layer, alphas, sample_weight):
    """Return the same coefficient for all layers."""
    return np.ones(margins_by_layer.shape[1])


def last_layer(margins_by_layer, alphas, sample_weight):
    """Return coefficients that use the last layer only."""
    return np.append(np.zeros(margins_by_layer.shape[1] - 1), 1.0)


def near_zero(view):
    """Return factors that are largest for samples between two classes; not in the paper."""
    # Rounding can bring the size of a margin slightly above 1.
    return np.maximum(1 - np.abs(view.margins @ view.alphas / view.alphas.sum()), 0)


REWEIGHTINGS = {
    "none": {"strength": 0.0},
    "0.25": {"strength": 0.25},
    "1": {"strength": 1.0},
    "near-zero": {"reweighting": near_zero, "redraw": True},
}
COMBINATIONS = {
    "simplex": "simplex",
    "mean-margin": "mean-margin",
    "equal": equal,
    "last-layer": last_layer,
}


def prepare(options, parser):
    options.sources = data.sources(options, options.datasets)


def cell(options, *, set, condition, seed, reweighting, combination):
    """Grow a cascade for each draw of the options, and describe the best by layers."""
    split = split_under(options.sources[set], condition, seed, options.rows)
    cascades = []
    for draw in ParameterSampler(GRIDS, options.n_iter, random_state=seed):
        cascade = MDDFClassifier(
            options.n_layers,
            n_estimators=options.n_estimators,
            rules=MarginRules(
                augmentation="mean",
                alpha=COMBINATIONS[combination],
                **REWEIGHTINGS[reweighting],
                **draw,
            ),
            early_stopping=False,
            random_state=seed,
            n_jobs=options.n_jobs,
        )
        cascades.append((cascade.fit(split.X, split.y), draw))
    cascade, draw = max(cascades, key=lambda pair: pair[0].history_["accuracy"].max())
    layers = describe_layers(cascade, split)
    for row, effective in zip(layers, cascade.history_["effective_samples"], strict=True):
        row["effective_share"] = effective / len(split.y)
    return {"draw": draw, "layers": layers}


def apply_stopping_rules(long):
    """Return the layer that each rule keeps, with a row for each fit and rule."""
    fits = long.groupby(FIT, sort=False)
    kept = {
        "all-layers": fits["layer"].idxmax(),
        "accuracy": fits["oof_accuracy"].idxmax(),
        "margin-ratio": fits["oof_ratio"].idxmin(),
    }
    parts = [long.loc[places].assign(stopping=rule) for rule, places in kept.items()]
    return tables.pd.concat(parts, ignore_index=True)


def compare_groups(rows, groups, value, column, base):
    """Compare the values of a column over sets with a base, within each group.

    Returns None if no group has the base and something to compare.
    """
    parts = []
    for key, part in rows.groupby(groups, sort=False):
        values = part.pivot_table(value, "set", column, aggfunc="mean", sort=False)
        if base in values and values.shape[1] > 1:
            comparison = stats.compare_with(values, base)
            parts.append(comparison.assign(**dict(zip(groups, key, strict=True))))
    return tables.pd.concat(parts, ignore_index=True) if parts else None


def compare_ratios(last):
    """Compare the margin ratio with and without reweighting, for the same combination.

    The tests compare mean divided by standard deviation, since the ratio jumps where the mean
    crosses zero. The table has medians of the ratio over sets.
    """
    groups = ["rows", "condition", "combination"]
    parts = [last.assign(rows=part, ratio=last[f"{part}_ratio"]) for part in ROWS]
    long = tables.pd.concat(parts).assign(inverse=lambda rows: 1 / rows["ratio"])
    comparison = compare_groups(long, groups, "inverse", "reweighting", "none")
    if comparison is None:
        return None
    medians = long.groupby([*groups, "reweighting"])["ratio"].median().rename("ratio")
    comparison = comparison.join(medians, on=[*groups, "column"])
    without = medians.xs("none", level="reweighting").rename("ratio_without")
    return comparison.join(without, on=groups)


def compare_accuracies(kept):
    """Compare the test accuracy of each cascade and stopping rule with that of gcForest."""
    names = kept["reweighting"] + " | " + kept["combination"] + " | " + kept["stopping"]
    comparison = compare_groups(
        kept.assign(name=names), ["condition"], "test_accuracy", "name", GCFOREST
    )
    if comparison is not None:
        comparison[["reweighting", "combination", "stopping"]] = comparison["column"].str.split(
            " | ", regex=False, expand=True
        )
    return comparison


MEANS = """
condition combination reweighting layer fits=n_seeds train_ratio:.3f oof_ratio:.3f test_ratio:.3f
test_margin=test_mean:.3f test_accuracy:.2% effective_rows=effective_share:.0%
"""
RATIOS = """
condition combination rows reweighting=column sets lower=better higher=worse
median_ratio=ratio:.3f without=ratio_without:.3f Holm_p=holm_p:.2g
"""
EFFECTS = """
condition combination reweighting=column sets better worse mean=mean:.2%
without=mean_of_base:.2% median_change:+.2% Holm_p=holm_p:.2g
"""
ACCURACIES = """
condition reweighting combination stopping sets better worse mean=mean:.2%
gcForest=mean_of_base:.2% median_change:+.2% Holm_p=holm_p:.2g
"""


def medians(long, groups):
    """Return medians over sets and seeds; single very large ratios would dominate means."""
    figures = long.groupby(groups, sort=False).median(numeric_only=True)
    return figures.assign(n_seeds=long.groupby(groups, sort=False).size()).reset_index()


def report(frame, options):
    long = tables.unnest(frame, "layers")
    by_layer = medians(long, ["condition", "combination", "reweighting", "layer"])
    last = long.loc[long.groupby(FIT, sort=False)["layer"].idxmax()]
    kept = apply_stopping_rules(long)
    effects = compare_groups(
        kept[kept["stopping"] == "accuracy"], ["condition", "combination"], "test_accuracy",
        "reweighting", "none",
    )  # fmt: skip
    parts = [
        ("layers", "medians over sets and seeds", by_layer, MEANS, 4),
        ("ratios", "margin ratio of all layers, against no reweighting",
         compare_ratios(last), RATIOS, 4),
        ("reweighting", "test accuracy, against no reweighting, stopped by accuracy",
         effects, EFFECTS, 3),
        ("accuracies", "test accuracy, against gcForest stopped by accuracy",
         compare_accuracies(kept), ACCURACIES, 4),
    ]  # fmt: skip
    return [
        tables.columns(f"thesis-{name}", title, rows, layout, n_index=n_index)
        for name, title, rows, layout, n_index in parts
        if rows is not None
    ]


study = Study(
    globals(), "thesis",
    "set=sources condition=conditions seed=seeds combination=combinations "
    "reweighting=reweightings",
    common=("n_estimators", "n_layers", "rows", "n_iter"),
    datasets=DATASETS, conditions=CONDITIONS, combinations=COMBINATIONS,
    reweightings=REWEIGHTINGS, seeds=2, rows=600, n_iter=4, n_estimators=25, n_layers=5,
    quick={"datasets": ["iris"], "conditions": ["clean"], "combinations": ["equal"],
           "seeds": 1, "n_iter": 2, "n_estimators": 5, "n_layers": 3},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
