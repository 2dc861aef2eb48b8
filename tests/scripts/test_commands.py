"""All commands of scripts: output, files, common options, pictures."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
COMMANDS = sorted(
    ".".join(path.relative_to(SCRIPTS).with_suffix("").parts)
    for path in [*SCRIPTS.glob("[!_]*.py"), *SCRIPTS.glob("[!_]*/[!_]*.py")]
)
# A small version of each study, and the tables it writes.
STUDIES = {
    "bench.boosting": ("--cases exponential,stumps --rounds 2", "boosting"),
    "bench.cascade": ("--datasets iris --n-estimators 1 --repeats 1", "cascade"),
    "bench.cores": ("--datasets iris --n-estimators 2 --workers 2", "cores"),
    "bench.export": ("--datasets iris --n-estimators 2 --rows 10", "export"),
    "bench.forest": (
        "--datasets breast_cancer --n-estimators 8 --repeats 1 --forests random "
        "--measures speed,peers,binning,threads,row,memory,growth,parts --libraries scikit-learn",
        "speed peers binning threads row memory growth parts",
    ),
    "bench.gradient": (
        "--tables tiny --peers sklearn --rounds 2 --repeats 1 --measures peers threads equal",
        "gradient threads equal",
    ),
    "bench.scale": ("--rows 2000 --columns 5", "scale"),
    "bench.out_of_core": ("--rows 2000 --columns 5 --rounds 2", "out-of-core"),
    "bench.divided": ("--methods GradientBoosting --rows 400 --rounds 2", "divided"),
    "bench.large": ("--methods GradientBoosting HistGradientBoosting --rows 500", "large"),
    "bench.workers": ("--engines loky --rows 500 --predicted 500", "workers"),
    "reproduce.comparison": ("--datasets breast_cancer,wine --rounds 3", "comparison"),
    "reproduce.deepboost": (
        "--datasets digits-49 --rounds 2 --thin 3 --runs 2",
        "table1 table2 table3",
    ),
    "report.dependent_rows": (
        "--methods honest%folds random%folds",
        "losses summary",
    ),
    "report.explain": ("--datasets iris --n-estimators 5 --rows 3", "agreement noise"),
    "report.imbalance": ("--methods forest%5,mdDF", "imbalance"),
    "reproduce.layers": (
        "--datasets iris --seeds 2 --n-estimators 1 --n-layers 2",
        "layers kept bounds",
    ),
    "run_league": (
        "--datasets iris,wine --methods mddf histgb --set mddf.n_estimators=1 histgb.max_iter=3",
        "ranks accuracy log_loss costs",
    ),
    "report.out_of_fold": (
        "--datasets iris --methods mdDF,gcForest",
        "mddf gcforest",
    ),
    "report.autogluon_stack": ("--datasets iris --methods deep-forest own", "stack stack-by-set"),
    "report.elo": (
        "--datasets iris --methods deep-forest-fast random-forest lightgbm-bag",
        "elo elo-by-set",
    ),
    "report.few_rows": ("--studies 1 --designs 60%rows", "few-rows"),
    "report.ingredients": (
        "--datasets iris --methods default,no-kernel",
        "ingredients ingredients-by-set",
    ),
    "report.multi_label": (
        "--datasets few-rows --methods MLDF random-forest",
        "multi-label multi-label-by-set",
    ),
    "report.time_curve": (
        "--datasets iris --methods default default-2",
        "time-curve",
    ),
    "reproduce.quadboost": ("--datasets wine --methods QuadBoost AdaBoost", "table1"),
    "reproduce.scanning": (
        "--models forest --train 100 --trees 2 --scanner-trees 1",
        "accuracy scanner",
    ),
    "reproduce.thesis": (
        "--datasets iris --conditions clean --combinations equal --n-estimators 2 --n-layers 2",
        "thesis-layers thesis-ratios thesis-reweighting",
    ),
    "reproduce.tsne": ("--datasets iris --n-estimators 1 --rows 30", "ratios"),
    "reproduce.eforest": (
        "--datasets digits --trees 4 --rows 60 --predicted 9 --seeds 1",
        "eforest",
    ),
    "run_representations": (
        "--datasets iris --labelled 0.5 --flipped 0 --seeds 1 --n-estimators 12",
        "representations-logistic representations-knn-pairs representations-by-set",
    ),
    "run_deep_forests": (
        "--datasets iris --conditions clean --methods gcForest gcForestCS --n-estimators 2",
        "deep-forests deep-forests-by-set",
    ),
    "run_uci": (
        "--datasets iris --n-estimators 1 --methods rf mddf gcforest --fractions .1 1",
        "accuracy ahead costs",
    ),
}
PICTURES = {
    "reproduce.layers": ["layers", "margins"],
    "reproduce.tsne": ["tsne-iris"],
    "reproduce.eforest": ["eforest-digits"],
    "run_uci": ["small-sample"],
    "reproduce.comparison": ["roc"],
    "reproduce.deepboost": ["deepboost-digits-49"],
    "report.time_curve": ["time-curve"],
}
WITHOUT_SETS = (
    "bench.boosting",
    "bench.divided",
    "bench.gradient",
    "bench.large",
    "bench.out_of_core",
    "bench.scale",
    "bench.workers",
    "report.accuracy_cost",
    "report.few_rows",
    "report.multi_label",
    "report.pretrained",
    "reproduce.losses",
)
RUN_BY_CI = ("bench.cascade", "bench.forest")  # outside the repository, in .ci/run
# Two seconds or more each.
SLOW = (*RUN_BY_CI, "bench.export", "bench.scale", "bench.workers", "reproduce.deepboost")
SLOW += ("bench.divided", "bench.large", "bench.out_of_core")
NEEDS = {"bench.divided": "distributed", "bench.export": "onnxruntime", "report.explain": "shap"}
NEEDS |= {"report.autogluon_stack": "autogluon.tabular", "report.elo": "lightgbm"}


def path_of(name):
    return SCRIPTS / f"{name.replace('.', '/')}.py"


def shown_command(name):
    """A regular expression for a command in messages."""
    return rf"python scripts/{name.replace('.', '/')}\.py"


def test_every_command_is_here():
    remaining = {
        "export_features",
        "maintain.compile_elsewhere",
        "maintain.manifest",
        "report.accuracy_cost",
        "report.pretrained",
        "report.summarize",
        "reproduce.losses",
    }
    assert set(COMMANDS) == set(STUDIES) | remaining


def parser_of(script, name, monkeypatch):
    """The parser of a command, caught before it reads arguments."""
    import argparse

    class Caught(Exception):
        pass

    def catch(parser, *_):
        raise Caught(parser)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", catch)
    command = script(name)
    with pytest.raises(Caught) as caught:
        getattr(command, "parse", command.main)([])
    return caught.value.args[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_all_options_and_methods(script, name, monkeypatch):
    pytest.importorskip(NEEDS.get(name, "pandas"))
    parser = parser_of(script, name, monkeypatch)
    for action in parser._actions:
        option = "/".join(action.option_strings) or action.dest
        assert action.help, option
        assert action.help.strip("-") != option.strip("-").replace("-", " "), option
        if option in ("--methods", "--models", "--engines", "--libraries", "--cases"):
            # Names, by their default or as a list, or where they come from.
            assert re.search(r"default|among|:|of the sources", action.help), option


def test_no_command_imports_another_one():
    names = {name.split(".")[-1] for name in COMMANDS} | {name.split(".")[0] for name in COMMANDS}
    for name in COMMANDS:
        text = path_of(name).read_text()
        imported = re.findall(r"^\s*(?:from|import) (\w+)", text, flags=re.MULTILINE)
        assert not set(imported) & names, name


def test_commands_find_modules_shared_in_their_folder(tmp_path):
    """`python scripts/ROOM/NAME.py` runs in any folder."""
    done = subprocess.run(
        [sys.executable, path_of("reproduce.losses"), "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: losses.py")
    finders = {path.read_text() for path in SCRIPTS.glob("*/_lab.py")}
    assert len(finders) == 1
    for name in COMMANDS:
        if "_lab" in path_of(name).read_text():
            assert (path_of(name).parent / "_lab.py").exists() or "." not in name


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in STUDIES],
)
def test_quick_form(script, name, results, capsys, monkeypatch):
    pytest.importorskip(NEEDS.get(name, "pandas"))
    monkeypatch.chdir(results)
    command, (arguments, tables) = script(name), STUDIES[name]
    arguments = [
        "--quick",
        "--n-jobs",
        "1",
        *(word.replace("%", " ") for word in arguments.split()),
    ]
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
    if not command.study.fresh:
        assert command.main(arguments) == 0
        assert f"{n_cells} of {n_cells} results were there" in capsys.readouterr().out
    if name in PICTURES:
        command.main(["--quick", "--plot"])
        (cell_file, *_) = (folder / "cells").iterdir()
        command.main(["--plot", str(folder), "--out", "pictures", "--format", "svg"])
        if name == "reproduce.tsne":
            command.main(["--plot", str(cell_file), "--out", "one", "--format", "png"])
        for picture in PICTURES[name]:
            assert (folder / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
            assert (folder / f"{picture}.pdf").read_bytes().startswith(b"%PDF")
            assert (Path("pictures") / f"{picture}.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", [n for n in STUDIES if n not in WITHOUT_SETS])
def test_names_with_blanks_and_commas(script, name):
    parse, sets = script(name).parse, ["digits", "letter"]
    for words in (sets, [",".join(sets)], [f"{sets[0]},", *sets]):
        assert parse(["--datasets", *words]).datasets == sets


@pytest.mark.parametrize("name", [*STUDIES, "reproduce.losses"])
def test_bad_options_fail_in_one_line_before_anything_runs(script, name, tmp_path, capsys):
    parse = script(name).parse
    (tmp_path / "file").touch()
    cases = [
        (["--out", str(tmp_path / "file")], "argument --out: must be a folder, but .* is a file"),
        (["--out", str(tmp_path / "file/below")], "argument --out: must be a folder"),
    ]
    if name != "reproduce.losses":
        threads = r"argument --n-jobs: must be a whole number other than 0 \(-1: all"
        cases += [(["--n-jobs", "0"], threads), (["--n-jobs", "two"], threads)]
    if name not in WITHOUT_SETS:
        cases.append((["--datasets", "iris,nonesuch"], "argument --datasets: .*'nonesuch'"))
    for arguments, message in cases:
        with pytest.raises(SystemExit):
            parse(arguments)
        assert re.search(message, capsys.readouterr().err.splitlines()[-1])


@pytest.mark.parametrize("name", STUDIES)
def test_help_names_defaults(script, name, capsys):
    with pytest.raises(SystemExit):
        script(name).parse(["--help"])
    assert not re.search("<(function|class)", capsys.readouterr().out)


@pytest.mark.parametrize("name", STUDIES)
def test_one_default_for_threads(script, name):
    assert script(name).parse([]).n_jobs == script("_lab.cli").threads("-1")
    assert script(name).parse(["--n-jobs", "1"]).n_jobs == 1


@pytest.mark.parametrize("name", PICTURES)
def test_errors_of_plots_name_the_command_that_makes_their_input(
    script, name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=rf"no results/.*: {shown_command(name)} makes it"):
        script(name).main(["--plot"])
    store = script("_lab.records").Store(tmp_path, {"study": "made"})
    store.save({"set": "iris"}, {})
    for source in (tmp_path, store.path({"set": "iris"})):
        with pytest.raises(SystemExit, match=rf"of another kind, 'made': {shown_command(name)}"):
            script(name).main(["--plot", str(source)])


@pytest.mark.parametrize("name", PICTURES)
def test_tables_that_cannot_be_drawn(script, name, tmp_path):
    table = tmp_path / "of.others.csv"
    for content, message in (
        ("", "cannot be read as a table: No columns to parse from file"),
        ("set,method,seed\n", rf"has no rows: {shown_command(name)} makes some"),
        ("set,method,seed\niris,mddf,0\n", shown_command(name)),
    ):
        table.write_text(content)
        with pytest.raises(SystemExit, match=message) as caught:
            script(name).main(["--plot", str(table)])
        assert "\n" not in str(caught.value)


def test_one_picture_of_two_folders(script, tmp_path):
    run, folders = script("run_uci"), [str(tmp_path / name) for name in "ab"]
    arguments = ["--quick", "--datasets=iris", "--n-estimators=1", "--fractions", ".5", "1"]
    for folder, method in zip(folders, ("rf", "mddf"), strict=True):
        run.main([*arguments, "--n-jobs=1", "--methods", method, "--out", folder])
    run.main(["--plot", *folders, "--format", "svg"])
    assert "RandomForest" in (tmp_path / "a" / "small-sample.svg").read_text()
    arguments[2] = "--n-estimators=2"
    run.main([*arguments, "--n-jobs=1", "--methods", "rf", "--out", f"{tmp_path}/c"])
    with pytest.raises(SystemExit, match=r"other settings than .*n_estimators 2 there, 1 here"):
        run.main(["--plot", folders[0], f"{tmp_path}/c"])


def test_a_folder_that_is_named_twice_is_drawn_once(script, tmp_path, monkeypatch):
    run = script("reproduce.layers")
    arguments = ["--datasets", "iris", "--quick", "--validate", "--n-jobs", "1", "--out"]
    run.main([*arguments, str(tmp_path)])
    copy = shutil.copytree(tmp_path, tmp_path / "copy")
    captions = []
    monkeypatch.setattr(run.pictures, "save", lambda *arguments: captions.append(arguments[-1]))
    for sources in ([tmp_path], [tmp_path, tmp_path], [tmp_path, copy], [tmp_path / "layers.csv"]):
        run.main(["--plot", *map(str, sources)])
        assert "one seed" in captions[-1]
    assert "on held-out training rows" in captions[-1]  # of a table, too


def test_benchmarks_do_not_mix_settings(script, tmp_path):
    run = script("bench.cores").main
    arguments = ["--datasets", "iris", "--workers", "2", "--out", str(tmp_path)]
    assert run([*arguments, "--n-estimators", "1"]) == 0
    with pytest.raises(SystemExit, match="n_estimators 1 there, 2 here"):
        run([*arguments, "--n-estimators", "2"])


@pytest.mark.parametrize(
    ("name", "settings"),
    {
        "bench.boosting": {"on"},
        "bench.cascade": {"n_estimators", "n_layers", "repeats", "rows", "alone"},
        "bench.cores": {"n_estimators"},
        "bench.divided": {"rounds", "rows", "columns"},
        "bench.export": {"n_estimators", "rows"},
        "bench.forest": {"n_estimators"},
        "bench.out_of_core": {"columns", "rounds", "limit"},
        "bench.scale": {"columns"},
        "bench.workers": {"n_estimators", "rows", "predicted"},
    }.items(),
)
def test_settings_of_benchmarks(script, name, settings):
    study = script(name).study
    assert set(study.common(study.parse([]))) == settings


def test_pictures_of_several_methods(script, tmp_path, capsys):
    run, out = script("reproduce.tsne"), tmp_path / "of.both"
    arguments = ["--datasets", "iris", "--quick", "--rows=9", "--n-jobs=1", "--n-layers=1"]
    for method, seed in (("mddf", "0"), ("gcforest", "0"), ("mddf", "1")):
        more = ["--n-estimators", "1", "--method", method, "--seed", seed, "--out", str(out)]
        run.main([*arguments, *more])
        run.main(["--plot", str(out), "--format", "svg"])
    names = ["", "-gcforest", "-gcforest-seed0", "-mddf-seed0", "-mddf-seed1"]
    assert sorted(path.name for path in out.glob("*.svg")) == sorted(
        f"tsne-iris{name}.svg" for name in names
    )
    ratios = pd.read_csv(out / "ratios.csv")
    assert set(ratios["method"]) == {"mddf-seed0", "gcforest-seed0", "mddf-seed1"}


def test_without_matplotlib(script, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match=r'matplotlib .* pip install "mddf\[plots\]"'):
        script("reproduce.losses").main([])


def test_tables_are_drawn_too(script, tmp_path):
    results_folder = Path(__file__).parents[2] / "docs/results"
    for name, table in (("reproduce.layers", "layers-layers"), ("run_uci", "small-sample")):
        arguments = ["--plot", str(results_folder / f"{table}.csv"), "--format", "svg"]
        script(name).main([*arguments, "--out", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {
        "layers.svg",
        "small-sample.svg",
        "captions.md",
    }


def test_losses(script, tmp_path, capsys):
    plot = script("reproduce.losses")
    z = np.linspace(-1, 2, 13)
    band = plot.BandMarginLoss(0.2, 0.1).value(z)
    assert band[z <= 0].min() >= 1  # they bound the 0-1 loss
    assert plot.margin_loss(z, 0.9, 0.1)[z <= 0].min() >= 1
    inside = (z > 0.8) & (z <= 1.2)
    assert (band[inside] == 0).all()
    assert band[-1] == pytest.approx(0.1 * 0.8**2 / 1.2**2)
    plot.main(["--out", str(tmp_path)])
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".pdf", ".md"}
    with pytest.raises(SystemExit):
        plot.main(["--theta", "1"])
    assert re.search("--theta: must lie between 0 and 1, got '?1", capsys.readouterr().err)
