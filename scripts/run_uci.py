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
results in the folder: cells.csv (one row for each fit), and a table for each metric.
"""

from __future__ import annotations

from functools import partial

from _lab import cli, data, models, scores, tables
from _lab.running import conduct

SUITES = {"bundled": data.BUNDLED, "paper": data.PAPER}
# Random splits differ more than fits on one split do; the bundled sets are for a first look.
N_SEEDS = {"yeast": 10, **dict.fromkeys(data.BUNDLED, 2)}


def parse(argv=None):
    parser = cli.study(
        __doc__,
        "uci",
        quick={"n_estimators": 20, "seeds": 1},
        checks={"suite": list(SUITES), "metric": scores.of_task("classification")},
        **{"suite": "bundled", "datasets": None, "methods": None, "ablations": False},
        **{"seeds": None, "n_estimators": 100, "n_layers": None},
        **{"metric": ["accuracy"], "drop": []},
    )
    parser.add_own()
    options = parser.read(argv)
    options.budget = models.Budget(
        options.n_estimators, options.n_layers, max_epochs=40 if options.quick else 100
    )
    options.methods = models.chosen(options, models.EQUAL)
    if options.ablations:
        options.methods |= {name: models.METHODS[name] for name in models.ABLATIONS}
    options.sources = data.sources(options, options.datasets or SUITES[options.suite])
    return options


def one(options, set, seed, method):
    """Fit, predict and score."""
    split = data.split(options.sources[set], seed)
    common = {"budget": options.budget, "n_jobs": options.n_jobs, "n_rows": len(split.y)}
    model = models.build(options.methods[method], seed, **common)
    found, model = scores.evaluate(model, split, n_jobs=options.n_jobs)
    return {**found, "layers": getattr(model, "n_layers_", None), "details": models.details(model)}


def published():
    """The mdDF paper's test accuracies in %, by set and method."""
    found = {}
    for number in (2, 3):
        for _, row in tables.published(f"mddf_table{number}.tsv").iterrows():
            for name, method in models.METHODS.items():
                if row.get(method.published) is not None:
                    found[row["dataset"], name] = float(row[method.published])
    return found


def report(frame, metrics):
    """A table for each metric, and of costs; the paper's accuracies stand below ours."""
    frame = tables.in_order(frame, "method", models.METHODS)
    there = {"accuracy": published()}
    found = [tables.score_table(m, frame, m, published=there.get(m)) for m in metrics]
    return [*found, tables.costs(frame)]


def main(argv=None) -> int:
    options = parse(argv)
    seeds = {name: options.seeds or N_SEEDS.get(name, 5) for name in options.sources}
    keys = [
        {"set": name, "seed": seed, "method": method}
        for name, n_seeds in seeds.items()
        for seed in range(n_seeds)
        for method in options.methods
    ]
    settings = {
        **vars(options.budget),
        "method": {name: method.fixed for name, method in options.methods.items()},
        "set": {name: source.settings() for name, source in options.sources.items()},
    }
    print("sets (seeds):", ", ".join(f"{name} ({n})" for name, n in seeds.items()))
    print("methods:", ", ".join(map(models.title_of, options.methods)))
    notes = [f"budget: {options.budget}"] + ["--method: as given"] * bool(options.own)
    print(*notes, sep="\n")
    found = partial(report, metrics=options.metric)
    return conduct(options, keys, one, found, settings=settings, notes=notes)


if __name__ == "__main__":
    raise SystemExit(main())
