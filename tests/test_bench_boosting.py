"""bench_boosting.py."""

import json

import pytest


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_bundled_sets(script, tmp_path, capsys):
    out = tmp_path / "bench.json"
    script("bench_boosting").main(["--quick", "--out", str(out)])
    lines = [line for line in capsys.readouterr().out.splitlines() if "aim" in line]
    results = json.loads(out.read_text())["results"]
    assert len(lines) == len(results) == 2 + 1 + 1 + 4
    for result in results:
        assert result["ratio"] == pytest.approx(result["other_seconds"] / result["seconds"])
    only = tmp_path / "only.json"
    script("bench_boosting").main(["--quick", "--only", "ionosphere", "--out", str(only)])
    assert len(json.loads(only.read_text())["results"]) == 2
