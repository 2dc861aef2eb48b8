"""Options that all commands share."""

import re

import pytest


def test_an_own_table_takes_the_place_of_the_default_sets(script, tmp_path):
    (tmp_path / "own.csv").write_text("a,b,kind\n" + "1,2,x\n3,4,y\n" * 5)
    for command in ("run_deep_forests", "run_uci"):
        options = script(command).parse(["--csv", str(tmp_path / "own.csv"), "--target", "kind"])
        assert list(options.sources) == ["own"]


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
