"""The studies of layers, shares and planes, and what draws results; the losses."""

import json
import re
import sys

import numpy as np
import pytest

from mddf._margin_loss import margin_loss

PLOTS = ("layers", "tsne", "small_sample", "boosting")


def assert_drawn(folder, *names):
    for name in names:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.png").stat().st_size > 5000
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def results_of(folder):
    return [json.loads(path.read_text()) for path in sorted((folder / "cells").iterdir())]


def test_layers(script, tmp_path, capsys, monkeypatch):
    run, plot = script("run_layers"), script("plot_layers")
    monkeypatch.chdir(tmp_path)
    arguments = ["--quick", "--datasets", "iris", "--seeds", "2"]
    assert run.main([*arguments, "--methods", "mddf,gcforest", "mddf-np"]) == 0
    folder = tmp_path / "results/layers-quick"
    cells = results_of(folder)
    assert len(cells) == 6
    for cell in cells:
        assert [row["layer"] for row in cell["result"]["layers"]] == [1, 2, 3]
        for row in cell["result"]["layers"]:
            assert row["train_accuracy"] >= row["oof_accuracy"] > 0.8
            assert row["test_accuracy"] > 0.8
            assert row["margin_ratio"] == pytest.approx(row["margin_std"] / row["margin_mean"])
            shares = np.array(row["cumulative"])
            assert (np.diff(shares) >= 0).all()
            assert shares[0] >= 0
            assert shares[-1] == 1
            # The margin of a tie is 0, so that some of the share at 0 may be right.
            assert shares[99] - 2e-5 <= 1 - row["oof_accuracy"] <= shares[100] + 2e-5
            assert row["bound"] > 1  # of trees that are grown to purity
            assert row["bound_of_trees"] < row["bound"]
    assert (folder / "layers.md").read_text().count("| iris | mdDF NP |") == 3
    assert (folder / "bounds.md").read_text().count("| iris |") == 3
    monkeypatch.setattr(run, "layers_of", lambda *_, **__: pytest.fail("computed twice"))
    run.main([*arguments, "--methods", "mddf"])
    capsys.readouterr()
    plot.main(["--quick"])
    assert_drawn(folder, "layers", "margins")
    plot.main([str(folder), "--out", str(tmp_path / "pictures"), "--format", "svg"])
    assert (tmp_path / "pictures/layers.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", PLOTS)
def test_errors_of_plots_name_the_command_that_makes_their_input(
    script, name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    maker = {"boosting": "run_deepboost"}.get(name, f"run_{name}")
    with pytest.raises(SystemExit, match=rf"no results/.*: python scripts/{maker}\.py.* makes it"):
        script(f"plot_{name}").main([])
    store = script("_lab.records").Store(tmp_path, {"study": "uci"})
    store.save({"set": "iris"}, {})
    for source in (tmp_path, store.path({"set": "iris"})):
        with pytest.raises(SystemExit, match=rf"of another kind, 'uci': python .*{maker}\.py"):
            script(f"plot_{name}").main([str(source)])


@pytest.mark.parametrize("name", [*PLOTS, "losses"])
def test_without_matplotlib(script, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match=r'matplotlib .* pip install "mddf\[plots\]"'):
        script(f"plot_{name}").pictures.pyplot()


def test_tsne(script, tmp_path, capsys):
    run, plot = script("run_tsne"), script("plot_tsne")
    arguments = ["--quick", "--datasets", "iris", "--rows", "45", "--n-jobs", "1"]
    arguments += ["--out", str(tmp_path)]
    assert run.main(arguments) == 0
    (cell,) = results_of(tmp_path)
    train, test = cell["result"]["train"], cell["result"]["test"]
    assert np.shape(train["planes"]) == np.shape(test["planes"]) == (3, 45, 2)
    assert len(train["in_features"]) == 3
    assert train["in_features"][2] < train["in_features"][0]
    assert set(train["labels"]) == set(test["labels"])
    assert "| iris | test, features |" in (tmp_path / "ratios.md").read_text()
    with pytest.raises(SystemExit, match="other settings: rows 45 there, 44 here"):
        run.main([*arguments, "--rows", "44"])
    plot.main([str(tmp_path)])
    assert_drawn(tmp_path, "tsne-iris")
    (path,) = (tmp_path / "cells").iterdir()
    plot.main([str(path), "--format", "png", "--out", str(tmp_path / "one")])
    assert [p.name for p in (tmp_path / "one").iterdir()] == ["tsne-iris.png"]


def test_classes_are_told_apart(script):
    styles = script("_lab.pictures").class_styles(26)
    assert len({(style["color"], style["marker"]) for style in styles}) == 26


def test_variance_ratio(script):
    ratio = script("run_tsne").variance_ratio
    X = np.array([[0.0, 0], [2, 0], [10, 0], [12, 0]])
    y = np.array(["a", "a", "b", "b"])
    assert ratio(X, y) == pytest.approx(4 / 100)
    assert ratio(3 * X + 1, y) == pytest.approx(4 / 100)
    assert ratio(X, y[[0, 2, 2, 0]]) == np.inf


def test_losses(script, tmp_path, capsys):
    plot = script("plot_losses")
    z = np.linspace(-1, 2, 13)
    band = plot.band_loss(z, 0.2, 0.1)
    assert band[z <= 0].min() >= 1  # they bound the 0-1 loss
    assert margin_loss(z, 0.9, 0.1)[z <= 0].min() >= 1
    inside = (z > 0.8) & (z <= 1.2)
    assert (band[inside] == 0).all()
    assert band[-1] == pytest.approx(0.1 * 0.8**2 / 1.2**2)
    plot.main(["--out", str(tmp_path)])
    assert_drawn(tmp_path, "losses")
    with pytest.raises(SystemExit):
        plot.main(["--theta", "1"])
    assert re.search("--theta: must lie between 0 and 1, got 1", capsys.readouterr().err)
