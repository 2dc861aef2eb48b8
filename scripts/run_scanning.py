"""What multi-grained scanning adds: forests and cascades on images as they are and scanned.

    python scripts/run_scanning.py                       MNIST, 6000 training images, 3 seeds
    python scripts/run_scanning.py --train 60000 --seeds 1
    python scripts/run_scanning.py --models forest       without the cascades
    python scripts/run_scanning.py --quick               scikit-learn's digits, a minute

Protocol: each seed draws a stratified subset of the training images and seeds everything else;
the test set is used whole, and only to score. A model sees either the pixels, or all scanned
columns at once, or (cascades) one window size per layer in turn, with the same settings otherwise.
Windows of 7, 10 and 13 pixels, 2 apart, as in the authors' settings for MNIST. With fewer images
than the set has, the time for all of them is estimated: in proportion to n log n. Every seed is a
file of its own in --out; a run that was stopped goes on with the next one.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _lab import cli, data, measure, tables
from _lab.running import conduct
from mddf.baselines import GCForestClassifier, MultiGrainedScanner

from mddf import MDDFClassifier, RandomForestClassifier

# gcForest with the forests and folds that MDDFClassifier has.
FORESTS = {"forests": ["random", "random", "completely-random", "completely-random"], "cv": 5}
MODELS = {
    "forest": lambda grains, **options: RandomForestClassifier(**options),
    "gcforest": partial(GCForestClassifier, **FORESTS),
    "mddf": MDDFClassifier,
}


def parse(argv=None):
    return cli.study(
        __doc__,
        "scanning",
        quick={"datasets": ["digits"], "seeds": 2, "train": 300, "trees": 20, "stride": 1,
               "windows": [2, 3, 4], "scanner_trees": 20},
        checks={"models": list(MODELS), "windows": cli.count},
        **{"datasets": ["mnist"], "models": list(MODELS), "seeds": 3, "train": 6000},
        **{"trees": 100, "windows": [7, 10, 13], "stride": 2, "scanner_trees": 100},
        **{"cv": 3, "max_windows": None},
    ).read(argv)  # fmt: skip


def one_seed(options, set, seed):
    """Accuracy and time of every model on every input."""
    split = data.split(data.Source(set, options.data_home), 0)
    rows = data.subset(split.y, np.arange(len(split.y)), options.train, seed)
    side = round(split.X.shape[1] ** 0.5)
    images = (
        part.astype(np.uint8).reshape(-1, side, side) for part in (split.X[rows], split.X_test)
    )
    X, X_test = images
    y, y_test, n_all = split.y[rows], split.y_test, len(split.y)
    scanner = MultiGrainedScanner(
        options.windows,
        strides=options.stride,
        n_estimators=options.scanner_trees,
        max_windows=options.max_windows,
        cv=options.cv,
        n_jobs=options.n_jobs,
        random_state=seed,
    )
    train, fit = measure.timed(scanner.fit_transform, X, y)
    test, transform = measure.timed(scanner.transform, X_test)
    found = {
        "scanner": {"fit": fit, "transform": transform, "peak_gb": measure.peak_bytes() / 2**30},
        "n_train": len(X),
        "n_all": n_all,
        "models": {},
    }
    inputs = {
        "pixels": (X.reshape(len(X), -1), X_test.reshape(len(X_test), -1), None),
        "all grains": (train, test, None),
        "a grain a layer": (train, test, scanner.grains_),
    }
    for name in options.models:
        for given, (A, B, grains) in inputs.items():
            if grains is not None and name == "forest":
                continue
            model = MODELS[name](
                n_estimators=options.trees, grains=grains, random_state=seed, n_jobs=options.n_jobs
            )
            _, seconds = measure.timed(model.fit, A, y)
            score = float(model.score(B, y_test))
            found["models"][f"{name}/{given}"] = {"accuracy": score, **seconds}
    found["peak_gb"] = measure.peak_bytes() / 2**30
    return found


def report(frame):
    """Accuracies with the gain over pixels, times, and estimates for all images."""
    rows = []
    for cell in frame.to_dict("records"):
        growth = (
            cell["n_all"] * np.log(cell["n_all"]) / (cell["n_train"] * np.log(cell["n_train"]))
        )
        for key, result in cell["models"].items():
            name, given = key.split("/")
            rows.append(
                {
                    "set": cell["set"],
                    "model": name,
                    "input": given,
                    "seed": cell["seed"],
                    **result,
                    "gain": result["accuracy"] - cell["models"][f"{name}/pixels"]["accuracy"],
                    "all_hours": result["cpu_s"] * growth / 3600,
                }
            )
    long = tables.pd.DataFrame(rows)
    by = ["set", "model", "input"]
    numbers = tables.means(long, by, ["accuracy", "gain", "wall_s", "cpu_s", "all_hours"])
    groups = long.groupby(by, sort=False)
    numbers["shown"] = groups["accuracy"].agg(lambda v: tables.spread(v, scale=100)).to_numpy()
    numbers["gained"] = groups["gain"].agg(lambda v: tables.spread(v, scale=100)).to_numpy()
    shown = """model input seeds=n_seeds accuracy_%=shown minus_pixels=gained fit,_CPU_s=cpu_s:.1f
    all_rows,_h=all_hours:.2f"""
    title = "mean ± standard deviation over seeds; all rows: estimated by n log n"
    return [tables.columns("accuracy", title, numbers, shown, 2), scanner_table(frame)]


def scanner_table(frame):
    """What scanning costs, with the published claims as a title."""
    rows = tables.pd.DataFrame(
        {
            "set": frame["set"],
            "fit, CPU s": [s["fit"]["cpu_s"] for s in frame["scanner"]],
            "transform, CPU s": [s["transform"]["cpu_s"] for s in frame["scanner"]],
            "peak memory, GiB": [s["peak_gb"] for s in frame["scanner"]],
        }
    )
    shown = rows.groupby("set").mean().map("{:.2f}".format)
    claims = tables.published("gcforest_claims.tsv")
    if len(claims):
        claims = claims[claims["dataset"].isin(frame["set"])]
    title = "the scanner; published, gcForest: " + "; ".join(
        f"{row['setting']} {row['accuracy']} %" for row in claims.to_dict("records")
    )
    return tables.Table("scanner", title if len(claims) else "the scanner", shown, rows)


def main(argv=None) -> int:
    options = parse(argv)
    names = ("train", "trees", "windows", "stride", "scanner_trees", "cv", "max_windows", "models")
    keys = {"set": options.datasets, "seed": range(options.seeds)}
    return conduct(options, keys, one_seed, report, settings=names)


if __name__ == "__main__":
    raise SystemExit(main())
