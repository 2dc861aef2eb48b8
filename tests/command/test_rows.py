"""Tables from files for fits and predictions."""

import numpy as np
import pandas as pd
import pytest

from mddf._command import rows
from mddf._command.rows import Format, read_features, read_test


def csv(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def training(path, drop=(), *, target="kind", task="classification", warn=False, **form):
    return rows.read_training(path, target, drop, task=task, warn=warn, form=Format(**form))


@pytest.fixture
def write(tmp_path):
    def write(*lines, name="t.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def test_tables(tmp_path):
    path = csv(tmp_path / "t.csv", id=[1, 2], size=[1, 2], code=["1", "a"], kind=["1", "x"])
    table = training(path, ["id"])
    assert list(table.X) == ["size", "code"]
    assert str(table.X["code"].dtype) == "category"
    assert table.y.tolist() == ["1", "x"]
    test = csv(tmp_path / "test.csv", id=[3, 4], size=[3, None], code=["1", None], kind=[1, 1])
    X_test, y_test = read_test(test, table.schema, np.unique(table.y))
    assert X_test["code"].isna().tolist() == [False, True]
    assert X_test["code"].dropna().tolist() == ["1"]
    assert y_test.tolist() == ["1", "1"]
    table = training(csv(path, size=[1, 2], kind=[0, 1]))
    later = csv(path, size=[3, 4], kind=[1.0, 0.0])
    y_test = read_test(later, table.schema, np.unique(table.y))[1]
    assert (y_test.tolist(), y_test.dtype) == ([1, 0], table.y.dtype)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, {}, "t.csv cannot be read as a table"),
        ("size;kind\n1;a\n", {}, "at least 2 rows"),
        (
            "size;kind\n1;a\n",
            {"sep": ","},
            "t.csv must have ',' between columns, got 'size;kind': use --sep ';'",
        ),
        ("size,kind\n1,a\n2,a\n", {}, "labels of .* must be of two classes .* got 'a' only"),
        ("size,kind\n1,0.5\n2,1\n", {}, "column 'kind' of .* must hold classes, got numbers"),
        ("size,kind\n1,b\n2,a\n", {"drop": ["kind"]}, "--drop must be .*: size; got 'kind'"),
        ("kind\na\nb\n", {}, "at least 2 rows, and a column of features"),
        (",size,kind\n0,1,a\n1,2,b\n", {}, "must have names, got Unnamed: 0; .*index=False"),
        ("size,kind\n1,\n2,a\n", {}, "labels of .* must be complete"),
        ("size,kind\n", {}, "t.csv must have rows, got none"),
        ("size,kind", {}, "t.csv must have rows, got none"),
        ("size,sort\n1,b\n2,a\n", {}, "--target must be a column of .*: size, sort; got 'kind'"),
        (
            "size,kind\n1,b\n2,a\n",
            {"drop": ["id"]},
            "--drop must be a column of features .*; got 'id'",
        ),
        ("size,kind\n1,b\n2,a\n", {"task": "regression"}, "line 2: .* 'kind' must hold numbers"),
        (
            "size,kind\n1,2\n2,3\n",
            {"task": "regression", "text": ("kind",)},
            "--text 'kind' cannot be used with --task regression",
        ),
        ("size,kind\n1,1\n2,inf\n", {"task": "regression"}, "line 3: column 'kind' .* finite"),
    ],
)
def test_tables_that_do_not_do(tmp_path, content, arguments, message):
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=message) as caught:
        training(path, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv.zip", "t.csv.gz", "t.csv.xz", "t.csv.bz2", "t.csv"])
def test_broken_files_are_refused_in_a_line(tmp_path, name):
    path = csv(tmp_path / name, a=range(1000), kind=1)
    path.write_bytes(path.read_bytes()[:60] + b"\xff\x00\xfe")
    with pytest.raises(SystemExit, match=rf"{name} cannot be read as a table: .+") as caught:
        training(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"size": [1, "?"], "kind": [0, 1]},
            r"table.csv, line 3: column 'size' must hold numbers, got '\?'",
        ),
        ({"kind": [0, 1]}, r"must have a column 'size', as in training; got \['kind'\]"),
        (
            {"size": [1, 2], "kind": [0, 7]},
            "labels of .* must also be in training; got 7, line 3 first",
        ),
        ({"size": [1, 2], "kind": [0, None]}, "must be complete, .*'kind', line 3 first"),
        ({"size": [1, 2], "kind": [0, "x"]}, "line 3: column 'kind' must hold numbers, got 'x'"),
    ],
)
def test_test_tables_that_do_not_fit(tmp_path, columns, message):
    path = tmp_path / "table.csv"
    table = training(csv(path, size=[1, 2], kind=[0, 1]))
    with pytest.raises(SystemExit, match=message):
        read_test(csv(path, **columns), table.schema, np.unique(table.y))


