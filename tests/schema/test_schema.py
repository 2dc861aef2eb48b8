"""Column descriptions: the same for every kind of file, in fit and later."""

import json
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mddf._schema.dates import as_times, looks_like_date
from mddf._schema.format import Format, TableError
from mddf._schema.schema import Schema, describe
from mddf._schema.source import read_source


def write_csv(path, columns):
    pd.DataFrame(columns, dtype=object).to_csv(path, index=False)
    return path


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


def fit(path, target="y", **form):
    form = Format(**form)
    source = read_source(path, form)
    schema = describe(source, [name for name in source.names if name != target], target, form)
    return schema, schema.features(source)


def apply(path, schema):
    return schema.features(read_source(path, schema.format, schema.names))


Y = ["a", "b", "a", "b"]
COLUMNS = {
    "ints": [3, -1, 4, 10],
    "gaps": pa.array([1, None, 2, 3], pa.int64()),
    "whole": [1.0, None, 2.0, 30.0],
    "floats": [0.1, 1e-5, 1e20, None],
    "single": pa.array([0.1, 0.2, None, 0.7], pa.float32()),
    "decimals": [Decimal("1.10"), None, Decimal("-2.00"), Decimal("0.30")],
    "booleans": [True, False, True, True],
    "booleans_gaps": [True, None, False, True],
    "spelled": ["TRUE", "true", "False", ""],
    "words": ["x", None, "ä, \"b\"\n", "x"],
    "numbers_as_text": ["1", "2.5", "1e5", None],
    "codes": ["007", "7", "070", "?"],
    "marked": ["NA", "null", "u", "v"],
    "categories": pa.array(["p", "q", None, "p"]).dictionary_encode(),
    "number_categories": pa.array([5, 6, None, 5]).dictionary_encode(),
    "days": [date(2024, 3, 4), None, date(1999, 12, 31), date(2000, 2, 29)],
    "times": [datetime(2024, 3, 4, 5, 6), None, datetime(1999, 12, 31), datetime(1970, 1, 1, 23)],
    "zoned": pa.array([0, None, 10**15, 1], pa.timestamp("us", "Asia/Tokyo")),
    "years": [2023.0, None, 2024.0, 1999.0],
    "clock": [time(1, 2), None, time(3, 4), time(5, 6)],
    "spans": [timedelta(days=-1, hours=23), None, timedelta(days=3, seconds=1.5), timedelta(0)],
    "big": pa.array([2**53 + 1, None, 2**63 - 1, -(2**53) - 1], pa.int64()),
    "unsigned": pa.array([2**64 - 1, None, 0, 1], pa.uint64()),
    "empty": pa.nulls(4),
    "empty_text": pa.nulls(4, pa.string()),
    "nines": [-999, 1, 2, -999],
    "nine_floats": [-999.0, 1.5, None, 2.0],
    "question": ["?", "1", "2", "?"],
}  # fmt: skip
FORMATS = [
    {},
    {"missing": ("?", "-999")},
    {"text": ("ints", "gaps", "whole", "floats", "booleans", "booleans_gaps", "spelled", "big",
              "decimals", "codes", "number_categories", "numbers_as_text", "days", "times",
              "zoned")},
    {"numbers": ("ints", "gaps", "decimals", "numbers_as_text", "big", "single")},
    {"text": ("clock",), "numbers": ("spans",)},
    {"dates": ("days", "times", "zoned", "years")},
]  # fmt: skip


def test_the_same_table_as_csv_and_as_parquet(tmp_path):
    for form in FORMATS:
        columns = {**COLUMNS, "y": Y}
        cells = {name: pa.array(column).to_pylist() for name, column in columns.items()}
        cells["single"] = [0.1, 0.2, None, 0.7]
        of_csv = write_csv(tmp_path / "t.csv", cells)
        of_parquet = write_parquet(tmp_path / "t.parquet", columns)
        schema, X = fit(of_csv, **form)
        other, X_other = fit(of_parquet, **form)
        assert other == schema
        for same in (X_other, apply(of_parquet, schema), apply(of_csv, schema)):
            pd.testing.assert_frame_equal(same, X, check_exact=True)
        again = Schema.of_model(schema.columns, json.loads(json.dumps(schema.notes())))
        assert again == schema


