"""Tables of files for fits and predictions."""

import numpy as np
import pandas as pd
import pytest

from mddf._command.csvs import Format
from mddf._command.rows import kinds, read_rows, read_training, task_of


def csv(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_tables(tmp_path):
    path = csv(tmp_path / "t.csv", id=[1, 2], size=[1, 2], code=["1", "a"], kind=["1", "x"])
    X, y = read_training(path, "kind", ["id"])
    assert list(X) == ["size", "code"]
    assert str(X["code"].dtype) == "category"
    assert y.tolist() == ["1", "x"]
    test = csv(tmp_path / "test.csv", id=[3, 4], size=[3, None], code=["1", None], kind=[1, 1])
    X_test, y_test = read_rows(test, kinds(X, "kind"), y)
    assert X_test["code"].isna().tolist() == [False, True]
    assert X_test["code"].dropna().tolist() == ["1"]
    assert y_test.tolist() == ["1", "1"]
    X, y = read_training(csv(path, size=[1, 2], kind=[0, 1]), "kind")
    y_test = read_rows(csv(path, size=[3, 4], kind=[1.0, 0.0]), kinds(X, "kind"), y)[1]
    assert (y_test.tolist(), y_test.dtype) == ([1, 0], y.dtype)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, {}, "t.csv cannot be read as a table"),
        (
            "size;kind\n1;a\n",
            {},
            "t.csv must have ',' between columns, got 'size;kind': say --sep ';'",
        ),
        ("size,kind\n1,a\n2,a\n", {}, "labels of .* must be of two classes .* got 'a' alone"),
        ("size,kind\n1,0.5\n2,1\n", {}, "column 'kind' of .* must hold classes, got numbers"),
        ("size,kind\n1,b\n2,a\n", {"drop": ["kind"]}, "--drop must be .*: size; got 'kind'"),
        ("kind\na\nb\n", {}, "at least 2 rows, and a column of features"),
        (",size,kind\n0,1,a\n1,2,b\n", {}, "must have names, got Unnamed: 0; .*index=False"),
        ("size,kind\n1,\n2,a\n", {}, "labels of .* must be complete"),
        ("size,kind\n", {}, "t.csv must have rows, got none"),
        ("size,sort\n1,b\n2,a\n", {}, "--target must be a column of .*: size, sort; got 'kind'"),
        (
            "size,kind\n1,b\n2,a\n",
            {"drop": ["id"]},
            "--drop must be a column of features .*; got 'id'",
        ),
        ("size,kind\n1,b\n2,a\n", {"task": "regression"}, "'kind' .* must hold numbers for --t"),
    ],
)
def test_tables_that_do_not_do(tmp_path, content, arguments, message):
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=message) as caught:
        read_training(path, "kind", **arguments)
    assert "\n" not in str(caught.value)


def test_true_and_false_with_gaps_are_words(tmp_path):
    path = csv(tmp_path / "t.csv", a=[True, None, False], b=[True, False, True], kind=[1, 0, 1])
    X, _ = read_training(path, "kind")
    assert X["a"].cat.categories.tolist() == ["False", "True"]
    assert X["a"].isna().tolist() == [False, True, False]
    again, _ = read_rows(path, kinds(X, "kind"))
    pd.testing.assert_frame_equal(again, X)


@pytest.mark.parametrize("name", ["t.csv.zip", "t.csv.gz", "t.csv.xz", "t.csv.bz2", "t.csv"])
def test_broken_files_are_refused_in_a_line(tmp_path, name):
    path = csv(tmp_path / name, a=range(1000), kind=1)
    path.write_bytes(path.read_bytes()[:60] + b"\xff\x00\xfe")
    with pytest.raises(SystemExit, match=rf"{name} cannot be read as a table: .+") as caught:
        read_training(path, "kind")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"size": [1, "?"], "kind": [0, 1]},
            r"table.csv, line 3: column 'size' must hold numbers, got '\?'",
        ),
        ({"kind": [0, 1]}, "must have a column 'size', as in training; got kind"),
        (
            {"size": [1, 2], "kind": [0, 7]},
            "labels of .* must be in training too; got 7, line 3 first",
        ),
    ],
)
def test_test_tables_that_do_not_fit(tmp_path, columns, message):
    path = tmp_path / "table.csv"
    X, y = read_training(csv(path, size=[1, 2], kind=[0, 1]), "kind")
    with pytest.raises(SystemExit, match=message):
        read_rows(csv(path, **columns), kinds(X, "kind"), y)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([1.0, None, 2.0], "classification"),
        ([0.5, 1], "regression"),
        (range(21), "regression"),
    ],
)
def test_tasks(y, task):
    assert task_of(pd.Series(y)) == task