def test_several_spellings(tmp_path):
    words = {"kind": ["a", "b", "A ", "b"], "city": ["oslo", "\trome", "rome", "rome"]}
    path = csv(tmp_path / "t.csv", size=[1, 2, 3, 4], **words)
    with pytest.warns(UserWarning, match="differ only by blanks and upper case") as caught:
        table = training(path, warn=True)
    messages = [str(w.message).partition("t.csv: ")[2].partition(": these")[0] for w in caught]
    assert messages == [
        "column 'city' has '\\trome' and 'rome'",
        "column 'kind' has 'A ' and 'a'",
    ]
    assert table.y.tolist() == words["kind"]  # they stay as they are
    assert table.X["city"].tolist() == words["city"]
    clean = csv(tmp_path / "c.csv", size=[1, 2], kind=[" a", "b"], city=["a b", "ab"])
    training(clean, warn=True)


def test_ambiguous_text(tmp_path):
    n = 30
    columns = {
        "id": [f"K{i}" for i in range(n)],
        "day": [f"{1 + i}.5.2024" for i in range(n)],
        "city": ["oslo", "rome"] * (n // 2),
        "kind": [f"{i}.000,5" for i in range(n)],
    }
    path = csv(tmp_path / "t.csv", **columns)
    with pytest.warns(UserWarning, match="is text and taken as categories") as caught:
        training(path, warn=True)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 3
    assert "'id' is text and taken as categories, but has 30 different values in 30" in messages[0]
    assert "'day' is text and taken as categories, but looks like dates: --dates" in messages[1]
    assert "'kind' is text and taken as categories, but 30 of its 30" in messages[2]
    path_of_shares = csv(
        tmp_path / "shares.csv", share=[f"{i}.5%" for i in range(n)], kind=columns["city"]
    )
    with pytest.warns(UserWarning, match=r"has '0.5%'.* take the percent signs out of the file"):
        training(path_of_shares, warn=True)
    # There is no warning if the user sets the type.
    training(path, text=("id", "kind"), dates=("day",), warn=True)


def test_codes_that_begin_with_zero(write):
    lines = ["1;01003;0;0.5;07;a", "2;11003;1;0;8;b", "3;00017;0;00.5;9;a"]
    path = write("id;zip;flag;share;month;kind", *lines)
    with pytest.warns(UserWarning, match="looks like a code") as caught:
        training(path, warn=True)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "column 'zip' is taken as numbers, but line 2 has '01003'" in messages[0]
    assert "column 'month'" in messages[1]
    with pytest.warns(UserWarning, match="column 'month'"):
        training(path, ["zip"], warn=True)
    X = training(path, text=("zip",), numbers=("month",), warn=True).X  # no warning
    assert X["zip"].tolist() == ["01003", "11003", "00017"]


@pytest.mark.parametrize(
    ("cell", "options", "number"),
    [
        ("?", {"missing": ("?",)}, np.nan),
        ('"1,234"', None, None),
        ("3%", None, None),
        ("n. d.", {"missing": ("n. d.",)}, np.nan),
    ],
)
def test_text_that_looks_like_numbers(write, cell, options, number):
    lines = [f"{i},{'ab'[i % 2]}" for i in range(600)]
    lines[30] = f"{cell},a"
    path = write("size,kind", *lines)
    plain = cell.strip('"')
    numbers = "599 of its 600" if number is not None else "600 of its 600"
    with pytest.warns(UserWarning, match=rf"column 'size' is text .* {numbers}") as caught:
        assert training(path, warn=True).X["size"].dtype == "category"
    assert f"line 32 has {plain!r}" in str(caught[0].message)
    assert training(path, warn=True, text=("size",)).X["size"].dtype == "category"
    with pytest.raises(SystemExit, match=r"t.csv, line 32: column 'size' must hold numbers, got"):
        training(path, numbers=("size",))
    if options:
        X = training(path, warn=True, numbers=("size",), **options).X
        assert np.isnan(X["size"][30])
        assert X["size"].dtype == float


def test_names_with_blanks_are_quoted_in_errors(write):
    path = write("size, kind", "1,a", "2,b")
    with pytest.raises(SystemExit, match=r"size, ' kind'; got 'kind' \(did you mean ' kind'\?\)"):
        training(path)
    schema = training(write("sise ,kind", "1,a", "2,b")).schema
    with pytest.raises(SystemExit, match=r"must have a column 'sise ', .*did you mean 'size'\?"):
        read_features(write("size,kind", "1,a", "2,b"), schema)
    with pytest.raises(SystemExit, match=r"--text, --numbers and --dates .*; got 'width'"):
        training(write("size,kind", "1,a", "2,b"), text=("width",))


def test_row_labels_of_pandas_are_no_features(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"id": ["x", "y"], "size": [1, 2], "kind": ["a", "b"]}).set_index("id")
    frame.to_parquet(path)
    table = training(path)
    assert list(table.X) == ["size"]
    _, source = read_features(path, table.schema, ["id"])  # but --keep finds them
    assert source.cells["id"].to_pylist() == ["x", "y"]
    frame.reset_index(drop=True)[::-1].to_parquet(path)
    assert list(training(path).X) == ["size"]
