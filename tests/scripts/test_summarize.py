"""report/summarize.py: tables and tests of any results."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def run(script):
    return script("report.summarize")


@pytest.fixture
def results():
    """Rows of a CSV table: "good" beats "bad" on all sets, "even" equals "good"."""
    rng = np.random.default_rng(0)
    rows = [
        (f"set{s}", method, seed, 0.8 + 0.01 * s + gain + 0.001 * rng.normal())
        for s in range(8)
        for method, gain in (("good", 0.05), ("bad", 0.0), ("even", 0.05))
        for seed in range(3)
    ]
    return pd.DataFrame(rows, columns=["set", "method", "seed", "accuracy"])


def write(frame, path):
    frame.to_csv(path, index=False)
    return str(path)


def test_all_written_files(run, results, tmp_path, capsys):
    pytest.importorskip("scikit_posthocs")
    parts = [write(results[:30], tmp_path / "a.csv"), write(results[20:], tmp_path / "b.csv")]
    assert run.main([*parts, "--bayes", "--out", str(tmp_path / "out")]) == 0
    output = capsys.readouterr().out
    assert "mean ranks over 8 sets; Friedman p = 0.00" in output
    assert "accuracy: mean ranks over 8 sets (1 is best)" in output
    ranks = pd.read_csv(tmp_path / "out/ranks.csv").set_index("method")["mean rank"]
    assert ranks["bad"] == 3
    assert ranks["good"] + ranks["even"] == 3
    pairs = pd.read_csv(tmp_path / "out/pairs.csv").set_index("method")
    assert pairs.loc["good", "bad"] < 0.05 < pairs.loc["good", "even"]
    bayes = pd.read_csv(tmp_path / "out/bayes.csv")
    against = bayes[(bayes["second"] == "bad") & (bayes["first"] == "good")].iloc[0]
    assert against["first better"] > 0.95
    latex = (tmp_path / "out/summary.tex").read_text()
    assert latex.count("\\toprule") == 4
    assert "| set0 | " in (tmp_path / "out/summary.md").read_text()
    scores = pd.read_csv(tmp_path / "out/scores.csv").set_index(["set", "method"])["accuracy"]
    best = dict.fromkeys(("good", "bad", "even"), 0)
    for name, row in scores.unstack().iterrows():
        line = next(line for line in latex.splitlines() if line.startswith(f"{name} &"))
        for method, cell in zip(("good", "bad", "even"), line.split(" & ")[1:], strict=True):
            assert ("textbf" in cell) == (round(100 * row[method], 2) == round(100 * row.max(), 2))
            best[method] += "textbf" in cell
    assert best["bad"] == 0
    assert (tmp_path / "out/accuracy-cd.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out/accuracy-cd.pdf").read_bytes().startswith(b"%PDF")


def test_metrics_of_which_less_is_better(run, results, tmp_path):
    source = write(results.rename(columns={"accuracy": "error"}), tmp_path / "a.csv")
    out = ["--metric", "error", "--format", "svg", "--test", "wilcoxon", "--out", str(tmp_path)]
    run.main([source, *out, "--smaller-is-better"])
    ranks = pd.read_csv(tmp_path / "ranks.csv").set_index("method")["mean rank"]
    assert ranks["bad"] == 1
    run.main([source, *out])
    ranks = pd.read_csv(tmp_path / "ranks.csv").set_index("method")["mean rank"]
    assert ranks["bad"] == 3


def test_folders_and_paired_intervals(run, script, tmp_path, capsys):
    uci, out = script("run_uci"), tmp_path / "uci"
    arguments = ["--datasets", "wine,iris", "--n-estimators", "1", "--seeds", "2"]
    uci.main([*arguments, "--methods", "rf", "gcforest", "--out", str(out)])
    arguments = [str(out), str(out / "cells.csv"), "--metric", "accuracy", "--format", "svg"]
    run.main([*arguments, "--pair", "gcforest", "rf", "--out", str(tmp_path / "sum")])
    assert "gcForest minus RandomForest, paired bootstrap" in capsys.readouterr().out
    result = pd.read_csv(tmp_path / "sum/pair.csv")
    assert len(result) == 4
    assert (result["2.5 %"] <= result["difference"]).all()
    assert (result["difference"] <= result["97.5 %"]).all()
    cells = pd.read_csv(out / "cells.csv").set_index(["set", "seed", "method"])["accuracy"]
    first = result.iloc[0]
    key = (first["set"], int(first["seed"]))
    assert first["difference"] == pytest.approx(cells[*key, "gcforest"] - cells[*key, "rf"])
    with pytest.raises(SystemExit, match=r"--pair: must be among .*; got 'nothing'"):
        run.main([*arguments, "--pair", "rf", "nothing", "--out", str(tmp_path / "sum")])
