"""Measure the loss of the presets of deep forests against the time that a fit may take.

    python scripts/report/time_curve.py --quick
    python scripts/report/time_curve.py --datasets german ionosphere --n-jobs 1

A third of the rows is held out for testing. ingredients.py explains --own-sets. A method is a
preset and a limit in seconds: fast-5 is DeepForest with preset="fast" and time_limit=5, and fast
has no limit. Losses are log-losses for classes and RMSE for regression, divided by the loss of the
default without a limit on the same split. Probabilities are clipped to at least 0.0001.
"""

import time

import numpy as np
import pandas as pd
from _lab import data, held_out, pictures, tables
from _lab.study import Study
from sklearn.utils import _safe_indexing

from mddf import DeepForestClassifier, DeepForestRegressor

BASE = "default"
LIMITS = (2, 5, 15, 60)
PRESETS = ("default", "fast")
METHODS = [name for preset in PRESETS for name in (*(f"{preset}-{n}" for n in LIMITS), preset)]
# Smallest probability in a log-loss: one wrong row cannot dominate a small set.
FLOOR = 1e-4


def preset_and_limit(method):
    """Return the preset and the limit in seconds (None: no limit) of a method's name."""
    preset, _, limit = method.partition("-")
    return preset, float(limit) if limit else None


def loss(model, X, y, task):
    """Return the log-loss or the RMSE on new rows."""
    if task == "regression":
        return held_out.loss(model, X, y, task)
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(own, FLOOR)).mean())


def cell(options, set, seed, method):
    X, y, task, train, test = held_out.split(options, set, seed)
    preset, limit = preset_and_limit(method)
    Forest = DeepForestRegressor if task == "regression" else DeepForestClassifier
    model = Forest(preset=preset, time_limit=limit, random_state=seed, n_jobs=options.n_jobs)
    cpu_start, start = time.process_time(), time.perf_counter()
    model.fit(_safe_indexing(X, train), y[train])
    return {
        "rows": len(train),
        "cpu_seconds": time.process_time() - cpu_start,
        "elapsed_seconds": time.perf_counter() - start,
        "loss": loss(model, _safe_indexing(X, test), y[test], task),
    }


def relative(frame):
    """Return the results with the logarithm of each loss relative to the base on its split."""
    base = frame[frame["method"] == BASE].set_index(["set", "seed"])["loss"]
    frame = frame[[key in base.index for key in zip(frame["set"], frame["seed"], strict=True)]]
    keys = pd.MultiIndex.from_frame(frame[["set", "seed"]])
    return frame.assign(log_ratio=np.log(frame["loss"].to_numpy() / base.loc[keys].to_numpy()))


def summary(frame):
    """Return a row for each method: mean ratio over the sets, its error, wins, losses and time."""
    by_set = (
        relative(frame).groupby(["method", "set"], sort=False).mean(numeric_only=True)
    ).reset_index()
    rows = []
    for method, of_sets in by_set.groupby("method", sort=False):
        logs = of_sets["log_ratio"]
        preset, limit = preset_and_limit(method)
        rows.append(
            {
                "method": method,
                "preset": preset,
                "limit": np.nan if limit is None else limit,
                "n_sets": len(logs),
                "ratio": np.exp(logs.mean()),
                "ratio_std": np.exp(logs.mean()) * logs.std() / np.sqrt(len(logs)),
                "better": (logs < 0).sum(),
                "worse": (logs > 0).sum(),
                "cpu_seconds": of_sets["cpu_seconds"].mean(),
                "elapsed_seconds": of_sets["elapsed_seconds"].mean(),
            }
        )
    return pd.DataFrame(rows)


def report(frame, options):
    if BASE not in set(frame["method"]):
        return []
    by_method = summary(frame)
    layout = """method loss/default=ratio:.4f± better=better:.0f worse=worse:.0f
    seconds=elapsed_seconds:.1f CPU,_s=cpu_seconds:.1f"""
    n_sets = int(by_method["n_sets"].max())
    title = f"Loss on new rows, geometric mean of {n_sets} sets ± standard error"
    return [tables.columns("time-curve", title, by_method, layout)]


def draw(frame, options):
    """Draw the mean relative loss against the mean time of a fit, a line for each preset."""
    by_method = summary(frame)
    figure, ((axis,),) = pictures.panels([3.4], 1, 5.5)
    # The labels of one line stand below its points, those of the other above them. The label of
    # the fit without a limit is on the other side, as it may be next to the last limit.
    below, above = -12, 6
    sides = (("right", -4, below, above), ("left", 4, above, below))
    for preset, style, side in zip(PRESETS, pictures.STYLES, sides, strict=False):
        alignment, x, y, y_without_limit = side
        rows = by_method[by_method["preset"] == preset].sort_values("cpu_seconds")
        axis.errorbar(
            rows["cpu_seconds"],
            rows["ratio"],
            rows["ratio_std"],
            capsize=3,
            label=f'preset="{preset}"',
            **style,
        )
        for row in rows.itertuples():
            has_limit = not np.isnan(row.limit)
            axis.annotate(
                f"{row.limit:g} s" if has_limit else "no limit",
                (row.cpu_seconds, row.ratio),
                xytext=(x, y if has_limit else y_without_limit),
                textcoords="offset points",
                ha=alignment,
                color=style["color"],
            )
    axis.set_xscale("log")
    axis.margins(x=0.18, y=0.1)  # room for the labels
    axis.set(xlabel="CPU seconds of a fit, mean", ylabel="loss / loss of the default")
    axis.legend()
    n_sets = int(by_method["n_sets"].max())
    caption = (
        "Loss on new rows against the CPU time of fits with limits (labels: seconds), relative to "
        f"the default without a limit; geometric mean of {n_sets} sets, bars of one standard "
        "error."
    )
    pictures.save(figure, options, "time-curve", caption)


study = Study(
    globals(), "time-curve", held_out.keys, datasets=list(data.BUNDLED), own_sets="",
    methods=METHODS, seeds=1,
    quick={"datasets": ["iris"], "methods": ["default-2", "default", "fast"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
