"""Networks of the kernel against the slow twin, bit by bit, and refused arguments."""

import hashlib

import naive_network
import numpy as np
import pytest
from compiled import _core
from narrow_vectors import hashed_with_narrow_vectors, needs_wide_vectors

OPTIONS = {
    "width": 7,
    "n_hidden": 2,
    "n_epochs": 3,
    "batch": 8,
    "rate": 0.05,
    "dropout": 0.0,
    "decay": 0.01,
    "are_classes": False,
    "seed": 3,
}


def problem(n=21, n_inputs=5, n_outputs=2, *, classes=False, weighted=False, seed=0):
    """Inputs, targets and weights."""
    rng = np.random.default_rng([n, n_inputs, n_outputs, seed])
    inputs, targets = (rng.normal(size=(n, k)).astype(np.float32) for k in (n_inputs, n_outputs))
    if classes:
        targets = np.eye(n_outputs, dtype=np.float32)[rng.integers(0, n_outputs, n)]
    weights = rng.uniform(0.1, 2, n).astype(np.float32) if weighted else None
    return inputs, targets, weights


def flat(layers):
    return [array for layer in layers for array in layer]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(flat(first), flat(second), strict=True))


CASES = {
    "numbers": ({}, {}),
    "weights": ({"weighted": True}, {}),
    "classes": ({"classes": True, "n_outputs": 3}, {"are_classes": True}),
    "classes, weights": ({"classes": True, "weighted": True}, {"are_classes": True}),
    "a class that is not there": ({"classes": True, "n_outputs": 40}, {"are_classes": True}),
    "one class": ({"classes": True, "n_outputs": 1}, {"are_classes": True}),
    "dropout": ({}, {"dropout": 0.3}),
    "dropout of classes": ({"classes": True}, {"are_classes": True, "dropout": 0.9}),
    "hardly any dropout": ({}, {"dropout": 0.001}),
    "half a unit of dropout": ({}, {"dropout": 0.5 / 256}),
    "one hidden layer": ({}, {"n_hidden": 1}),
    "four hidden layers": ({}, {"n_hidden": 4, "dropout": 0.1}),
    "one unit": ({}, {"width": 1}),
    "whole vectors": ({"n_inputs": 16, "n_outputs": 16}, {"width": 32, "dropout": 0.1}),
    "a unit more": ({"n_inputs": 17, "n_outputs": 17}, {"width": 33, "dropout": 0.1}),
    "one input, one output": ({"n_inputs": 1, "n_outputs": 1}, {}),
    "one row": ({"n": 1}, {}),
    "fewer rows than a batch": ({"n": 5}, {"n_epochs": 20}),
    "rows by themselves": ({"n": 4}, {"batch": 1}),
    "batches of whole tiles": ({"n": 24}, {"batch": 4}),
    "all rows at once": ({}, {"batch": 10**6, "n_epochs": 9}),
    "no decay": ({}, {"decay": 0.0}),
    "much decay": ({}, {"decay": 5.0}),
    "a high rate": ({}, {"rate": 1.0}),
    "the largest seed": ({}, {"seed": 2**64 - 1}),
}


def test_networks_match_a_slow_twin():
    for case in CASES:
        shape, options = CASES[case]
        data, options = problem(**shape), OPTIONS | options
        result = _core.train_network(*data, **options)
        assert len(result) == options["n_hidden"] + 1
        assert all(array.dtype == np.float32 for array in flat(result))
        assert same(result, naive_network.train(*data, **options))
        assert same(result, _core.train_network(*data, **options))
        assert not same(result, _core.train_network(*data, **options | {"seed": 5}))


def hashed():
    """A hash of networks and layers of many sizes."""
    result = hashlib.sha256()
    for shape, options in CASES.values():
        data, options = problem(**shape), OPTIONS | options
        layers = _core.train_network(*data, **options)
        for array in flat(layers):
            result.update(array.tobytes())
        for n_rows in (1, 3, 4, 200):
            rows = np.random.default_rng(n_rows).normal(size=(n_rows, data[0].shape[1]))
            result.update(_core.dense_layer(rows, *layers[0], activate=True).tobytes())
    return result.hexdigest()


