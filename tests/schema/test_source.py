"""Table files: delimiters, encodings, compression, line ends, ragged rows."""

import gzip
import zipfile

import pandas as pd
import pytest

from mddf._schema.format import Format, TableError
from mddf._schema.source import read_blocks, read_source

ROWS = ["1,a,2,.5", "2,b,1,.25", "3,a,0,1.5"]
HEADER = "age,kind,kids,score"


@pytest.fixture
def write(tmp_path):
    def write(*lines, name="t.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def cells(path, form=None, columns=None):
    source = read_source(path, form or Format(), columns)
    return {name: column.to_pylist() for name, column in source.cells.items()}


def test_names_stay_with_their_columns(write):
    source = read_source(write(HEADER, *ROWS))
    plain = {name: column.to_pylist() for name, column in source.cells.items()}
    assert plain["score"] == [".5", ".25", "1.5"]
    assert [source.place(row).rpartition(", ")[2] for row in range(3)] == [
        "line 2", "line 3", "line 4",
    ]  # fmt: skip
    ends = [f"{row}," for row in ROWS]
    for lines in (
        [HEADER, *ends],
        [f"{HEADER},", *ends],
        [HEADER, ROWS[0], "", *ROWS[1:], "", "  "],
        ["", "", HEADER, *ROWS],
        [line.replace(",", ";") for line in (HEADER, *ROWS)],
        [line.replace(",", "\t") for line in (HEADER, *ROWS)],
    ):
        path = write(*lines)
        assert cells(path) == plain
        assert cells(path, columns=["kids", "other"]) == {"kids": plain["kids"]}


def test_blocks_hold_the_same_cells(tmp_path):
    table = pd.DataFrame({"code": range(500), "text": [f'"{i}",\nstop' for i in range(500)]})
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        path = tmp_path / name
        table.to_parquet(path) if name == "t.parquet" else table.to_csv(path, index=False)
        whole = read_source(path)
        blocks = list(read_blocks(path, block_rows=64, block_bytes=2000))
        assert len(blocks) > 2
        for column, texts in whole.cells.items():
            assert [x for b in blocks for x in b.cells[column].to_pylist()] == texts.to_pylist()
        # Positions refer to the file.
        assert blocks[-1].place(blocks[-1].n_rows - 1) == whole.place(499)


def test_ragged_rows_are_refused_with_their_line(write):
    for lines, message in [
        ([HEADER, ROWS[0], ROWS[1] + ",", ROWS[2]], "line 3: must have 4 cells .*, got 5"),
        ([HEADER, ROWS[0] + ",", ROWS[1]], "line 2: must have 4 cells as the header, got 5"),
        ([HEADER, *ROWS, "4,b,1"], "line 5: must have 4 cells as the header, got 3"),
        ([HEADER, "", ROWS[0], "4,b"], "line 4: must have 4 cells as the header, got 2"),
        ([HEADER, *(f"{row},," for row in ROWS)], "line 2: must have 4 cells .*, got 6"),
        ([HEADER + ",", *ROWS], "line 2: must have 5 cells as the header, got 4"),
        ([HEADER, '1,"a', 'b",2,3', "2,a"], "line 4: must have 4 cells .*, got 2"),
    ]:
        for columns in [None, ["age"]]:
            with pytest.raises(TableError, match=f"t.csv, {message}") as caught:
                read_source(write(*lines), columns=columns)
            assert "\n" not in str(caught.value)


def test_a_quote_that_is_never_closed_is_refused(write):
    path = write("a,b", "1,x", '2,"y', "3,z", "4,z")
    with pytest.raises(TableError, match="a quote after line 2 is not closed"):
        read_source(path, columns=["a"])
    assert cells(write("a,b", '1,"x', 'y"'))["b"] == ["x\ny"]
    assert cells(write("a,b", '1,5" pipe', '2,"x\ny"z'))["b"] == ['5" pipe', "x\nyz"]


def test_encodings(tmp_path):
    for encoding, options, message in [
        ("utf-8-sig", {}, None),
        ("cp1252", {}, "not utf-8: use --encoding cp1252"),
        ("cp1252", {"encoding": "cp1252"}, None),
        ("utf-16", {}, "not utf-8: use --encoding utf-16"),
        ("utf-16", {"encoding": "utf-16"}, None),
        ("cp1252", {"encoding": "utf-16"}, "not utf-16"),
    ]:
        path = tmp_path / "t.csv"
        # A name in quotes at the beginning: a byte order mark must not hide them.
        path.write_text('"size, m²",city\n1,Köln\n2,"Bonn\nRhein"\n3,Aachen\n', encoding=encoding)
        form = Format(**options)
        if message is not None:
            with pytest.raises(TableError, match=f"t.csv cannot be read as a table: .*{message}"):
                read_source(path, form)
            continue
        source = read_source(path, form)
        assert source.names == ["size, m²", "city"]
        assert source.cells["city"].to_pylist() == ["Köln", "Bonn\nRhein", "Aachen"]
        assert [source.place(row)[-6:] for row in range(3)] == ["line 2", "line 3", "line 5"]


def test_text_of_another_encoding_far_below_the_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 200_000 + b"1,\xe4\n")
    with pytest.raises(TableError, match="not utf-8: use --encoding cp1252"):
        read_source(path, columns=["b"])


