"""Dates in cells, and the numbers derived from them."""

from datetime import date, datetime

import pandas as pd
import pyarrow as pa
import pytest

from mddf._schema.dates import as_times, looks_like_date


@pytest.mark.parametrize(
    ("cells", "day_first", "dates"),
    [
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
    ],
)
def test_dates(cells, day_first, dates):
    times = as_times(pa.array(cells), day_first=day_first)
    expected = pd.Series(pd.to_datetime(dates, format="mixed", utc=True))
    pd.testing.assert_series_equal(times, expected, check_dtype=False)


@pytest.mark.parametrize(
    "cell",
    [
        "12:30", "now", "today", "Today", "tomorrow", "March", "5 May", "May 5", "10h", "12", "x",
        "Monday", "noon", "1.5", "5.2024", "3/4", "2024-W05", "1709510400", "-1", "2024-03-04 now",
        "2024-03-04 x", "1 2 3", "10am", "T10:00", "03-04", "0", "",
    ],
)  # fmt: skip
def test_incomplete_dates_are_not_dates(cell):
    assert as_times(pa.array([cell]), day_first=False).isna().all()


def test_texts_that_look_like_dates():
    assert all(map(looks_like_date, ["1.5.2024", "2024/3/4", "3-4-99 10:00"]))
    assert not any(map(looks_like_date, ["1.5", "2024", "May", "1.5.20245"]))
