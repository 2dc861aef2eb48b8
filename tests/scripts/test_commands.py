"""A small run of each command: its output, its files, and its options."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
# A small version of each study, and the tables it writes.
STUDIES = {
    "bench.defaults": ("--tables hours levels --peers lightgbm xgboost --rows 100", "defaults"),
    "bench.export": ("--datasets iris --n-estimators 2 --rows 10", "export"),
    "bench.forest": (
        "--datasets breast_cancer --n-estimators 8 --repeats 1 --forests random "
        "--measures speed,peers,threads,row --libraries scikit-learn",
        "speed peers threads row",
    ),
    "bench.gradient": (
        "--tables tiny --peers sklearn --rounds 2 --repeats 1 --measures peers threads equal",
        "gradient threads equal",
    ),
    "bench.large": (
        "--measures defaults cascade codes --tasks classification --rounds 2 --columns 5 "
        "--methods GradientBoosting HistGradientBoosting --rows 500",
        "defaults cascade codes",
    ),
    "bench.workers": (
        "--measures trees divided --engines loky --methods GradientBoosting --rows 400 --rounds 2",
        "trees divided",
    ),
    "report.few_rows": ("--studies 1 --designs 60%rows", "few-rows"),
    "report.compare": (
        "--datasets iris --methods deep-forest-fast random-forest",
        "compare losses",
    ),
    "reproduce.comparison": ("--datasets iris --rounds 2 --splits 1", "comparison"),
    "reproduce.deepboost": (
        "--datasets digits-49 --rounds 2 --thin 3 --runs 2",
        "table1 table2 table3",
    ),
    "reproduce.eforest": (
        "--datasets digits --trees 4 --rows 60 --predicted 9 --seeds 1",
        "eforest",
    ),
    "reproduce.layers": (
        "--datasets breast_cancer iris --seeds 2 --n-estimators 1 --n-layers 2",
        "layers",
    ),
    "reproduce.quadboost": ("--datasets wine --methods QuadBoost AdaBoost", "table1"),
    "reproduce.scanning": (
        "--models forest gcforest mddf --train 100 --trees 2 --scanner-trees 1",
        "accuracy scanner",
    ),
    "reproduce.thesis": (
        "--datasets iris --conditions clean --combinations equal --n-estimators 2 --n-layers 2",
        "thesis-layers thesis-ratios thesis-reweighting",
    ),
    "reproduce.tsne": ("--datasets iris --n-estimators 1 --rows 30", "ratios"),
    "run_deep_forests": (
        "--datasets iris --conditions clean --methods gcForest gcForestCS --n-estimators 2",
        "deep-forests deep-forests-by-set",
    ),
    "run_league": (
        "--datasets iris,wine --methods mddf histgb --set mddf.n_estimators=1 histgb.max_iter=3",
        "ranks accuracy log_loss costs",
    ),
    "run_representations": (
        "--datasets iris --labelled 0.5 --flipped 0 --seeds 1 --n-estimators 12",
        "representations-logistic representations-knn-pairs representations-by-set",
    ),
    "run_uci": (
        "--datasets iris --n-estimators 1 --methods rf mddf gcforest --fractions .1 1",
        "accuracy ahead costs",
    ),
}
PICTURES = {
    "reproduce.comparison": ["roc"],
    "reproduce.deepboost": ["deepboost-digits-49"],
    "reproduce.eforest": ["eforest-digits"],
    "reproduce.layers": ["layers", "margins"],
    "reproduce.tsne": ["tsne-iris"],
    "run_uci": ["small-sample"],
}
# Commands that are no studies; tested elsewhere and below.
OTHERS = {"export_features", "report.accuracy_cost", "report.summarize", "reproduce.losses"}
# Less than a second each; the others are slow tests.
QUICK = {"reproduce.comparison", "reproduce.layers", "run_uci"}
NEEDS = {"bench.export": "onnxruntime", "bench.workers": "distributed"}


def commands():
    """The names of all commands of the folder."""
    paths = [*SCRIPTS.glob("[!_]*.py"), *SCRIPTS.glob("[!_]*/[!_]*.py")]
    return {".".join(path.relative_to(SCRIPTS).with_suffix("").parts) for path in paths}


def path_of(name):
    return SCRIPTS / f"{name.replace('.', '/')}.py"


def test_every_command_is_tested_and_listed():
    assert commands() >= set(STUDIES) | OTHERS
    listed = (SCRIPTS / "README.md").read_text()
    missing = [name for name in commands() if f"`{name.replace('.', '/')}.py`" not in listed]
    assert missing == []


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in STUDIES]
)
def test_small_run(script, name, tmp_path, capsys, monkeypatch):
    pytest.importorskip(NEEDS.get(name, "pandas"))
    monkeypatch.chdir(tmp_path)
    command, (arguments, tables) = script(name), STUDIES[name]
    words = (word.replace("%", " ") for word in arguments.split())
    arguments = ["--quick", "--n-jobs", "1", *words]
    assert command.main(arguments) == 0, capsys.readouterr().out
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    folder = Path(re.search("written to (.*)", output)[1])
    assert folder == Path("results") / f"{command.study.name}-quick"
    n_cells = len(pd.read_csv(folder / "cells.csv"))
    assert n_cells == len(command.study.all_keys(command.parse(arguments)))
    for table in tables.split():
        assert len(pd.read_csv(folder / f"{table}.csv")) > 0
        assert "| --- |" in (folder / f"{table}.md").read_text()
    if name in PICTURES:
        command.main(["--plot", str(folder), "--out", "pictures", "--format", "svg"])
        for picture in PICTURES[name]:
            assert (Path("pictures") / f"{picture}.svg").read_text().startswith("<?xml")


def test_commands_run_in_any_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, path_of("reproduce.losses"), "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("usage: losses.py")


def test_options(script, tmp_path, capsys):
    """Help has a text for each option, and bad options fail in one line before anything runs."""
    (tmp_path / "file").touch()
    for name in STUDIES.keys() - NEEDS.keys():
        parse = script(name).parse
        with pytest.raises(SystemExit):
            parse(["--help"])
        assert not re.search("<(function|class)", capsys.readouterr().out)
        for arguments, message in (
            (["--out", str(tmp_path / "file/below")], "argument --out: must be a folder, but"),
            (["--n-jobs", "0"], r"--n-jobs: must be a whole number other than 0 \(-1: all"),
        ):
            with pytest.raises(SystemExit):
                parse(arguments)
            assert re.search(message, capsys.readouterr().err.splitlines()[-1])


def test_tables_of_the_pages_are_drawn(script, tmp_path):
    for name, table in (("reproduce.layers", "layers-layers"), ("run_uci", "small-sample")):
        source = ROOT / f"docs/results/{table}.csv"
        script(name).main(["--plot", str(source), "--format", "svg", "--out", str(tmp_path)])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"layers.svg", "small-sample.svg"}


def test_pictures_without_a_study(script, tmp_path):
    script("reproduce.losses").main(["--out", str(tmp_path)])
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")
    accuracy_cost = script("report.accuracy_cost")
    league = pd.read_csv(ROOT / "docs/results/league.csv")
    text = accuracy_cost.described(accuracy_cost.points(league))
    assert f"![{text}](" in (ROOT / "README.md").read_text()
