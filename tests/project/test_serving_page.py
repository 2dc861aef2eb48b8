"""The programs on the serving pages run as printed, each in its own file."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE_NAMES = ("serving", "serving-tests", "data-drift", "model-card")
PAGES = [(DOCS / f"{name}.md").read_text() for name in PAGE_NAMES]
PROGRAMS = re.findall(r"```python\n(.*?)```", "".join(PAGES), flags=re.DOTALL)
TRAIN, SERVICE, CLIENT, WATCH, CARD = PROGRAMS
EXTRAS = ("fastapi", "httpx2", "pandas", "skops")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the programs, after training the model."""
    for extra in EXTRAS:
        pytest.importorskip(extra)
    folder = tmp_path_factory.mktemp("service")
    assert [code.split("\n", 1)[0] for code in (TRAIN, SERVICE, CLIENT)] == [
        "# train.py",
        "# service.py",
        "# client.py",
    ]
    (folder / "train.py").write_text(TRAIN + CARD)
    (folder / "service.py").write_text(SERVICE)
    (folder / "client.py").write_text(CLIENT)
    (folder / "watch.py").write_text(WATCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runpy.run_path("train.py")
    return folder


@pytest.fixture
def service(folder, monkeypatch):
    """The service as a module that is imported anew."""
    import logging

    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "service", raising=False)
    yield importlib.import_module("service")
    logging.captureWarnings(False)
    sys.modules.pop("service", None)


def test_files_of_the_model_are_written(folder):
    assert (folder / "wine.skops").exists()
    assert "Intended use" in (folder / "README.md").read_text()


def test_the_drift_of_a_batch_is_shown(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    runpy.run_path("watch.py")
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "['cellar', 'ash']"
    assert printed[0].split() == [
        "column", "psi", "verdict", "missing_in_training", "missing", "unknown",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")  # of categories that are unknown on purpose
def test_the_test_on_the_page_passes(service, capsys):
    runpy.run_path("client.py")
    printed = capsys.readouterr().out.splitlines()
    assert printed[1:] == ["{'cellar': 1}", "422 missing columns: ash"]


def client(service):
    from fastapi.testclient import TestClient

    return TestClient(service.app)


def test_ready(service):
    answer = client(service).get("/ready").json()
    assert answer["features"][-1] == "cellar"
    assert answer["layers"] >= 1


def test_requests_are_logged(service, caplog):
    row = service.saved["example"][0]
    with caplog.at_level("INFO", logger="wine"):
        client(service).post("/predict", json={"rows": [row, {**row, "cellar": "east"}]})
    messages = [record.getMessage() for record in caplog.records if record.name == "wine"]
    assert messages[0].startswith("2 rows in ")
    assert messages[1] == "unknown categories: {'cellar': 1}"


@pytest.mark.parametrize(
    "change",
    [{"cellar": None}, {"cellar": "south"}, {"ash": None}, {"ash": 2}, {"colour": "red"}],
    ids=str,
)
def test_rows_that_are_right(service, change):
    row = {**service.saved["example"][0], **change}
    answer = client(service).post("/predict", json={"rows": [row]})
    assert answer.status_code == 200
    assert answer.json()["unknown_categories"] == {}
    assert sum(answer.json()["probabilities"][0]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "rows", [[], [{}], [{"ash": 1.0}], "all", [{"ash": [1]}], [{"ash": "much"}]], ids=str
)
def test_requests_that_are_wrong(service, rows):
    if rows == [{"ash": "much"}]:
        rows = [{**service.saved["example"][0], **rows[0]}]
    assert client(service).post("/predict", json={"rows": rows}).status_code == 422


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_packages_to_install_are_named(page):
    """A page names the packages that it imports itself."""
    command = re.search(r"^pip install (.*)$", page, flags=re.MULTILINE)[1]
    code = "".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    modules = set(re.findall(r"^ *(?:import|from) (\w+)", code, flags=re.MULTILINE))
    own_or_with_others = {"numpy", "sklearn", "pydantic", "service", *sys.stdlib_module_names}
    assert modules - own_or_with_others <= set(re.findall(r"\w+", command))
    if "fastapi.testclient" in code:
        assert "httpx2" in command
    if "uvicorn " in page:
        assert "uvicorn" in command
