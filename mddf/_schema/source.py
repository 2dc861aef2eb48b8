"""Tables in files: their cells as written, and the place of each row."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mddf._base.messages import short
from mddf._input.parquet import open_parquet
from mddf._schema.format import PLAIN, Format, TableError

if TYPE_CHECKING:
    import _csv

    import pyarrow as pa

PARQUET = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
_SHEET_MAGIC = b"\xd0\xcf\x11\xe0"  # of the older format of Excel
_DELIMITERS = ",;\t|"
# Characters of a file that detect its delimiter. Not tuned.
_SAMPLE = 20_000
# A cell between right delimiters holds none of them, but perhaps a decimal comma.
_CLEAN_CELL = re.compile(r"[^,;\t|]*|\s*[+-]?[\d.]*,\d+\s*")
_HTML = re.compile(r"\s*<(!doctype|html|head|body|table|\?xml)", re.IGNORECASE)
# The largest limit that the module csv accepts on all platforms.
_LONGEST_CELL = 2**31 - 1
# pyarrow needs whole rows within a block. Rows of thousands of cells exceed its default of 1 MB.
_BLOCK_BYTES = 2**24
# Rows of a block of Parquet: with 100 columns of doubles, 50 MB. Not tuned.
BLOCK_ROWS = 2**16


@dataclass(frozen=True)
class Source:
    """A table that was read from a file.

    Parameters
    ----------
    path : Path
    names : list of str
        Names of all columns of the file.
    cells : dict of str to pyarrow.Array
        The columns that were read; unchanged text if the file is CSV.
    n_rows : int
    index_names : tuple of str
        Columns that pandas wrote as the row labels of a Parquet file.
    layout : _Layout or None
        Layout of a CSV file; None for Parquet.
    """

    path: Path
    names: list[str]
    cells: dict[str, pa.Array]
    n_rows: int
    index_names: tuple[str, ...] = ()
    layout: _Layout | None = None
    first_row: int = 0  # number of the first row in the file, if the cells are a part of it
    kept_rows: np.ndarray | None = None  # numbers of the rows, if others were left out

    def place(self, row: int | np.integer) -> str:
        """File and first line of a row; for Parquet, the number of the row from 1 on."""
        row = self.first_row + int(row if self.kept_rows is None else self.kept_rows[row])
        if self.layout is None:
            return f"{self.path}, row {row + 1}"
        line, _ = next(islice(self.layout.rows(), row, None))
        return f"{self.path}, line {line}"

    def keeping(self, rows: np.ndarray) -> Source:
        """Leave out all rows but some."""
        import pyarrow as pa

        numbers = pa.array(rows)
        cells = {name: column.take(numbers) for name, column in self.cells.items()}
        return replace(self, cells=cells, n_rows=len(rows), kept_rows=rows)


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its name or its first bytes; folders are."""
    if path.suffix.lower() in PARQUET or path.is_dir():
        return True
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def read_source(
    path: Path, form: Format = PLAIN, columns: Collection[str] | None = None
) -> Source:
    """Read a table with a header from Parquet or a CSV file, which may be compressed.

    A folder of Parquet files is one table.

    If `columns` are given, only these are read, as far as the file has them. A TableError refuses
    files that are not tables, or whose rows have more or fewer cells than the header.
    """
    import pyarrow as pa

    blocks = list(read_blocks(path, form, columns))
    cells = {
        name: pa.concat_arrays([block.cells[name] for block in blocks]) for name in blocks[0].cells
    }
    return replace(blocks[0], cells=cells, n_rows=sum(block.n_rows for block in blocks))


def read_blocks(
    path: Path,
    form: Format = PLAIN,
    columns: Collection[str] | None = None,
    *,
    block_rows: int = BLOCK_ROWS,
    block_bytes: int = _BLOCK_BYTES,
) -> Iterator[Source]:
    """Read a table as `read_source` does, in blocks of rows in their order, at least one.

    A block of Parquet has up to `block_rows` rows, and one of CSV is made of `block_bytes` of the
    file.
    """
    path = Path(path)
    with _table_errors(path, form):
        if is_parquet(path):
            yield from _parquet_blocks(path, columns, block_rows)
        else:
            yield from _csv_blocks(_find_layout(path, form), columns, block_bytes)


