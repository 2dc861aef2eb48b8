"""The loop that builds cascades, with a policy that only counts layers."""

from contextlib import contextmanager

import pytest

from mddf._base.deadline import TimeIsUp
from mddf._training.checkpoints import Checkpoint
from mddf._training.layer_builder import LayerPolicy, Stop, build_layers


class Counts(LayerPolicy):
    """Proposes numbers as layers, and stops at a given number."""

    def __init__(self, stops=None):
        self.stops = stops or {}
        self.calls = []

    def _call(self, step, number):
        self.calls.append((step, number))
        if self.stops.get(step) == number:
            return Stop(f"{step} {number}")
        return None

    def propose(self, number):
        return self._call("propose", number) or 10 * number

    def train(self, number, proposal):
        assert proposal == 10 * number
        return self._call("train", number) or {"layer": number}

    def evaluate(self, number, layer):
        assert layer == {"layer": number}
        self._call("evaluate", number)
        return number + 0.5

    def accept(self, number, layer, evaluation):
        assert evaluation == number + 0.5
        return self._call("accept", number)

    def to_store(self, layer):
        return (layer["layer"],)

    def from_stored(self, proposal, *parts):
        (number,) = parts
        return {"layer": number}

    @contextmanager
    def time_slot(self, number):
        if self.stops.get("time") == number:
            raise TimeIsUp
        yield


STEPS = ("propose", "train", "evaluate", "accept")


def test_all_steps_of_all_layers():
    policy = Counts()
    assert build_layers(policy, 3) is None
    assert policy.calls == [(step, number) for number in range(3) for step in STEPS]


@pytest.mark.parametrize("step", ["propose", "train", "accept"])
def test_a_stop_in_any_step_ends_the_loop(step):
    policy = Counts({step: 1})
    assert build_layers(policy, 5) == Stop(f"{step} 1")
    assert policy.calls[-1] == (step, 1)
    assert policy.calls[:4] == [(step, 0) for step in STEPS]


def test_a_layer_that_runs_out_of_time_is_the_end():
    policy = Counts({"time": 2})
    assert build_layers(policy, 5) == Stop("time_limit is over")
    assert policy.calls[-1] == ("propose", 2)


def test_stored_layers_are_not_trained_again(tmp_path):
    fit = {"seed": "0"}
    build_layers(Counts(), 2, Checkpoint(tmp_path, fit))
    policy = Counts({"train": 3})
    assert build_layers(policy, 5, Checkpoint(tmp_path, fit)) == Stop("train 3")
    trained = [number for step, number in policy.calls if step == "train"]
    assert trained == [2, 3]
    accepted = [number for step, number in policy.calls if step == "accept"]
    assert accepted == [0, 1, 2]
    assert not (tmp_path / "layer-004.npz").exists()  # nothing is kept of a layer that is given up
