"""Tables of files for fits and predictions: features, labels, categories, dates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mddf._base.messages import nearest

from . import csvs, hints
from .csvs import PLAIN, Format, need

_MOST_NAMES = 12


def all_among(must: str, given: Any, there: Any) -> None:
    """End the command unless all words are among those that are there."""
    if wrong := [word for word in given if word not in there]:
        shown = list(map(visible, there))
        more = [f"... ({len(shown)} in all)"] if len(shown) > _MOST_NAMES else []
        names = ", ".join(shown[:_MOST_NAMES] + more)
        raise SystemExit(f"{must} {names}; got {wrong[0]!r}{nearest(wrong[0], there)}")


def visible(name: Any) -> str:
    """A name, in quotes if blanks or other characters in it cannot be seen."""
    shown = str(name)
    return shown if shown and shown == shown.strip() and shown.isprintable() else repr(name)


def read_training(
    path: Any,
    target: str,
    drop: Any = (),
    task: str = "classification",
    form: Format = PLAIN,
    warn: bool = False,
) -> tuple[Any, np.ndarray]:
    """Features and labels of a table; columns of text are categories, dates become numbers.

    A table that does not do ends the command with one line. Warns of text that looks like numbers,
    if asked to. The task "auto" is what the labels look like (`task_of`).
    """
    table, lines = csvs.read(path, form)
    if table.empty:
        raise SystemExit(f"{path} must have rows, got none")
    all_among(f"--target must be a column of {path}:", [target], table)
    others = table.columns.drop(target)
    all_among(f"--drop must be a column of features of {path}:", drop, others)
    all_among(
        f"--text, --numbers and --dates must be columns of {path}:",
        form.text + form.numbers + form.dates,
        table,
    )
    X, y = table.drop(columns=[target, *drop]), table[target]
    task = task_of(y) if task == "auto" else task
    unnamed = [name for name in X if name.startswith("Unnamed: ")]
    for wrong, why in (
        (unnamed, f"the columns of {path} must have names, got {', '.join(unnamed)}; a table of "
         f"pandas is written without its row numbers by to_csv(..., index=False), or --drop them"),
        (min(len(X) - 1, X.shape[1]) < 1, f"{path} must have at least 2 rows, and a column of "
         f"features besides the labels; got {len(X)} rows and the columns {', '.join(table)}"),
        (y.isna().any(), f"the labels of {path} must be complete, got {y.isna().sum()} missing in "
         f"{target!r}, line {lines[y.isna().to_numpy().argmax()]} first: leave such rows out"),
        (task == "classification" and y.nunique() == 1,
         f"the labels of {path} must be of two classes or more, got {y.tolist()[0]!r} alone"),
        (task == "classification" and y.dtype.kind == "f" and (y % 1 != 0).any(),
         f"column {target!r} of {path} must hold classes, got numbers that are not whole"),
        (task == "regression" and y.dtype.kind not in "iufb",
         f"column {target!r} of {path} must hold numbers for --task regression"),
    ):  # fmt: skip
        if wrong:
            raise SystemExit(why)
    csvs.check(path, X, lines, form)
    if task == "regression":
        csvs.check(path, table[[target]], lines, form)
    dates = [name for name in form.dates if name in X]
    X = _calendar(path, X, lines, dates, form.day_first)
    if warn:
        there = table.drop(columns=[*drop, *dates])
        hints.warn_of_text(path, there, lines, form, target)
        hints.warn_of_codes(path, there, form, target)
        hints.warn_of_blanks(path, there, lines)
    words = X.select_dtypes(exclude=["number", "bool"]).columns
    # As `read_rows` has them, also True and False.
    texts = csvs.read(path, form, words)[0][words] if len(words) else X[words]
    return X.assign(**texts.astype("category")), y.to_numpy()


def task_of(y: Any) -> str:
    """What labels look like: "regression" of more than 20 different numbers, or broken ones."""
    numbers = np.asarray(y)
    if numbers.dtype.kind not in "iuf":
        return "classification"
    there = np.unique(numbers[~np.isnan(numbers)])
    return "classification" if len(there) <= 20 and np.all(there % 1 == 0) else "regression"


def kinds(X: Any, target: str | None = None, dates: Any = ()) -> dict[str, Any]:
    """What later rows must be like, for `read_rows`: names of all columns and of categories."""
    named = hasattr(X, "columns")
    words = list(X.select_dtypes("category")) if named else []
    found = {"columns": list(X) if named else None, "categories": words, "target": target}
    return {**found, "dates": list(dates)} if dates else found


def read_rows(
    path: Any, like: dict[str, Any], labels: Any = None, form: Format = PLAIN
) -> tuple[Any, Any]:
    """Features, and labels or None, of a table of later rows; other columns are left out.

    With labels of training, those of the table must be among them.
    """
    target, text = like["target"], labels is not None and labels.dtype.kind not in "iufb"
    table, lines = csvs.read(
        path, form, [*like["categories"], *like.get("dates", ()), *([target] if text else [])]
    )
    if table.empty:
        raise SystemExit(f"{path} must have rows, got none")
    has_labels = target in table and table[target].notna().any()
    y = table[target].to_numpy() if has_labels else None
    if y is not None and labels is not None:
        known = {*labels.tolist()}
        if unknown := sorted(map(repr, {*y.tolist()} - known)):
            row = next(i for i, label in enumerate(y.tolist()) if label not in known)
            raise SystemExit(
                f"the labels of {path} must be in training too; got {', '.join(unknown)}, line "
                f"{lines[row]} first"
            )
        y = y.astype(labels.dtype)
    if like["columns"] is None:
        return table.drop(columns=[target], errors="ignore").to_numpy(), y
    there = ", ".join(map(visible, table))
    dates = [name for name in like.get("dates", ()) if name in table]
    table = _calendar(path, table, lines, dates, form.day_first)
    if missing := [name for name in like["columns"] if name not in table]:
        lost = _source_of_date(missing[0], like)
        raise SystemExit(
            f"{path} must have a column {lost!r}, as in training; got {there}"
            f"{nearest(lost, table)}"
        )
    X = table[like["columns"]].astype(dict.fromkeys(like["categories"], "category"))
    numbers = set(like["columns"]) - set(like["categories"])
    for name in numbers:  # True and False with gaps are objects
        if X[name].dtype == object and X[name].dropna().map(type).eq(bool).all():
            X[name] = X[name].astype(float)
    csvs.check(path, X, lines, replace(form, numbers=tuple(n for n in X if n in numbers)))
    return X, y


def _source_of_date(name: str, like: dict[str, Any]) -> str:
    source = name.rpartition(".")[0]
    return source if source in like.get("dates", ()) else name


def _calendar(path: Any, table: Any, lines: np.ndarray, dates: Any, day_first: bool) -> Any:
    """The table with columns of numbers in place of those of dates.

    These are days since 1970, month, weekday (0 is Monday) and hour. Cells that are no dates end
    the command with their line; missing ones stay missing.
    """
    pd = need("pandas", "data")
    for name in dates:
        column = table[name]
        found = _times(column, day_first)
        if (wrong := (found.isna() & column.notna()).to_numpy()).any():
            row = int(wrong.argmax())
            cell = column.iloc[row]
            other = _times(column.iloc[[row]], not day_first).notna().all()
            hint = f": {'leave out' if day_first else 'say'} --day-first" if other else ""
            raise SystemExit(
                f"{path}, line {lines[row]}: column {name!r} must hold dates"
                f"{', the month first' if other and not day_first else ''}, got {cell!r}{hint}"
            )
        days = (found - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)
        when = found.dt
        parts = {"days": days, "month": when.month, "weekday": when.day_of_week, "hour": when.hour}
        place = table.columns.get_loc(name)
        table = table.drop(columns=name)
        for i, (part, values) in enumerate(parts.items()):
            table.insert(place + i, f"{name}.{part}", values.astype(float))
    return table


def _times(column: Any, day_first: bool) -> Any:
    """Times of cells, NaT for what is none. With dots, as in 3.4.2024, the day is first.

    Cells are read one by one, so that what they mean does not depend on others: pandas guesses
    the order from the first, and swaps day and month where it does not do.
    """
    pd = need("pandas", "data")
    if column.dtype.kind == "M":
        return pd.to_datetime(column, utc=True)
    cells = column.astype(str).where(column.notna())
    parts = cells.str.extract(rf"^\s*{hints.SHORT_DATE}(.*)$")
    found = pd.to_datetime(cells, errors="coerce", format="mixed", utc=True)
    if (short := parts[1].notna()).any():
        parts = parts[short]
        swapped = (parts[1] == ".") | day_first
        day, month = parts[0].where(swapped, parts[2]), parts[2].where(swapped, parts[0])
        century = np.where(parts[3].str.len() == 4, "", np.where(parts[3] < "69", "20", "19"))
        text = century + parts[3] + "-" + month.str.zfill(2) + "-" + day.str.zfill(2) + parts[4]
        found[short] = pd.to_datetime(text, errors="coerce", format="mixed", utc=True)
    return found
