"""Printed tables."""

import pandas as pd
import pytest


@pytest.fixture
def tables(script):
    return script("_lab.tables")


def cell(name, method, seed, accuracy, layers=None):
    times = {"fit_seconds": 2.0, "predict_seconds": 1.0, "bytes": 10}
    return {"set": name, "method": method, "seed": seed, "accuracy": accuracy} | times | {
        "layers": layers
    }  # fmt: skip


@pytest.fixture
def frame():
    return pd.DataFrame(
        [
            cell("letter", "rf", 0, 0.96),
            cell("letter", "rf", 1, 0.98),
            cell("letter", "mddf", 0, 0.98, 3),
            cell("letter", "mddf", 1, 0.98, 5),
            cell("iris", "rf", 0, 0.9),
        ]
    )


def test_score_table(tables, frame):
    published = {("letter", "rf"): 96.58, ("letter", "mddf"): 97.5}
    table = tables.score_table("accuracy", frame, "accuracy", published=published)
    markdown = table.markdown(["a note"])
    assert "| letter | 97.00 ± 1.41 | 98.00 ± 0.00 | 3 to 5 |" in markdown
    assert "|   published | 96.58 | 97.50 |  |" in markdown
    assert "| iris | 90.00 |  |  |" in markdown
    assert "| mean rank, 1 set | 2.00 | 1.00 |  |" in markdown
    assert markdown.endswith("\n\n- a note\n")
    row = table.data.set_index(["set", "method"]).loc[("letter", "rf")]
    assert row["accuracy_std"] == pytest.approx(0.01 * 2**0.5)
    assert row["n_seeds"] == 2


def test_screens_of_80_columns(tables, frame):
    wide = pd.concat([frame.assign(method=f"method-{i}") for i in range(12)])
    text = tables.score_table("accuracy", wide, "accuracy").text()
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"method-{i}" in text for i in range(12))


def test_costs(tables, frame):
    table = tables.costs(frame)
    assert table.display.loc["mdDF"].tolist() == ["2", "1", "10"]


def test_latex(tables):
    output = pd.DataFrame({"set": ["a_b"], "x %": ["1 ± 2"]})
    assert tables.Table("t", "title", output).latex() == (
        "\\begin{tabular}{lr}\n\\toprule\nset & x \\% \\\\\n\\midrule\n"
        "a\\_b & 1 $\\pm$ 2 \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


def test_signs_and_notes(tables):
    table = tables.Table("t", "title", pd.DataFrame({r"a~b^c\{d}": ["$x"]}))
    assert table.latex().splitlines()[2::2] == [
        r"a\~{}b\^{}c$\backslash$\{d\} \\",
        r"\$x \\",
        r"\end{tabular}",
    ]  # fmt: skip
    assert table.markdown(["one\nnote", "two"]).endswith("\n\n- one note\n- two\n")


def test_columns(tables):
    rows = pd.DataFrame({"set": ["a"], "n": [3], "x": [0.5], "y": [None]})
    table = tables.columns(
        "t", "title", rows, "set layers_of=n share=x:.1% y:.2f gone:.1f", n_index=2
    )
    assert table.rows().to_dict("records") == [
        {"set": "a", "layers of": "3", "share": "50.0%", "y": ""}
    ]
    assert table.data is rows
    table = tables.columns("t", "title", rows.assign(x_std=0.1), "set x:+.1f±")
    assert table.display["x"].tolist() == ["+0.5 ± 0.1"]


def test_names_show_shares_and_features(tables):
    frame = pd.DataFrame({"set": ["a"] * 3, "fraction": [0.501, 0.504, None], "method": "rf"})
    frame["features"] = ["raw", None, "both"]
    result = tables.labelled(frame)
    assert result["set"].tolist() == ["a, 50.1%", "a, 50.4%", "a"]
    assert result["method"].tolist() == ["rf, raw", "rf", "rf, both"]
    assert frame["set"].tolist() == ["a"] * 3


def test_order_and_published(tables, frame):
    ordered = tables.in_order(frame, "method", ["mddf", "rf"])
    assert ordered["method"].tolist() == ["mddf", "mddf", "rf", "rf", "rf"]
    assert len(tables.published("deepboost_table2.tsv")) == 24
    nested = frame.assign(nested=[[1]] * 5)
    assert "nested" not in tables.flat(nested)
