r"""Summarize results of any number of folders and files: tables, ranks, tests and pictures.

    python scripts/report/summarize.py results/league
    python scripts/report/summarize.py results/a results/b --metric accuracy --test wilcoxon
    python scripts/report/summarize.py results/league --pair mddf xgboost
    python scripts/report/summarize.py other.csv --metric error --smaller-is-better

Sources are folders that a run_ command wrote, files of their cells, or CSV files with the columns
set, method, seed and metrics. The summary has, for each metric of --metric (default: the main
metrics): means and deviations over seeds, mean ranks over the sets with results of all methods,
Friedman's test, tests of all pairs (with --bayes also the Bayesian signed-rank test), and a
critical-difference diagram. --pair A B adds a paired bootstrap on the test rows of each set and
split with results of both methods. All tables are in summary.md and summary.tex, which prints the
best of each row in bold; the numbers are in scores.csv, ranks.csv and pairs.csv.

Two or more methods need pip install "mddf[stats,plots]", for the tests and the diagram. A single
method needs only "mddf[data]".
"""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import cli, counted, need, pictures, records, scores, stats, tables
from _lab.models import title_of

from mddf._command.rows import check_names

KEY = ["set", "method", "seed"]


def parse(argv=None):
    parser = cli.Parser(
        __doc__, "summary", metric=[], methods=[], smaller_is_better=False, test="nemenyi",
        level=0.05, bayes=False, rope=0.0, format=["png", "pdf"],
        texts={
            "metric": "columns of the sources to summarize (default: the main ones)",
            "methods": "methods of the sources, in this order (default: all)",
        },
        checks={"test": ("nemenyi", "wilcoxon"), "level": cli.share, "rope": cli.at_least_0},
    )  # fmt: skip
    parser.add_argument("source", nargs="+", type=Path, help="folders, files of cells, CSV files")
    parser.add_argument(
        "--pair",
        nargs=2,
        metavar=("A", "B"),
        help="compare two methods by a paired bootstrap of their test rows",
    )
    return parser.read(argv)


def read(sources):
    """Read all results into one DataFrame without repetitions."""
    parts = []
    for source in sources:
        part = tables.read(source, text=["set", "method", "right"])
        if missing := [name for name in KEY if name not in part]:
            raise SystemExit(f"{source} must have columns {', '.join(KEY)}; no {missing[0]}")
        if "squared_error" in part:  # CSV files hold the list as text
            part["squared_error"] = part["squared_error"].map(cli.value)
        for other in parts[:1]:
            if part.attrs and (differ := ", ".join(records.clashes(other.attrs, part.attrs))):
                first = other[tables.SOURCE].iloc[0]
                print(cli.fill(f"{source} has other settings than {first}: {differ}"))
        parts.append(part.assign(**{tables.SOURCE: str(source)}))
    frame = tables.labelled(tables.pd.concat(parts, ignore_index=True))
    if "fraction" in frame and frame["fraction"].nunique() > 1:
        print("ranks and tests count every share as a set of its own; they are not independent")
    frame = tables.each_once(frame)
    if (twice := frame.duplicated(KEY)).any():
        raise SystemExit(difference(frame, twice.idxmax()))
    titles = {}
    for name in frame["method"].unique():
        if (other := titles.setdefault(title_of(name), name)) != name:
            raise SystemExit(f"methods {other} and {name} have one title, {title_of(name)}")
    return frame


def difference(frame, row):
    """Return the message about two different results of one set, method and seed."""
    second = frame.loc[row]
    first = frame[(frame[KEY] == second[KEY]).all(axis=1)].iloc[0]
    differences = [
        f"{name} {first[name]} and {second[name]}"
        for name in tables.results_of(frame)
        if first[name] != second[name] and not (first[[name]].isna() & second[[name]].isna()).all()
    ]
    cell_name, places = ", ".join(second[KEY].astype(str)), [first[tables.SOURCE]]
    places += [place for place in [second[tables.SOURCE]] if place not in places]
    return (
        f"two different results for {cell_name} in {' and '.join(places)}: "
        f"{'; '.join(differences)}. Summarize them apart"
    )


