"""Dates in cells, and the numeric features that are made of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mddf._schema import cells

if TYPE_CHECKING:
    import pandas

# Day and month or the other way round, one mark between the parts, and the year.
SHORT_DATE = r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?!\d)"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:\d{4}|'?\d\d)"
_TIME = r"[T\s,]+(?:at\s+)?\d{1,2}(?::?\d\d){0,2}(?:[.,]\d+)?\s*(?:[ap]\.?m\.?)?"
_ZONE = r"\s*(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
# Parsers of dates complete "12:30" or "March" by the current day. A cell must name a day with its
# year, or a whole month or year, for which its first day stands.
_FULL_DATE = re.compile(
    rf"""\s*(?:
        (?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?
        (?: {SHORT_DATE} | \d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}} | \d{{8}}
          | {_DAY}[\s-]+{_MONTH}[\s,-]+{_YEAR} | {_MONTH}\s+{_DAY}[\s,]+{_YEAR}
          | \d{{4}}[\s-]{_MONTH}[\s-]{_DAY} )
        (?:{_TIME}{_ZONE})?
      | \d{{4}} | \d{{4}}[-/]\d\d | {_MONTH}\s+\d{{4}}
    )\s*""",
    re.VERBOSE | re.IGNORECASE,
)


def looks_like_date(text: str) -> bool:
    """Whether a text begins with a date of three numbers."""
    return bool(re.match(rf"\s*(?:{SHORT_DATE}|\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))", text))


def as_times(values: pa.Array, *, day_first: bool) -> pandas.Series:
    """Convert cells to times in UTC, a pandas Series with NaT for cells without a date.

    3.4.2024 is in April. Each cell is parsed by itself: pandas guesses the order of day and month
    from the first cell, and swaps them where this order is impossible.
    """
    import pandas as pd

    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        times = values.cast(pa.timestamp("us", zone), safe=False)
        return pd.to_datetime(times.to_pandas(), utc=True)
    encoded = cells.as_texts(values).dictionary_encode()
    distinct = pd.Series(encoded.dictionary.to_pylist(), dtype=object)
    # Years and days such as 20240304 are written with ".0" in columns with gaps.
    distinct = distinct.str.replace(r"^(\d{4}|\d{8})\.0$", r"\1", regex=True)
    is_date = [bool(_FULL_DATE.fullmatch(text)) for text in distinct]
    times = pd.to_datetime(
        distinct.where(is_date), errors="coerce", format="mixed", utc=True
    ).astype("datetime64[us, UTC]")
    parts = distinct.where(is_date).str.extract(rf"^\s*{SHORT_DATE}(.*)$")
    is_short = parts[1].notna()
    if is_short.any():
        parts = parts[is_short]
        is_day_first = (parts[1] == ".") | day_first
        day = parts[0].where(is_day_first, parts[2])
        month = parts[2].where(is_day_first, parts[0])
        century = np.where(parts[3].str.len() == 4, "", np.where(parts[3] < "69", "20", "19"))
        text = century + parts[3] + "-" + month.str.zfill(2) + "-" + day.str.zfill(2) + parts[4]
        times[is_short] = pd.to_datetime(text, errors="coerce", format="mixed", utc=True)
    codes = np.asarray(encoded.indices.fill_null(-1))
    return pd.Series(pd.DatetimeIndex(times).take(codes, fill_value=pd.NaT, allow_fill=True))
