"""``mddf fit --groups`` and ``--time``."""

import numpy as np
import pandas as pd
import pytest
from command_line import main

import mddf
from mddf import TimeOrder


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "person": [f"p{number // 4}" for number in range(n)],
            "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "x": rng.normal(size=n),
        }
    )
    frame["y"] = np.where(frame["x"] + rng.normal(size=n) > 0, "a", "b")
    path = tmp_path / "visits.csv"
    frame.sample(frac=1, random_state=1).to_csv(path, index=False)
    return path


SMALL = ["--set", "n_layers=1", "n_estimators=3", "members=['random']"]


def fit(path, *options, settings=SMALL):
    out = path.with_name("model.mddf")
    command = ["fit", str(path), "--target", "y", "--out", str(out), "--overwrite"]
    main([*command, "--n-jobs", "1", *settings, *options])
    return mddf.load(out)


def test_groups_are_held_out_together_and_are_no_feature(table):
    model = fit(table, "--groups", "person", "--dates", "day")
    assert "person" not in model.feature_names_in_
    assert model.n_without_oof_ == 0


@pytest.mark.parametrize("option", [["--groups", "person"], ["--time", "day", "--dates", "day"]])
def test_rows_without_a_label_are_left_out_on_demand(table, capsys, option):
    frame = pd.read_csv(table)
    frame.loc[[0, 7, 50], "y"] = None
    gaps = table.with_name("gaps.csv")
    frame.to_csv(gaps, index=False)
    with pytest.raises(SystemExit, match="3 missing in 'y', line 2 first: --drop-unlabelled"):
        fit(gaps, *option)
    model = fit(gaps, "--drop-unlabelled", *option)
    assert "3 of 120 rows have no label and are left out" in capsys.readouterr().out
    frame.dropna(subset="y").to_csv(table, index=False)
    other = fit(table, *option)
    assert mddf.fingerprint(model) == mddf.fingerprint(other)
    frame.loc[3, "x"] = np.nan
    frame["x"] = frame["x"].astype(str).where(np.arange(120) != 60, "many")
    frame.to_csv(gaps, index=False)
    with pytest.raises(SystemExit, match="line 62"):
        fit(gaps, "--drop-unlabelled", "--numbers", "x", *option)


@pytest.mark.parametrize("estimator", ["deep-forest", "gradient-boosting"])
def test_the_last_rows_are_held_out(table, capsys, estimator):
    settings = SMALL if estimator == "deep-forest" else ["--set", "max_iter=5"]
    options = ["--time", "day", "--dates", "day", "--gap", "3 days", "--drop", "person"]
    model = fit(table, *options, "--estimator", estimator, settings=settings)
    assert isinstance(model.cv, TimeOrder)
    expected = "TimeOrder(as_feature=False, gap='3.0 days', n_splits=5, time='day')"
    assert repr(model.cv) == expected
    assert model.feature_names_in_.tolist() == ["x"]
    later = table.with_name("later.csv")
    later.write_text("x\n0.5\n")
    main(["predict", str(table.with_name("model.mddf")), str(later)])
    assert "scores on 24 held-out rows, the last by " in capsys.readouterr().out
    if estimator == "deep-forest":
        assert model.n_without_oof_ == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "day"], "--time must be a column of numbers, or one of --dates"),
        (["--time", "dya"], "--time must be a column of .*got 'dya'"),
        (["--groups", "persons"], "--groups must be a column of .*did you mean 'person'"),
        (["--groups", "person", "--time", "x"], "cannot be used together"),
        (["--gap", "3"], "--gap needs --time"),
        (["--groups", "y"], "--groups must not be the target"),
        (["--time", "x", "--gap", "100"], "--gap must leave rows to train on"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*looks like dates")
def test_unsupported_inputs_are_refused(table, options, message):
    with pytest.raises(SystemExit, match=message):
        fit(table, *options)


def test_the_report_draws_groups(table, capsys):
    fit(table, "--groups", "person", "--dates", "day")
    assert "scores on 120 held-out rows of a 5-fold cross-validation" in capsys.readouterr().out
    page = table.with_name("model.html").read_text()
    assert "draws of the 30 groups of &#39;person&#39;" in page
    fit(table, "--groups", "person", "--dates", "day", "--holdout", "0.2")
    assert "scores on 24 held-out rows:" in capsys.readouterr().out


@pytest.mark.parametrize("shift", [0.0, 0.001])
def test_copies_are_held_out_together(tmp_path, capsys, shift):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    rows["y"] = rng.choice(["no", "yes"], 300)
    path = tmp_path / "copies.csv"
    pd.concat([rows, rows.assign(a=rows["a"] + shift)]).to_csv(path, index=False)
    fit(path)
    output = capsys.readouterr()
    assert "300 of 600 rows equal an earlier row" in output.err
    accuracy = float(output.out.split("balanced accuracy ")[1].split(",")[0])
    assert accuracy < 0.6


def test_checks_know_the_groups(tmp_path, capsys):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame({"person": person, "x": rng.normal(size=240)})
    frame["birth"] = rng.normal(size=40)[person]
    frame["y"] = np.where((rng.random(40) < 0.5)[person], "a", "b")
    path = tmp_path / "visits.csv"
    frame.to_csv(path, index=False)
    fit(path, "--drop", "person")
    assert "warning: birth dominates all other columns" in capsys.readouterr().err
    fit(path, "--groups", "person")
    assert "finding" not in capsys.readouterr().out


def test_a_perfect_score_gets_a_remark(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["x", "z"])
    # Neither column tells the class by itself.
    frame["y"] = np.where((frame["x"] > 0) == (frame["z"] > 0), "a", "b")
    frame[["x", "z"]] += 3 * np.sign(frame[["x", "z"]])
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    fit(path, "--estimator", "random-forest", settings=["--set", "n_estimators=20"])
    message = "(scores) are nearly perfect: accuracy 1 on 60 held-out rows"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("n_cases", "n_held_out"), [(49, 400), (50, 80)])
@pytest.mark.parametrize("by_group", [False, True])
def test_few_cases_of_the_rarer_class_are_all_scored(
    by_group, n_cases, n_held_out, tmp_path, capsys
):
    rows = pd.DataFrame({"x": np.arange(400.0), "patient": np.arange(400)})
    rows["y"] = np.where(np.arange(400) < n_cases, "ill", "well")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    groups = ["--groups", "patient"] if by_group else ["--drop", "patient"]
    small = ["--estimator", "random-forest", "--set", "n_estimators=2"]
    fit(tmp_path / "rows.csv", *groups, settings=small)
    assert f"scores on {n_held_out} held-out rows" in capsys.readouterr().out
