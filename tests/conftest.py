import importlib
import os
import signal
from pathlib import Path

import pytest

HOME = os.environ.get("MDDF_DATA_HOME")


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="also run tests marked slow")


def pytest_configure(config):
    # A shell's background jobs ignore Ctrl-C, and so would what the tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # shap's few loops take less time than to compile them.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow: needs --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def data_home():
    """Folder with the real data sets, from MDDF_DATA_HOME; skips the test without it."""
    if not HOME or not Path(HOME).is_dir():
        pytest.skip("real data: set MDDF_DATA_HOME to a folder with the data sets")
    return Path(HOME)


@pytest.fixture(autouse=True)
def only_data_that_is_asked_for(request, monkeypatch, tmp_path_factory):
    """A test that forgets to ask for `data_home` fails wherever it runs."""
    if "data_home" not in request.fixturenames:
        monkeypatch.setenv("MDDF_DATA_HOME", str(tmp_path_factory.getbasetemp() / "no data"))


@pytest.fixture
def script(monkeypatch):
    """Import a script by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scripts"))
    return importlib.import_module


@pytest.fixture
def few_rounds(monkeypatch):
    """Let the boosting of deep forests that regress end after 40 rounds instead of 500."""
    from mddf import _members

    whole = _members.boosted_regressor
    monkeypatch.setattr(
        _members, "boosted_regressor", lambda *args: whole(*args).set_params(max_iter=40)
    )
