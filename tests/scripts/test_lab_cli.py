"""Options that all commands share."""

import argparse
import re

import pytest


@pytest.fixture
def cli(script):
    return script("_lab.cli")


def test_quick_changes_defaults_only(cli):
    parser = cli.Parser("", "made", quick={"trees": 2, "windows": [1]}, trees=10, windows=[1, 2])
    options = parser.read([])
    assert (options.trees, options.windows, str(options.out)) == (10, [1, 2], "results/made")
    options = parser.read(["--quick"])
    assert (options.trees, options.windows, options.out.name) == (2, [1], "made-quick")
    options = parser.read(["--quick", "--trees", "5", "--windows", "3,4", "5", "--out", "there"])
    assert (options.trees, options.windows, str(options.out)) == (5, [3, 4, 5], "there")


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", ""])
def test_counts(cli, text):
    assert cli.count("12") == 12
    with pytest.raises(argparse.ArgumentTypeError, match="whole number of at least 1"):
        cli.count(text)


@pytest.mark.parametrize("text", ["0", "1.01", "-0.5", "half", "nan", "1.2.3"])
def test_shares(cli, text):
    assert [cli.share("0.25"), cli.share("1e-2")] == [0.25, 0.01]
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
        (
            ["--method", "a=no.such:Class"],
            "argument --method: a cannot be had: Module.*: No module",
        ),
        (["--method", "a=math:pi"], "argument --method: math:pi must be a class with fit"),
        (["--method", "a=own_broken:A"], "argument --method: a cannot be had: ValueError: one"),
        (["--method", "a=sklearn.svm:Nothing"], "argument --method: a cannot be had: .*Nothing"),
        (["--set", "strength=1"], "argument --set: must be method.parameter=value"),
        (["--csv", "a.csv", "--target", "b", "--datasets", "wine"], "either --datasets or --csv"),
        (["--csv", "table.csv"], "--csv and --target go together"),
        (["--metric", "rmse"], "argument --metric: must be among accuracy"),
    ],
)
def test_unsuitable_own_methods(script, arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where modules are looked for, too
    (tmp_path / "own_broken.py").write_text("raise ValueError('one\\ntwo')")
    with pytest.raises(SystemExit):
        script("run_uci").parse(arguments)
    assert re.search(message, capsys.readouterr().err.splitlines()[-1])


def test_methods_of_the_user(script):
    parse = script("run_uci").parse
    options = parse(
        [
            "--method",
            "lr=sklearn.linear_model:LogisticRegression",
            "C=0.1",
            "--methods",
            "rf,lr",
            "--set",
            "rf.max_features=0.5",
            "rf.max_depth=3",
        ]
    )
    assert list(options.methods) == ["rf(max_depth=3, max_features=0.5)", "lr"]
    assert options.methods["lr"].fixed == {"C": 0.1}
    assert options.methods["lr"].takes == "numbers"
    with pytest.raises(SystemExit, match=r"--methods: must be among .*hgb.*; got 'svm'"):
        parse(["--methods", "svm", "--method", "hgb=sklearn.ensemble:ExtraTreesClassifier"])
    svm = ["--method", "svm=sklearn.svm:SVC"]
    for arguments, message in (
        (["--set", "svm.C=1"], "--set: must be among .*; got 'svm'"),
        (["--methods", "rf", "--set", "mddf.cv=3"], "--set: must be among rf; got 'mddf'"),
        (["--methods", "rf", *svm], "--method: must be among --methods: rf; got 'svm'"),
        (["--methods", "rf", "--set", "rf.x=1"], r"rf\(x=1\) cannot be made: TypeError: .*'x'"),
        ([*svm, "x=1"], "svm cannot be made: TypeError: .*'x'"),
        (
            ["--method", "rf=sklearn.svm:SVC"],
            "rf is a method of these scripts, RandomForest:",
        ),
        (["--method", "randomforest=sklearn.svm:SVC"], "randomforest is a method of these"),
        (["--method", "xgboost-tuned=sklearn.svm:SVC"], "xgboost-tuned is a method of these"),
        ([*svm, *svm], "--method: must have names of their own, got 'svm' twice"),
    ):
        with pytest.raises(SystemExit, match=message):
            parse(arguments)


def test_help_fits_a_screen(cli):
    doc = "What it does.\n\n    python a.py" + " --option one" * 5 + "     what that does\n"
    assert cli.for_screen(doc + "    python b.py" + " --option one" * 5).splitlines()[2:] == [
        "    python a.py" + " --option one" * 4 + " --option \\",
        "        one",
        "        what that does",
        "    python b.py" + " --option one" * 4 + " --option \\",
        "        one",
    ]


def test_missing_extras_are_named_as_extras(script, monkeypatch):
    import sys

    lab = script("_lab")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SystemExit, match=r'pandas is not installed: pip install "mddf\[data\]"'):
        lab.need("pandas", "data")


def test_help_lists_all_methods(script, capsys):
    models = script("_lab.models")
    for name in ("run_league", "run_uci"):
        with pytest.raises(SystemExit):
            script(name).study.parse(["--help"])
        text = " ".join(capsys.readouterr().out.split())
        assert f"names of methods: {', '.join(models.METHODS)}, and the names of --method" in text
