"""CSV files: their lines, delimiters, and marks."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mddf._command import csvs
from mddf._command.rows import kinds, read_rows, read_training


@pytest.fixture
def data(script):
    return script("_lab.data")


@pytest.fixture
def write(tmp_path):
    def write(*lines, name="t.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


ROWS = ["1,a,2,.5", "2,b,1,.25", "3,a,0,1.5"]
HEADER = "age,kind,kids,score"


def test_names_stay_with_their_columns(write):
    plain, lines = csvs.read(write(HEADER, *ROWS))
    assert plain["age"].tolist() == [1, 2, 3]
    assert lines.tolist() == [2, 3, 4]
    ends = [f"{row}," for row in ROWS]
    for found in (
        csvs.read(write(HEADER, *ends))[0],
        csvs.read(write(f"{HEADER},", *ends))[0],
        csvs.read(write(HEADER, *(f'"{i}",{row}' for i, row in enumerate(ROWS, 1))))[0],  # R's
        csvs.read(write(HEADER, ROWS[0], "", *ROWS[1:], ""))[0],
    ):
        assert list(found) == HEADER.split(",")
        assert found.equals(plain)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, ROWS[0], ROWS[1] + ",", ROWS[2]], "line 3: must have 4 cells .*, got 5"),
        ([HEADER, ROWS[0] + ",", ROWS[1]], "line 2: must have 4 cells as the header, got 5"),
        ([HEADER, *ROWS, "4,b,1"], "line 5: must have 4 cells as the header, got 3"),
        ([HEADER, "", ROWS[0], "4,b"], "line 4: must have 4 cells as the header, got 2"),
        ([HEADER, *(f"{row},," for row in ROWS)], "line 2: must have 4 cells .*, got 6"),
        ([HEADER + ",", *ROWS], "line 2: must have 5 cells as the header, got 4"),
        ([HEADER, '1,"a', 'b",2,3', "2,a"], "line 4: must have 4 cells .*, got 2"),
    ],
)
def test_ragged_rows_are_refused_with_their_line(write, lines, message):
    path = write(*lines)
    with pytest.raises(SystemExit, match=f"t.csv, {message}") as caught:
        csvs.read(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(SystemExit, match=message):
        read_training(path, "kind")
    like = {"columns": ["age"], "categories": [], "target": "kind"}
    with pytest.raises(SystemExit, match=message):
        read_rows(path, like)


def sources(data, path, **options):
    options = SimpleNamespace(csv=path, target="kind", **options)
    (source,) = data.sources(options, []).values()
    return data.load(source).X


@pytest.mark.parametrize(
    ("cell", "options", "number"),
    [
        ("?", {"missing": ["?"]}, np.nan),
        ('"1,234"', None, None),
        ("3%", None, None),
        ("n. d.", {"missing": ["n. d."]}, np.nan),
    ],
)
def test_text_that_looks_like_numbers(data, write, cell, options, number):
    rows = [f"{i},{'ab'[i % 2]}" for i in range(600)]
    rows[30] = f"{cell},a"
    path, plain = write("size,kind", *rows), cell.strip('"')
    numbers = "599 of its 600" if number is not None else "600 of its 600"
    with pytest.warns(UserWarning, match=rf"t.csv: column 'size' is text .* {numbers}") as found:
        assert sources(data, path)["size"].dtype == "category"
    assert f"line 32 has {plain!r}" in str(found[0].message)
    assert sources(data, path, text=["size"])["size"].dtype == "category"
    with pytest.raises(SystemExit, match=r"t.csv, line 32: column 'size' must hold numbers, got"):
        sources(data, path, numbers=["size"])
    if options:
        X = sources(data, path, numbers=["size"], **options)
        assert np.isnan(X["size"][30])
        assert X["size"].dtype == float


def test_marks_of_other_countries(data, write):
    rows = [f"{i},5;{'ab'[i % 2]}" for i in range(40)]
    X = sources(data, write("size;kind", *rows), sep=";", decimal=",")
    assert X["size"].tolist() == [i + 0.5 for i in range(40)]
    quoted = [f'"{i},5",{"ab"[i % 2]}' for i in range(40)]
    with pytest.warns(UserWarning, match="line 2 has '0,5'"):
        sources(data, write("size,kind", *quoted))
    X = sources(data, write("size,kind", *quoted), decimal=",")
    assert X["size"].tolist() == [i + 0.5 for i in range(40)]
    later = csvs.Format(decimal=",")
    X, _ = read_rows(write("size,kind", *quoted), kinds(X, "kind"), None, later)
    assert X["size"][0] == 0.5


def test_rows_are_named_by_their_lines(write):
    rows = [f"{i},{'ab'[i % 2]}" for i in range(40)]
    path = write("size,kind", *rows[:30], "inf,a", *rows[31:])
    with pytest.raises(SystemExit, match=r"t.csv, line 32: column 'size' must be finite, got inf"):
        read_training(path, "kind")
    path = write("size,kind", *rows[:30], "30,", *rows[31:])
    with pytest.raises(SystemExit, match=r"must be complete, .* 'kind', line 32 first"):
        read_training(path, "kind")


def test_names_with_blanks_can_be_seen(data, write):
    path = write("size, kind", "1,a", "2,b")
    with pytest.raises(SystemExit, match=r"size, ' kind'; got 'kind' \(did you mean ' kind'\?\)"):
        read_training(path, "kind")
    like = {"columns": ["sise "], "categories": [], "target": "kind"}
    with pytest.raises(SystemExit, match=r"must have a column 'sise ', .*did you mean 'size'\?"):
        read_rows(path, like)
    with pytest.raises(SystemExit, match=r"--text, --numbers and --dates .*; got 'width'"):
        sources(data, write("size,kind", "1,a", "2,b"), text=["width"])


def test_options_of_files():
    import argparse

    parser = argparse.ArgumentParser()
    csvs.add_options(parser)
    assert csvs.format_of(parser.parse_args([])) == csvs.Format()
    found = csvs.format_of(
        parser.parse_args(["--sep", "\\t", "--missing", "?", "-", "--text", "a"])
    )
    assert found == csvs.Format(sep="\t", missing=("?", "-"), text=("a",))
    with pytest.raises(SystemExit):
        parser.parse_args(["--sep", "ab"])


@pytest.mark.parametrize(
    ("encoding", "options", "message"),
    [
        ("utf-8-sig", {}, None),
        ("cp1252", {}, "not utf-8: say --encoding cp1252"),
        ("cp1252", {"encoding": "cp1252"}, None),
        ("utf-16", {}, "not utf-8: say --encoding utf-16"),
        ("utf-16", {"encoding": "utf-16"}, None),
        ("cp1252", {"encoding": "utf-16"}, "not utf-16"),
    ],
)
def test_encodings(tmp_path, encoding, options, message):
    path = tmp_path / "t.csv"
    # A name in quotes at the beginning: a byte order mark must not hide them.
    path.write_text('"size, m²",city\n1,Köln\n2,"Bonn\nRhein"\n3,Aachen\n', encoding=encoding)
    form = csvs.Format(**options)
    if message is not None:
        with pytest.raises(SystemExit, match=f"t.csv cannot be read as a table: .*{message}"):
            csvs.read(path, form)
        return
    found, lines = csvs.read(path, form)
    assert list(found) == ["size, m²", "city"]
    assert found["city"].tolist() == ["Köln", "Bonn\nRhein", "Aachen"]
    assert lines.tolist() == [2, 3, 5]


def test_marks_of_thousands(write):
    path = write("size;kind", "1.234,5;a", "-12;b", "1.000.000;a")
    found, _ = csvs.read(path, csvs.Format(sep=";", decimal=",", thousands="."))
    assert found["size"].tolist() == [1234.5, -12, 1000000]
    options = SimpleNamespace(thousands=".")
    with pytest.raises(SystemExit, match=r"--thousands must differ from --decimal, got '\.'"):
        csvs.format_of(options)


@pytest.mark.parametrize("ends", ["", ";"])
def test_marks_of_thousands_elsewhere_are_none(write, ends):
    """pandas would make 3042024 of a date and 35 of 3.5."""
    rows = ["03.04.2024;1.234;3.5;1.00.000;a", "13.04.2024;7,25;1.234;1;b"]
    path = write("day;size;dot;india;kind", *(f"{row}{ends}" for row in rows))
    form = csvs.Format(sep=";", decimal=",", thousands=".")
    found, _ = csvs.read(path, form)
    assert found["day"].tolist() == ["03.04.2024", "13.04.2024"]
    assert found["size"].tolist() == [1234, 7.25]
    assert found["dot"].tolist() == ["3.5", "1.234"]
    assert found["india"].tolist() == [100000, 1]
    three = [f"{i};{row.rsplit(';', 3)[0]}" for i, row in enumerate(rows)]
    named = write("day;size", *three, name="r.csv")
    assert csvs.read(named, form)[0]["day"].tolist() == ["03.04.2024", "13.04.2024"]
    with pytest.raises(SystemExit, match=r"line 2: column 'dot' must hold numbers, got '3.5'"):
        read_training(path, "kind", form=replace(form, numbers=("dot",)))
    like = {"columns": ["dot", "size"], "categories": [], "target": "kind"}
    with pytest.raises(SystemExit, match="column 'dot'"):
        read_rows(path, like, form=form)


def test_codes_that_begin_with_zero(write):
    rows = ["1;01003;0;0.5;07;a", "2;11003;1;0;8;b", "3;00017;0;00.5;9;a"]
    path = write("id;zip;flag;share;month;kind", *rows)
    form = csvs.Format(sep=";")
    with pytest.warns(UserWarning, match="looks like a code") as found:
        read_training(path, "kind", form=form, warn=True)
    shown = [str(one.message) for one in found]
    assert len(shown) == 2
    assert "column 'zip' is taken as numbers, but line 2 has '01003'" in shown[0]
    assert "column 'month'" in shown[1]
    with pytest.warns(UserWarning, match="column 'month'"):
        read_training(path, "kind", drop=["zip"], form=form, warn=True)
    said = replace(form, text=("zip",), numbers=("month",))
    X, _ = read_training(path, "kind", form=said, warn=True)  # said to be so: no warning
    assert X["zip"].tolist() == ["01003", "11003", "00017"]
    named = write("zip;kind", *(f"{row.split(';')[1]};{i:03};a" for i, row in enumerate(rows, 5)))
    assert csvs.begin_with_zero(named, form, ["zip", "kind"]) == {"zip": (2, "005")}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "must have a header and rows, got an empty file"),
        ("t.csv", "\n\n", "must have a header and rows, got an empty file"),
        ("t.csv", "a,b,a\n1,2,3\n", "different names, got 'a' for columns 1 and 3"),
        ("t.csv", "a,a,a\n1,2,3\n", "different names, got 'a' for columns 1, 2 and 3"),
        ("t.xlsx", "PK\x03", "t.xlsx cannot be read as a table: save the sheet as CSV"),
        ("t.csv", None, "t.csv cannot be read as a table: no such file or directory"),
        ("t.csv", "a;b\n1;2\n", "must have ',' between columns, got 'a;b': say --sep ';'"),
        ("t.csv", "a\tb\n1\t2\n", r"say --sep '\\t'"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit, match=message):
        csvs.read(path)


def test_columns_with_marks_in_their_names(write):
    found, _ = csvs.read(write("a;b", "1", "2"))
    assert list(found) == ["a;b"]
    with pytest.raises(SystemExit, match="say --sep ','"):
        csvs.read(write("a,b", "1,2"), csvs.Format(sep=";"))


def test_later_files_may_be_written_otherwise():
    import argparse

    parser = argparse.ArgumentParser()
    csvs.add_marks(parser, "as in the fit")
    fitted = csvs.Format(sep=";", decimal=",", text=("a",), missing=("?",))
    assert csvs.format_of(parser.parse_args([]), fitted) == fitted
    found = csvs.format_of(
        parser.parse_args(["--sep", ",", "--decimal", ".", "--encoding", "latin1"]), fitted
    )
    assert found == csvs.Format(text=("a",), missing=("?",), encoding="iso8859-1")
    assert csvs.format_of(parser.parse_args(["--encoding", "UTF8"])) == csvs.Format()
    with pytest.raises(SystemExit):
        parser.parse_args(["--encoding", "klingon"])
