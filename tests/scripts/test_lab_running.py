"""Running cells: failures, unavailable sets, and Ctrl-C."""

import signal

import pytest


@pytest.fixture
def running(script):
    return script("_lab.running")


@pytest.fixture
def store(script, tmp_path):
    return script("_lab.records").Store(tmp_path, {"study": "made"})


def run(running, store, compute, names=("a", "b", "c"), seeds=2):
    keys = [{"set": name, "seed": seed} for name in names for seed in range(seeds)]
    return running.run(store, keys, lambda set, seed: compute(set, seed))


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


def test_ctrl_c_keeps_finished_cells_and_discards_the_rest(running, store):
    def compute(name, seed):
        if (name, seed) == ("b", 1):
            signal.raise_signal(signal.SIGINT)
        return {}

    outcome = run(running, store, compute)
    assert outcome.stopped
    assert len(store.cells()) == 3