def test_missing_value_markers_are_compared_as_numbers(tmp_path):
    columns = {name: COLUMNS[name] for name in ("nines", "nine_floats", "question")}
    columns |= {"price": [Decimal("-999.00"), Decimal(1), None, Decimal(2)], "y": Y}
    for path in (
        write_parquet(tmp_path / "t.parquet", columns),
        write_csv(tmp_path / "t.csv", columns),
    ):
        _, X = fit(path, missing=("?", "-999"))
        np.testing.assert_array_equal(X["nines"], [np.nan, 1, 2, np.nan])
        np.testing.assert_array_equal(X["nine_floats"], [np.nan, 1.5, np.nan, 2])
        np.testing.assert_array_equal(X["question"], [np.nan, 1, 2, np.nan])
        np.testing.assert_array_equal(X["price"], [np.nan, 1, np.nan, 2])


LATER = [
    (["1", "2", "10"], [1.0, None, 10.0], ["1", None, "10"]),  # doubles beside gaps
    (["1", "2", "10"], [1, 3, 10], ["1", "3", "10"]),
    (["1.0", "2.0"], [1, 2], ["1.0", "2.0"]),
    (["1.0", "1"], ["1.0", "1"], ["1.0", "1"]),  # versions, say
    (["007", "8"], [7, 8], ["7", "8"]),  # 007 is not 7
    (["TRUE", "FALSE"], [True, False], ["TRUE", "FALSE"]),
    (["True", "False", ""], ["TRUE", "false", ""], ["True", "False", None]),
    (["2024-03-04", "2024-03-05"], [datetime(2024, 3, 4), None], ["2024-03-04", None]),
    (["0.5", "x"], [Decimal("0.50"), None], ["0.5", None]),
]


def test_categories_keep_their_spelling(tmp_path):
    for cells, later, texts in LATER:
        path = write_csv(tmp_path / "t.csv", {"c": cells, "y": Y[: len(cells)]})
        schema, _ = fit(path, text=("c",))
        for name, write in (("l.parquet", write_parquet), ("l.csv", write_csv)):
            X = apply(write(tmp_path / name, {"c": later}), schema)
            assert [None if text != text else text for text in X["c"].tolist()] == texts


def test_decimal_and_thousands_separators_of_other_countries(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size;y\n1.234,5;a\n-12;b\n1.000.000;a\n+,5;b\n")
    _, X = fit(path, decimal=",", thousands=".")
    assert X["size"].tolist() == [1234.5, -12, 1000000, 0.5]
    path.write_text('size,y\n"0,5",a\n"1,5",b\n')
    assert fit(path)[0].columns[0].kind == "category"
    assert fit(path, decimal=",")[1]["size"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("ends", ["", ";"])
def test_misplaced_thousands_separators_are_not_accepted(tmp_path, ends):
    """The date 03.04.2024 is not the number 3042024, and 3.5 is not 35."""
    lines = [
        "day;size;dot;india;y",
        "03.04.2024;1.234;3.5;1.00.000;a",
        "13.04.2024;7,25;1.234;1;b",
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([lines[0], *(line + ends for line in lines[1:])]))
    form = {"decimal": ",", "thousands": "."}
    schema, X = fit(path, **form)
    assert X["day"].tolist() == ["03.04.2024", "13.04.2024"]
    assert X["size"].tolist() == [1234, 7.25]
    assert X["dot"].tolist() == ["3.5", "1.234"]
    assert X["india"].tolist() == [100000, 1]
    with pytest.raises(TableError, match=r"line 2: column 'dot' must hold numbers, got '3.5'"):
        fit(path, numbers=("dot",), **form)
    columns = tuple(replace(c, kind="number") for c in schema.columns if c.name == "dot")
    with pytest.raises(TableError, match="column 'dot'"):
        apply(path, replace(schema, columns=columns))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pa.array([[1], [2]]), r"column 'c' of .*t.parquet must hold numbers, .*, got list<"),
        (pa.array([{"a": 1}, None]), r"column 'c' .* got struct<"),
        (pa.array([b"1", b"2"]), r"column 'c' .* got binary"),
    ],
)
def test_lists_and_the_like_are_refused_by_name(tmp_path, values, message):
    path = write_parquet(tmp_path / "t.parquet", {"a": [1, 2], "c": values, "y": Y[:2]})
    with pytest.raises(TableError, match=message):
        fit(path)
    source = read_source(path)
    schema = describe(source, ["a"], "y", Format())
    assert apply(path, schema)["a"].tolist() == [1, 2]  # it does no harm if it is not used


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_infinite_cells_are_refused_with_their_place(tmp_path, name):
    write = write_csv if name.endswith("csv") else write_parquet
    path = write(tmp_path / name, {"a": [1.5, float("inf")], "y": Y[:2]})
    with pytest.raises(TableError, match=r"(line 3|row 2): column 'a' must be finite, got inf"):
        fit(path)


