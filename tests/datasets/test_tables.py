from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mddf.datasets import DataFileError
from mddf.datasets._io.parsed import check
from mddf.datasets._io.spec import File, Part, Spec, Table
from mddf.datasets._io.tables import as_integers, natural_order, parse, read_rows
from mddf.datasets._registry import SPECS

PLAIN = Table(("id", "size", "colour", "class"), label="class", drop=("id",))
MIXED = replace(PLAIN, categorical=("colour",), missing="?")
NO, YES = "no", "yes"


def made(table, *files, counts=None):
    spec = Spec(
        "made",
        "",
        "",
        "",
        "",
        table,
        tuple(Part(c) for c in counts or [{NO: 1, YES: 1}]),
        files=tuple(File(name) for name in files or ("a",)),
    )
    return spec


def parse_text(table, *texts, **kwargs):
    names = [f"file{i}" for i in range(len(texts))]
    content = {name: text.encode() for name, text in zip(names, texts, strict=True)}
    return parse(made(table, *names, **kwargs), content)


def test_numbers_and_categories():
    parsed = parse_text(MIXED, "1,2.5,red,no\n2,?,blue,yes\n3,4,?,no\n")
    assert parsed.feature_names == ("size", "colour")
    assert parsed.categories == {"colour": ("blue", "red")}
    np.testing.assert_array_equal(parsed.blocks[0].X, [[2.5, 1], [np.nan, 0], [4, np.nan]])
    assert parsed.blocks[0].y.tolist() == [NO, YES, NO]


def test_files_share_categories():
    parsed = parse_text(MIXED, "1,1,red,no\n2,2,blue,yes\n", "3,3,green,no\n4,4,red,yes\n")
    assert parsed.categories == {"colour": ("blue", "green", "red")}
    assert [block.X[:, 1].tolist() for block in parsed.blocks] == [[2, 0], [1, 2]]


def test_integer_labels():
    spec = made(replace(PLAIN, drop=("id", "colour")), counts=[{1: 1, 2: 1}])
    parsed = parse(spec, {"a": b"1,1,x,2\n2,1,x,1\n"})
    assert parsed.blocks[0].y.tolist() == [2, 1]
    assert parsed.blocks[0].y.dtype.kind == "i"


def test_unknown_label_names_file_line_and_label():
    with pytest.raises(
        DataFileError, match=r"file0, line 3: label must be one of no, yes, got 'm"
    ):
        parse_text(MIXED, "1,1,red,no\n\n2,1,red,maybe\n")


def test_wrong_number_of_columns_names_file_and_line():
    with pytest.raises(DataFileError, match=r"file0, line 2: must have 4 columns, got 5"):
        parse_text(MIXED, "1,1,red,no\n2,1,red,blue,yes\n")


def test_word_in_a_column_of_numbers():
    with pytest.raises(DataFileError, match=r"file0, line 2: column 'size' must be a .*'big'"):
        parse_text(MIXED, "1,1,red,no\n2,big,red,yes\n")


def test_missing_word_without_known_missing_words():
    with pytest.raises(DataFileError, match="column 'size' must be a number, got '\\?'"):
        parse_text(replace(MIXED, missing=None), "1,?,red,no\n")


@pytest.mark.parametrize("text", ["", "\n\n", "|comment\n"])
def test_no_rows(text):
    with pytest.raises(DataFileError, match="file0: must hold rows, got none"):
        parse_text(replace(MIXED, comment="|"), text)


def test_bytes_that_are_no_text():
    with pytest.raises(DataFileError, match="a: must be text"):
        parse(made(MIXED), {"a": b"1,1,\xff,no\n"})


def test_comment_suffix_and_blanks():
    table = replace(MIXED, comment="|", label_suffix=".")
    parsed = parse_text(table, "|cross validator\n1, 2,  red, no.\n2 ,3,red , yes\n\n")
    assert parsed.blocks[0].y.tolist() == [NO, YES]
    assert parsed.categories == {"colour": ("red",)}


def test_runs_of_blanks():
    parsed = parse_text(replace(MIXED, delimiter=None), "  1 2   red no \n2\t3 blue yes\n")
    assert parsed.blocks[0].X.tolist() == [[2, 1], [3, 0]]


def test_quotes_among_blanks():
    parsed = parse_text(replace(PLAIN, delimiter=None, drop=("id", "colour")),
                        '1 2\t"dark red" no\n2 3 blue yes\n')  # fmt: skip
    assert parsed.blocks[0].X.tolist() == [[2], [3]]


def test_quotes_and_header():
    table = replace(MIXED, header=True)
    parsed = parse_text(table, 'id,size,"colour",class\n1,2,"dark, red",no\n')
    assert parsed.categories == {"colour": ("dark, red",)}
    with pytest.raises(DataFileError, match="must name the columns id, size, colour, class, got"):
        parse_text(table, "id,size,class,colour\n1,2,no,red\n")
    with pytest.raises(DataFileError, match="got an empty file"):
        parse_text(table, "")


def test_quote_that_never_ends():
    with pytest.raises(DataFileError, match=r"file0, line \d"):
        parse_text(MIXED, '1,1,"red,no\n2,1,red,yes\n')


def test_letter_case():
    parsed = parse_text(replace(MIXED, lower=True), "1,1,RED,No\n2,1,red,YES\n")
    assert parsed.categories == {"colour": ("red",)}
    assert parsed.blocks[0].y.tolist() == [NO, YES]


