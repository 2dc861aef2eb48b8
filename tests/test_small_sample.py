"""run_small_sample.py, its tables, and its picture."""

import re

import pandas as pd
import pytest


def test_quick_run_and_picture(script, tmp_path, capsys, monkeypatch):
    run, plot = script("run_small_sample"), script("plot_small_sample")
    arguments = ["--quick", "--datasets", "iris", "--methods", "rf", "gcforest", "mddf"]
    arguments += ["--fractions", "0.1", "1", "--n-jobs", "1", "--out", str(tmp_path)]
    assert run.main(arguments) == 0
    text = (tmp_path / "accuracy.md").read_text()
    assert "| iris, 10% | 12 | 2 |" in text
    assert text.index("iris, 10%") < text.index("iris, 100%")
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * 2 * 3
    assert set(cells["n_train"]) == {12, 105}
    assert set(cells["n_test"]) == {45}
    monkeypatch.setattr(run, "one", lambda *_, **__: pytest.fail("computed twice"))
    run.main([*arguments, "--methods", "rf", "--seeds", "1"])
    assert (tmp_path / "accuracy.md").read_text().startswith(text.splitlines()[0])
    assert "| mdDF |" in (tmp_path / "accuracy.md").read_text()
    plot.main([str(tmp_path)])
    assert (tmp_path / "small-sample.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fractions", "2"], r"must lie in \(0, 1\], got 2"),
        (["--datasets", "digits", "satimag"], "got 'satimag'; did you mean 'satimage'"),
        (["--seeds", "0"], "whole number of at least 1, got '0'"),
    ],
)
def test_wrong_options(script, arguments, message, capsys):
    with pytest.raises(SystemExit):
        script("run_small_sample").parse(arguments)
    assert re.search(message, capsys.readouterr().err)


@pytest.fixture
def frame():
    return pd.DataFrame(
        [
            {"set": "iris", "seed": seed, "method": method, "fraction": share, "n_train": 10}
            | {"accuracy": (seed + share + (method == "mddf") / 2) / 10, "fit_seconds": 1}
            for seed in (0, 1)
            for method in ("rf", "mddf")
            for share in (0.1, 1.0)
        ]
    )


def test_seeds_that_all_methods_have_are_drawn(script, frame):
    plot = script("plot_small_sample")
    found = plot.accuracies(frame)["iris"]
    assert list(found) == ["mddf", "rf"]
    assert found["rf"].round(6).to_dict() == {(0.1, 0): 1, (0.1, 1): 11, (1, 0): 10, (1, 1): 20}
    assert plot.seeds_of(found) == "2"
    gone = (frame["method"] == "mddf") & (frame["fraction"] == 1) & (frame["seed"] == 1)
    found = plot.accuracies(frame[~gone])["iris"]
    assert len(found) == 3
    assert plot.seeds_of(found) == "1 to 2"
    assert plot.accuracies(frame[frame["method"] == "rf"])["iris"].shape == (4, 1)


def test_differences_are_paired(script, frame):
    _, table = script("run_small_sample").report(frame)
    assert table.shown["RandomForest"].to_dict() == {
        "iris, 10%": "+5.00 ± 0.00 (2 of 2)",
        "iris, 100%": "+5.00 ± 0.00 (2 of 2)",
    }
    _, table = script("run_small_sample").report(frame[frame["seed"] == 0])
    assert table.shown.loc["iris, 10%", "RandomForest"] == "+5.00 (1 of 1)"
    assert len(script("run_small_sample").report(frame[frame["method"] == "rf"])) == 1
