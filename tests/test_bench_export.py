"""bench_export.py."""

import json

import pytest

pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_bundled_sets(script, tmp_path, capsys):
    script("bench_export").main(
        ["--only", "iris", "adult", "--trees", "5", "--rows", "10", "--out", str(tmp_path)]
    )
    assert "adult: left out" in capsys.readouterr().out
    rows = json.loads((tmp_path / "export.json").read_text())["rows"]
    assert [row["set"] for row in rows] == ["iris", "iris"]
    for row in rows:
        assert row["classes equal"] == 1
        assert row["probabilities differ"] < 1e-6
        assert min(row["pickle MB"], row["ONNX MB"], row["ONNX us, 1 row(s)"]) > 0