def test_files_that_are_no_tables(tmp_path):
    for name, text, message in [
        ("t.csv", "", "must have a header and rows, got an empty file"),
        ("t.csv", "\n\n", "must have a header and rows, got an empty file"),
        ("t.csv", "a,b,a\n1,2,3\n", "different names, got 'a' for columns 1 and 3"),
        ("t.csv", "a,a,a\n1,2,3\n", "different names, got 'a' for columns 1, 2 and 3"),
        ("t.xlsx", "PK\x03", "t.xlsx cannot be read as a table: save the sheet as CSV"),
        ("t.csv", "# of May\na,b\n1,2\n", r"above the header \('# of May'\)"),
        ("t.csv", "Sales\n\na,b\n1,2\n", r"above the header \('Sales'\)"),
        ("t.csv", "<!DOCTYPE html>\n<html>", "t.csv .*page of HTML or XML"),
        ("t.csv", "a\n1\n\n3\n", "t.csv, line 3: must have a cell, got a blank line"),
        ("t.csv", None, "t.csv cannot be read as a table: no such file or directory"),
        ("t.parquet", "a,b\n1,2\n", "t.parquet cannot be read as a table: "),
        ("t.PQ", "", "t.PQ cannot be read as a table: "),
    ]:
        path = tmp_path / name
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        with pytest.raises(TableError, match=message) as caught:
            read_source(path)
        assert "encoding" not in str(caught.value)


def test_delimiters_are_detected_unless_the_user_gives_one(tmp_path):
    for text, sep in [
        ("a;b\n1;2\n", ","),
        ("a\tb\n1\t2\n", ";"),
        ("a,b\n1,2\n", ";"),
        ("a;b\n", ","),
    ]:
        path = tmp_path / "t.csv"
        path.write_text(text)
        assert read_source(path).names == ["a", "b"]
        with pytest.raises(
            TableError, match=r"must have '.' between columns, got 'a.*b': use --sep"
        ):
            read_source(path, Format(sep=sep))


def test_marks_in_the_name_of_a_single_column_are_no_delimiters(write):
    assert cells(write("a;b", "1", "2")) == {"a;b": ["1", "2"]}
    assert cells(write("name", "x;y", "z;w")) == {"name": ["x;y", "z;w"]}


def test_compressed_files(tmp_path):
    for name in ["t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.csv.zst"]:
        path = tmp_path / name
        table = pd.DataFrame({"a": ["1", "02"], "b": ["x\ny", " z "]})
        if name.endswith(".zst"):
            pa = pytest.importorskip("pyarrow")
            with pa.output_stream(path, compression="zstd") as stream:
                stream.write(table.to_csv(index=False).encode())
        else:
            table.to_csv(path, index=False)
        assert cells(path) == table.to_dict("list")
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(b"a;b\r\n1;2\r\n"))
            assert cells(path) == {"a": ["1"], "b": ["2"]}


def test_parquet_by_any_name(tmp_path):
    table = pd.DataFrame({"a.b": [1, 2], "a": ["x", None], "list": [[1], [2, 3]]})
    for name in ("t.parquet", "t.PARQUET", "t.pq", "t"):
        path = tmp_path / name
        table.to_parquet(path)
        assert cells(path, columns=["a.b", "a"]) == {"a.b": [1, 2], "a": ["x", None]}
        assert read_source(path).place(1) == f"{path}, row 2"


def test_a_delimiter_at_the_end_of_some_rows_is_refused(write):
    with pytest.raises(TableError, match="must have a name for its last column"):
        read_source(write("a,", "1,", "2,x"))


def test_columns_without_names_get_generated_names(write):
    assert read_source(write(",a,", "1,2,3")).names == ["Unnamed: 0", "a", "Unnamed: 2"]


def test_long_rows_and_headers(tmp_path):
    path = tmp_path / "t.csv"
    names = [f"column number {i}" for i in range(60_000)]
    path.write_text(f"{','.join(names)}\n{','.join(names)}\n")
    assert read_source(path, columns=names[-1:]).cells[names[-1]].to_pylist() == names[-1:]


def test_header_and_rows_decide_the_delimiter(write):
    for lines, names in [
        (["x, in kg;k;y", "0.1;3;yes", "0.2;4;no"], ["x, in kg", "k", "y"]),
        (["x, in kg;k, in m;y", "0,1;3,0;yes", "0,2;4,5;no"], ["x, in kg", "k, in m", "y"]),
        (["a;b,c", "1,2", "3,4"], ["a;b", "c"]),
        (["a|b\tc", "1\t2,5"], ["a|b", "c"]),
    ]:
        assert read_source(write(*lines)).names == names


@pytest.mark.parametrize(
    "rows", [["1,5,2", "2,5,2", "2,7,1"], ["r1,1,2", "r2,1,3"], ["1,2,", "3,4,5"]]
)
def test_a_cell_more_than_the_header_is_refused(write, rows):
    with pytest.raises(
        TableError, match=r"line 2: must have 2 cells .*quote numbers with a decimal"
    ):
        read_source(write("a,b", *rows))


def test_cells_of_any_length(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n1,{'x' * 200_000}\n2,y\n")
    source = read_source(path)
    assert len(source.cells["b"][0].as_py()) == 200_000
    assert source.place(1).endswith("line 3")
    path.write_text(f"a,b\n1,{'x' * 2**25}\n2,y\n")
    with pytest.raises(TableError, match="a row has more than 16 MB"):
        read_source(path)


def test_compressed_files_and_sheets_by_any_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert cells(path) == {"a": ["1"], "b": ["2"]}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "")
    with pytest.raises(TableError, match="save the sheet as CSV"):
        read_source(path)
