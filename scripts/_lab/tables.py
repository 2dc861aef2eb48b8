"""Tables: means over seeds, and their text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import need, records, stats
from .models import title_of
from .scores import COSTS, METRICS, Metric

pd = need("pandas", "data")

PUBLISHED = Path(__file__).parents[1] / "published"
WIDTH = 80  # columns of a screen


@dataclass(frozen=True)
class Table:
    """A table for people, and the numbers behind it for the CSV file (None: what is shown)."""

    name: str
    title: str
    shown: pd.DataFrame
    numbers: pd.DataFrame | None = field(default=None)

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

    def markdown(self, notes=()):
        """For a page."""
        lines = "".join(f"- {note}\n" for note in notes)
        return f"{self.title}\n\n{markdown(self.rows())}\n" + (f"\n{lines}" if lines else "")


def write(folder, found, notes=(), latex_too=False):
    """Write tables as NAME.md and NAME.csv, and NAME.tex if asked for."""
    for table in found:
        records.write(folder / f"{table.name}.md", table.markdown(notes))
        records.write(folder / f"{table.name}.csv", table.data.to_csv(index=False))
        if latex_too:
            records.write(folder / f"{table.name}.tex", latex(table.rows()) + "\n")


def show(folder, found):
    """Print and write the tables of a benchmark, with what they come from."""
    about = records.provenance()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    print("\n".join(["", *(table.text() for table in found)]))
    write(folder, found, [f"{versions}; Python {about['python']}, {about['machine']}"])
    text = json.dumps({**about, "time": records.now()}, indent=1)
    records.write(folder / "run.json", text + "\n")
    print(f"written to {folder}")


def markdown(frame):
    """A Markdown table of a DataFrame without its index; the first column to the left."""
    cells = frame.astype(object).where(frame.notna(), "")
    rows = [list(map(str, frame.columns)), ["---", *["--:"] * (frame.shape[1] - 1)]]
    rows += [[str(cell).replace("|", "\\|") for cell in row] for row in cells.to_numpy()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def latex(frame):
    """A LaTeX tabular (with booktabs) of a DataFrame without its index."""
    cells = frame.astype(object).where(frame.notna(), "")
    rows = [[_escaped(cell) for cell in row] for row in [frame.columns, *cells.to_numpy()]]
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    columns = "l" + "r" * (frame.shape[1] - 1)
    inner = "\n".join([r"\toprule", head, r"\midrule", *body, r"\bottomrule"])
    return f"\\begin{{tabular}}{{{columns}}}\n{inner}\n\\end{{tabular}}"


def _escaped(cell):
    text = str(cell)
    for sign in "&%$#_":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("±", r"$\pm$").replace("<", r"$<$").replace(">", r"$>$")


def flat(frame):
    """The columns that hold single values."""
    return frame[
        [c for c in frame if not frame[c].map(lambda v: isinstance(v, list | dict)).any()]
    ]


def means(frame, by, columns):
    """Mean, deviation (NaN of one seed) and number of results of each group, in order."""
    groups = frame.groupby(by, sort=False, dropna=False)[columns]
    found = groups.mean().join(groups.std().add_suffix("_std"))
    return found.assign(n_seeds=groups.size()).reset_index()


def spread(values, digits=2, scale=1.0):
    """Such as "97.45 ± 0.07"; without a deviation of one value."""
    values = scale * np.asarray(values, dtype=float)
    deviation = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{deviation}"


def pivot(frame, values, rows="set", columns="method", show=spread):
    """A table of groups shown as text, in the order of their first results."""
    groups = frame.groupby([rows, columns], sort=False)[values]
    table = groups.apply(show).unstack(columns)
    return table.reindex(index=list(dict.fromkeys(frame[rows])),
                         columns=list(dict.fromkeys(frame[columns])))  # fmt: skip


def score_table(name, frame, metric, published=None, greater=True) -> Table:
    """A metric by set and method, mean ranks, and how many layers mdDF kept.

    Parameters
    ----------
    name : str
        Of the table.
    frame : DataFrame
        Results with columns set, method, seed and the metric.
    metric : str
    published : dict of (set, method) to float, optional
        Stand below.
    greater : bool
        Whether more is better, of a metric that is not in `scores.METRICS`.
    """
    about = METRICS.get(metric) or Metric(metric, None, greater)
    frame = frame.dropna(subset=metric)
    shown = pivot(frame, metric, show=lambda v: spread(v, about.digits, about.scale))
    lines = []
    for row in shown.index:
        lines.append(shown.loc[row])
        there = {m: (published or {}).get((row, m)) for m in shown}
        if any(value is not None for value in there.values()):
            beside = {m: "" if v is None else f"{v:.{about.digits}f}" for m, v in there.items()}
            lines.append(pd.Series(beside, name="  published"))
    values = stats.by_set(frame, metric)
    if len(values):
        mean_ranks = stats.ranks(values, about.greater).mean()
        lines.append(mean_ranks.map("{:.2f}".format).rename(f"mean rank, {len(values)} sets"))
    shown = pd.DataFrame(lines).reindex(columns=shown.columns).rename_axis("set")
    if "layers" in frame and (frame["method"] == "mddf").any():
        kept = frame[frame["method"] == "mddf"].groupby("set")["layers"]
        spans = {s: f"{v.min():g} to {v.max():g}" if v.nunique() > 1 else f"{v.min():g}"
                 for s, v in kept}  # fmt: skip
        shown["layers of mdDF"] = [spans.get(row, "") for row in shown.index]
    numbers = [c for c in (*METRICS, *COSTS, "n_train", "n_test", "layers") if c in frame]
    numbers += [metric] if metric not in numbers else []
    data = means(frame, ["set", "method"], numbers).dropna(axis=1, how="all")
    title = f"{about.title}, mean ± standard deviation over seeds"
    return Table(name, title, shown.rename(columns=title_of), data)


def costs(frame) -> Table:
    """What a fit of each method costs, mean over sets and seeds."""
    known = [name for name in COSTS if name in frame]
    numbers = means(frame, ["method"], known)
    shown = numbers.set_index("method")[known].rename(index=title_of, columns=COSTS)
    return Table("costs", "mean over sets and seeds", shown.map("{:.4g}".format), numbers)


def in_order(frame, column, order):
    """Rows sorted by an order of the values of a column; others come last."""
    places = {name: place for place, name in enumerate(order)}
    key = frame[column].map(lambda name: places.get(name, len(places)))
    return frame.iloc[np.argsort(key.to_numpy(), kind="stable")]


def published(name):
    """A published table; empty when the file is not present."""
    path = PUBLISHED / name
    return pd.read_csv(path, sep="\t", dtype=str) if path.exists() else pd.DataFrame()


def columns(name, heading, rows, shown, n_index=1) -> Table:
    """A table of some columns of `rows`.

    `shown` has a word for each: "title=column:format", of which "=column" and ":format" may be
    left out; an underscore in a title stands for a blank, and columns that are not there for
    none. The first `n_index` columns tell rows apart.
    """
    found = {}
    for word in shown.split():
        left, _, form = word.partition(":")
        title, _, column = left.partition("=")
        if (column or title) in rows:
            form = f"{{:{form}}}".format
            found[title.replace("_", " ")] = [
                "" if pd.isna(value) else form(value) for value in rows[column or title]
            ]
    frame = pd.DataFrame(found)
    return Table(name, heading, frame.set_index(list(frame)[:n_index]), rows)