def compare(frame, metric, options):
    """Return the tables of a metric, and its comparison (None for a single method or set)."""
    known = metric in {**scores.METRICS, **scores.COSTS}
    greater = scores.greater(metric) if known else not options.smaller_is_better
    values = stats.by_set(frame, metric)
    report_tables = [tables.score_table("scores", frame, metric, greater=greater)]
    if values.shape[1] < 2 or values.empty:
        print(f"{metric}: no ranks, which need two methods and a set that all methods have")
        return report_tables, None
    comparison = stats.compare(values, greater, options.test, options.level)
    ranks = comparison.ranks.rename("mean rank").rename_axis("method").to_frame()
    p = comparison.friedman_p
    friedman = "" if tables.pd.isna(p) else f" Friedman p = {p:.3g};"
    title = (
        f"{metric}: mean ranks over {counted(comparison.n_sets, 'set')};{friedman}\n"
        f"critical difference (Nemenyi, {options.level:g}) {comparison.critical_difference:.2f}"
    )
    report_tables.append(_table("ranks", metric, title, ranks, form="{:.2f}"))
    name = {"nemenyi": "Nemenyi", "wilcoxon": "Wilcoxon with Holm's correction"}[options.test]
    if options.test == "wilcoxon" and (least := 2.0 ** (1 - comparison.n_sets)) > options.level:
        name += f", which is never below {least:.2g} over so few sets"
    report_tables.append(
        _table("pairs", metric, f"{metric}: p of pairs, {name}", comparison.p, form="{:.3f}")
    )
    if options.bayes and comparison.n_sets < 2:
        print(f"{metric}: no Bayesian test, which needs two sets that all methods have")
    elif options.bayes:
        sign = 1 if greater else -1
        rows = [
            (a, b, *stats.bayes(sign * values[a], sign * values[b], options.rope))
            for a, b in combinations(comparison.ranks.index, 2)
        ]
        bayes = tables.pd.DataFrame(rows, columns=["first", "second", "first better", "alike",
                                            "second better"]).set_index("first")  # fmt: skip
        title = f"{metric}: Bayesian signed-rank test, rope {options.rope:g}"
        report_tables.append(_table("bayes", metric, title, bayes, form="{:.3f}", index="first"))
    return report_tables, comparison


def _table(name, metric, title, numbers, *, form, index="method"):
    display = numbers.map(lambda v: form.format(v) if isinstance(v, float) else title_of(v))
    display = display.rename(columns=title_of, index=title_of).rename_axis(index)
    numbers = numbers.rename_axis(index).reset_index()
    if metric is not None:
        numbers.insert(0, "metric", metric)
    return tables.Table(name, title, display, numbers)


def bootstrap(frame, first, second):
    """Return a table of differences of two methods on the same test rows, with intervals."""
    rows = []
    both = frame[frame["method"].isin([first, second])]
    for (name, seed), pair in both.groupby(["set", "seed"], sort=False):
        pair = pair.set_index("method")
        for column, kind in (("right", "accuracy"), ("squared_error", "squared error")):
            if len(pair) < 2 or column not in pair or pair[column].isna().any():
                continue
            first_values, second_values = (
                [float(v) for v in pair.loc[m, column]] for m in (first, second)
            )
            if len(first_values) != len(second_values):
                raise SystemExit(f"{name}, seed {seed}: {first} and {second} had other test rows")
            difference, low, high = stats.paired_bootstrap(first_values, second_values)
            rows.append((name, seed, kind, len(first_values), difference, low, high))
    if not rows:
        raise SystemExit(f"--pair: no set and split has test rows of both {first} and {second}")
    columns = ["set", "seed", "of", "rows", "difference", "2.5 %", "97.5 %"]
    numbers = tables.pd.DataFrame(rows, columns=columns).set_index("set")
    title = f"{title_of(first)} minus {title_of(second)}, paired bootstrap on test rows"
    numbers = numbers.astype({"seed": str, "rows": str})
    return _table("pair", None, title, numbers, form="{:.4f}", index="set")


