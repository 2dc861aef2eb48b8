r"""mdDF beside gcForest, XGBoost, random forests and perceptrons: scores on real data.

    python scripts/run_uci.py                   the bundled sets; a minute and a half
    python scripts/run_uci.py --quick           a fifth of the trees, one seed
    python scripts/run_uci.py --suite paper     the mdDF paper's sets; hours
    python scripts/run_uci.py --suite paper --ablations
    python scripts/run_uci.py --datasets adult yeast --methods rf mddf --seeds 3
    python scripts/run_uci.py --csv table.csv --target kind --drop id
    python scripts/run_uci.py --datasets wine --set mddf.strength=0.7 \
        --method lr=sklearn.linear_model:LogisticRegression C=0.1 max_iter=1000

All methods have the same budget: the cascades grow 2 random and 2 completely-random forests of
100 trees in each of 5 folds, which is 2000 trees a layer; RandomForest has 2000 trees, XGBoost
2000 rounds (the paper: 400 k trees, k being the folds, of which it gives no number). The
perceptron is the best of the paper's five architectures on held-out training rows. All other
settings are defaults; only `--methods mddf-c`, which is not among the default ones, chooses mdDF's
depth step among the paper's by out-of-fold accuracy, with five times the budget. Methods of
`--method` get what is given and no more. Sets without a standard split are split anew for each
seed: yeast into 1038 and 446 rows as in the paper, others into 70 % and 30 % of each class.

Every result is a file of its own in --out as soon as it is there; the same command goes on where
the last one stopped, and any number of commands may share a folder. Written at the end, of all
results in the folder: cells.csv (one row for each fit), a table for each metric, and costs.
"""

from __future__ import annotations

from _lab import contest, data, models, scores, tables
from _lab.study import Study

SUITES = {"bundled": list(data.BUNDLED), "paper": list(data.PAPER)}
# Random splits differ more than fits on one split do; the bundled sets are for a first look.
N_SEEDS = {"yeast": 10, **dict.fromkeys(data.BUNDLED, 2)}


def prepare(options, parser):
    """Sets, methods, and the budget of all."""
    epochs = 40 if options.quick else 100
    options.task, options.tuned = "classification", False
    options.budget = models.Budget(options.n_estimators, options.n_layers, max_epochs=epochs)
    options.methods = models.chosen(options, models.EQUAL)
    if options.ablations:
        options.methods |= {name: models.METHODS[name] for name in models.ABLATIONS}
    options.sources = data.sources(options, options.datasets or SUITES[options.suite])


def keys(options):
    """Sets have seeds of their own number."""
    return [
        {"set": name, "seed": seed, "method": method}
        for name in options.sources
        for seed in range(options.seeds or N_SEEDS.get(name, 5))
        for method in options.methods
    ]


def notes(options):
    """The rules."""
    rules = [f"budget: {options.budget}"] + ["--method: as given"] * bool(options.own)
    contest.announce(options, rules)
    return rules


def published():
    """The mdDF paper's test accuracies in %, by set and method."""
    found = {}
    for number in (2, 3):
        for _, row in tables.published(f"mddf_table{number}.tsv").iterrows():
            for name, method in models.METHODS.items():
                if row.get(method.published) is not None:
                    found[row["dataset"], name] = float(row[method.published])
    return found


cell = contest.cell


def settings(options):
    """The budget, and what is given of methods and sets."""
    return {**vars(options.budget), **contest.settings(options)}


def report(frame, options):
    """The paper's accuracies stand below ours."""
    return contest.report(frame, options, {"accuracy": published()})


study = Study(
    globals(), "uci", keys, own=True, suite="bundled", datasets=None, methods=None,
    ablations=False, seeds=None, n_estimators=100, n_layers=None, metric=["accuracy"], drop=[],
    checks={"suite": list(SUITES), "metric": scores.of_task("classification")},
    quick={"n_estimators": 20, "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