def test_labels(tmp_path):
    for cells, labels in [
        (["1", "2"], [1, 2]),
        (["1.0", "2"], [1.0, 2.0]),
        (["+1", "9007199254740993"], [1, 2**53 + 1]),
        (["true", "FALSE"], [True, False]),
        (["x", "1"], ["x", "1"]),
        ([Decimal("1.50"), Decimal("2.25")], [1.5, 2.25]),
    ]:
        for name, write in (("t.csv", write_csv), ("t.parquet", write_parquet)):
            path = write(tmp_path / name, {"a": [1, 2], "y": cells})
            source = read_source(path)
            y = describe(source, ["a"], "y", Format()).labels(source)
            assert y.tolist() == labels
            assert list(map(type, y.tolist())) == list(map(type, labels))


CELL = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=5),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["NA", "", " ", "TRUE", "false", "-999", "007", "1e5", "?", "2024-03-04"]),
)


@given(st.lists(CELL, min_size=1, max_size=6), st.booleans())
@settings(max_examples=15, deadline=None)
def test_text_of_any_kind_is_the_same_in_csv_and_parquet(tmp_path_factory, texts, as_text):
    folder = tmp_path_factory.mktemp("any")
    columns = {"a": texts, "y": ["x"] * len(texts)}
    of_csv = write_csv(folder / "t.csv", columns)
    of_parquet = write_parquet(folder / "t.parquet", columns)
    assert read_source(of_csv).cells["a"].to_pylist() == texts
    form = {"text": ("a",)} if as_text else {}
    schema, X = fit(of_csv, **form)
    other, X_other = fit(of_parquet, **form)
    assert other == schema
    pd.testing.assert_frame_equal(X_other, X)


def test_dates():
    for cells, day_first, dates in [
        (["2024-03-04", "20240304"], False, ["2024-03-04"] * 2),
        ([2023, 2024], False, ["2023-01-01", "2024-01-01"]),  # years, not nanoseconds
        ([2023.0, None], False, ["2023-01-01", None]),
        (["3.4.2024", "13.4.2024"], False, ["2024-04-03", "2024-04-13"]),
        (["3/4/2024", "4/13/24"], False, ["2024-03-04", "2024-04-13"]),
        (["3/4/2024", "13-4-24"], True, ["2024-04-03", "2024-04-13"]),
        (["3/4/2024 18:30", "4/13/1999"], False, ["2024-03-04 18:30", "1999-04-13"]),
        (["5 May 2024", "May 5, 2024", "Sun, 5 May 2024"], False, ["2024-05-05"] * 3),
        (["2024-05", "May 2024"], False, ["2024-05-01"] * 2),
        (["2024-05-05T10:30:00Z", "2024-05-05 12:30+02:00"], False, ["2024-05-05 10:30"] * 2),
        (["5.5.2024 10:30", "20240505T103000"], False, ["2024-05-05 10:30"] * 2),
        ([date(2024, 5, 5), None], False, ["2024-05-05", None]),
        ([datetime(2024, 5, 5, 10), None], False, ["2024-05-05 10:00", None]),
        (["13/4/2024", "4/31/2024", "31/31/2024"], False, [None] * 3),
        (["4/13/2024", "2024-02-30", "20241301"], True, [None] * 3),
    ]:
        times = as_times(pa.array(cells), day_first=day_first)
        expected = pd.Series(pd.to_datetime(dates, format="mixed", utc=True))
        pd.testing.assert_series_equal(times, expected, check_dtype=False)


def test_incomplete_dates_are_not_dates():
    for cell in [
        "12:30",
        "now",
        "today",
        "Today",
        "tomorrow",
        "March",
        "5 May",
        "May 5",
        "10h",
        "12",
        "x",
        "Monday",
        "noon",
        "1.5",
        "5.2024",
        "3/4",
        "2024-W05",
        "1709510400",
        "-1",
        "2024-03-04 now",
        "2024-03-04 x",
        "1 2 3",
        "10am",
        "T10:00",
        "03-04",
        "0",
        "",
    ]:
        assert as_times(pa.array([cell]), day_first=False).isna().all()


def test_texts_that_look_like_dates():
    assert all(map(looks_like_date, ["1.5.2024", "2024/3/4", "3-4-99 10:00"]))
    assert not any(map(looks_like_date, ["1.5", "2024", "May", "1.5.20245"]))
