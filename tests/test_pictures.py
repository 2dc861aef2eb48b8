"""run_layers.py, run_tsne.py and what draws their results; the losses."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mddf._margin_loss import margin_loss

SCRIPTS = Path(__file__).parents[1] / "scripts"


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_layers(script, tmp_path, capsys, monkeypatch):
    run, plot = script("run_layers"), script("plot_layers")
    monkeypatch.chdir(tmp_path)
    arguments = ["--quick", "--datasets", "iris", "--seeds", "2"]
    arguments += ["--methods", "mddf", "gcforest", "mddf-np"]
    run.main(arguments)
    folder = tmp_path / "results/layers-quick"
    content = json.loads((folder / "results.json").read_text())
    assert len(content["results"]) == 6
    for cell in content["results"].values():
        assert [row["layer"] for row in cell["layers"]] == [1, 2, 3]
        for row in cell["layers"]:
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
    shown = capsys.readouterr().out
    assert shown.count("| iris | mdDF NP |") == 3
    run.main(arguments)  # nothing is computed again
    assert json.loads((folder / "results.json").read_text()) == content
    plot.main(["--quick"])
    assert is_png(folder / "layers.png")
    assert is_png(folder / "margins.png")
    plot.main([str(folder), "--out", str(tmp_path), "--format", "svg"])
    assert (tmp_path / "layers.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["layers", "tsne", "small_sample"])
def test_nothing_to_draw(script, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"no results/.*: let the script that computes it run"):
        script(f"plot_{name}").main([])


@pytest.mark.parametrize("name", ["layers", "tsne", "small_sample", "boosting"])
def test_files_of_another_kind_are_refused(script, name, tmp_path):
    path = tmp_path / "results.json"
    source = path if name in ("tsne", "boosting") else tmp_path
    for content in ({"settings": {}, "results": {"a": {"x": 1}}}, [], {"methods": {}}):
        path.write_text(json.dumps(content))
        with pytest.raises(SystemExit, match=r"results\.json is a file of another kind"):
            script(f"plot_{name}").main([str(source)])


@pytest.mark.parametrize("name", ["layers", "tsne", "losses", "small_sample", "boosting"])
def test_without_matplotlib(script, name, monkeypatch):
    for module in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, f"plot_{name}", raising=False)
    with pytest.raises(SystemExit, match=r"pictures need matplotlib: .* pip install matplotlib"):
        script(f"plot_{name}").pyplot()


def test_tsne(script, tmp_path, capsys, monkeypatch):
    run, plot = script("run_tsne"), script("plot_tsne")
    arguments = ["--quick", "--datasets", "iris", "--rows", "45", "--out", str(tmp_path)]
    run.main(arguments)
    content = json.loads((tmp_path / "iris.json").read_text())
    assert len(content["ratios"]) == 6
    ratios = {(r["part"], r["layer"]): r["ratio_features"] for r in content["ratios"]}
    assert ratios["train", 2] < ratios["train", 0]
    with np.load(tmp_path / "iris.npz") as arrays:
        assert arrays["train_0"].shape == arrays["test_2"].shape == (45, 2)
        assert set(arrays["test_labels"]) == set(arrays["train_labels"])
    monkeypatch.setattr(run, "embed", lambda *_: pytest.fail("computed twice"))
    capsys.readouterr()
    run.main(arguments)
    assert "| test, features |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="results of other settings"):
        run.main([*arguments, "--rows", "44"])
    plot.main([str(tmp_path / "iris.json")])
    assert is_png(tmp_path / "iris.png")


def test_variance_ratio(script):
    ratio = script("run_tsne").variance_ratio
    X = np.array([[0.0, 0], [2, 0], [10, 0], [12, 0]])
    y = np.array(["a", "a", "b", "b"])
    assert ratio(X, y) == pytest.approx(4 / 100)
    assert ratio(3 * X + 1, y) == pytest.approx(4 / 100)
    assert ratio(X, y[[0, 2, 2, 0]]) == np.inf


def test_losses(script, tmp_path):
    plot = script("plot_losses")
    z = np.linspace(-1, 2, 13)
    band = plot.band_loss(z, 0.2, 0.1)
    assert band[z <= 0].min() >= 1  # they bound the 0-1 loss
    assert margin_loss(z, 0.9, 0.1)[z <= 0].min() >= 1
    inside = (z > 0.8) & (z <= 1.2)
    assert (band[inside] == 0).all()
    assert band[-1] == pytest.approx(0.1 * 0.8**2 / 1.2**2)
    plot.main(["--quick", "--out", str(tmp_path / "losses.png")])
    assert is_png(tmp_path / "losses.png")
    with pytest.raises(SystemExit):
        plot.main(["--theta", "1"])
