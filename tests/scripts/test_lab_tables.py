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
