"""Options that mean the same in every command."""

import argparse
import re
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
COMMANDS = sorted(path.stem for path in SCRIPTS.glob("*.py"))
STUDIES = [name for name in COMMANDS if name.startswith(("run_", "bench_", "compare_"))]


@pytest.fixture
def cli(script):
    return script("_lab.cli")


def test_no_command_imports_another_one():
    for path in SCRIPTS.glob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), flags=re.MULTILINE)
        assert not set(imported) & set(COMMANDS), path.name


@pytest.mark.parametrize("name", [n for n in STUDIES if n != "bench_boosting"])
def test_names_with_blanks_and_commas(script, name):
    parse = script(name).parse
    sets = ["bank", "carclaims"] if name == "compare_boosting" else ["digits", "letter"]
    sets = ["adult", "letter"] if name == "bench_forest" else sets
    assert parse(["--datasets", *sets]).datasets == sets
    assert parse(["--datasets", ",".join(sets)]).datasets == sets
    assert parse(["--datasets", f"{sets[0]},", *sets]).datasets == sets


@pytest.mark.parametrize("name", STUDIES)
def test_bad_options_fail_in_one_line_before_anything_runs(script, name, tmp_path, capsys):
    parse = script(name).parse
    (tmp_path / "file").touch()
    cases = [
        (["--n-jobs", "0"], r"argument --n-jobs: must be a whole number other than 0 \(-1: all"),
        (["--n-jobs", "two"], "argument --n-jobs: must be a whole number other than 0"),
        (["--out", str(tmp_path / "file")], "argument --out: must be a folder, but .* is a file"),
        (["--out", str(tmp_path / "file/below")], "argument --out: must be a folder"),
    ]
    if name != "bench_boosting":
        cases.append((["--datasets", "iris,nonesuch"], "argument --datasets: .*nonesuch|'iris'"))
    for arguments, message in cases:
        if name == "bench_forest" and "nonesuch" in arguments[-1]:
            continue  # has a synthetic one besides; those that are not there are left out
        with pytest.raises(SystemExit):
            parse(arguments)
        assert re.search(message, capsys.readouterr().err.splitlines()[-1])


@pytest.mark.parametrize("name", STUDIES)
def test_one_default_for_threads(script, cli, name):
    assert script(name).parse([]).n_jobs == cli.threads("-1")
    assert script(name).parse(["--n-jobs", "1"]).n_jobs == 1


def test_quick_changes_defaults_only(cli):
    parser = cli.Parser("", "made", quick={"trees": 2, "parts": [1]}, trees=10, parts=[1, 2])
    options = parser.read([])
    assert (options.trees, options.parts, str(options.out)) == (10, [1, 2], "results/made")
    options = parser.read(["--quick"])
    assert (options.trees, options.parts, options.out.name) == (2, [1], "made-quick")
    options = parser.read(["--quick", "--trees", "5", "--parts", "3,4", "5", "--out", "there"])
    assert (options.trees, options.parts, str(options.out)) == (5, [3, 4, 5], "there")


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", ""])
def test_counts(cli, text):
    assert cli.count("12") == 12
    with pytest.raises(argparse.ArgumentTypeError, match="whole number of at least 1"):
        cli.count(text)


@pytest.mark.parametrize("text", ["0", "1.01", "-0.5", "half", "nan"])
def test_shares(cli, text):
    assert cli.share("0.25") == 0.25
    with pytest.raises(argparse.ArgumentTypeError, match=r"must lie in \(0, 1\]"):
        cli.share(text)


def test_values(cli):
    assert [cli.value(text) for text in ("0.7", "None", "[1, 2]", "True", "sqrt", "a b")] == [
        0.7, None, [1, 2], True, "sqrt", "a b",
    ]  # fmt: skip
    assert cli.setting("mddf.strength=0.7") == ("mddf", "strength", 0.7)
    assert cli.setting("mddf.reweighting=weights") == ("mddf", "reweighting", "weights")
    for wrong in ("strength=0.7", "mddf.strength", ".x=1"):
        with pytest.raises(argparse.ArgumentTypeError, match="must be method"):
            cli.setting(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "svm"], "argument --method: must be name=module:Class, then key=value"),
        (["--method", "a=sklearn.svm:SVC", "C"], "argument --method: must be name=module:Class"),
        (["--method", "a=no.such:Class"], "argument --method: a cannot be had: No module"),
        (["--method", "a=sklearn.svm:Nothing"], "argument --method: a cannot be had: .*Nothing"),
        (["--set", "strength=1"], "argument --set: must be method.parameter=value"),
        (["--csv", "table.csv"], "--csv and --target go together"),
        (["--metric", "rmse"], "argument --metric: must be among accuracy"),
    ],
)
def test_own_methods_that_do_not_do(script, arguments, message, capsys):
    with pytest.raises(SystemExit):
        script("run_uci").parse(arguments)
    assert re.search(message, capsys.readouterr().err.splitlines()[-1])


def test_own_methods(script):
    parse = script("run_uci").parse
    options = parse(
        [
            "--method",
            "lr=sklearn.linear_model:LogisticRegression",
            "C=0.1",
            "--methods",
            "rf,lr",
            "--method",
            "hgb=sklearn.ensemble:HistGradientBoostingClassifier",
            "--set",
            "rf.max_features=0.5",
            "rf.max_depth=3",
        ]
    )
    assert list(options.methods) == ["rf(max_features=0.5, max_depth=3)", "lr"]
    assert options.methods["lr"].fixed == {"C": 0.1}
    assert options.methods["lr"].takes == "numbers"
    with pytest.raises(SystemExit, match=r"--methods: must be among .*hgb.*, got 'svm'"):
        parse(["--methods", "svm", "--method", "hgb=sklearn.ensemble:ExtraTreesClassifier"])
    with pytest.raises(SystemExit, match=r"--set: must be among .*, got 'svm'"):
        parse(["--set", "svm.C=1"])


def test_missing_extras_are_named_as_extras(script, monkeypatch):
    import sys

    lab = script("_lab")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SystemExit, match=r'pandas is not installed: pip install "mddf\[data\]"'):
        lab.need("pandas", "data")
