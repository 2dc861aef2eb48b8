import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from made_data import balance_file
from mddf.datasets import Dataset, load

EMBEDDED = {
    "digits": (1797, 64, 10),
    "wine": (178, 13, 3),
    "breast_cancer": (569, 30, 2),
    "iris": (150, 4, 3),
    "diabetes-progression": (442, 10, 0),
}


@pytest.fixture
def balance_home(tmp_path):
    (tmp_path / "balance").mkdir()
    (tmp_path / "balance" / "balance-scale.data").write_bytes(balance_file())
    return tmp_path


def run(code):
    subprocess.run([sys.executable, "-P", "-W", "error", "-c", textwrap.dedent(code)], check=True)


def test_embedded_sets_need_no_file(tmp_path):
    for name in EMBEDDED:
        data = load(name, data_home=tmp_path / "none", download=False)
        assert isinstance(data, Dataset)
        assert (*data.X.shape, len(data.classes)) == EMBEDDED[name]
        assert len(data.y) == len(data.X)
        assert len(data.feature_names) == data.X.shape[1]
        assert isinstance(data.X, np.ndarray)
        assert not data.has_standard_split


def test_errors_about_missing_splits_name_the_remedy():
    data = load("iris")
    assert not hasattr(data, "X_train")
    for name in ("X_train", "y_train", "X_test", "y_test"):
        with pytest.raises(AttributeError, match=f"no standard split, so no {name}: split X and"):
            getattr(data, name)


def test_as_frame_of_numbers(balance_home):
    array = load("balance", data_home=balance_home)
    frame = load("balance", data_home=balance_home, as_frame=True)
    assert isinstance(array.X, np.ndarray)
    assert isinstance(frame.X, pd.DataFrame)
    assert tuple(frame.X.columns) == array.feature_names
    np.testing.assert_array_equal(frame.X.to_numpy(), array.X)
    assert load("iris", as_frame=True).X.shape == (150, 4)


def test_without_pandas_and_pooch(balance_home):
    run(f"""
        import sys
        sys.modules["pandas"] = sys.modules["pooch"] = None
        from mddf.datasets import load
        assert load("iris").X.shape == (150, 4)
        assert load("balance", data_home={str(balance_home)!r}).X.shape == (625, 4)
        for ask in (lambda: load("iris", as_frame=True),):
            try:
                ask()
            except ImportError as error:
                assert 'not installed: pip install "mddf[data]"' in str(error)
            else:
                raise SystemExit("no error")
    """)