def draw(comparison, metric, options):
    """Draw the critical-difference diagram; methods that do not differ are joined."""
    plt = pictures.pyplot()
    longest = max(len(title_of(name)) for name in comparison.ranks.index)
    size = max(6.2, 3.2 + 0.17 * longest), 1.1 + 0.22 * len(comparison.ranks)
    figure, axis = plt.subplots(figsize=size)
    need("scikit_posthocs", "stats").critical_difference_diagram(
        comparison.ranks.rename(index=title_of),
        comparison.p.rename(index=title_of, columns=title_of),
        ax=axis,
        alpha=options.level,
        label_fmt_left="{label} {rank:.2f} ",
        label_fmt_right=" {rank:.2f} {label}",
        color_palette=["black"] * len(comparison.ranks),
        text_h_margin=0.15,
    )
    axis.grid(False)
    axis.spines["top"].set_visible(True)
    caption = (
        f"{metric}: mean ranks over {comparison.n_sets} sets (1 is best). Joined methods do not "
        f"differ at {options.level:g} ({options.test})."
    )
    if options.test == "nemenyi":  # a bar above the ranks, as long as the critical difference
        above, first = axis.get_xaxis_transform(), comparison.ranks.iloc[0]
        ends = [first, first + comparison.critical_difference]
        height = 1 + 0.3 / size[1]
        axis.plot(ends, [height, height], "k|-", lw=1.5, ms=7, transform=above, clip_on=False)
        axis.text(
            np.mean(ends), height + 0.08 / size[1], f"CD {comparison.critical_difference:.2f}",
            transform=above, ha="center", va="bottom",
        )  # fmt: skip
    pictures.save(figure, options, f"{metric}-cd", caption)


def write(folder, report_tables, means):
    """Write all tables to a Markdown and a LaTeX file, and the numbers to CSV files."""
    records.write(folder / "summary.md", "\n".join(table.markdown() for table in report_tables))
    blocks = (f"% {' '.join(table.title.split())}\n{table.latex()}" for table in report_tables)
    records.write(folder / "summary.tex", "\n".join(blocks))
    for name in dict.fromkeys(table.name for table in report_tables if table.name != "scores"):
        numbers = tables.pd.concat(table.data for table in report_tables if table.name == name)
        records.write(folder / f"{name}.csv", numbers.to_csv(index=False))
    records.write(folder / "scores.csv", means.to_csv(index=False))


def main(argv=None) -> int:
    options = parse(argv)
    frame = read(options.source)
    numbers = [c for c in frame.select_dtypes("number") if c not in KEY]
    known = [c for c in (*scores.METRICS, *scores.COSTS) if c in numbers]
    default_metrics = [c for names in scores.DEFAULTS.values() for c in names if c in numbers]
    metrics = options.metric or default_metrics or known
    present_methods = frame["method"].unique()
    if len(options.methods or present_methods) > 1:
        # Before any work, so that no table is computed and lost.
        need("scikit_posthocs", "stats")
        need("matplotlib", "plots")
    check_names("--methods: must be among", options.methods, present_methods)
    check_names("--pair: must be among", options.pair or [], options.methods or present_methods)
    if not metrics:
        raise SystemExit(f"no metric among the columns {', '.join(frame)}: give --metric")
    check_names("--metric: must be among", metrics, numbers)
    if options.methods:
        frame = frame[frame["method"].isin(options.methods)]
    frame = tables.in_order(frame, "method", options.methods)
    report_tables = []
    for metric in metrics:
        metric_tables, comparison = compare(frame, metric, options)
        report_tables += metric_tables
        if comparison is not None:
            draw(comparison, metric, options)
    if options.pair:
        report_tables.append(bootstrap(frame, *options.pair))
    print("\n".join(table.text() for table in report_tables))
    if other_metrics := [name for name in known if name not in metrics]:
        print(cli.fill(f"more for --metric: {' '.join(other_metrics)}"))
    columns = list(dict.fromkeys([*metrics, *known]))
    write(options.out, report_tables, tables.means(frame, ["set", "method"], columns))
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
