"""Tables: means over seeds, and their text, Markdown, LaTeX and CSV."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import counted, need, records, stats
from .models import title_of
from .scores import COSTS, METRICS, Metric

pd = need("pandas", "data")

PUBLISHED = Path(__file__).parents[1] / "published"
WIDTH = 80  # columns of a screen
SOURCE = "read from"  # where a result was read, if several places are


@dataclass(frozen=True)
class Table:
    """A table for people, and the numbers behind it for the CSV file (None: what is shown).

    `best` says which cells of `shown` LaTeX has in bold; None for none.
    """

    name: str
    title: str
    shown: pd.DataFrame
    numbers: pd.DataFrame | None = None
    best: np.ndarray | None = None

    @property
    def data(self):
        """What the CSV file holds."""
        return self.rows() if self.numbers is None else self.numbers

    def rows(self):
        """The table with its index as columns."""
        named = [name for name in self.shown.index.names if name is not None]
        return self.shown.reset_index() if named else self.shown

    def text(self):
        """For a screen of 80 columns: what does not fit beside comes below."""
        shown = self.shown.rename_axis(columns=None).replace(" ± ", "±", regex=True)
        return f"{self.title}\n\n{shown.to_string(line_width=WIDTH, na_rep='')}\n"

    def markdown(self, notes=(), stamp=""):
        """For a page; the first column to the left, and at the end how it was measured."""
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
        """A tabular, with the lines of booktabs."""
        signs = {s: f"\\{s}" for s in "&%$#_{}"} | {s: f"${s}$" for s in "<>"}
        signs |= {"~": r"\~{}", "^": r"\^{}", "\\": r"$\backslash$"}
        signs = str.maketrans(signs)
        rows = [[str(c).translate(signs) for c in row] for row in [[*self.rows()], *self._cells()]]
        if self.best is not None:
            first = len(rows[0]) - self.shown.shape[1]
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


def read_markdown(text, heading):
    """The first Markdown table after a heading: cells as text, indexed by the first column."""
    lines = re.search(r"(?:^\|.*\n)+", text[text.index(heading) :], flags=re.MULTILINE)[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()]
    return pd.DataFrame(rows[2:], columns=rows[0]).set_index(rows[0][0])


def write(folder, found, notes=(), stamp=""):
    """Write tables as NAME.md and NAME.csv."""
    for table in found:
        records.write(folder / f"{table.name}.md", table.markdown(notes, stamp))
        records.write(folder / f"{table.name}.csv", table.data.to_csv(index=False))


def read(source, study=None, maker="a run_ command", text=()):
    """Results of a folder or a file, with a row for each; or a table of some."""
    if source.is_file() and source.suffix != ".json":
        try:
            found = pd.read_csv(source, dtype=dict.fromkeys(text, str))
        except (OSError, ValueError) as error:
            raise SystemExit(f"{source} cannot be read as a table: {error}") from None
    else:
        found = records.frame(records.read_cells(source, study, maker))
    if found.empty:
        raise SystemExit(f"{source} has no rows: {maker} makes some")
    return found


def flat(frame):
    """The columns that hold single values."""
    return frame[
        [c for c in frame if not frame[c].map(lambda v: isinstance(v, list | dict)).any()]
    ]


def each_once(frame):
    """Results without those that differ from another one by what they cost at most."""
    compared = [c for c in results_of(frame) if frame[c].notna().any()]
    return frame.loc[~frame.duplicated(compared)].reset_index(drop=True)


def results_of(frame):
    """Columns of single values that differ if results do: not what they cost, nor their source."""
    costs = ("bytes", "details", SOURCE, *(name for name in frame if name.endswith("_seconds")))
    return [name for name in flat(frame) if name not in costs]


def labelled(frame):
    """Results with names of sets and methods that tell shares, tables and layer features."""
    for part, column, form in (
        ("set", "fraction", lambda v: f", {100 * v:g}%"),
        ("set", "table", ", Table {}".format),
        ("method", "features", ", {}".format),
    ):
        if column in frame:
            added = frame[column].map(form, na_action="ignore").fillna("")
            frame = frame.assign(**{part: frame[part] + added})
    return frame


def unnest(frame, column):
    """A row for each dict in the lists of a column, with the other columns of single values."""
    long = frame[[*flat(frame.drop(columns=column)), column]].explode(column, ignore_index=True)
    long = long.dropna(subset=column).reset_index(drop=True)
    return long.drop(columns=column).join(pd.DataFrame(long[column].tolist()))


def means(frame, by, columns=None):
    """Mean, deviation (NaN of one seed) and number of results of each group, in order.

    Without columns, of all numbers.
    """
    if columns is None:
        columns = [c for c in frame.select_dtypes("number") if c not in (*by, "seed")]
    groups = frame.groupby(by, sort=False, dropna=False)[columns]
    found = groups.mean().join(groups.std().add_suffix("_std"))
    return found.assign(n_seeds=groups.size()).reset_index()


def in_order(frame, column, order):
    """Rows sorted by an order of the values of a column; others come last."""
    places = {name: place for place, name in enumerate(order)}
    return frame.sort_values(
        column, kind="stable", key=lambda names: names.map(places).fillna(len(places))
    )


def columns(name, title, rows, shown, n_index=1, numbers=None) -> Table:
    """A table of some columns of `rows`; the CSV file gets `numbers`, or all of `rows`.

    `shown` has a word for each: "title=column:format", of which "=column" and ":format" may be
    left out; an underscore in a title stands for a blank. A format that ends in "±" adds the
    column's deviation; columns that are not there are left out. The first `n_index` columns tell
    rows apart.
    """
    found = {}
    for word in shown.split():
        left, _, form = word.partition(":")
        heading, _, column = left.partition("=")
        column = column or heading
        if column in rows:
            found[heading.replace("_", " ")] = _cells(rows, column, form)
    frame = pd.DataFrame(found)
    shown = frame.set_index(list(frame)[:n_index])
    return Table(name, title, shown, rows if numbers is None else numbers)


def _cells(rows, column, form):
    """A column as text, such as "97.45 ± 0.07" by ".2f±"; without a deviation of one value."""
    values = rows[column].map(title_of) if column == "method" else rows[column]
    cells = [_cell(v, form.rstrip("±")) for v in values]
    if form.endswith("±"):
        deviations = [_cell(v, form.strip("±+")) for v in rows[f"{column}_std"]]
        cells = [f"{a} ± {b}" if b else a for a, b in zip(cells, deviations, strict=True)]
    return cells


def _cell(value, form):
    return "" if pd.isna(value) else f"{value:{form}}"


def score_table(name, frame, metric, published=None, greater=True) -> Table:
    """A metric by set and method, mean ranks, and how many layers mdDF kept.

    Published values, by set and method, stand below. `greater` says whether more is better of a
    metric that is not in `scores.METRICS`.
    """
    about = METRICS.get(metric) or Metric(metric, None, greater)
    frame = frame.dropna(subset=metric)
    rows = means(frame.assign(shown=about.scale * frame[metric]), ["set", "method"], ["shown"])
    order = {"index": frame["set"].unique(), "columns": frame["method"].unique()}
    rows["rounded"] = rows["shown"].round(about.digits)
    best = _is_best(rows.pivot(index="set", columns="method", values="rounded"), about.greater)
    rows["shown"] = _cells(rows, "shown", f".{about.digits}f±")
    shown, best = rows.pivot(index="set", columns="method", values="shown"), best.reindex(**order)
    shown = shown.reindex(**order)
    lines, bold = [], []
    nothing = np.zeros(shown.shape[1], bool)
    for row in shown.index:
        lines.append(shown.loc[row])
        bold.append(best.loc[row].to_numpy())
        there = {m: (published or {}).get((row, m), np.nan) for m in shown}
        if not np.isnan(list(there.values())).all():
            beside = {m: _cell(v, f".{about.digits}f") for m, v in there.items()}
            lines.append(pd.Series(beside, name="  published"))
            bold.append(nothing)
    values = stats.by_set(frame, metric)
    if len(values):
        ranks = stats.ranks(values, about.greater).mean()
        lines.append(
            ranks.map("{:.2f}".format).rename(f"mean rank, {counted(len(values), 'set')}")
        )
        ranks = ranks.reindex(shown.columns).round(2).to_frame().T
        bold.append(_is_best(ranks, greater=False).to_numpy()[0])
    shown = pd.DataFrame(lines).reindex(columns=shown.columns).rename_axis("set")
    kept = frame[frame["method"] == "mddf"] if "layers" in frame else frame[:0]
    if len(kept):
        spans = kept.groupby("set")["layers"].agg(
            lambda v: " to ".join(f"{n:g}" for n in dict.fromkeys((v.min(), v.max())))
        )
        shown["layers of mdDF"] = shown.index.map(spans).fillna("")
        bold = [np.append(row, False) for row in bold]
    numbers = [c for c in (*METRICS, *COSTS, "n_train", "n_test", "layers") if c in frame]
    data = means(frame, ["set", "method"], list(dict.fromkeys([*numbers, metric])))
    title = f"{about.title}, mean ± standard deviation over seeds"
    data, shown = data.dropna(axis=1, how="all"), shown.rename(columns=title_of)
    return Table(name, title, shown, data, np.array(bold))


def _is_best(values, greater):
    """Which cells are the best of their rows, if there are several in these."""
    best = values.max(axis=1) if greater else values.min(axis=1)
    several = values.notna().sum(axis=1) > 1
    return values.eq(best, axis=0) & several.to_numpy()[:, None]


def costs(frame) -> Table:
    """What a fit of each method costs, mean over sets and seeds."""
    rows = means(frame, ["method"], [name for name in COSTS if name in frame])
    words = (f"{title.replace(' ', '_')}={name}:.4g" for name, title in COSTS.items())
    words = "method " + " ".join(words)
    return columns("costs", "mean over sets and seeds", rows, words)


def published(name):
    """A published table, all of it text."""
    return pd.read_csv(PUBLISHED / name, sep="\t", dtype=str)
