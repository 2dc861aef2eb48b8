"""The commands as a user runs them."""

import io
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import run
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestRegressor

import mddf
from mddf import (
    DeepForestClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    __version__,
)

pytest.importorskip("matplotlib", reason='needs "mddf[plots]"')
QUICK = ["--set", "n_estimators=5", "members=['random', 'linear']", "--n-jobs", "1"]
FIT = ["fit", "wine.csv", "--target", "kind", "--drop", "day"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a table of each kind."""
    monkeypatch.chdir(tmp_path)
    write_tables()
    return tmp_path


def write_tables():
    rng = np.random.default_rng(0)
    kinds = load_wine(as_frame=True).frame.iloc[:, [0, 1, 2, 6, -1]]
    kinds = kinds.rename(columns={"target": "kind"}).sample(frac=1, random_state=0)
    kinds["kind"] = np.array(["red", "rosé", "white"])[kinds["kind"]]
    kinds["colour"] = np.where(kinds["kind"] == "red", "dark", "<light>")
    kinds.loc[rng.random(len(kinds)) < 0.1, "ash"] = None
    kinds["day"] = pd.date_range("2020-01-01", periods=len(kinds)).strftime("%Y-%m-%d")
    kinds.to_csv("wine.csv", index=False)
    numbers = load_diabetes(as_frame=True).frame[["age", "bmi", "s5", "target"]][:150]
    numbers.to_csv("diabetes.csv", index=False)


@pytest.fixture(scope="module")
def once_fitted(tmp_path_factory):
    """A folder in which `mddf fit` ran on the classification table."""
    path = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        write_tables()
        run(*FIT, *QUICK)
    return path


@pytest.fixture
def fitted_folder(once_fitted, tmp_path, monkeypatch):
    """A copy of the fitted folder."""
    monkeypatch.chdir(shutil.copytree(once_fitted, tmp_path, dirs_exist_ok=True))
    return tmp_path


def test_versions(tmp_path):
    command = [sys.executable, "-m", "mddf", "versions"]
    environment = {**os.environ, "MDDF_WIDE_VECTORS": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    output = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert output["mddf"] == __version__
    assert output["numpy"] == np.__version__
    assert output["kernel wide vectors in use"] == "False"
    assert "thread pools" in output
    assert not done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--help"], 0, "predict the rows of a table"),
        (["--version"], 0, __version__),
        (["fit", "--help"], 0, "A fifth of the rows is held out"),
        ([], 0, "predict the rows of a table"),
        (["foo"], 2, "invalid choice"),
        (["fit", "a.csv", "--target", "y", "--holdout", "2"], 2, "must lie between 0 and 1"),
        (["fit", "a.csv", "--target", "y", "--holdout", "x"], 2, "0 and 1, got 'x'"),
        (["predict", "m", "a.csv", "--threshold", "hi"], 2, "'best', or must lie"),
        (["predict", "m", "a.csv", "--interval", "90%"], 2, "0 and 1, got '90%'"),
        (["fit", "a.csv", "--target", "y", "--taget", "z"], 2, "usage: mddf fit"),
        (["fit", "a.csv", "--target", "y", "--taget", "z"], 2, "did you mean '--target'"),
        (["fit", "a.csv", "--target", "y", "--time-limit=9"], 2, "by --set time_limit=9"),
        (["fit", "a.csv", "--target", "y", "--set", "n"], 2, "must be parameter=value, got 'n'"),
        (["fit", "a.csv", "--target", "y", "--seed", "-1"], 2, "whole number from 0 to 42949"),
        (["fit", "a.csv", "--target", "y", "--encoding", "klingon"], 2, "argument --encoding"),
        (["fit", "a.csv", "--target", "y", "--sep", "ab"], 2, "argument --sep"),
    ],
)
def test_help_and_usage(arguments, code, expected, capsys):
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == code
    assert expected in "".join(capsys.readouterr())


def test_classes_from_the_fit_to_an_explanation(folder, capsys):
    run("fit", "wine.csv", "--target", "kind", "--dates", "day", *QUICK)
    output = capsys.readouterr().out
    assert "classification of 'kind': 178 rows, 6 features" in output
    assert re.search(r"178 held-out rows of a 5-fold cross-validation: accuracy 0\.\d+", output)
    assert sorted(path.name for path in folder.iterdir()) == [
        "diabetes.csv", "wine.csv", "wine.html", "wine.mddf",
    ]  # fmt: skip
    page = (folder / "wine.html").read_text()
    for part in ("95 % interval", ">date<", "&lt;light&gt;", "Confusion matrix", "rosé",
                 "Layers: 1", "n_estimators=5", f"mddf {__version__}"):  # fmt: skip
        assert part in page
    assert not re.search(r'(src|href)="(?!#|data:)', page)  # nothing is fetched
    run("predict", "wine.mddf", "wine.csv", "--keep", "day", "--out", "found.csv")
    result = pd.read_csv("found.csv")
    assert list(result) == ["day", "predicted kind", "p(red)", "p(rosé)", "p(white)"]
    table = pd.read_csv("wine.csv")
    assert (result["predicted kind"] == table["kind"]).mean() > 0.9
    assert np.allclose(result.filter(like="p(").sum(axis=1), 1)
    run("predict", "wine.mddf", "wine.csv", "--columns", "Id=day", "Red=prob:red", "prediction",
        "--out", "submission.csv")  # fmt: skip
    submission = pd.read_csv("submission.csv")
    assert list(submission) == ["Id", "Red", "prediction"]
    np.testing.assert_array_equal(submission["Red"], result["p(red)"])
    assert (submission["Id"] == table["day"]).all()
    run("explain", "wine.mddf", "wine.csv", "--rows", 2, "--n-background", 20, "--out", "why.csv")
    why = pd.read_csv("why.csv")
    parts = why.drop(columns=["predicted", "explained", "base"])
    assert np.allclose(why["base"] + parts.sum(axis=1), why["explained"])
    assert np.allclose(why["explained"], result.filter(like="p(").max(axis=1)[:2])


def test_comparison(folder, capsys, monkeypatch):
    for library in ("lightgbm", "catboost"):  # as if they were not installed
        monkeypatch.setitem(sys.modules, library, None)
    pd.read_csv("wine.csv").assign(note=None).to_csv("wine.csv", index=False)  # no cells
    run("bench", "wine.csv", "--target", "kind", "--drop", "day", "--folds", 2, "--n-jobs", 1,
        "--set", *QUICK[1:3], "--out", "folds.csv")  # fmt: skip
    output = capsys.readouterr().out
    assert "mean ± deviation over 2 folds, seed 0" in output
    result = pd.read_csv("folds.csv")
    assert result.groupby("model").size().tolist() == [2] * 6
    assert result["fold"].tolist() == [0] * 6 + [1] * 6
    assert "fold " not in output.splitlines()[1]
    assert result["accuracy"].min() > 0.6
    for name in result["model"]:
        assert name in output
    run("bench", "diabetes.csv", "--target", "target", "--folds", 2, "--n-jobs", 1, "--models",
        "mddf random-forest", "Scikit-Learn linear")  # fmt: skip
    output = capsys.readouterr().out
    assert "RMSE" in output
    assert len(output.splitlines()) == 5


def test_an_interrupted_comparison_shows_whole_folds(folder, capsys, monkeypatch):
    model = RandomForestRegressor
    fits = []

    def fit(self, X, y):
        fits.append(len(X))
        if len(fits) == 3:
            raise KeyboardInterrupt
        return original(self, X, y)

    original = model.fit
    monkeypatch.setattr(model, "fit", fit)
    words = ["bench", "diabetes.csv", "--target", "target", "--n-jobs", 1, "--out", "folds.csv",
             "--overwrite", "--models", "scikit-learn linear", "scikit-learn forest"]  # fmt: skip
    with pytest.raises(SystemExit, match="130"):
        run(*words)
    printed = capsys.readouterr()
    assert "deviation over 2 folds" in printed.out
    assert "interrupted after 2 of 5 folds" in printed.err
    assert pd.read_csv("folds.csv")["fold"].tolist() == [0, 0, 1, 1]
    fits[:] = [0]
    with pytest.raises(SystemExit, match="130"):
        run(*words)
    output = capsys.readouterr().out
    assert "scores of 1 fold, seed 0" in output
    assert "nan" not in output


def test_comparison_of_groups_and_of_times(folder, capsys):
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(30), 5)
    table = pd.DataFrame(rng.normal(size=(30, 3))[subject], columns=["a", "b<", "c"])
    table["kind"] = np.where(rng.random(150) < 0.5, "u", None)
    table["outcome"] = np.where(rng.integers(0, 2, 30)[subject], "bad", "good")
    table.assign(subject=subject, day=np.arange(150.0)).to_csv("visits.csv", index=False)
    start = ["bench", "visits.csv", "--target", "outcome", "--n-jobs", 1, "--set", *QUICK[1:3],
             "--out", "folds.csv", "--overwrite"]  # fmt: skip
    run(*start, "--drop", "day", "subject", "--folds", 2)
    alike = pd.read_csv("folds.csv")
    run(*start, "--drop", "day", "--folds", 2, "--groups", "subject")
    assert "over 2 folds of groups of 'subject'" in capsys.readouterr().out
    whole = pd.read_csv("folds.csv")
    # Features identify subjects, whose outcomes are drawn by lot.
    assert whole.groupby("model").size().tolist() == [2] * 8
    for name in ("scikit-learn forest", "mddf random-forest"):
        assert (alike["accuracy"][alike["model"] == name] > 0.8).all()
        assert (whole["accuracy"][whole["model"] == name] < 0.75).all()
    run(*start, "--drop", "subject", "--folds", 2, "--time", "day")
    assert "over 2 folds in the order of 'day'" in capsys.readouterr().out
    # Folds from --set stay, here of rows that may lie before their training rows.
    with pytest.raises(SystemExit, match="cv"):
        run(*start[:-3], "cv=none", "--drop", "subject", "--folds", 2, "--time", "day")


def test_numbers_with_a_test_table_and_parquet(folder, capsys):
    table = pd.read_csv("diabetes.csv")
    table[100:].to_parquet("later.parquet")
    table[:100].to_csv("first.csv", index=False, sep=";", decimal=",")
    run(
        "fit", "first.csv", "--target", "target", "--test", "later.parquet", "--out", "m.mddf",
        "--report", "m.html", "--sep", ";", "--decimal", ",", *QUICK,
    )  # fmt: skip
    assert "scores on 50 held-out rows: RMSE" in capsys.readouterr().out
    assert "Targets and predictions" in (folder / "m.html").read_text()
    model = mddf.load("m.mddf")
    run("predict", "m.mddf", "later.parquet", "--interval", 0.8, "--out", "p.parquet")
    result = pd.read_parquet("p.parquet")
    assert np.array_equal(
        result["predicted target"], model.predict(table[["age", "bmi", "s5"]][100:])
    )
    assert np.all(result["low"] < result["high"])
    run("explain", "m.mddf", "later.parquet", "--rows", 1, "--background", "first.csv")
    assert "adds to the prediction" in (folder / "explained.html").read_text()


def test_other_estimators(folder, capsys):
    run(
        "fit", "diabetes.csv", "--target", "target", "--estimator", "gradient-boosting", "--set",
        "max_iter=10", "--out", "g.mddf",
    )  # fmt: skip
    capsys.readouterr()
    model = mddf.load("g.mddf")
    assert isinstance(model, GradientBoostingRegressor)
    assert model.max_iter == 10
    run("predict", "g.mddf", "diabetes.csv")
    output = capsys.readouterr().out.splitlines()
    assert output[0] == "predicted target"
    assert len(output) == 151
    with pytest.raises(SystemExit, match="GradientBoostingRegressor gives no intervals"):
        run("predict", "g.mddf", "diabetes.csv", "--interval", 0.9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fit", "wine.csv", "--target", "kin"],
            r"must be .* got 'kin' \(did you mean 'kind'\?\)",
        ),
        (["fit", "no.csv", "--target", "kind"], "an existing file or folder, got no.csv"),
        (["fit", ".", "--target", "kind"], r"\. cannot be read as a table: .*parquet"),
        (["check", "no.csv", "--target", "kind"], "no.csv cannot be read as a table: no such"),
        (
            ["fit", "wine.csv", "--target", "kind", "--out", "m.pkl"],
            "must end in .mddf",
        ),
        (["fit", "wine.csv", "--target", "kind", "--out", "no/m.mddf"], "in an existing folder"),
        (["fit", "wine.csv", "--target", "kind", "--report", "wine.csv"], "must end in .html"),
        (["fit", "wine.csv", "--target", "kind", "--set", "n_layer=1"], "did you mean 'n_layers'"),
        (["fit", "wine.csv", "--target", "kind", "--set", "trees=9"], r"n_layers, .* got 'trees'"),
        (["fit", "wine.csv", "--target", "kind", "--set", "n_layers=-1"], "mddf fit: .*n_layers"),
        (["fit", "wine.csv", "--target", "kind", "--task", "regression"], "must hold numbers"),
        (
            ["fit", "wine.csv", "--target", "day"],
            "two rows or more of a class .* 178 classes in 178 rows",
        ),
        (["bench", "wine.csv", "--target", "kind", "--folds", 1], "--folds must be at least 2"),
        (["bench", "wine.csv", "--target", "kind", "--folds", 90], "rarest class, 48, got 90"),
        (
            ["bench", "wine.csv", "--target", "kind", "--models", "forest"],
            "--models must be among 'mddf deep-forest', .*; got 'forest'",
        ),
        (
            ["bench", "wine.csv", "--target", "kind", "--models", "LightGBM", "--set", "cv=2"],
            "--set is for 'mddf deep-forest', which is not among --models",
        ),
        (["check", "wine.csv", "--target", "kind", "--groups", "kind"], "must not be the target"),
        (
            ["bench", "wine.csv", "--target", "kind", "--time", "alcohol", "--repeats", 2],
            "--repeats must be 1 with --time, got 2",
        ),
        (["predict", "wine.csv", "wine.csv"], "model must end in .mddf"),
        (["predict", "no.mddf", "wine.csv"], "must be an existing file, got no.mddf"),
        (["predict", "bad.mddf", "wine.csv"], "must be a file of mddf.save, got another kind"),
        (["predict", "saved.mddf", "wine.csv"], "of mddf.save: .* mddf.batch.predict_file"),
        (["explain", "bad.mddf", "wine.csv", "--rows", 0], "--rows must be at least 1, got 0"),
    ],
)
def test_errors_of_the_user_take_one_line(folder, arguments, message):
    (folder / "bad.mddf").write_text("x")
    mddf.save(RandomForestClassifier(1).fit([[0], [1]], [0, 1]), folder / "saved.mddf")
    before = sorted(folder.iterdir())
    with pytest.raises(SystemExit, match=message) as ended:
        run(*arguments)
    assert "\n" not in str(ended.value)
    assert sorted(folder.iterdir()) == before


def test_the_only_row_of_a_class_is_a_training_row(folder, capsys):
    table = pd.read_csv("wine.csv").drop(columns="day")[:60]
    table.loc[3, "kind"] = "orange"
    table.to_csv("few.csv", index=False)
    forest = ["--estimator", "random-forest", "--set", "n_estimators=2"]
    for holdout, n_rows in ((["--holdout", 0.2], 12), ([], 59)):
        run("fit", "few.csv", "--target", "kind", *forest, *holdout, "--overwrite")
        assert f"scores on {n_rows} held-out rows" in capsys.readouterr().out
        assert "orange" in mddf.load("few.mddf").classes_


def test_a_table_of_three_rows(folder, capsys):
    pd.read_csv("diabetes.csv").head(3).to_csv("few.csv", index=False)
    with pytest.raises(SystemExit, match="got 3 classes in 3 rows of 'target'; --task regression"):
        run("fit", "few.csv", "--target", "target")
    run("fit", "few.csv", "--target", "target", "--task", "regression", *QUICK)
    output = capsys.readouterr()
    assert not output.err
    assert "scores on 3 held-out rows of a 3-fold cross-validation: RMSE" in output.out
    assert "At least two held-out rows" in (folder / "few.html").read_text()


def test_failing_models_are_listed_with_the_others(folder, capsys, monkeypatch):
    def fail(*_, **__):
        raise ValueError("too few\nrows")

    monkeypatch.setattr(GradientBoostingRegressor, "fit", fail)
    run("bench", "diabetes.csv", "--target", "target", "--folds", 2, "--n-jobs", 1, "--set",
        *QUICK[1:3])  # fmt: skip
    output = capsys.readouterr()
    assert re.search(r"warning: .* is left out, since it failed: too few rows", output.err)
    assert "mddf gradient-boosting" not in output.out
    assert "mddf random-forest" in output.out


def test_a_bar_is_shown_on_terminals_only(folder, monkeypatch):
    for is_terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        run("fit", "diabetes.csv", "--target", "target", "--overwrite", *QUICK)
        assert ("%|" in stream.getvalue()) == is_terminal
        assert stream.getvalue().endswith("\r") == is_terminal  # the bar is gone at the end


def test_later_tables_written_otherwise(folder):
    table = pd.read_csv("wine.csv").drop(columns="day")
    table.to_csv("german.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    marks = ["--sep", ";", "--decimal", ",", "--encoding", "utf-16"]
    run("fit", "german.csv", "--target", "kind", *marks, *QUICK)
    run("predict", "german.mddf", "german.csv", "--out", "a.csv")
    marks = ["--sep", ",", "--decimal", ".", "--encoding", "utf-8"]
    run("predict", "german.mddf", "wine.csv", "--out", "b.csv", *marks)
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    run("explain", "german.mddf", "wine.csv", "--rows", 1, "--out", "why.csv", *marks)
    assert len(pd.read_csv("why.csv")) == 1


def test_files_are_replaced_only_on_request(fitted_folder):
    folder = fitted_folder
    before = (folder / "wine.mddf").read_bytes()
    with pytest.raises(SystemExit, match=r"--out: wine\.mddf exists: --overwrite"):
        run("fit", "wine.csv", "--target", "kind")

    assert (folder / "wine.mddf").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "diabetes.csv", "wine.csv", "wine.html", "wine.mddf",
    ]  # fmt: skip


def test_warnings_are_in_the_report_and_on_the_screen(folder, capsys, monkeypatch):
    table = pd.read_csv("wine.csv", dtype=str)
    table["ash"] = table["ash"] + "%"
    table.to_csv("odd.csv", index=False)
    fit = DeepForestClassifier.fit

    def warns(self, X, y):
        import warnings

        warnings.warn("something <odd>", stacklevel=2)
        return fit(self, X, y)

    monkeypatch.setattr(DeepForestClassifier, "fit", warns)
    run("fit", "odd.csv", "--target", "kind", "--drop", "day", *QUICK)
    assert "warning: odd.csv: column 'ash' is text" in capsys.readouterr().err
    assert "something &lt;odd&gt;" in (folder / "odd.html").read_text()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    with playwright.sync_playwright() as started:
        options = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
        path = next(filter(os.path.exists, ("/usr/bin/chromium", "/usr/bin/google-chrome")), None)
        try:
            browser = started.chromium.launch(executable_path=path, args=options)
        except playwright.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


SIZES_OF_TEXT = """picture => [...picture.querySelectorAll("text")].map(
    text => parseFloat(getComputedStyle(text).fontSize) * picture.getBoundingClientRect().width
        / picture.viewBox.baseVal.width)"""


@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_the_report(fitted_folder, browser, width):
    page_of_fit = (fitted_folder / "wine.html").as_uri()
    page = browser.new_page(viewport={"width": width, "height": 800})
    requests, broken = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: broken.append(message.text))
    page.goto(page_of_fit)
    assert requests == [page_of_fit]
    assert not broken
    assert page.title() == "kind: classification by DeepForestClassifier"
    assert page.locator("h1").inner_text() == page.title()
    pictures = page.locator("figure > [role=img]")
    assert pictures.count() >= 3
    for picture in pictures.all():
        frame = picture.bounding_box()
        assert 100 < frame["width"] <= width
        sizes = picture.locator("svg").evaluate(SIZES_OF_TEXT)
        assert min(sizes) > 9.9  # pixels
    assert page.get_by_role("cell", name="log-loss").first.is_visible()
    # Wide tables and wide pictures scroll by themselves.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_checks_of_the_data(folder, capsys):
    table = pd.read_csv("wine.csv")
    table["copy"] = table["kind"].str[:2]
    table["same"] = 1
    table.to_csv("leak.csv", index=False)
    table.head(20).to_csv("later.csv", index=False)
    run("check", "leak.csv", "--target", "kind", "--drop", "day")
    output = capsys.readouterr().out
    assert re.search(r"copy +equals the target", output)
    assert re.search(r"same +constant", output)
    run(
        "check", "leak.csv", "--target", "kind", "--drop", "day", "copy", "colour",
        "--test", "later.csv", "--out", "found.csv",
    )  # fmt: skip
    findings = pd.read_csv("found.csv")
    assert findings["finding"].tolist() == ["copies in training and test", "constant"]
    with pytest.raises(SystemExit, match="--overwrite"):
        run("check", "leak.csv", "--target", "kind", "--out", "found.csv")
    with pytest.raises(SystemExit, match="must have a column 'alcohol'"):
        run("check", "wine.csv", "--target", "kind", "--drop", "day", "--test", "diabetes.csv")
    capsys.readouterr()
    # Two rows of each patient with the same outcome: a leak unless they are a group.
    patient = np.repeat(np.arange(60), 2)
    visits = pd.DataFrame({"patient": [f"P{i}" for i in patient], "sick": patient % 2})
    visits["height"] = np.random.default_rng(0).permutation(60)[patient]
    visits.to_csv("visits.csv", index=False)
    run("check", "visits.csv", "--target", "sick")
    output = capsys.readouterr().out
    assert re.search(r"patient +identifier of subjects", output)
    assert "many different texts" not in output
    run("check", "visits.csv", "--target", "sick", "--groups", "patient")
    assert "patient" not in capsys.readouterr().out
    run("fit", "leak.csv", "--target", "kind", "--drop", "day", *QUICK)
    output = capsys.readouterr()
    assert "warning: copy equals the target: one value for each of the 3 classes" in output.err
    assert "warning: (scores) are nearly perfect: accuracy 1 on 178 held-out rows" in output.err
    assert "data: 4 findings, listed in the report" in output.out
    page = (folder / "leak.html").read_text()
    assert page.index("Checks of the data") < page.index("equals the target")
