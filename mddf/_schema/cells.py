"""Cells of a column, as text or typed by Arrow: missing ones, numbers and texts."""

from __future__ import annotations

import re
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mddf._schema.format import Format

# Texts that pandas also reads as missing, so that a file means the same to both.
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
_BOOLEANS = ("true", "false")
# Numbers without leading zeros: with them, a text is a code such as 007.
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
# Durations and times of day as pandas and Python write them: an hour before zero is "-1:00:00" or
# "-1 days +23:00:00".
_SPAN = re.compile(r"(?:([+-]?\d+) days?,? \+?|(-?))(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?")
# Above this number, different whole numbers may have the same float.
_LARGEST_EXACT = 2**53


def is_text(values: pa.Array) -> bool:
    """Whether cells are text."""
    return pa.types.is_string(values.type)


def is_number(values: pa.Array) -> bool:
    """Whether cells are numbers by their type; booleans are not."""
    kind = values.type
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def unpacked(values: pa.Array) -> pa.Array | None:
    """Convert cells to a type that the other functions know; None for lists and the like.

    Dictionaries become their values. Floats of 16 and 32 bits become the double with the same
    shortest text, so that 0.1 is 0.1 in every file.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return unpacked(values.cast(kind.value_type))
    if pa.types.is_large_string(kind) or "string_view" in str(kind):
        return values.cast(pa.string())
    if pa.types.is_float16(kind):
        values = values.cast(pa.float32())
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        values = values.cast(pa.string()).cast(pa.float64())
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    is_known = (
        pa.types.is_string(kind)
        or is_number(values)
        or pa.types.is_boolean(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
        or pa.types.is_null(kind)
    )
    return values if is_known else None


def without_missing(values: pa.Array, form: Format) -> pa.Array:
    """Replace cells that count as missing by null.

    Text is compared with and without surrounding blanks, numbers as numbers.
    """
    if is_number(values):
        marks = [number for text in form.missing for number in _numbers_equal_to(text, values)]
        cells = values if pa.types.is_integer(values.type) else as_doubles(values)
        is_mark = pc.is_in(cells, value_set=pa.array(marks, cells.type))
    elif is_text(values):
        marks = pa.array([*MISSING, *form.missing], pa.string())
        is_mark = pc.is_in(pc.utf8_trim_whitespace(values), value_set=marks)
        if form.missing:
            is_mark = pc.or_(is_mark, pc.is_in(values, value_set=marks))
    elif form.missing:
        texts = as_texts(values)
        marks = pa.array([canonical(text) for text in form.missing], pa.string())
        is_mark = pc.is_in(texts, value_set=marks)
    else:
        return values
    return pc.if_else(is_mark, pa.scalar(None, values.type), values)


def _numbers_equal_to(text: str, values: pa.Array) -> list[float]:
    """Number of a mark for missing cells, in a list; empty if no cell can be equal to it."""
    with suppress(ValueError, OverflowError, pa.ArrowInvalid):
        number = float(text)
        if pa.types.is_integer(values.type):
            if number % 1 != 0:
                return []
            number = int(text) if text.strip().lstrip("+-").isdigit() else int(number)
            pa.array([number], values.type)  # raises if the type cannot hold the number
        return [number]
    return []


def as_doubles(values: pa.Array) -> pa.Array:
    """Cells that are numbers by their type, as the nearest doubles."""
    if pa.types.is_decimal(values.type):
        return values.cast(pa.string()).cast(pa.float64())
    return values.cast(pa.float64(), safe=False)


def as_numbers(
    values: pa.Array, form: Format, *, allow_booleans: bool = False
) -> tuple[pa.Array, pa.Array]:
    """Convert cells to doubles, and mark the present cells that are not numbers.

    True and false are 1 and 0. Text with these words is a number only with `allow_booleans`.
    Durations and times of day are their seconds.
    """
    nothing_wrong = pa.array(np.zeros(len(values), bool))
    if is_number(values):
        return as_doubles(values), nothing_wrong
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8()).cast(pa.float64()), nothing_wrong
    if pa.types.is_duration(values.type) or pa.types.is_time(values.type):
        return _seconds(values), nothing_wrong
    if not is_text(values):
        return pa.nulls(len(values), pa.float64()), values.is_valid()
    texts = pc.utf8_trim_whitespace(values)
    if form.decimal == "." and not form.thousands:
        # This fails if some text is not a number.
        with suppress(pa.ArrowInvalid):
            return texts.cast(pa.float64()), nothing_wrong
    nothing = pa.scalar(None, pa.string())
    fits = pc.match_substring_regex(texts, pattern=_number_pattern(form))
    numbers = pc.if_else(fits, texts, nothing)
    if form.thousands:
        numbers = pc.replace_substring(numbers, pattern=form.thousands, replacement="")
    numbers = pc.replace_substring(numbers, pattern=form.decimal, replacement=".")
    numbers = numbers.cast(pa.float64())
    if allow_booleans:
        lower = pc.utf8_lower(texts)
        for word, number in (("true", 1.0), ("false", 0.0)):
            numbers = pc.if_else(pc.equal(lower, word), number, numbers)
    if pc.any(pc.match_substring(texts, ":")).as_py():
        numbers = pc.coalesce(numbers, _seconds_of_texts(texts))
    return numbers, pc.and_(texts.is_valid(), numbers.is_null())


def _seconds(values: pa.Array) -> pa.Array:
    integers = values.view(pa.int32() if pa.types.is_time32(values.type) else pa.int64())
    per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[values.type.unit]
    return pc.divide(integers.cast(pa.float64(), safe=False), per_second)


def _seconds_of_texts(texts: pa.Array) -> pa.Array:
    encoded = texts.dictionary_encode()
    seconds = pa.array(map(_span, encoded.dictionary.to_pylist()), pa.float64())
    return seconds.take(encoded.indices)


def _span(text: str) -> float | None:
    match = _SPAN.fullmatch(text)
    if match is None:
        return None
    days, sign, hours, minutes, seconds = match.groups()
    clock = 3600 * int(hours) + 60 * int(minutes) + float(seconds or 0)
    return -clock if sign else 86400 * int(days or 0) + clock


def _number_pattern(form: Format) -> str:
    """Regular expression that matches a number; Indian groups of digits have two digits."""
    decimal = re.escape(form.decimal)
    patterns = [
        rf"(\d+({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?",
        "(?i:inf|infinity)",
    ]
    if form.thousands:
        mark = re.escape(form.thousands)
        patterns.append(rf"\d{{1,3}}({mark}\d{{2,3}})*{mark}\d{{3}}({decimal}\d*)?")
    return rf"^[+-]?({'|'.join(patterns)})$"


def are_booleans(values: pa.Array) -> bool:
    """Whether all cells that are not missing are true or false, in any case."""
    if pa.types.is_boolean(values.type):
        return True
    if not is_text(values):
        return False
    texts = values.drop_null()

    def are_words(texts: pa.Array) -> bool:
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
        return bool(pc.all(pc.is_in(lower, value_set=pa.array(_BOOLEANS))).as_py())

    # The first cell nearly always decides.
    return are_words(texts.slice(0, 1)) and are_words(texts)


def as_integers(values: pa.Array, form: Format) -> pa.Array | None:
    """Convert complete cells to whole numbers; None if some are written with decimals."""
    if pa.types.is_integer(values.type):
        return values
    if not is_text(values):
        return None
    texts = pc.utf8_trim_whitespace(values)
    if form.thousands:
        texts = pc.replace_substring(texts, pattern=form.thousands, replacement="")
    if not pc.all(pc.match_substring_regex(texts, pattern=r"^[+-]?\d+$")).as_py():
        return None
    with suppress(pa.ArrowInvalid):
        return pc.replace_substring_regex(texts, pattern=r"^\+", replacement="").cast(pa.int64())
    # A number needs more than 64 bits.
    return None


def as_texts(values: pa.Array) -> pa.Array:
    """Convert cells to the texts that stand for them in a CSV file."""
    if is_text(values):
        return values
    encoded = values.dictionary_encode()
    texts = [str(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def canonical(text: str) -> str:
    """One spelling for texts by which different files represent the same value.

    Whole numbers may end with a point and a zero (in columns with gaps), booleans may have
    upper-case letters, and days may have a time of midnight. Codes such as 007 are not numbers and
    stay as they are.
    """
    if text.lower() in _BOOLEANS:
        return text.lower().capitalize()
    if midnight := _MIDNIGHT.fullmatch(text):
        return midnight[1]
    if _PLAIN_NUMBER.fullmatch(text) and not text.lstrip("-").isdigit():
        number = float(text)
        if abs(number) < _LARGEST_EXACT:
            return str(int(number)) if number % 1 == 0 else repr(number)
    return text
