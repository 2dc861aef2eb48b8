"""Labels and weights of divided rows are those of all rows in one process."""

import numpy as np
import pytest
from thread_communicator import run_in_threads

from mddf._clusters import shard_inputs
from mddf._clusters.shard_inputs import encode_shard_labels, gather_weights
from mddf._targets.target_validation import encode_labels


def encoded(parts):
    return run_in_threads(
        len(parts),
        lambda communicator: encode_shard_labels(parts[communicator.rank], communicator),
    )


@pytest.mark.parametrize(
    "parts",
    [
        [np.array(["b"]), np.array(["longer", "a", "b"])],
        [np.array(["b"], object), np.array(["a", "b"])],
        [np.array([3, 1]), np.array([1, 0, 7])],
        [np.array([True]), np.array([False, True])],
        [np.array([1.0]), np.array([2, 3])],
    ],
)
def test_labels(parts):
    classes, labels = encode_labels(np.concatenate(parts))
    results = encoded(parts)
    for own_classes, _ in results:
        np.testing.assert_array_equal(own_classes, classes)
        assert own_classes.dtype == classes.dtype
    np.testing.assert_array_equal(np.concatenate([own for _, own in results]), labels)


@pytest.mark.parametrize("text", [np.array(["0", "1"]), np.array(["0", "1"], object)])
def test_numbers_in_one_shard_and_text_in_another(text):
    with pytest.raises(TypeError, match="of one kind in all partitions, got int, str"):
        encoded([np.array([0, 1]), text])


def test_more_classes_than_labels_have(monkeypatch):
    monkeypatch.setattr(shard_inputs, "MOST_CLASSES", 3)
    with pytest.raises(ValueError, match="y must have at most 3 classes, got 4"):
        encoded([np.array([0, 1]), np.array([2, 3])])


def test_weights():
    parts = [np.array([1.0, 2.0]), np.array([3.0])]

    def work(communicator):
        weights = parts[communicator.rank]
        assert gather_weights(weights, None, communicator) is None
        return gather_weights(np.zeros((len(weights), 1)), weights, communicator)

    for weights in run_in_threads(2, work):
        np.testing.assert_array_equal(weights, [1, 2, 3])
    with pytest.raises(ValueError, match="sample_weight"):
        run_in_threads(1, lambda communicator: gather_weights(parts[0], parts[1], communicator))
