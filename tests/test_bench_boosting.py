"""bench_boosting.py."""

import pandas as pd
import pytest


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_bundled_sets(script, tmp_path, capsys):
    bench = script("bench_boosting")
    bench.main(["--quick", "--out", str(tmp_path / "all")])
    assert capsys.readouterr().out.count(" aim x") == 2 + 1 + 1 + 4
    results = pd.read_csv(tmp_path / "all/boosting.csv")
    assert len(results) == 2 + 1 + 1 + 4
    pd.testing.assert_series_equal(
        results["ratio"], results["other"] / results["seconds"], check_names=False
    )
    assert ((results["ratio"] >= results["aim"]) == (results["met"] == "yes")).all()
    bench.main(["--quick", "--only", "ionosphere", "--out", str(tmp_path / "one")])
    assert len(pd.read_csv(tmp_path / "one/boosting.csv")) == 2
    assert "numpy" in (tmp_path / "one/run.json").read_text()
