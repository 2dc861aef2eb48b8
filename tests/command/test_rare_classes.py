"""Thresholds of rare classes and key columns, from the fit to predictions."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from command_line import run

pytest.importorskip("matplotlib", reason='needs "mddf[plots]"')
FIT = ["fit", "claims.csv", "--target", "claim", "--drop", "id", "--dates", "day", "--n-jobs", "1"]
DEEP = ["--set", "n_estimators=5", "members=['random', 'linear']"]


def write_claims(path, n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    is_fraud = X[:, 0] + 0.5 * rng.normal(size=n) > 1.8
    table = pd.DataFrame(
        {
            "id": [f"{number:05}" for number in rng.permutation(n)],
            "day": pd.date_range("2020-01-01", periods=n).date,
            "amount": X[:, 0].round(3),
            "age": X[:, 1].round(3),
            "claim": np.where(is_fraud, "fraud", "honest"),
        }
    )
    table.to_csv(path, index=False)
    return table


@pytest.fixture(scope="module")
def once_fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("claims")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        write_claims("claims.csv")
        run(*FIT, *DEEP, "--holdout", "0.2")
        run(*FIT, "--estimator", "random-forest", "--set", "n_estimators=20", "--out",
            "forest.mddf", "--positive", "honest")  # fmt: skip
    return path


@pytest.fixture
def folder(once_fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(once_fitted, tmp_path, dirs_exist_ok=True))
    return tmp_path


def test_all_charts_show_the_positive_class(folder):
    page = (folder / "forest.html").read_text()
    assert "ROC curve; the positive class is honest" in page
    assert re.search(
        r"Confusion matrix of the held-out rows at a threshold of \S+ for honest", page
    )
    assert "probability of honest" in re.sub(r"<!--|-->", "", page)


def test_the_report_shows_the_threshold(folder):
    page = (folder / "claims.html").read_text()
    for part in (
        "average precision", "F1 at the threshold", "Precision and recall of fraud",
        "Scores by class at this threshold", "out-of-fold predictions", "2020-01-01 to 2021-05-14",
    ):  # fmt: skip
        assert part in page
    page = (folder / "forest.html").read_text()
    assert "the held-out rows" in page
    assert "Precision and recall of honest" in page


def test_predictions_at_a_threshold(folder):
    table = pd.read_csv("claims.csv")
    run("predict", "claims.mddf", "claims.csv", "--out", "plain.csv", "--keep", "id", "day")
    run("predict", "claims.mddf", "claims.csv", "--threshold", "best", "--out", "best.csv")
    plain = pd.read_csv("plain.csv", dtype={"id": str})
    assert plain["id"].tolist() == [f"{number:05}" for number in table["id"]]
    assert plain["day"].tolist() == table["day"].tolist()
    threshold = re.search(r"threshold of\s+([\d.]+)", (folder / "claims.html").read_text())
    best = pd.read_csv("best.csv")
    expected = np.where(plain["p(fraud)"] >= float(threshold[1]), "fraud", "honest")
    assert np.mean(best["predicted claim"] == expected) > 0.99  # the page rounds the threshold
    run("predict", "claims.mddf", "claims.csv", "--threshold", 0.05, "--out", "low.csv")
    low = pd.read_csv("low.csv")
    assert np.array_equal(low["predicted claim"] == "fraud", plain["p(fraud)"] >= 0.05)
    run("predict", "claims.mddf", "claims.csv", "--threshold", 0.05, "--positive", "honest",
        "--out", "honest.csv")  # fmt: skip
    honest = pd.read_csv("honest.csv")
    assert np.array_equal(honest["predicted claim"] == "honest", plain["p(honest)"] >= 0.05)


def test_explanations_of_a_class_and_of_named_rows(folder):
    run("explain", "claims.mddf", "claims.csv", "--rows", 3, "--class", "fraud", "--out", "a.csv",
        "--key", "id", "--n-background", 10)  # fmt: skip
    why = pd.read_csv("a.csv", dtype={"id": str})
    run("predict", "claims.mddf", "claims.csv", "--out", "p.csv", "--keep", "id")
    predicted = pd.read_csv("p.csv", dtype={"id": str}).head(3)
    assert why["id"].tolist() == predicted["id"].tolist()
    assert np.allclose(why["explained"], predicted["p(fraud)"])
    key = predicted["id"][1]
    run("explain", "claims.mddf", "claims.csv", "--key", "id", "--select", key, "--n-background",
        10, "--class", "fraud")  # fmt: skip
    page = (folder / "explained.html").read_text()
    assert f"id {key}: claim = " in page
    assert "probability of fraud" in page
    assert "day.day_of_year = 2" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "claims.mddf", "claims.csv", "--threshold", "2"], "between 0 and 1"),
        (["predict", "claims.mddf", "claims.csv", "--positive", "fraud"], "give both"),
        (
            ["predict", "claims.mddf", "claims.csv", "--threshold", "0.2", "--positive", "frau"],
            r"--positive must be one of fraud, honest; got 'frau' \(did you mean 'fraud'\?\)",
        ),
        (
            ["predict", "claims.mddf", "claims.csv", "--threshold", "best", "--positive",
             "honest"],
            "--threshold best is about fraud, got --positive honest: fit with --positive honest",
        ),
        (["explain", "claims.mddf", "claims.csv", "--class", "x"], "--class must be one of"),
        (["explain", "claims.mddf", "claims.csv", "--key", "x"], "--key must be a column of"),
        (["explain", "claims.mddf", "claims.csv", "--select", "3"], "--select needs --key"),
        (
            ["explain", "claims.mddf", "claims.csv", "--key", "id", "--select", "x"],
            "--select must be values of 'id' in claims.csv, got 'x'",
        ),
        ([*FIT, "--positive", "x", "--out", "m.mddf"], "--positive must be one of fraud, honest"),
        (
            ["fit", "claims.csv", "--target", "age", "--positive", "x", "--out", "m.mddf"],
            "--positive needs a target of two classes, got regression",
        ),
    ],
)  # fmt: skip
def test_bad_options(folder, arguments, message, capsys):
    before = sorted(folder.iterdir())
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert re.search(message, str(ended.value) + capsys.readouterr().err)
    assert sorted(folder.iterdir()) == before


def test_drift_and_the_card(folder, capsys):
    run("drift", "claims.mddf", "claims.csv", "--fail")
    assert re.search(r"amount +0 +1 +stable", capsys.readouterr().out)
    table = pd.read_csv("claims.csv")
    table = table.assign(amount=table["amount"] + 3)
    table.loc[7, "amount"] = np.inf
    table.to_csv("later.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        run("drift", "claims.mddf", "later.csv", "--fail", "--out", "drift.csv")
    assert ended.value.code == 3
    drift = pd.read_csv("drift.csv")
    assert drift["column"][0] == "amount"
    assert drift["infinite"][0] == 1 / len(table)
    assert drift["verdict"].tolist() == ["drift"] + ["stable"] * (len(drift) - 1)
    run("drift", "claims.mddf", "later.csv", "--train", "later.csv", "--fail")
    capsys.readouterr()
    run("card", "claims.mddf", "--purpose", "An example.")
    text = capsys.readouterr().out
    for part in ("tabular-classification", "An example.", "500 rows of `claims.csv`",
                 "| average precision |", "F1 is best", "## Limitations",
                 "mddf predict claims.mddf", "n\\_estimators=5"):  # fmt: skip
        assert part in text
    run("card", "claims.mddf", "--methods")
    (text,) = capsys.readouterr().out.splitlines()
    for part in ("of 500 observations by the DeepForestClassifier", "n_estimators=5", "(layer 1, ",
                 "held-out rows", "average precision 0."):  # fmt: skip
        assert part in text
    run("card", "claims.mddf", "--out", "README.md")
    with pytest.raises(SystemExit, match="--overwrite"):
        run("card", "claims.mddf", "--out", "README.md")


def test_methods_tell_of_a_single_missing_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = write_claims("claims.csv", n=2500)
    table.loc[7, "age"] = np.nan
    table.to_csv("claims.csv", index=False)
    run(*FIT, "--estimator", "random-forest", "--set", "n_estimators=2")
    run("card", "claims.mddf", "--methods")
    assert "Values were missing in age 0.04 %, and" in capsys.readouterr().out