def test_dates_become_numbers(tmp_path):
    form = Format(dates=("day",))
    path = csv(tmp_path / "t.csv", day=["1970-01-02 06:00", None], a=[1, 2], kind=["x", "y"])
    X, _ = read_training(path, "kind", form=form)
    assert list(X) == ["day.days", "day.month", "day.weekday", "day.hour", "a"]
    assert X.iloc[0].tolist() == [1.25, 1, 4, 6, 1]  # a Friday
    assert X.iloc[1, :4].isna().all()
    again, _ = read_rows(path, kinds(X, "kind", ["day"]))
    pd.testing.assert_frame_equal(again, X)
    with pytest.raises(SystemExit, match=r"t.csv, line 3: column 'day' must hold dates, got 'x'"):
        read_training(csv(path, day=["2020-01-01", "x"], a=[1, 2], kind=[0, 1]), "kind", form=form)
    with pytest.raises(SystemExit, match=r"must have a column 'day', as in training; got a"):
        read_rows(csv(path, a=[1, 2]), kinds(X, "kind", ["day"]))


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    table = pd.DataFrame({"size": [1, None, 3], "code": ["1", None, "?"], "kind": ["a", "b", "a"]})
    table.to_parquet(path)
    X, y = read_training(path, "kind", form=Format(missing=("?",)))
    assert X["size"].isna().tolist() == [False, True, False]
    assert X["code"].cat.categories.tolist() == ["1"]
    assert y.tolist() == ["a", "b", "a"]
    pd.testing.assert_frame_equal(read_rows(path, kinds(X), form=Format(missing=("?",)))[0], X)
    path.write_bytes(b"PAR1")
    with pytest.raises(SystemExit, match=r"t\.parquet cannot be read as a table"):
        read_training(path, "kind")


def test_words_that_differ_by_blanks_are_shown_with_their_line(tmp_path):
    words = {"kind": ["a", "b", "a ", "b"], "city": ["oslo", "\trome", "rome", "rome"]}
    path = csv(tmp_path / "t.csv", size=[1, 2, 3, 4], **words)
    with pytest.warns(UserWarning, match="besides") as found:
        X, y = read_training(path, "kind", warn=True)
    shown = [str(one.message).partition("t.csv, ")[2].partition(", which")[0] for one in found]
    assert shown == [
        "line 4: column 'kind' has 'a ' besides 'a'",
        "line 3: column 'city' has '\\trome' besides 'rome'",
    ]
    assert y.tolist() == words["kind"]  # they stay as they are
    assert X["city"].tolist() == words["city"]
    read_training(path, "kind", ["city"])  # not asked for: no warning
    clean = csv(tmp_path / "c.csv", size=[1, 2], kind=[" a", "b"], city=["a b", "ab"])
    read_training(clean, "kind", warn=True)


def test_true_and_false_of_training_may_have_gaps_later(tmp_path):
    X, _ = read_training(csv(tmp_path / "t.csv", a=[True, False, True], kind=[1, 0, 1]), "kind")
    later, _ = read_rows(csv(tmp_path / "l.csv", a=[True, None, False]), kinds(X, "kind"))
    np.testing.assert_array_equal(later["a"], [1, np.nan, 0])
    with pytest.raises(SystemExit, match=r"line 2: column 'a' must hold numbers, got 'yes'"):
        read_rows(csv(tmp_path / "l.csv", a=["yes", None]), kinds(X, "kind"))


@pytest.mark.parametrize(
    ("cells", "day_first", "dates"),
    [
        (["2024-03-04", "20240304"], False, ["2024-03-04"] * 2),
        ([2023, 2024], False, ["2023-01-01", "2024-01-01"]),  # years, not nanoseconds
        (["3.4.2024", "13.4.2024"], False, ["2024-04-03", "2024-04-13"]),
        (["3/4/2024", "4/13/24"], False, ["2024-03-04", "2024-04-13"]),
        (["3/4/2024", "13-4-24"], True, ["2024-04-03", "2024-04-13"]),
        (["3/4/2024 18:30", "4/13/1999"], False, ["2024-03-04 18:30", "1999-04-13"]),
        (["3/4/2024", "13/4/2024"], False, "line 3.*, the month first, got '13/4/2024': say --d"),
        (["3/4/2024", "4/13/2024"], True, "line 3.* dates, got '4/13/2024': leave out --day-fir"),
        (["3/4/2024", "31/31/2024"], True, "line 3.* must hold dates, got '31/31/2024'$"),
    ],
)
def test_days_and_months(tmp_path, cells, day_first, dates):
    path = csv(tmp_path / "t.csv", day=cells, kind=[1, 0])
    form = Format(dates=("day",), day_first=day_first, thousands="")
    if isinstance(dates, str):
        with pytest.raises(SystemExit, match=dates):
            read_training(path, "kind", form=form)
        return
    X, _ = read_training(path, "kind", form=form)
    days = (pd.to_datetime(dates, format="mixed") - pd.Timestamp(0)) / pd.Timedelta(days=1)
    assert X["day.days"].tolist() == days.tolist()


def test_text_that_may_be_meant_otherwise(tmp_path):
    n = 30
    columns = {
        "id": [f"K{i}" for i in range(n)],
        "day": [f"{1 + i}.5.2024" for i in range(n)],
        "city": ["oslo", "rome"] * (n // 2),
        "kind": [f"{i}.000,5" for i in range(n)],
    }
    path = csv(tmp_path / "t.csv", **columns)
    with pytest.warns(UserWarning, match="is text and taken as categories") as found:
        read_training(path, "kind", warn=True)
    shown = [str(one.message) for one in found]
    assert len(shown) == 3
    assert "'id' is text and taken as categories, but has 30 different values in 30" in shown[0]
    assert "'day' is text and taken as categories, but looks like dates: --dates" in shown[1]
    assert "'kind' is text and taken as categories, but 30 of its 30" in shown[2]
    path_of_shares = csv(
        tmp_path / "shares.csv", share=[f"{i}.5%" for i in range(n)], kind=columns["city"]
    )
    with pytest.warns(UserWarning, match=r"has '0.5%'.* take the percent signs out of the file"):
        read_training(path_of_shares, "kind", warn=True)
    form = Format(text=("id", "kind"), dates=("day",))
    read_training(path, "kind", form=form, warn=True)  # said to be so: no warning
