r"""A league of methods at their defaults, or tuned, over all sets of mddf.datasets.

    python scripts/run_league.py                         all sets that are present; many hours
    python scripts/run_league.py --quick                 the bundled sets, one split
    python scripts/run_league.py --tuned --methods xgboost lightgbm --datasets car wine
    python scripts/run_league.py --task regression
    python scripts/run_league.py --csv table.csv --target kind \
        --method svm=sklearn.svm:SVC probability=True

Rules, the same for all: standard splits where there are any, else three random ones with 30 % of
each class for testing; at most 20000 training rows, drawn in shares of the classes; every method
at its library's defaults. With --tuned each peer with a published search space has 30 random
configurations of it, chosen by 3-fold cross-validation on training rows with the first --metric;
the others stay as they are. Test rows choose nothing. Forests of scikit-learn get categories as
codes, the others as categories. Columns that give the target away are left out (`duration` of
bank, the ids of cylinder). Sets with a standard split differ by the methods' seeds. Sets that are
part of another one (such as digits of optdigits) take part where they are named.

Every result is a file of its own in --out as soon as it is there; the same command goes on where
the last one stopped, and any number of commands may share a folder. Written at the end, of all
results in the folder: cells.csv, a table and mean ranks for each metric, and costs: seconds to fit
and to predict, bytes of the pickle; for regression also how many test rows lie in 90 % intervals,
of methods that say some. `summarize.py` has more tests and pictures.
"""

from __future__ import annotations

from functools import partial

from _lab import cli, data, models, scores, stats, tables
from _lab.running import conduct
from mddf.datasets import names


def parse(argv=None):
    parser = cli.study(
        __doc__,
        "league",
        quick={"splits": 1},
        checks={"task": list(scores.DEFAULTS), "metric": list(scores.METRICS)},
        **{"task": "classification", "datasets": None, "methods": None, "metric": None},
        **{"tuned": False, "n_iter": 30, "splits": 3, "max_train": 20_000, "drop": []},
    )
    parser.add_own()
    options = parser.read(argv)
    options.metric = options.metric or list(scores.DEFAULTS[options.task])
    if wrong := [m for m in options.metric if scores.METRICS[m].task != options.task]:
        parser.error(f"argument --metric: {wrong[0]} is not for {options.task}")
    sets = options.datasets or [n for n in names(task=options.task) if n not in data.PARTS]
    if options.quick and not options.datasets:
        sets = data.BUNDLED if options.task == "classification" else ["diabetes-progression"]
    options.sources = data.sources(options, sets, options.task, realistic=True)
    methods = models.chosen(options, models.LEAGUE[options.task], options.task)
    options.methods = {
        f"{name}-tuned" if options.tuned and method.space else name: method
        for name, method in methods.items()
    }
    return options


def one(options, set, seed, method):
    """Fit, predict and score; a search too, with --tuned."""
    split, method = (
        data.split(options.sources[set], seed, options.max_train),
        options.methods[method],
    )
    common = {"task": options.task, "n_jobs": options.n_jobs, "n_rows": len(split.y)}
    model = models.build(method, seed, **common)
    if options.tuned and method.space:
        by = options.metric[0]
        model = models.tuned(model, method, seed, by, options.n_iter, options.task)
    result, model = scores.evaluate(model, split, options.task, options.n_jobs)
    return {**result, "details": models.details(model)}


def report(frame, metrics):
    """Mean ranks of all metrics, a table for each, and costs."""
    order = [name for m in models.METHODS for name in (m, f"{m}-tuned")]
    frame = tables.in_order(frame, "method", order)
    metrics = [name for name in metrics if name in frame]
    return [
        ranking(frame, metrics),
        *(tables.score_table(name, frame, name) for name in metrics),
        tables.costs(frame),
        *([intervals(frame)] if "coverage" in frame else []),
    ]


def intervals(frame):
    """How many test rows lie in the intervals of methods that say some, and how wide these are."""
    found = tables.means(
        frame.dropna(subset="coverage"), ["set", "method"], ["coverage", "interval_width"]
    )
    shown = found.assign(method=found["method"].map(models.title_of))
    heading = f"intervals for {scores.COVERAGE:.0%} of test rows, mean over seeds"
    words = "set method covered=coverage:.3f width_in_deviations_of_y=interval_width:.2f n_seeds"
    return tables.columns("intervals", heading, shown, words, 2)


def ranking(frame, metrics):
    """Mean ranks over the sets where all methods have a result, with critical differences."""
    found, differences = {}, {}
    for name in metrics:
        values = stats.by_set(frame, name)
        if len(values) and values.shape[1] > 1:
            comparison = stats.compare(values, scores.greater(name))
            title = f"{scores.METRICS[name].title} ({comparison.n_sets} sets)"
            found[title], differences[title] = comparison.ranks, comparison.critical_difference
    ranks = tables.pd.DataFrame(found)
    ranks = ranks.reindex(next(iter(found.values())).index) if found else ranks
    numbers = ranks.rename_axis("method").reset_index()
    shown = tables.pd.concat([ranks, tables.pd.DataFrame(differences, ["critical difference"])])
    shown = shown.rename(index=models.title_of).rename_axis("method").map("{:.2f}".format)
    return tables.Table("ranks", "mean ranks; Nemenyi at .05", shown, numbers)


def main(argv=None) -> int:
    options = parse(argv)
    search = {"n_iter": options.n_iter, "by": options.metric[0]} if options.tuned else {}
    settings = {
        "task": options.task,
        "max_train": options.max_train,
        "method": {name: {**m.fixed, **(search if m.space else {})}
                   for name, m in options.methods.items()},
        "set": {name: source.settings() for name, source in options.sources.items()},
    }  # fmt: skip
    rules = [
        f"defaults of the libraries; at most {options.max_train} training rows;\n"
        f"standard splits, else {options.splits} random ones"
    ]
    if options.tuned:
        rules.append(
            f"peers tuned by {options.n_iter} random configurations, 3-fold cross-validation on\n"
            f"training rows by {options.metric[0]}"
        )
    print(
        f"{len(options.sources)} sets; methods:", ", ".join(map(models.title_of, options.methods))
    )
    print(*rules, sep="\n")
    keys = {"set": options.sources, "seed": range(options.splits), "method": options.methods}
    found = partial(report, metrics=options.metric)
    return conduct(options, keys, one, found, settings=settings, notes=rules)


if __name__ == "__main__":
    raise SystemExit(main())
