"""Description of a table's columns: made at fit, stored, and applied to later tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mddf._base.messages import nearest, short
from mddf._input.calendar import DAYS, MICROSECONDS_PER_DAY, part_name
from mddf._input.described_columns import ColumnDescription
from mddf._schema import cells, dates
from mddf._schema.format import Format, TableError
from mddf._schema.source import Source

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Schema:
    """Features and target of a table, and how its files are written."""

    columns: tuple[ColumnDescription, ...]
    target: ColumnDescription
    format: Format

    @property
    def names(self) -> list[str]:
        """Names of the columns from which features are made."""
        return [column.name for column in self.columns]

    def notes(self) -> dict[str, Any]:
        """Target and format, of the types of JSON; the columns are part of the model."""
        return {"target": asdict(self.target), "format": asdict(self.format)}

    @classmethod
    def of_model(cls, columns: Sequence[ColumnDescription], notes: Mapping[str, Any]) -> Schema:
        """Make the schema of a model from its `input_columns_` and `notes`."""
        target = notes["target"]
        levels = target["levels"]
        lists = {
            name: tuple(value)
            for name, value in notes["format"].items()
            if isinstance(value, list | tuple)
        }
        form = Format(**{**notes["format"], **lists})
        made_of_dates = [part_name(name, DAYS) for name in form.elapsed]
        return cls(
            tuple(column for column in columns if column.name not in made_of_dates),
            ColumnDescription(**{**target, "levels": None if levels is None else tuple(levels)}),
            form,
        )

    def features(self, source: Source, *, allow_infinite: bool = False) -> pandas.DataFrame:
        """Make a data frame of the features; see `features_of`."""
        return features_of(source, self.columns, self.format, allow_infinite=allow_infinite)

    def target_cells(self, source: Source) -> pa.Array:
        """Cells of the target, null where missing."""
        return _typed_cells(source, self.target.name, self.format)

    def labels(self, source: Source) -> np.ndarray:
        """Labels of a table without missing ones: whole numbers, doubles, booleans or text."""
        values = self.target_cells(source)
        if self.target.kind == "category":
            texts = _known_texts(cells.as_texts(values), self.target.levels)
            return np.array(texts.to_pylist(), dtype=object)
        integers = cells.as_integers(values, self.format)
        if integers is not None:
            return integers.to_numpy(zero_copy_only=False)
        numbers = _number_cells(source, self.target, self.format)
        _refuse_infinite(source, self.target.name, numbers)
        return numbers.astype(bool) if self.target.kind == "boolean" else numbers


def features_of(
    source: Source,
    columns: Sequence[ColumnDescription],
    form: Format,
    *,
    allow_infinite: bool = False,
) -> pandas.DataFrame:
    """Make a data frame of the columns of a model: categories, dates, booleans and doubles.

    A TableError names the place of a missing column or unusable cell. Infinite numbers are
    unusable unless `allow_infinite` is true.
    """
    import pandas as pd

    features: dict[str, Any] = {}
    elapsed: dict[str, Any] = {}
    for column in columns:
        check_column(source, column.name)
        if column.kind == "date":
            features[column.name] = _date_cells(source, column, form)
            if column.name in form.elapsed:
                times = features[column.name].astype("datetime64[us, UTC]")
                days = times.astype("int64") / MICROSECONDS_PER_DAY
                is_missing = features[column.name].isna()
                elapsed[part_name(column.name, DAYS)] = days.mask(is_missing)
        elif column.kind == "category":
            features[column.name] = _category_cells(source, column, form)
        else:
            numbers = _number_cells(source, column, form)
            if not allow_infinite:
                _refuse_infinite(source, column.name, numbers)
            features[column.name] = _as_booleans(numbers) if column.kind == "boolean" else numbers
    if equal := elapsed.keys() & features.keys():
        raise TableError(
            f"{source.path} must not have a column {min(equal)!r}, which is the name of the "
            "days of --elapsed"
        )
    return pd.DataFrame(features | elapsed)


def check_column(source: Source, name: str) -> None:
    """Refuse a table without a column of the training table."""
    if name not in source.names:
        raise TableError(
            f"{source.path} must have a column {name!r}, as in training; got "
            f"{short(source.names)}{nearest(name, source.names)}"
        )


def describe(source: Source, features: Sequence[str], target: str, form: Format) -> Schema:
    """Describe the columns of a training table.

    A TableError refuses columns that cannot be used, or do not hold what `form` declares.
    """
    columns = tuple(_describe_column(source, name, form) for name in features)
    # The target may be a column of dates: their texts are then the labels.
    without_dates = replace(form, dates=())
    return Schema(columns, _describe_column(source, target, without_dates), form)


def _describe_column(source: Source, name: str, form: Format) -> ColumnDescription:
    values = _typed_cells(source, name, form)
    share = values.null_count / max(1, len(values))
    if name in form.dates:
        return ColumnDescription(name, "date", missing_share=share)
    if name in form.text:
        return ColumnDescription(name, "category", _levels(values), share)
    if values.null_count == len(values):
        return ColumnDescription(name, "empty", missing_share=share)
    if cells.are_booleans(values):
        return ColumnDescription(name, "boolean", missing_share=share)
    numbers, is_wrong = cells.as_numbers(values, form)
    row = first_true(is_wrong)
    if row is None:
        numbers = cells.without_missing(numbers, form)  # "-999.0" where the mark is "-999"
        share = numbers.null_count / len(numbers)
        return ColumnDescription(name, "number", missing_share=share)
    if name in form.numbers:
        raise _no_number(source, name, row)
    return ColumnDescription(name, "category", _levels(values), share)


def _typed_cells(source: Source, name: str, form: Format) -> pa.Array:
    """Cells of a column with null where missing; a TableError refuses lists and the like."""
    values = cells.unpacked(source.cells[name])
    if values is None:
        raise TableError(
            f"column {name!r} of {source.path} must hold numbers, text, booleans or dates, got "
            f"{source.cells[name].type}",
            "--drop it, or write its parts as columns",
        )
    return cells.without_missing(values, form)


def _levels(values: pa.Array) -> tuple[str, ...]:
    return tuple(sorted(cells.as_texts(values.drop_null()).unique().to_pylist()))


def first_true(mask: pa.Array) -> int | None:
    """The first row where a mask without nulls is true, or None."""
    row = pc.index(mask, True).as_py()
    return None if row < 0 else row


def _no_number(source: Source, name: str, row: int, expected: str = "numbers") -> TableError:
    return TableError(
        f"{source.place(row)}: column {name!r} must hold {expected}, got "
        f"{source.cells[name][row].as_py()!r}",
        "declare missing cells by --missing, and marks in numbers by --decimal and --thousands",
    )


def _number_cells(source: Source, column: ColumnDescription, form: Format) -> np.ndarray:
    values = _typed_cells(source, column.name, form)
    if column.kind == "empty":
        return np.full(len(values), np.nan)
    allow_booleans = column.kind == "boolean" or cells.are_booleans(values)
    numbers, is_wrong = cells.as_numbers(values, form, allow_booleans=allow_booleans)
    row = first_true(is_wrong)
    if row is not None:
        expected = "true or false" if column.kind == "boolean" else "numbers"
        raise _no_number(source, column.name, row, expected)
    if form.missing and cells.is_text(values):
        # A cell may be "-999.0" where the mark is "-999".
        numbers = cells.without_missing(numbers, form)
    doubles: np.ndarray = numbers.to_numpy(zero_copy_only=False).astype(float)
    return doubles


def _as_booleans(numbers: np.ndarray) -> Any:
    """Booleans with missing cells; numbers other than 0 and 1 stay numbers."""
    import pandas as pd

    if not np.isin(numbers[~np.isnan(numbers)], [0, 1]).all():
        return numbers
    if not np.isnan(numbers).any():
        return numbers.astype(bool)
    return pd.array(np.where(np.isnan(numbers), None, numbers == 1), dtype="boolean")


def _refuse_infinite(source: Source, name: str, numbers: np.ndarray) -> None:
    is_infinite = np.isinf(numbers)
    if is_infinite.any():
        row = int(is_infinite.argmax())
        raise TableError(
            f"{source.place(row)}: column {name!r} must be finite, got {numbers[row]}"
        )


def _category_cells(source: Source, column: ColumnDescription, form: Format) -> pandas.Categorical:
    """Categorical array of pandas, with the sorted categories of these rows."""
    import pandas as pd

    texts = cells.as_texts(_typed_cells(source, column.name, form))
    # A text such as NA is no missing cell where it was a category in training.
    if marks := [level for level in column.levels or () if level in cells.MISSING]:
        as_written = cells.as_texts(source.cells[column.name])
        texts = pc.if_else(pc.is_in(as_written, value_set=pa.array(marks)), as_written, texts)
    kinds = {type(level) for level in column.levels or ("",)}
    are_numbers = kinds <= {bool, int, float}
    if not are_numbers and kinds != {str}:
        if source.layout is None:
            return pd.Categorical(source.cells[column.name].to_pandas())
        raise TableError(
            f"the categories of column {column.name!r} must have been text or numbers in training "
            f"if {source.path} is CSV, got {min(kind.__name__ for kind in kinds)}"
        )
    encoded = (texts if are_numbers else _known_texts(texts, column.levels)).dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    if are_numbers:
        distinct = _numeric_levels(source, column, distinct)
    categories = sorted(set(distinct))
    code_of = {category: code for code, category in enumerate(categories)}
    codes = np.array([code_of[category] for category in distinct] + [-1], dtype=np.int64)
    places = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes[places], categories)


def _numeric_levels(source: Source, column: ColumnDescription, texts: list[str]) -> list[Any]:
    """Convert texts to numbers or booleans, which are the categories of a column in training."""
    levels = {cells.canonical(str(level)): level for level in column.levels or ()}
    values = []
    for text in texts:
        value = levels.get(cells.canonical(text.strip()))
        if value is None:
            try:
                value = float(text)
            except ValueError:
                raise TableError(
                    f"column {column.name!r} of {source.path} must hold categories of the type "
                    f"{type(next(iter(levels.values()))).__name__}, as in training, got {text!r}"
                ) from None
        values.append(value)
    return values


def _known_texts(texts: pa.Array, levels: Collection[str] | None) -> pa.Array:
    """Replace texts by the spelling in training, if the same value was written differently."""
    if levels is None:
        return texts
    spellings: dict[str, str | None] = {}
    for level in levels:
        key = cells.canonical(level)
        # With two levels of the same value, neither is the obvious spelling.
        spellings[key] = None if key in spellings else level
    known = set(levels)
    encoded = texts.dictionary_encode()
    distinct = [
        text if text in known else spellings.get(cells.canonical(text)) or text
        for text in encoded.dictionary.to_pylist()
    ]
    return pa.array(distinct, pa.string()).take(encoded.indices)


def _date_cells(source: Source, column: ColumnDescription, form: Format) -> pandas.Series:
    """Dates in UTC, NaT where missing; a TableError names a cell that is no date."""
    values = _typed_cells(source, column.name, form)
    times = dates.as_times(values, day_first=form.day_first)
    is_wrong = times.isna().to_numpy() & np.asarray(values.is_valid())
    if is_wrong.any():
        row = int(is_wrong.argmax())
        other = dates.as_times(values.slice(row, 1), day_first=not form.day_first)
        advice = ""
        if other.notna().all():
            advice = "leave out --day-first" if form.day_first else "use --day-first"
        order = ", the month first" if advice and not form.day_first else ""
        raise TableError(
            f"{source.place(row)}: column {column.name!r} must hold dates{order}, got "
            f"{source.cells[column.name][row].as_py()!r}",
            advice,
        )
    return times
