"""Measure accuracy and margins by layer (mdDF's preprint, Figs. 8 and 9).

    python scripts/reproduce/layers.py --datasets satimage letter
    python scripts/reproduce/layers.py --plot         draw what was computed
    python scripts/reproduce/layers.py --datasets wine --methods mddf strength=1+cv=10

mdDF, mdDF of the paper with its ablations, and gcForest grow --n-layers layers each, without early
stopping. A method can also be settings of mdDF (parameter=value, several joined by +), or of
another of these cascades, such as mddf-paper+depth_step=2. At most --rows of the training rows are
fitted.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import cli, data, models, pictures, tables
from _lab.conditions import describe_layers
from _lab.study import Study

# Trees of small depth do not learn all training rows in the first layer: with them, the training
# accuracy grows over the layers, as in the paper's Figure 8.
METHODS = [*models.CASCADES, "mddf-paper+depth_step=2"]
# Margins at which cumulative distributions are stored.
THRESHOLDS = np.round(np.linspace(-1, 1, 201), 2)
KEY = ["set", "method", "layer"]
# Sets without and with --quick.
SETS = {False: ["satimage", "letter"], True: ["digits"]}


def cascade(text):
    """Check the name of a cascade, or settings of mdDF."""
    kind, pairs = kind_and_settings(text)
    options = argparse.Namespace(n_estimators=None, n_layers=None, n_jobs=None)
    known = models.cascade(options, kind, 0).get_params()
    for name, sign, value in pairs:
        if not (sign and value and models.with_rules({name: value}).keys() <= known.keys()):
            names, part = ", ".join(models.CASCADES), name + sign + value
            raise argparse.ArgumentTypeError(f"must be {names} or parameter=value, got {part!r}")
    return text


def kind_and_settings(text):
    """Split a text such as mddf-paper+depth_step=2; settings alone are those of mdDF."""
    first, *others = text.split("+")
    kind, parts = (first, others) if first in models.CASCADES else ("mddf", [first, *others])
    return kind, [part.partition("=") for part in parts]


def prepare(options, parser):
    options.methods = options.methods or METHODS
    options.sources = data.sources(options, options.datasets or SETS[options.quick])


def cell(options, set, seed, method):
    """Fit a cascade, and measure it after each layer."""
    split = data.split(options.sources[set], seed, options.rows)
    kind, pairs = kind_and_settings(method)
    parameters = {name: cli.value(text) for name, _, text in pairs}
    model = models.cascade(options, kind, seed, early_stopping=False, **parameters)
    model.fit(split.X, split.y)
    rows = describe_layers(model, split)
    for layer, row in enumerate(rows):
        margins = np.clip(model.margins_[layer], -1, 1)
        shares = np.searchsorted(np.sort(margins), THRESHOLDS, side="right") / len(margins)
        row |= {
            "alpha": model.alphas_[layer],
            "margin_mean": margins.mean(),
            "margin_std": margins.std(),
            "margin_ratio": margins.std() / margins.mean(),
            "cumulative": shares.round(5).tolist(),
        }
    return {"layers": rows}


LAYERS = """
set method layer seeds=n_seeds train=train_accuracy:.2% out-of-fold=oof_accuracy:.2%
test=test_accuracy:.2% alpha:.3f margin_mean=margin_mean:.3f std=margin_std:.3f
ratio=margin_ratio:.3f
"""


def report(frame, options):
    """Return a table of accuracies and margins after each layer."""
    rows = tables.means(tables.unnest(frame, "layers"), KEY)
    return [tables.columns("layers", "mean over seeds", rows, LAYERS, n_index=3)]


def draw(frame, options):
    """Draw both pictures; a table has no margins, and gives the first picture only."""
    long = frame if "layer" in frame else tables.unnest(frame, "layers")
    rows = long if "n_seeds" in long else tables.means(long, KEY)
    rows = rows.assign(**{c: 100 * rows[c] for c in rows if "_accuracy" in c})
    quantities = {
        "train_accuracy": "training (%)",
        "test_accuracy": "test (%)",
        "oof_accuracy": "out-of-fold (%)",
        "margin_ratio": "margin ratio",
    }
    figure, axes = pictures.curves(rows, "layer", quantities, width=3.8)
    for axis in axes[-1]:
        axis.set(xlabel="layers", xticks=rows["layer"].unique())
    caption = (
        "Accuracy of the first layers together on the training rows, on test rows and "
        "out-of-fold, and the ratio std/mean of their out-of-fold margins; "
        f"{pictures.seeds_of(rows)}."
    )
    pictures.save(figure, options, "layers", caption)
    drawn = set(long["method"]) & {"mddf", "mddf-paper"}
    if "cumulative" in long and drawn:
        draw_margins(long[long["method"].isin(drawn)].reset_index(drop=True), options)


def draw_margins(mddf, options):
    """Draw cumulative distributions of margins after each layer; a column for set and method."""
    if mddf["method"].nunique() > 1:
        mddf["set"] += ", " + mddf["method"].map(models.title_of)
    first = mddf.merge(mddf[mddf["layer"] == 1][["set", "seed", "cumulative"]], on=["set", "seed"])
    mddf["share"] = [100 * np.array(shares) for shares in first["cumulative_x"]]
    mddf["gain"] = mddf["share"] - [100 * np.array(shares) for shares in first["cumulative_y"]]
    mddf["margin"] = [THRESHOLDS] * len(mddf)
    long = mddf[[*KEY, "seed", "margin", "share", "gain"]].explode(["margin", "share", "gain"])
    rows = tables.means(
        long.astype(dict.fromkeys(("margin", "share", "gain"), float)), ["set", "layer", "margin"]
    )
    quantities = {
        "share": "share of the training set (%)",
        "gain": "difference from\none layer (points)",
    }
    figure, axes = pictures.curves(
        rows, "margin", quantities, "layer", heights=(3.0, 2.0), width=3
    )
    for axis in axes[-1]:
        axis.set(xlabel="out-of-fold margin", xlim=(-1, 1), xticks=np.linspace(-1, 1, 5))
    caption = (
        "Cumulative distribution of mdDF's out-of-fold margins after each layer (left of 0: "
        f"errors), and how it differs from that after one layer; {pictures.seeds_of(rows)}."
    )
    pictures.save(figure, options, "margins", caption)


study = Study(
    globals(), "layers", "set=sources seed=seeds method=methods",
    ("n_estimators", "n_layers", "rows"), checks={"methods": cascade},
    datasets=[], methods=[], seeds=3, n_estimators=100, n_layers=6, rows=None,
    quick={"seeds": 1, "n_estimators": 5, "n_layers": 3},
    texts={"methods": f"methods: {', '.join(models.CASCADES)}, and settings of mdDF "
           " such as strength=1+cv=10 (default: all cascades, and mddf-paper+depth_step=2)"},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
