"""Links: predictions from the raw predictions of boosted trees."""

from __future__ import annotations

import numpy as np

from mddf._gradient.losses import ClassificationTarget, RegressionTarget

from ._graph import Graph


def add_softmax(graph: Graph, scores: str, n_scores: int) -> str:
    """Append class probabilities of scores; two classes share one column of scores."""
    if n_scores > 1:
        return graph.add("Softmax", scores, axis=1)
    second = graph.add("Sigmoid", scores)
    return graph.concat([graph.add("Sub", 1.0, second), second])


def add_link(graph: Graph, raw: str, target: ClassificationTarget | RegressionTarget) -> str:
    """Append predictions of raw predictions, as `predicted` of the target computes them."""
    if target.has_custom_link:
        raise ValueError(
            "to_onnx cannot export the inverse_link of a CustomLoss, which is a Python function. "
            "Fit the model with a CustomLoss without inverse_link, whose graph returns raw "
            "predictions, and apply the function to them"
        )
    if isinstance(target, RegressionTarget):
        values = graph.add("Exp", raw) if target.is_logarithmic else raw
        if target.sizes is not None:
            return graph.add("Mul", values, target.sizes)
        return add_scaled_up(graph, values, np.array([target.exponent]))
    if target.n_classes == 1:
        return graph.add("Softmax", raw, axis=1)
    if target.loss == "exponential":
        raw = graph.add("Mul", raw, 2.0)
    return add_softmax(graph, raw, target.n_scores)


def add_scaled_up(graph: Graph, values: str, exponents: np.ndarray) -> str:
    """Append a multiplication by powers of two; results stay between the extreme doubles."""
    if exponents.any():
        # Two factors, since 2 ** exponent alone may be beyond the range of doubles.
        for half in (exponents // 2, exponents - exponents // 2):
            values = graph.add("Mul", values, np.ldexp(1.0, half))
    most = np.finfo(float).max
    return graph.clip(values, -most, most)
