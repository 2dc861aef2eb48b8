"""Tables: means over seeds, and their text, Markdown, LaTeX and CSV."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import counted, need, records, stats
from .models import title_of
from .scores import COSTS, METRICS, Metric

pd = need("pandas", "data")

PUBLISHED = Path(__file__).parents[1] / "published"
# Characters of a line on the screen.
WIDTH = 80
# Column with the source of a result, if there are several sources.
SOURCE = "read from"


@dataclass(frozen=True)
class Table:
    """A formatted table, and its numbers for the CSV file (None: the formatted table).

    `best` marks the cells of `display` that LaTeX prints in bold; None marks none.
    """

    name: str
    title: str
    display: pd.DataFrame
    numbers: pd.DataFrame | None = None
    best: np.ndarray | None = None

    @property
    def data(self):
        """Content of the CSV file."""
        return self.rows() if self.numbers is None else self.numbers

    def rows(self):
        """Return the table with its index as columns."""
        index_names = [name for name in self.display.index.names if name is not None]
        return self.display.reset_index() if index_names else self.display

    def text(self):
        """Format for a screen of 80 columns; columns that do not fit come below."""
        frame = self.display.rename_axis(columns=None).replace(" ± ", "±", regex=True)
        return f"{self.title}\n\n{frame.to_string(line_width=WIDTH, na_rep='')}\n"

    def markdown(self, notes=(), stamp=""):
        """Format for a page, with notes and a line about the measurement below."""
        rows = [
            self.rows().columns,
            ["---"] + ["--:"] * (self.rows().shape[1] - 1),
            *self._cells(),
        ]
        lines = [f"| {' | '.join(str(c).replace('|', '&#124;') for c in row)} |" for row in rows]
        below = "".join(f"- {' '.join(note.split())}\n" for note in notes)
        parts = [self.title, "\n".join(lines), below.rstrip(), stamp]
        return "\n\n".join(part for part in parts if part) + "\n"

    def latex(self):
        """Format as a tabular with the rules of booktabs."""
        signs = {s: f"\\{s}" for s in "&%$#_{}"} | {s: f"${s}$" for s in "<>"}
        signs |= {"~": r"\~{}", "^": r"\^{}", "\\": r"$\backslash$"}
        signs = str.maketrans(signs)
        rows = [[str(c).translate(signs) for c in row] for row in [[*self.rows()], *self._cells()]]
        if self.best is not None:
            first = len(rows[0]) - self.display.shape[1]
            for row, column in np.argwhere(self.best):
                cell = rows[1 + row][first + column]
                rows[1 + row][first + column] = rf"\textbf{{{cell}}}"
        lines = [" & ".join(row).replace("±", r"$\pm$") + r" \\" for row in rows]
        lines = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        columns = "l" + "r" * (len(rows[0]) - 1)
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}", ""])

    def _cells(self):
        frame = self.rows()
        return frame.astype(object).where(frame.notna(), "").to_numpy()


def write(folder, tables, notes=(), stamp=""):
    """Write tables as NAME.md and NAME.csv."""
    for table in tables:
        records.write(folder / f"{table.name}.md", table.markdown(notes, stamp))
        records.write(folder / f"{table.name}.csv", table.data.to_csv(index=False))


def read(source, study=None, maker="a run_ command", text=()):
    """Read the results of a folder or a file, or a table of results, one row for each."""
    if source.is_file() and source.suffix != ".json":
        try:
            frame = pd.read_csv(source, dtype=dict.fromkeys(text, str))
        except (OSError, ValueError) as error:
            raise SystemExit(f"{source} cannot be read as a table: {error}") from None
    else:
        frame = records.frame(records.read_cells(source, study, maker))
    if frame.empty:
        raise SystemExit(f"{source} has no rows: {maker} makes some")
    return frame


def flat(frame):
    """Select the columns without lists and dicts."""
    return frame[
        [c for c in frame if not frame[c].map(lambda v: isinstance(v, list | dict)).any()]
    ]


def each_once(frame):
    """Drop results that repeat another one; costs are not compared."""
    compared = [c for c in results_of(frame) if frame[c].notna().any()]
    return frame.loc[~frame.duplicated(compared)].reset_index(drop=True)


def results_of(frame):
    """Return the columns that identify a result: single values without costs and source."""
    costs = ("bytes", "details", SOURCE, *(name for name in frame if name.endswith("_seconds")))
    return [name for name in flat(frame) if name not in costs]


def labelled(frame):
    """Add shares of the rows, and numbers of tables, to the names of sets."""
    for part, column, form in (
        ("set", "fraction", lambda v: f", {100 * v:g}%"),
        ("set", "table", ", Table {}".format),
    ):
        if column in frame:
            added = frame[column].map(form, na_action="ignore").fillna("")
            frame = frame.assign(**{part: frame[part] + added})
    return frame


def unnest(frame, column):
    """Make a row for each dict in the lists of a column; single values are repeated."""
    long = frame[[*flat(frame.drop(columns=column)), column]].explode(column, ignore_index=True)
    long = long.dropna(subset=column).reset_index(drop=True)
    return long.drop(columns=column).join(pd.DataFrame(long[column].tolist()))


def means(frame, by, columns=None):
    """Return mean, deviation (NaN for one seed) and number of results of each group, in order.

    Without `columns`, all numeric columns are averaged.
    """
    if columns is None:
        columns = [c for c in frame.select_dtypes("number") if c not in (*by, "seed")]
    groups = frame.groupby(by, sort=False, dropna=False)[columns]
    statistics = groups.mean().join(groups.std().add_suffix("_std"))
    return statistics.assign(n_seeds=groups.size()).reset_index()


def in_order(frame, column, order):
    """Sort rows by the order of the values of a column; values without a place come last."""
    places = {name: place for place, name in enumerate(order)}
    return frame.sort_values(
        column, kind="stable", key=lambda names: names.map(places).fillna(len(places))
    )


def columns(name, title, rows, layout, *, n_index=1, numbers=None) -> Table:
    """Return a table of columns of `rows`; the CSV file gets `numbers`, or all of `rows`.

    `layout` has a word for each column: "title=column:format"; "=column" and ":format" are
    optional, and an underscore in a title stands for a blank. A format that ends in "±" adds the
    deviation of the column. Columns that `rows` lacks are left out. The first `n_index` columns
    become the index.
    """
    text_columns = {}
    for word in layout.split():
        left, _, form = word.partition(":")
        heading, _, column = left.partition("=")
        column = column or heading
        if column in rows:
            text_columns[heading.replace("_", " ")] = _cells(rows, column, form)
    frame = pd.DataFrame(text_columns)
    display = frame.set_index(list(frame)[:n_index])
    return Table(name, title, display, rows if numbers is None else numbers)


def by_measure(frame, measures):
    """Return a table for each measure, which has a function, a title and a layout of columns."""
    return [
        columns(name, measures[name][1], rows, measures[name][2])
        for name, rows in frame.groupby("measure", sort=False)
    ]


def _cells(rows, column, form):
    """Format a column, such as "97.45 ± 0.07" by ".2f±"; one value has no deviation."""
    values = rows[column].map(title_of) if column == "method" else rows[column]
    cells = [_cell(v, form.rstrip("±")) for v in values]
    if form.endswith("±"):
        deviations = [_cell(v, form.strip("±+")) for v in rows[f"{column}_std"]]
        cells = [f"{a} ± {b}" if b else a for a, b in zip(cells, deviations, strict=True)]
    return cells


def _cell(value, form):
    return "" if pd.isna(value) else f"{value:{form}}"


def score_table(name, frame, metric, published=None, greater=True) -> Table:
    """Return a metric by set and method, mean ranks, and the number of layers of mdDF.

    Published values, by set and method, stand below the measured ones. `greater` tells whether
    larger values are better, for metrics that are not in `scores.METRICS`.
    """
    about = METRICS.get(metric) or Metric(metric, None, greater)
    frame = frame.dropna(subset=metric)
    rows = means(frame.assign(score=about.scale * frame[metric]), ["set", "method"], ["score"])
    order = {"index": frame["set"].unique(), "columns": frame["method"].unique()}
    rows["rounded"] = rows["score"].round(about.digits)
    best = _is_best(rows.pivot(index="set", columns="method", values="rounded"), about.greater)
    rows["score"] = _cells(rows, "score", f".{about.digits}f±")
    text, best = rows.pivot(index="set", columns="method", values="score"), best.reindex(**order)
    text = text.reindex(**order)
    lines, bold = [], []
    nothing = np.zeros(text.shape[1], bool)
    for row in text.index:
        lines.append(text.loc[row])
        bold.append(best.loc[row].to_numpy())
        published_scores = {m: (published or {}).get((row, m), np.nan) for m in text}
        if not np.isnan(list(published_scores.values())).all():
            cells = {m: _cell(v, f".{about.digits}f") for m, v in published_scores.items()}
            lines.append(pd.Series(cells, name="  published"))
            bold.append(nothing)
    values = stats.by_set(frame, metric)
    if len(values):
        ranks = stats.ranks(values, about.greater).mean()
        lines.append(
            ranks.map("{:.2f}".format).rename(f"mean rank, {counted(len(values), 'set')}")
        )
        ranks = ranks.reindex(text.columns).round(2).to_frame().T
        bold.append(_is_best(ranks, greater=False).to_numpy()[0])
    text = pd.DataFrame(lines).reindex(columns=text.columns).rename_axis("set")
    kept = frame[frame["method"] == "mddf"] if "layers" in frame else frame[:0]
    if len(kept):
        spans = kept.groupby("set")["layers"].agg(
            lambda v: " to ".join(f"{n:g}" for n in dict.fromkeys((v.min(), v.max())))
        )
        text["layers of mdDF"] = text.index.map(spans).fillna("")
        bold = [np.append(row, False) for row in bold]
    numbers = [c for c in (*METRICS, *COSTS, "n_train", "n_test", "layers") if c in frame]
    data = means(frame, ["set", "method"], list(dict.fromkeys([*numbers, metric])))
    title = f"{about.title}, mean ± standard deviation over seeds"
    data, text = data.dropna(axis=1, how="all"), text.rename(columns=title_of)
    return Table(name, title, text, data, np.array(bold))


def _is_best(values, greater):
    """Mark the best cells of the rows that have several values."""
    best = values.max(axis=1) if greater else values.min(axis=1)
    several = values.notna().sum(axis=1) > 1
    return values.eq(best, axis=0) & several.to_numpy()[:, None]


def costs(frame) -> Table:
    """Return the costs of a fit of each method, as means over sets and seeds."""
    rows = means(frame, ["method"], [name for name in COSTS if name in frame])
    words = (f"{title.replace(' ', '_')}={name}:.4g" for name, title in COSTS.items())
    words = "method " + " ".join(words)
    return columns("costs", "mean over sets and seeds", rows, words)


def published(name):
    """Read a published table as text."""
    return pd.read_csv(PUBLISHED / name, sep="\t", dtype=str)
