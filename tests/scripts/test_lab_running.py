"""Running cells: failures, unavailable sets, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mddf.datasets import DataFileNotFoundError

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def running(script):
    return script("_lab.running")


@pytest.fixture
def store(script, tmp_path):
    return script("_lab.records").Store(tmp_path, {"study": "made"})


def run(running, store, compute, names=("a", "b", "c"), seeds=2):
    keys = [{"set": name, "seed": seed} for name in names for seed in range(seeds)]
    return running.run(store, keys, lambda set, seed: compute(set, seed))


def test_nothing_is_computed_twice(running, store):
    outcome = run(running, store, lambda *key: {"x": key})
    assert (outcome.n_asked, outcome.n_found, outcome.stopped) == (6, 0, False)
    outcome = run(running, store, lambda *_: pytest.fail("computed twice"))
    assert (outcome.n_found, outcome.failures) == (6, [])
    assert list(outcome.notes()) == ["6 of 6 results were there from earlier runs"]


def test_a_failure_does_not_stop_other_cells(running, store):
    def compute(name, seed):
        if (name, seed) == ("b", 0):
            raise RuntimeError("no memory\nat all")
        return {}

    outcome = run(running, store, compute)
    assert len(store.cells()) == 5
    (failure,) = outcome.failures
    assert "in compute" in failure["traceback"]
    assert list(outcome.notes()) == ["FAILED: b, 0: RuntimeError: no memory"]


def test_import_errors_are_recorded_as_failures(script, running, store, tmp_path):
    def compute(name, seed):
        raise (ImportError if seed else ImportError("no such module"))

    outcome = run(running, store, compute, ["a"])
    assert list(outcome.notes()) == ["FAILED: a, 0: ImportError: no such module",
                                     "FAILED: a, 1: ImportError"]  # fmt: skip
    assert outcome.left_out == {}


def test_unavailable_sets_are_requested_once(running, store):
    requests = []

    def compute(name, seed):
        requests.append(name)
        if name == "b":
            raise DataFileNotFoundError("b: no file\nget it from ...")
        return {}

    outcome = run(running, store, compute)
    assert requests.count("b") == 1
    assert outcome.left_out == {"b": "b: no file\nget it from ..."}
    assert len(store.cells()) == 4


def test_ctrl_c_keeps_finished_cells_and_discards_the_rest(running, store):
    def compute(name, seed):
        if (name, seed) == ("b", 1):
            signal.raise_signal(signal.SIGINT)
        return {}

    outcome = run(running, store, compute)
    assert outcome.stopped
    assert len(store.cells()) == 3


def test_a_result_that_swallowed_ctrl_c_is_discarded(running, store):
    before = signal.getsignal(signal.SIGINT)

    def compute(name, seed):
        with suppress(KeyboardInterrupt):  # as MLPClassifier does
            signal.raise_signal(signal.SIGINT)
        return {"cut": "short"}

    outcome = run(running, store, compute)
    assert outcome.stopped
    assert store.cells() == []
    assert signal.getsignal(signal.SIGINT) is before


def start(arguments, folder):
    """Start a command in a separate process that handles SIGINT, and wait until it runs a cell."""
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return process


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.02)


def test_workers_can_import_the_users_modules(running, store, tmp_path, monkeypatch):
    (tmp_path / "of_the_user.py").write_text("answer = 42")
    monkeypatch.chdir(tmp_path)

    def compute(set):
        import of_the_user

        return {"x": of_the_user.answer}

    outcome = running.run(store, [{"set": "a"}], compute, engine=running.spread("loky"))
    assert outcome.failures == []


OWN = """
import time
from contextlib import suppress
from pathlib import Path
from sklearn.neural_network import MLPClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

class Slow(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        Path({folder!r}, "started").touch()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                time.sleep(0.05)
            except KeyboardInterrupt:
                Path({folder!r}, "interrupted").touch()  # and goes on

class Network(MLPClassifier):
    def _backprop(self, *arguments):
        Path({folder!r}, "started").touch()
        return super()._backprop(*arguments)
"""


def run_own(tmp_path, method):
    (tmp_path / "own_methods.py").write_text(OWN.format(folder=str(tmp_path)))
    arguments = [SCRIPTS / "run_uci.py", "--datasets", "digits", "--seeds", "1", "--n-jobs", "1"]
    arguments += ["--methods", "own", "--method", *method, "--out", tmp_path / "out"]
    process = start(arguments, tmp_path)
    wait_for(tmp_path / "started")
    return process


def test_ctrl_c_in_a_perceptron_of_scikit_learn_stores_nothing(tmp_path):
    process = run_own(tmp_path, ["own=own_methods:Network", "max_iter=100000", "tol=0"])
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "the same command goes on from here" in errors
    assert list((tmp_path / "out" / "cells").iterdir()) == []


@pytest.mark.slow
def test_the_second_ctrl_c_stops_at_once(tmp_path):
    process = run_own(tmp_path, ["own=own_methods:Slow"])
    process.send_signal(signal.SIGINT)
    wait_for(tmp_path / "interrupted")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_ctrl_c_while_nothing_is_computed(script, monkeypatch):
    run = script("reproduce.layers")
    monkeypatch.setattr(run.study, "_main", lambda _: signal.raise_signal(signal.SIGINT))
    assert run.main([]) == 130


def test_ctrl_c_in_the_chosen_perceptron(script, monkeypatch):
    import numpy as np

    chosen = script("_lab.chosen")
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)), np.arange(40) % 2
    model = chosen.ChosenMLP(20, architectures=((3,),), random_state=0)
    calls = []
    backprop = chosen.MLPClassifier._backprop

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return backprop(self, *arguments)

    monkeypatch.setattr(chosen.MLPClassifier, "_backprop", interrupted)
    with pytest.raises(UserWarning, match="interrupted"):  # a cell is discarded by any error
        model.fit(X, y)
    assert len(calls) == 5


# Elsewhere


@pytest.mark.parametrize("backend", ["loky", pytest.param("dask", marks=pytest.mark.slow)])
def test_cells_are_computed_elsewhere_and_kept_here(backend, running, store):
    if backend == "dask":
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        )
        with cluster:
            outcome = spread(backend, running, store, cluster.scheduler_address)
    else:
        outcome = spread(backend, running, store)
    assert [cell["result"]["set"] for cell in store.cells()] == ["a", "c"]
    assert all(cell["result"]["pid"] != os.getpid() for cell in store.cells())
    assert outcome.left_out == {"b": "b: no file"}
    assert {failure["cell"] for failure in outcome.failures} >= {"a, 1", "c, 1"}
    assert "made_cell" in outcome.failures[0]["traceback"]
    assert outcome.n_found == 0


def spread(backend, running, store, scheduler=None):
    def made_cell(set, seed):
        if seed == 1:
            raise RuntimeError("no memory")
        if set == "b":
            raise DataFileNotFoundError("b: no file")
        return {"set": set, "pid": os.getpid()}

    keys = [{"set": name, "seed": seed} for name in "abc" for seed in (0, 1)]
    return running.run(store, keys, made_cell, engine=running.spread(backend, scheduler))


def test_an_invalid_scheduler_ends_in_one_line(running):
    pytest.importorskip("distributed")
    reached = running.connected("dask", "nonsense")
    with pytest.raises(SystemExit, match="nonsense cannot be reached: missing port"), reached:
        pass
