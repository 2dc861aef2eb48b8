from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mddf.datasets import DataFileError
from mddf.datasets._io.parsed import check
from mddf.datasets._io.spec import File, Part, Spec, Table
from mddf.datasets._io.tables import natural_order, parse

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


def test_wrong_number_of_columns_names_file_and_line():
    with pytest.raises(DataFileError, match=r"file0, line 2: must have 4 columns, got 5"):
        parse_text(MIXED, "1,1,red,no\n2,1,red,blue,yes\n")


def test_zero_for_a_missing_value():
    table = replace(PLAIN, drop=("id", "colour"), zero_missing=("size",))
    X = parse_text(table, "1,0,x,no\n2,0.0,x,no\n0,3,x,yes\n").blocks[0].X
    np.testing.assert_array_equal(X, [[np.nan], [np.nan], [3]])


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
