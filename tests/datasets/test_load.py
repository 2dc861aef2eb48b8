import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from made_data import balance_file
from mddf.datasets import DataFileError, Dataset, load
from mddf.datasets._registry import SPECS

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


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_need_no_file(name, tmp_path):
    data = load(name, data_home=tmp_path / "none", download=False)
    assert isinstance(data, Dataset)
    assert (*data.X.shape, len(data.classes)) == EMBEDDED[name]
    assert len(data.y) == len(data.X)
    assert len(data.feature_names) == data.X.shape[1]
    assert isinstance(data.X, np.ndarray)
    assert not data.has_standard_split


def test_embedded_set_that_changed(monkeypatch):
    import sklearn.datasets

    bunch = sklearn.datasets.load_iris()
    bunch.target[0] = 1
    monkeypatch.setattr(sklearn.datasets, "load_iris", lambda: bunch)
    with pytest.raises(DataFileError, match="'iris' must have class counts"):
        load("iris")


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


def test_as_frame_is_checked():
    for value in ["yes", None, 1, "AUTO"]:
        with pytest.raises(ValueError, match="as_frame must be True, False or 'auto', got"):
            load("iris", as_frame=value)


@pytest.fixture
def tictactoe(tmp_path, monkeypatch):
    """Three boards as Tic-Tac-Toe; only its label counts are not specified."""
    from dataclasses import replace

    from mddf.datasets._io.spec import File, Part

    spec = SPECS["tictactoe"]
    parts = (Part({"positive": 2, "negative": 1}), Part({"positive": 1}))
    files = (File("tic-tac-toe.data"), File("more.data"))
    monkeypatch.setitem(SPECS, "tictactoe", replace(spec, parts=parts, files=files))
    (tmp_path / "tictactoe").mkdir()
    (tmp_path / "tictactoe" / "tic-tac-toe.data").write_text(
        "x,x,x,o,o,b,b,b,b,positive\no,o,x,x,x,o,o,x,x,negative\nx,x,x,o,o,b,b,b,b,positive\n"
    )
    (tmp_path / "tictactoe" / "more.data").write_text("x,x,x,x,x,x,x,x,x,positive\n")
    return tmp_path


def test_frame_of_categories(tictactoe):
    data = load("tictactoe", data_home=tictactoe)
    assert "2 classes, 3 for training and 1 for testing" in repr(data)
    assert data.X_train.shape == (3, 9)
    assert data.X_test.shape == (1, 9)
    assert len(data.categorical) == 9
    assert data.categorical_indices == tuple(range(9))
    for name in data.feature_names:
        assert isinstance(data.X[name].dtype, pd.CategoricalDtype)
        assert data.X_train[name].dtype == data.X_test[name].dtype
    assert data.X["square_0_0"].tolist() == ["x", "o", "x", "x"]
    assert data.y_test.tolist() == ["positive"]


def test_array_of_codes(tictactoe):
    frame = load("tictactoe", data_home=tictactoe, as_frame=True).X
    data = load("tictactoe", data_home=tictactoe, as_frame=False)
    assert data.X.dtype == np.float64
    for j, name in enumerate(data.feature_names):
        words = [data.categories[name][int(code)] for code in data.X[:, j]]
        assert words == frame[name].tolist()


def test_without_pandas_and_pooch(tictactoe, balance_home):
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
