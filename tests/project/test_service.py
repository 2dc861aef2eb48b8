"""The printed service: its programs run, and a server of it answers under load."""

import http.client
import json
import logging
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mddf

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = ("train.py", "service.py", "gunicorn.conf.py", "client.py", "watch.py")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of unknown categories

for extra in ("fastapi", "httpx2", "pandas", "prometheus_client"):
    pytest.importorskip(extra)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Folder with the programs of the pages, and a fitted model."""
    text = (DOCS / "serving.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for name in PROGRAMS:
        (code,) = (block for block in blocks if block.startswith(f"# {name}\n"))
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    runpy.run_path("train.py")
    return tmp_path


def test_the_programs_of_the_pages(folder, capsys):
    try:
        for program in ("client", "watch"):
            capsys.readouterr()
            runpy.run_path(f"{program}.py")
            printed = capsys.readouterr().out.splitlines()
            if program == "client":
                assert printed[2] == "{'cellar': 1}"
                assert [line[:11] for line in printed[3:6]] == ["422 row 0: "] * 3
                assert printed[6] == "422 row 0 must have the key 'ash'"
        assert printed[-1] == "['cellar', 'ash']"
        stable = [line.split() for line in printed if " stable " in line]
        assert max(float(psi) for _, psi, *_ in stable) > 0.25
    finally:
        logging.captureWarnings(False)
        sys.modules.pop("service", None)


class Server:
    """A server of the service in another process."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = folder / "server.log"
        environment = os.environ | {"BIND": f"127.0.0.1:{self.port}"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "service:app"],
                env=environment, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip

    def ask(self, method, path, body=None):
        """Status and body of an answer; asks again if the connection is closed before it."""
        for attempt in range(5):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request(method, path, body)
                response = connection.getresponse()
                return response.status, response.read()
            except (ConnectionError, http.client.RemoteDisconnected):
                if attempt == 4:
                    raise
                time.sleep(0.2)
            finally:
                connection.close()
        raise AssertionError

    def wait(self):
        for _ in range(300):
            try:
                if self.ask("GET", "/ready")[0] == 200:
                    return
            except ConnectionError:
                time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def fingerprint(self):
        return json.loads(self.ask("GET", "/ready")[1])["fingerprint"]


@pytest.fixture
def server(folder):
    for extra in ("gunicorn", "uvicorn_worker"):
        pytest.importorskip(extra)
    server = Server(folder)
    try:
        server.wait()
        yield server
    finally:
        server.process.terminate()
        server.process.wait(30)


@pytest.mark.slow
def test_a_server_under_load(server, folder):
    row = json.loads((folder / "wine.json").read_text())[0]
    good = json.dumps({"rows": [row]})
    status, body = server.ask("POST", "/predict", good)
    assert status == 200
    expected = json.loads(body)
    assert expected["fingerprint"] == mddf.fingerprint(mddf.load(folder / "wine.mddf"))
    # Bad requests are refused, and the service answers on.
    for bad, refusal in [
        (b"", 422), (b"{", 422), (b"[1]", 422), (b"\xff\xfe", 422), (b"[" * 100_000, 422),
        (b'{"rows": []}', 422), (b'{"rows": [3]}', 422), (b'{"rows": {"a": 1}}', 422),
        (json.dumps({"rows": [row | {"ash": "2.4"}]}), 422),
        (json.dumps({"rows": [row | {"bottled": "yesterday"}]}), 422),
        (json.dumps({"rows": [{}] * 20_000}), 413),
        (json.dumps({"rows": [{f"k{i}": 1 for i in range(300_000)}]})[:999_000], 413),
        (b"x" * 5_000_000, 413),
    ]:  # fmt: skip
        status, text = server.ask("POST", "/predict", bad)
        assert (status, b"detail" in text) == (refusal, True), bad[:40]
    assert server.ask("GET", "/predict")[0] == 405
    # A thousand at once.
    with ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda _: server.ask("POST", "/predict", good), range(1000)))
    assert {status for status, _ in answers} == {200}
    assert all(json.loads(body) == expected for _, body in answers)
    text = server.ask("GET", "/metrics")[1].decode()
    assert float(re.search(r'wine_requests_total\{status="200"\} (\S+)', text)[1]) == 1001
    assert float(re.search(r"wine_rows_total (\d\S*)", text)[1]) == 1001


@pytest.mark.slow
def test_a_restart_under_load(server, folder):
    good = json.dumps({"rows": json.loads((folder / "wine.json").read_text())})
    old = server.fingerprint()
    model = mddf.load(folder / "wine.mddf")
    X, y = (
        mddf.read_records(model, json.loads((folder / "later.json").read_text())),
        [0, 1, 2] * 29,
    )
    mddf.save(type(model)(n_estimators=5, random_state=1).fit(X, [*y, 0, 1][: len(X)]), "new.mddf")
    new = mddf.fingerprint(mddf.load("new.mddf"))
    is_over = False
    answers = []

    def ask(_):
        while not is_over:
            answers.append(server.ask("POST", "/predict", good))

    def wait_for(fingerprints):
        until = time.monotonic() + 60
        while {server.fingerprint() for _ in range(10)} != fingerprints:
            assert time.monotonic() < until, server.log.read_text()

    with ThreadPoolExecutor(4) as pool:
        work = pool.map(ask, range(4))
        try:
            os.replace("new.mddf", "wine.mddf")
            assert server.fingerprint() == old
            server.process.send_signal(signal.SIGHUP)
            wait_for({new})
            # A damaged file changes nothing.
            data = bytearray(Path("wine.mddf").read_bytes())
            data[len(data) // 2] ^= 1
            Path("damaged.mddf").write_bytes(data)
            os.replace("damaged.mddf", "wine.mddf")
            server.process.send_signal(signal.SIGHUP)
            time.sleep(3)
            wait_for({new})
        finally:
            is_over = True
        list(work)
    assert {status for status, _ in answers} == {200}
    assert {json.loads(body)["fingerprint"] for _, body in answers} == {old, new}
    assert "is damaged" in server.log.read_text()
