"""Measure the gain of multi-grained scanning for forests and cascades on images.

    python scripts/reproduce/scanning.py                       MNIST, 6000 training images, 3 seeds
    python scripts/reproduce/scanning.py --train 60000 --seeds 1
    python scripts/reproduce/scanning.py --models forest       without the cascades

The input of a model is the pixels, all scanned columns at once, or (for gcForest) one window size
for each layer in turn. All other settings are the same.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, cli, data, tables
from _lab.study import Study
from mddf.baselines import GCForestClassifier, MultiGrainedScanner

from mddf import MDDFClassifier, RandomForestClassifier

# gcForest gets the forests and folds of MDDFClassifier.
FORESTS = {"forests": ["random", "random", "completely-random", "completely-random"], "cv": 5}
MODELS = {
    "forest": RandomForestClassifier,
    "gcforest": partial(GCForestClassifier, **FORESTS),
    "mddf": MDDFClassifier,
}


def cell(options, set, seed):
    split = data.split(data.Source(set, options.data_home), 0)
    y, n_all = split.y, len(split.y)
    rows = data.subset(y, np.arange(n_all), options.train, seed)
    side = round(split.X.shape[1] ** 0.5)
    X, X_test = (np.asarray(part, dtype=np.uint8) for part in (split.X[rows], split.X_test))
    y, common = y[rows], {"random_state": seed, "n_jobs": options.n_jobs}
    scanner = MultiGrainedScanner(
        options.windows, strides=options.stride, n_estimators=options.scanner_trees,
        max_windows=options.max_windows, cv=3, **common,
    )  # fmt: skip
    images, images_test = (part.reshape(-1, side, side) for part in (X, X_test))
    fit, _, train = bench.cost(scanner.fit_transform, images, y)
    transform, _, test = bench.cost(scanner.transform, images_test)
    inputs = {
        "pixels": (X, X_test, {}),
        "all grains": (train, test, {}),
        "a grain a layer": (train, test, {"grains": scanner.grains_}),
    }
    model_results = []
    for name in options.models:
        for input_name, (A, B, grains) in inputs.items():
            if not grains or name == "gcforest":
                model = MODELS[name](n_estimators=options.trees, **grains, **common)
                seconds = bench.cost(model.fit, A, y)[0]
                accuracy = float(model.score(B, split.y_test))
                model_results.append(
                    {"model": name, "input": input_name, "accuracy": accuracy, "s": seconds}
                )
    return {
        "fit_s": fit, "transform_s": transform, "peak_gib": bench.peak_bytes() / 2**30,
        "n_train": len(y), "n_all": n_all, "models": model_results,
    }  # fmt: skip


def report(frame, options):
    """Return accuracies with the gain over pixels, times, and estimates for all images."""
    long = tables.unnest(frame, "models")
    long["accuracy"] *= 100
    key_columns = ["set", "seed", "model"]
    pixels = long[long["input"] == "pixels"].set_index(key_columns)["accuracy"]
    long["gain"] = long["accuracy"] - pixels.reindex(long.set_index(key_columns).index).to_numpy()
    long["all_hours"] = (
        long["s"] / 3600 * (long["n_all"] / long["n_train"])
        * np.log(long["n_all"]) / np.log(long["n_train"])
    )  # fmt: skip
    rows = tables.means(long, ["set", "model", "input"], ["accuracy", "gain", "s", "all_hours"])
    layout = """set model input seeds=n_seeds accuracy_%=accuracy:.2f± minus_pixels=gain:.2f±
    fit,_CPU_s=s:.1f all_rows,_h=all_hours:.2f"""
    title = "mean ± standard deviation over seeds; all rows: estimated by n log n"
    claims = tables.published("gcforest_claims.tsv")
    claims = claims[claims["set"].isin(frame["set"])].to_dict("records")
    published = [f"published, gcForest: {row['setting']} {row['accuracy']} %" for row in claims]
    costs = """set fit,_CPU_s=fit_s:.2f transform,_CPU_s=transform_s:.2f
    peak_memory,_GiB=peak_gib:.2f"""
    return [
        tables.columns("accuracy", title, rows, layout, n_index=3),
        tables.columns(
            "scanner", "\n".join(["the scanner", *published]),
            tables.means(frame, ["set"], ["fit_s", "transform_s", "peak_gib"]), costs,
        ),
    ]  # fmt: skip


study = Study(
    globals(), "scanning", "set=datasets seed=seeds",
    ("train", "trees", "windows", "stride", "scanner_trees", "max_windows", "models"),
    datasets=["mnist"], models=MODELS, seeds=3, train=6000, trees=100,
    windows=[7, 10, 13], stride=2, scanner_trees=100, max_windows=None,
    checks={"windows": cli.count},
    quick={"datasets": ["digits"], "seeds": 2, "train": 300, "trees": 20, "stride": 1,
           "windows": [2, 3, 4], "scanner_trees": 20},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