@needs_wide_vectors
def test_wide_vectors_change_no_bit():
    assert hashed_with_narrow_vectors(__file__) == hashed()


# Layers


def test_layers_are_products():
    for activate in [False, True]:
        for n_in, n_out in [(1, 1), (3, 2), (16, 16), (70, 33), (5, 100)]:
            rng = np.random.default_rng([n_in, n_out])
            rows = rng.normal(size=(131, n_in))
            weights, biases = (
                rng.normal(size=s).astype(np.float32) for s in ((n_in, n_out), n_out)
            )
            result = _core.dense_layer(rows, weights, biases, activate)
            expected = rows @ weights.astype(float) + biases
            if activate:
                expected = np.where(
                    expected < 0, expected / (1 - np.minimum(expected, 0)), expected
                )
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
            twin = naive_network.product(rows, weights.astype(float), biases)
            assert np.array_equal(result, naive_network.activation(twin) if activate else twin)


def test_rows_do_not_depend_on_other_rows_of_the_batch():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 9))
    weights, biases = (rng.normal(size=s).astype(np.float32) for s in ((9, 21), 21))
    all_at_once = _core.dense_layer(rows, weights, biases, True)
    for first, last in [(0, 1), (1, 4), (3, 7), (60, 130), (63, 65), (149, 150), (40, 40)]:
        part = _core.dense_layer(rows[first:last], weights, biases, True)
        assert np.array_equal(part, all_at_once[first:last])
    order = rng.permutation(150)
    again = _core.dense_layer(rows[order], weights, biases, True)
    assert np.array_equal(again, all_at_once[order])
    rows[7] = np.nan, *[np.inf] * 8
    again = _core.dense_layer(rows, weights, biases, True)
    assert np.array_equal(np.delete(again, 7, axis=0), np.delete(all_at_once, 7, axis=0))


# What is refused


def train_arguments():
    inputs, targets, weights = problem(weighted=True)
    return {"inputs": inputs, "targets": targets, "weights": weights, **OPTIONS}


def layer_arguments():
    return {
        "inputs": np.ones((4, 3)),
        "weights": np.ones((3, 2), np.float32),
        "biases": np.ones(2, np.float32),
        "activate": True,
    }


CALLS = {
    "train": (_core.train_network, train_arguments),
    "layer": (_core.dense_layer, layer_arguments),
}
ARRAYS = [
    (of, name)
    for of, (_, arguments) in CALLS.items()
    for name, value in arguments().items()
    if isinstance(value, np.ndarray)
]


def call(of, **changes):
    function, arguments = CALLS[of]
    return function(**{**arguments(), **changes})


def wrong_forms(right):
    other = np.float32 if right.dtype != np.float32 else np.float64
    yield from (right.astype(kind) for kind in (other, np.float16, np.int32, object, ">f4", ">f8"))
    yield from (right[..., None], right.ravel()[0], right.tolist(), "text")
    yield np.repeat(right, 2)[::2] if right.ndim == 1 else np.asfortranarray(right)


def test_wrong_types_and_forms():
    for of, name in ARRAYS:
        call(of)
        for value in wrong_forms(CALLS[of][1]()[name]):
            with pytest.raises(TypeError, match="incompatible function arguments"):
                call(of, **{name: value})
        if (of, name) == ("train", "weights"):
            call(of, weights=None)
        else:
            with pytest.raises(TypeError):
                call(of, **{name: None})


def zeros(*shape):
    return np.zeros(shape, np.float32)


def changed(name, value):
    array = train_arguments()[name].copy()
    array.flat[4] = value
    return {name: array}


EMPTY = {"targets": zeros(0, 2), "weights": zeros(0)}