@contextmanager
def _table_errors(path: Path, form: Format) -> Iterator[None]:
    """Refuse sheets, and turn all errors of reading into a TableError that names the file."""
    try:
        if path.suffix.lower() in _SHEETS or _first_bytes(path).startswith(_SHEET_MAGIC):
            raise _NotATable("save the sheet as CSV")
        yield
    except _NotATable as error:
        raise TableError(f"{path} cannot be read as a table: {error}") from None
    except TableError:
        raise
    # Errors of the operating system, of a compression, of an encoding or of pyarrow.
    except Exception as error:
        reason, advice = _reason_of(path, form, error)
        raise TableError(f"{path} cannot be read as a table: {reason}", advice) from error


class _NotATable(Exception):
    """The reason why a file is no table."""


def _first_bytes(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(8)


def _reason_of(path: Path, form: Format, error: Exception) -> tuple[str, str]:
    """Reason of an error, and advice."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:], ""
    if isinstance(error, UnicodeError) or "invalid UTF8" in str(error):
        with path.open("rb") as file:
            has_mark = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        other = "utf-16" if has_mark else "cp1252 (Windows, Western Europe) or another one"
        return f"its text is not {form.encoding}", f"use --encoding {other}"
    if "straddling object" in str(error):
        return f"a row has more than {_BLOCK_BYTES // 2**20} MB", ""
    return " ".join(str(error).split()) or type(error).__name__, ""


def _refuse_equal_names(path: Path, names: list[str]) -> None:
    equal = [name for name, n_times in Counter(names).items() if n_times > 1]
    if equal:
        places = [str(place) for place, name in enumerate(names, 1) if name == equal[0]]
        raise TableError(
            f"the columns of {path} must have different names, got {equal[0]!r} for columns "
            f"{', '.join(places[:-1])} and {places[-1]}"
        )


def _parquet_blocks(
    path: Path, columns: Collection[str] | None, block_rows: int
) -> Iterator[Source]:
    import pyarrow as pa

    dataset, unreadable = open_parquet(path)
    names, index_names = _parquet_names(path, dataset.schema)
    chosen = [name for name in names if columns is None or name in columns]
    if wrong := [name for name in chosen if name in unreadable]:
        raise TableError(unreadable[wrong[0]])
    first_row = 0
    for batch in dataset.to_batches(columns=chosen, batch_size=block_rows):
        if batch.num_rows:
            cells = {name: batch.column(name) for name in chosen}
            yield Source(path, names, cells, batch.num_rows, index_names, first_row=first_row)
            first_row += batch.num_rows
    if not first_row:
        empty = {name: pa.array([], dataset.schema.field(name).type) for name in chosen}
        yield Source(path, names, empty, 0, index_names)


def _csv_blocks(
    layout: _Layout, columns: Collection[str] | None, block_bytes: int
) -> Iterator[Source]:
    names = _csv_names(layout)
    layout.check_width()
    layout.check_blank_lines()
    chosen = {str(i): name for i, name in enumerate(names) if columns is None or name in columns}
    # The last column shows whether a quote at the end of the file is open.
    places = {*map(int, chosen), layout.width - 1}
    first_row = 0
    last = None
    with _ragged_rows_refused(layout), _open_bytes(layout.path) as stream:
        for batch in _text_batches(layout, stream, places, block_bytes):
            if layout.ends_with_sep and not _are_blank(batch.column(str(layout.width - 1))):
                _refuse_ragged(layout)
                raise TableError(f"{layout.path} must have a name for its last column")
            cells = {name: batch.column(place) for place, name in chosen.items()}
            yield Source(
                layout.path, names, cells, batch.num_rows, layout=layout, first_row=first_row
            )
            first_row += batch.num_rows
            last = batch
    if last is not None:
        _refuse_open_quotes(layout, last)


def _csv_names(layout: _Layout) -> list[str]:
    header = layout.header[: layout.n_columns]
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(header)]
    _refuse_equal_names(layout.path, names)
    return names


def _parquet_names(path: Path, schema: pa.Schema) -> tuple[list[str], tuple[str, ...]]:
    """Names of all columns, and names of the columns that pandas wrote as row labels."""
    metadata = schema.pandas_metadata or {}
    # pandas describes ranges by dicts, and names labels without a name by their number.
    index = [name for name in metadata.get("index_columns", ()) if isinstance(name, str)]
    unnamed = {name for name in index if name.startswith("__index_level_")}
    names = [name for name in schema.names if name not in unnamed]
    _refuse_equal_names(path, names)
    return names, tuple(set(index) - unnamed)


@dataclass(frozen=True)
class _Layout:
    """Layout of a CSV file.

    `n_skipped` is the number of records up to the header, with blank lines. `width` is the number
    of cells of the first row, or of the header if there are no rows. If `ends_with_sep`, all rows
    end with a delimiter, and perhaps the header does.
    """

    path: Path
    encoding: str
    sep: str
    header: list[str]
    n_skipped: int
    width: int
    has_rows: bool
    ends_with_sep: bool

    @property
    def n_columns(self) -> int:
        return self.width - self.ends_with_sep

    def check_width(self) -> None:
        """Refuse a first row that has other cells than the header."""
        n = len(self.header)
        may_end = self.ends_with_sep and self.header[0][:1] != "#"
        if self.width != n and not (may_end and self.width == n + 1):
            _refuse_ragged(self)

    def rows(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the line where each row begins, and its cells."""
        with _csv_reader(self.path, self.encoding, self.sep, strict=strict) as reader:
            for _ in range(self.n_skipped):
                next(reader)
            end = reader.line_num
            for cells in reader:
                start = end + 1
                end = reader.line_num
                if cells and (self.width == 1 or not _is_blank(cells)):
                    yield start, cells

    def check_blank_lines(self) -> None:
        """Refuse blank lines among the rows of one column, which could be missing cells."""
        if self.width > 1:
            return
        blank_line = None
        with _csv_reader(self.path, self.encoding, self.sep) as reader:
            for number, cells in enumerate(reader):
                if number >= self.n_skipped and cells and blank_line is not None:
                    raise TableError(
                        f"{self.path}, line {blank_line}: must have a cell, got a blank line: "
                        "write NA if the cell is missing"
                    )
                if number >= self.n_skipped and not cells and blank_line is None:
                    blank_line = reader.line_num


def _is_blank(cells: list[str]) -> bool:
    return not cells or (len(cells) == 1 and not cells[0].strip())


@contextmanager
def _csv_reader(
    path: Path, encoding: str, sep: str, *, strict: bool = False
) -> Iterator[_csv.Reader]:
    """Open a CSV file for the module csv, whose limit of the length of cells is lifted."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        with _open_text(path, encoding) as text:
            yield csv.reader(text, delimiter=sep, strict=strict)
    finally:
        csv.field_size_limit(limit)


def _open_bytes(path: Path) -> IO[bytes]:
    """Open a file that may be compressed, as its first bytes tell, whatever its name is."""
    first = _first_bytes(path)
    opener = next((opener for magic, opener in _OPENERS.items() if first.startswith(magic)), open)
    return opener(path, "rb")


def _open_zstd(path: Path, _: str) -> Any:
    import pyarrow as pa

    return pa.input_stream(path, compression="zstd")


def _open_zip(path: Path, _: str) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    members = archive.namelist()
    if "[Content_Types].xml" in members or "mimetype" in members:
        raise _NotATable("save the sheet as CSV")
    if len(members) != 1:
        raise TableError(f"{path} must hold one file, got {len(members)}")
    return archive.open(members[0])


_OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
    b"\x28\xb5\x2f\xfd": _open_zstd,
    b"PK\x03\x04": _open_zip,
}


def _open_text(path: Path, encoding: str) -> IO[str]:
    # This codec skips a byte order mark.
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(_open_bytes(path), encoding=encoding, newline="")


def _find_layout(path: Path, form: Format) -> _Layout:
    """Find the header by the delimiter of `form`, or by one that splits header and rows alike."""
    with _open_text(path, form.encoding) as text:
        sample = text.read(_SAMPLE)
    if _HTML.match(sample):
        raise _NotATable("it is a page of HTML or XML: save its table as CSV")
    detected = _detect_delimiter(sample)
    layout = _layout(path, form, form.sep or detected)
    if form.sep and len(layout.header) == 1 and len(_layout(path, form, detected).header) > 1:
        raise TableError(
            f"{path} must have {form.sep!r} between columns, got {layout.header[0]!r}",
            f"use --sep {detected!r}",
        )
    return layout


def _detect_delimiter(sample: str) -> str:
    """The delimiter by which most rows have as many cells as the header; a comma if none does.

    If there are several such delimiters, the cells of the chosen one hold no other delimiter.
    """
    # The last line may be cut.
    whole = sample if len(sample) < _SAMPLE else sample[: sample.rfind("\n") + 1]

    def quality(sep: str) -> tuple[float, float, float]:
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            rows = list(csv.reader(io.StringIO(whole, newline=""), delimiter=sep))
        finally:
            csv.field_size_limit(limit)
        rows = [cells for cells in rows if not _is_blank(cells)]
        header = rows[0] if rows else []
        if len(header) < 2:
            return 0.0, 0.0, 0.0
        if len(rows) == 1:
            return 1.0, 1.0, 1.0
        widths = Counter(map(len, rows[1:]))
        n_alike = max(widths[len(header)], widths[len(header) + 1])
        cells = [cell for row in rows for cell in row]
        share_clean = sum(map(bool, map(_CLEAN_CELL.fullmatch, cells))) / len(cells)
        n_rows = len(rows) - 1
        return n_alike / n_rows, (n_rows - widths[1]) / n_rows, share_clean

    best = max(_DELIMITERS, key=quality)  # the first of equal ones
    return best if quality(best)[1] > 0 else ","


def _layout(path: Path, form: Format, sep: str) -> _Layout:
    n_skipped = 0
    header: list[str] | None = None
    with _csv_reader(path, form.encoding, sep) as reader:
        for cells in reader:
            if header is None:
                n_skipped += 1
                header = None if _is_blank(cells) else cells
            elif not _is_blank(cells):
                return _Layout(
                    path, form.encoding, sep, header, n_skipped, len(cells), True,
                    ends_with_sep=_ends_with_sep(header, cells),
                )  # fmt: skip
    if header is None:
        raise TableError(f"{path} must have a header and rows, got an empty file")
    return _Layout(
        path, form.encoding, sep, header, n_skipped, len(header), False,
        ends_with_sep=_ends_with_sep(header, header),
    )  # fmt: skip


def _ends_with_sep(header: list[str], row: list[str]) -> bool:
    """Whether a row ends with a delimiter, behind which the header has no name."""
    has_name = len(header) == len(row) and header[-1].strip()
    return len(row) > 1 and not row[-1].strip() and not has_name


def _are_blank(texts: pa.Array) -> bool:
    import pyarrow.compute as pc

    return not pc.any(pc.not_equal(pc.utf8_trim_whitespace(texts), "")).as_py()


def _text_batches(
    layout: _Layout, stream: IO[bytes], places: Collection[int], block_bytes: int
) -> Iterable[pa.RecordBatch]:
    """Columns of a CSV file as text; their names are their places."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if layout.has_rows:
        options = _csv_options(layout, places, block_bytes)
        batches: Iterable[pa.RecordBatch] = arrow_csv.open_csv(stream, **options)
        return batches
    return [pa.record_batch({str(place): pa.array([], pa.string()) for place in places})]


@contextmanager
def _ragged_rows_refused(layout: _Layout) -> Iterator[None]:
    """Turn pyarrow's error about a row of another length into one that names the line."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        if "Expected" in str(error):
            _refuse_ragged(layout)
        raise


def _csv_options(layout: _Layout, places: Collection[int], block_bytes: int) -> dict[str, Any]:
    """Options of pyarrow that read all cells of some columns as text, unchanged."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(place) for place in range(layout.width)]
    return {
        "read_options": arrow_csv.ReadOptions(
            column_names=names,
            skip_rows_after_names=layout.n_skipped,
            encoding=layout.encoding,
            block_size=block_bytes,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=layout.sep,
            newlines_in_values=True,
            invalid_row_handler=lambda row: "error" if row.text.strip() else "skip",
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[str(place) for place in sorted(places)],
            strings_can_be_null=False,
        ),
    }


def _refuse_ragged(layout: _Layout) -> None:
    """Raise the error about the first row with another number of cells than the header."""
    n = len(layout.header)
    for line, cells in layout.rows():
        if len(cells) != n:
            hint = ""
            if layout.header[0].startswith("#") or (n == 1 and len(cells) > 1):
                hint = f": leave out the lines above the header ({short(layout.header[0])})"
            elif len(cells) > n and layout.sep == ",":
                hint = (
                    ": quote numbers with a decimal comma, or separate cells by another "
                    "character; if each row begins with its name, name this column too"
                )
            raise TableError(
                f"{layout.path}, line {line}: must have {n} cells as the header, got "
                f"{len(cells)}{hint}"
            )


def _refuse_open_quotes(layout: _Layout, table: pa.RecordBatch) -> None:
    """Raise an error if a quote that is never closed swallows the end of the file."""
    last = [column[-1].as_py() for column in table.columns] if table.num_rows else []
    if not any("\n" in cell for cell in last):
        return
    try:
        line = 0
        for line, _ in layout.rows(strict=True):  # noqa: B007
            pass
    except csv.Error as error:
        if "unexpected end" not in str(error):
            # Text after a closing quote, which pyarrow reads as `csv` does.
            return
        start = f"after line {line}" if line else "in the first row"
        raise TableError(
            f"{layout.path} cannot be read as a table: a quote {start} is not closed"
        ) from None
