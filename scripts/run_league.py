r"""A league of methods at their defaults, or tuned, over all sets of mddf.datasets.

    python scripts/run_league.py                         all sets that are present; many hours
    python scripts/run_league.py --quick                 the bundled sets, one split
    python scripts/run_league.py --tuned --methods xgboost lightgbm --datasets car wine
    python scripts/run_league.py --task regression
    python scripts/run_league.py --csv table.csv --target kind \
        --method nearest=sklearn.neighbors:KNeighborsClassifier n_neighbors=9

The rules are the same for all methods, and are printed. For regression, methods with prediction
intervals are also compared by their 90 % intervals. `scripts/report/summarize.py` has more tests
and pictures.
"""

from _lab import contest, data, models, scores, tables
from _lab.study import Study
from mddf.datasets import names


def prepare(options, parser):
    options.metric = options.metric or list(scores.DEFAULTS[options.task])
    if wrong := [m for m in options.metric if scores.METRICS[m].task != options.task]:
        parser.error(f"argument --metric: {wrong[0]} is not for {options.task}")
    sets = options.datasets or [n for n in names(task=options.task) if n not in data.PARTS]
    if options.quick and not options.datasets:
        sets = data.BUNDLED if options.task == "classification" else ["diabetes-progression"]
    options.budget = None
    options.sources = data.sources(options, sets, options.task, realistic=True)
    methods = models.chosen(options, models.LEAGUE[options.task], options.task)
    options.methods = {
        f"{name}-tuned" if options.tuned and method.space else name: method
        for name, method in methods.items()
    }


def notes(options):
    rules = [
        f"defaults of the libraries; at most {options.max_train} training rows;\n"
        f"standard splits, else {options.splits} random ones"
    ]
    if options.tuned:
        rules.append(
            f"peers tuned by {options.n_iter} random configurations, 3-fold cross-validation on\n"
            f"training rows by {options.metric[0]}"
        )
    contest.announce(options, rules)
    return rules


cell = contest.cell
settings = contest.settings


def report(frame, options):
    """Ranks first; last, intervals where there are any."""
    sections = [*contest.ranking(frame, options.metric), *contest.report(frame, options)]
    return [*sections, *([intervals(frame)] if "coverage" in frame else [])]


def intervals(frame):
    """Coverage and width of the prediction intervals, by method."""
    columns = ["coverage", "interval_width"]
    rows = tables.means(frame.dropna(subset="coverage"), ["set", "method"], columns)
    title = f"intervals for {scores.COVERAGE:.0%} of test rows; widths in deviations of y"
    words = "set method covered=coverage:.3f width=interval_width:.2f seeds=n_seeds"
    return tables.columns("intervals", title, rows, words, n_index=2)


study = Study(
    globals(), "league", "set=sources seed=splits method=methods", own=True, quick={"splits": 1},
    task="classification", datasets=[], methods=[], metric=[], tuned=False, n_iter=30,
    known={"methods": list(models.METHODS)},
    splits=3, max_train=20_000,
    checks={"task": list(scores.DEFAULTS), "metric": list(scores.METRICS)},
)  # fmt: skip
parse = study.parse
main = study.main

if __name__ == "__main__":
    raise SystemExit(main())