def test_broken_record_is_joined():
    table = replace(MIXED, rejoin=True)
    parsed = parse_text(table, "1,1,\nred,no\n2,\n2,\nblue,yes\n")
    assert parsed.blocks[0].X.tolist() == [[1, 1], [2, 0]]
    with pytest.raises(DataFileError, match="line 1: must have 4 columns, got 2"):
        parse_text(table, "1,1\nred,no\n")
    with pytest.raises(DataFileError, match="line 1: must have 4 columns, got 3"):
        parse_text(MIXED, "1,1,\nred,no\n")


def test_line_numbers_after_a_joined_record():
    rows = read_rows(b"1,1,\nred,no\n\n2,2,blue,yes\n", "a", replace(MIXED, rejoin=True))
    assert [line for line, _ in rows] == [1, 4]


def test_rows_without_a_label():
    text = "1,1,red,no\n2,1,red,?\n"
    assert len(parse_text(replace(MIXED, skip_unlabelled=True), text).blocks[0].y) == 1
    with pytest.raises(DataFileError, match=r"label must be one of no, yes, got '\?'"):
        parse_text(MIXED, text)


def test_zero_for_a_missing_value():
    table = replace(PLAIN, drop=("id", "colour"), zero_missing=("size",))
    X = parse_text(table, "1,0,x,no\n2,0.0,x,no\n0,3,x,yes\n").blocks[0].X
    np.testing.assert_array_equal(X, [[np.nan], [np.nan], [3]])


def test_declared_order():
    table = replace(MIXED, levels={"colour": ("red", "green", "blue")})
    parsed = parse_text(table, "1,1,blue,no\n2,1,red,yes\n")
    assert parsed.categories == {"colour": ("red", "green", "blue")}
    assert parsed.ordered == ("colour",)
    assert parsed.blocks[0].X[:, 1].tolist() == [2, 0]
    with pytest.raises(
        DataFileError, match="column 'colour' must be one of red, green, blue, got"
    ):
        parse_text(table, "1,1,pink,no\n")


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (("1", "2"), (1, 2)),
        (("1.0", "2.", "-3.00"), (1, 2, -3)),
        (("1", "1.0"), ("1", "1.0")),
        (("1", "2.5"), ("1", "2.5")),
        (("1", "more"), ("1", "more")),
    ],
)
def test_integer_categories(levels, expected):
    assert as_integers(levels) == expected


def test_ranges_are_in_order():
    assert natural_order({"10-14", "5-9", "0-4", "none", "more than 9"}) == (
        "0-4",
        "5-9",
        "10-14",
        "more than 9",
        "none",
    )


@given(st.sets(st.text("0123456789-. ab٣", max_size=6)))
def test_natural_order_is_an_order(words):
    ordered = natural_order(words)
    assert sorted(ordered) == sorted(words)
    assert natural_order(set(ordered)) == ordered


word = st.text("abcxyz", min_size=1, max_size=3)
number = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(
    st.tuples(st.none() | number, st.none() | word, st.sampled_from([NO, YES])), min_size=1
)


@given(rows, st.sampled_from([",", ";", None]))
def test_round_trip(rows, delimiter):
    def write(value):
        return "?" if value is None else str(value)

    joint = delimiter or "  "
    text = "".join(joint.join(map(write, (0, *row))) + "\n" for row in rows)
    parsed = parse_text(replace(MIXED, delimiter=delimiter), text)
    X, levels = parsed.blocks[0].X, parsed.categories["colour"]
    assert [None if np.isnan(v) else v for v in X[:, 0]] == [row[0] for row in rows]
    assert [None if np.isnan(c) else levels[int(c)] for c in X[:, 1]] == [row[1] for row in rows]
    assert parsed.blocks[0].y.tolist() == [row[2] for row in rows]


class TestCheck:
    @pytest.fixture
    def parsed(self):
        return parse_text(MIXED, "1,1,red,no\n2,2,blue,yes\n")

    def test_right(self, parsed):
        check(made(MIXED), parsed)

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ((Part({NO: 2, YES: 1}),), "'made' must have rows 3, got 2"),
            ((Part({NO: 2}),), "must have class counts .*'no': 2.*got .*'yes': 1"),
            ((Part({NO: 1, YES: 1}, missing=1),), "must have missing cells 1, got 0"),
            ((Part(rows=2),), r"must have classes \[\], got"),
            ((Part({NO: 1}), Part({NO: 1})), "must have test class counts"),
            ((Part({NO: 1}), Part({YES: 2})), "must have rows 3, got 2"),
        ],
    )
    def test_wrong(self, parsed, parts, message):
        with pytest.raises(DataFileError, match=message):
            check(replace(made(MIXED), parts=parts), parsed)

    def test_one_file_is_cut_into_parts(self, parsed):
        check(replace(made(MIXED), parts=(Part({NO: 1}), Part({YES: 1}))), parsed)

    def test_number_of_files(self, parsed):
        parsed.blocks.append(parsed.blocks[0])
        with pytest.raises(DataFileError, match="must have parts 1, got 2"):
            check(made(MIXED), parsed)

    def test_columns(self, parsed):
        parsed.blocks[0].X = parsed.blocks[0].X[:, :1]
        with pytest.raises(DataFileError, match="must have columns 2, got 1"):
            check(made(MIXED), parsed)


def test_declared_columns_exist():
    for spec in SPECS.values():
        table = spec.format
        if isinstance(table, Table):
            assert len(set(table.columns)) == len(table.columns), spec.name
            mentioned = {table.label, *table.drop, *table.categorical, *table.levels}
            assert mentioned <= set(table.columns), spec.name
