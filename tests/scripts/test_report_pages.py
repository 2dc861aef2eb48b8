"""Commands that compute tables and pictures from tables of the pages."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def test_the_table_of_pretrained_networks_is_the_output_of_its_command(capsys):
    importlib.import_module("report.pretrained").main([])
    table = capsys.readouterr().out
    assert table.count("\n") > 10
    assert table in (ROOT / "docs/results/pretrained-networks.md").read_text()


def test_ratios_are_geometric_means_over_sets():
    pretrained = importlib.import_module("report.pretrained")
    losses = pretrained.pd.DataFrame({"ours": [1.0, 4.0], "peer": [2.0, 2.0]})
    ours, peer = pretrained.ratios(losses, "peer").to_dict("index").values()
    assert ours == {"ratio": pytest.approx(1.0), "better": 1}
    assert peer == {"ratio": 1.0, "better": 0}


def test_the_text_of_the_picture_is_on_the_first_pages():
    accuracy_cost = importlib.import_module("report.accuracy_cost")
    league = (ROOT / "docs/results/league.md").read_text()
    text = accuracy_cost.described(accuracy_cost.points(league))
    for page in ("README.md", "docs/index.md"):
        assert f"![{text}](" in (ROOT / page).read_text()


def test_the_picture_has_a_point_for_each_method():
    accuracy_cost = importlib.import_module("report.accuracy_cost")
    points = [accuracy_cost.Point(name, 1.0, 2.0) for name in accuracy_cost.LABELS]
    (axis,) = accuracy_cost.draw(points, 33).axes
    assert len(axis.collections) == len(accuracy_cost.LABELS) == len(axis.texts)