def test_training_refuses():
    for changes, message in [
        ({"inputs": zeros(0, 5), **EMPTY}, "rows of inputs: expected at least 1, got 0"),
        ({"inputs": zeros(21, 0)}, "columns of inputs: expected at least 1, got 0"),
        ({"inputs": zeros(2**60, 0)}, "columns of inputs: expected at least 1, got 0"),
        ({"targets": zeros(21, 0)}, "columns of targets: expected at least 1, got 0"),
        ({"targets": zeros(20, 2)}, "targets must have length 21, got 20"),
        ({"targets": zeros(22, 2)}, "targets must have length 21, got 22"),
        ({"weights": zeros(1)}, "weights must have length 21, got 1"),
        ({"width": 0}, "width: expected 1 to 4096, got 0"),
        ({"width": 2**62}, f"width: expected 1 to 4096, got {2**62}"),
        ({"n_hidden": 0}, "n_hidden: expected 1 to 16, got 0"),
        ({"n_hidden": 17}, "n_hidden: expected 1 to 16, got 17"),
        ({"n_epochs": 0}, "n_epochs: expected 1 to 1048576, got 0"),
        ({"n_epochs": 2**62}, f"n_epochs: expected 1 to 1048576, got {2**62}"),
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"batch": -(2**63)}, f"batch: expected at least 1, got -{2**63}"),
        ({"rate": -0.5}, r"rate: expected a number from 0\S* to 100\S*, got -0.5"),
        ({"rate": np.nan}, r"rate: expected a number from 0\S* to 100\S*, got nan"),
        ({"rate": np.inf}, r"rate: expected a number from 0\S* to 100\S*, got inf"),
        ({"dropout": -0.1}, r"dropout: expected a number from 0\S* to 0.9\S*, got -0.1"),
        ({"dropout": 0.95}, r"dropout: expected a number from 0\S* to 0.9\S*, got 0.95"),
        ({"dropout": np.nan}, r"dropout: expected a number from 0\S* to 0.9\S*, got nan"),
        ({"decay": -1.0}, r"decay: expected a number from 0\S* to 100\S*, got -1"),
        ({"decay": np.nan}, r"decay: expected a number from 0\S* to 100\S*, got nan"),
        ({"decay": np.inf}, r"decay: expected a number from 0\S* to 100\S*, got inf"),
        (changed("inputs", np.nan), "inputs: expected finite numbers, got nan at position 4"),
        (changed("inputs", -np.inf), "inputs: expected finite numbers, got -inf at position 4"),
        (changed("targets", np.inf), "targets: expected finite numbers, got inf at position 4"),
        (changed("weights", -1), "weights: expected finite numbers from 0 on, got -1"),
        (changed("weights", np.nan), "weights: expected finite numbers from 0 on, got nan"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}"):
            call("train", **changes)


def test_layers_refuse():
    for changes, message in [
        ({"inputs": np.zeros((4, 0))}, "columns of inputs: expected at least 1, got 0"),
        ({"inputs": np.zeros((2**58, 0))}, "columns of inputs: expected at least 1, got 0"),
        ({"inputs": np.zeros((4, 2))}, "weights must have length 2, got 3"),
        ({"weights": zeros(4, 2)}, "weights must have length 3, got 4"),
        ({"weights": zeros(3, 1)}, "biases must have length 1, got 2"),
        ({"biases": zeros(3)}, "biases must have length 2, got 3"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}"):
            call("layer", **changes)


def test_values_that_are_not_numbers():
    for value in [2**70, -(2**70), 1.5, "3", None, np.ones(2)]:
        for name in ("width", "n_hidden", "n_epochs", "batch", "seed"):
            with pytest.raises(TypeError):
                call("train", **{name: value})


def test_seeds_are_from_0_to_the_largest_of_64_bits():
    for seed in (-1, 2**64):
        with pytest.raises(TypeError):
            call("train", seed=seed)


@pytest.mark.parametrize("kind", ["inputs", "targets"])
def test_overflow_gives_nan(kind):
    """Networks that overflow return NaN without an error."""
    for are_classes in (False, True):
        arguments = changed(kind, 3e38) | {"are_classes": are_classes, "rate": 100.0}
        assert not all(np.isfinite(array).all() for array in flat(call("train", **arguments)))
