"""Classes and numbers: what a layer's members are weighed by."""

import numpy as np
import pytest
from naive_votes import forecasts, log_losses
from scipy.optimize import minimize

from mddf._members.tasks import ClassificationTask


@pytest.mark.parametrize("score", [None, lambda said: -np.square(said - 0.4).sum()])
def test_other_weights_count_where_they_are_better(score):
    labels, vectors = forecasts(n=900)
    task = ClassificationTask(labels.astype(np.uint16), 3, None, calibrate=True, score=score)

    def loss(weights):
        said = np.tensordot(weights, vectors, 1)
        return log_losses(said, labels).mean() if score is None else -score(said)

    alone = task.weigh(vectors)
    rules = {"bounds": [(0, 1)] * 4, "constraints": {"type": "eq", "fun": lambda w: w.sum() - 1}}
    best = minimize(loss, np.full(4, 0.25), method="SLSQP", tol=1e-10, **rules).x
    assert loss(best) < loss(alone)  # which has steps of a fortieth
    worst = np.eye(4)[np.argmax([*map(loss, np.eye(4))])]
    np.testing.assert_array_equal(task.weigh(vectors, worst), alone)
    np.testing.assert_array_equal(task.weigh(vectors, worst, best), best)
