"""Types that a checker of a user's program finds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mddf

pytest.importorskip("mypy")
FORESTS = "RandomForestClassifier RandomForestRegressor"
BOOSTED = "GradientBoostingClassifier GradientBoostingRegressor"
OTHERS = "DeepForestClassifier DeepForestRegressor MDDFClassifier"


@pytest.mark.slow
def test_a_program_of_a_user(tmp_path):
    names = f"{FORESTS} {BOOSTED} {OTHERS}".split()
    lines = ["import numpy as np", "import mddf", "X = np.zeros((9, 2))", "y = np.arange(9) % 2"]
    expected = []

    def reveal(expression, kind):
        lines.append(f"reveal_type({expression})")
        expected.append(kind)

    for name in names:
        fitted = f"mddf.{name}().fit(X, y)"
        reveal(fitted, name)
        reveal(f"{fitted}.predict(X)", "ndarray")
        reveal(f"{fitted}.input_columns_[0].levels", "tuple")
        if name.endswith("Classifier"):
            reveal(f"{fitted}.classes_", "ndarray")
            reveal(f"{fitted}.predict_proba(X)[:, 1]", "ndarray|Any")
    reveal("mddf.drift(X, X)[0].p_value", "float")
    reveal("mddf.check(X, y).to_dicts()", "list")
    (tmp_path / "user.py").write_text("\n".join(lines))
    environment = dict(os.environ)
    folder = Path(mddf.__file__).parents[1]
    if folder.name != "site-packages":  # which mypy finds by itself
        environment["MYPYPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "user.py", "--cache-dir", str(tmp_path / "cache")],
        env=environment,
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    revealed = re.findall(r'^user.py:.*Revealed type is "(.*)"', done.stdout, re.MULTILINE)
    assert len(revealed) == len(expected), done.stdout
    for kind, found in zip(expected, revealed, strict=True):
        assert re.search(kind, found), (kind, found)
    assert not re.search(r"^user.py:\d+: error", done.stdout, re.MULTILINE), done.stdout
