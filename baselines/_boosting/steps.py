"""Steps along one coordinate of DeepBoost's objective."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from mddf._base.elementary import exp, log

from .losses import Loss
from .search import LEAST_ERROR
from .weak_learners import FloatArray

#: ln sqrt((1 - e) / e) for e = LEAST_ERROR: the step of a perfect learner without a penalty.
LARGEST_FREE_STEP = 0.5 * float(log((1 - LEAST_ERROR) / LEAST_ERROR))


def majorizer_step(error: float, alpha: float, penalty: float) -> float:
    """Minimise the exponential upper bound along a coordinate.

    Minimises (1 - eps) e^-eta + eps e^eta + P |alpha + eta| over eta. With
    q = (1 - eps) e^alpha - eps e^-alpha and R = sqrt(P^2 + 4 eps (1 - eps)) the step is -alpha if
    |q| <= P, ln(2 (1 - eps) / (P + R)) if q > P, and ln((P + R) / (2 eps)) if q < -P. For the
    exponential loss it is the exact step; for the logistic loss it minimises an upper bound. With
    P = L / S = 0 the error is kept at least 1e-10 away from 0 and 1.
    """
    if penalty == 0:
        error = float(np.clip(error, LEAST_ERROR, 1 - LEAST_ERROR))
        return 0.5 * float(log((1 - error) / error))
    q = (1 - error) * float(exp(alpha)) - error * float(exp(-alpha))
    if abs(q) <= penalty:
        return -alpha
    root = np.sqrt(penalty**2 + 4 * error * (1 - error))
    if q > 0:
        return float(log(2 * (1 - error) / (penalty + root)))
    return float(log((penalty + root) / (2 * error)))


def exact_step(
    loss: Loss,
    u: FloatArray,
    weight: FloatArray,
    agreement: NDArray[np.int8],
    *,
    alpha: float,
    cost: float,
) -> float:
    """Minimise the objective along a coordinate, by finding a root of its slope.

    Minimises sum_i w_i Phi(u_i - eta y_i h(x_i)) + L |alpha + eta| over eta. u is 1 - y f(x)
    before the step, and `agreement` is y h(x). With a cost L of 0 and a learner that is right (or
    wrong) on all rows there is no minimiser, and the step is limited as in
    :func:`majorizer_step`.
    """

    def slope(eta: float) -> float:
        return -float(np.sum(weight * agreement * loss.derivative(u - eta * agreement)))

    at_kink = slope(-alpha)
    if cost > 0 and abs(at_kink) <= cost:
        return -alpha
    if cost == 0 and abs(int(agreement.sum(dtype=np.int64))) == len(agreement):
        return LARGEST_FREE_STEP * int(agreement[0])
    # The slope increases with eta. It has a root on the right of the kink at -alpha, where |alpha|
    # contributes +cost, if it is negative there, and else on the left, where it contributes -cost.
    up = at_kink < 0
    offset = cost if up else -cost

    def shifted(eta: float) -> float:
        return slope(eta) + offset

    near = -alpha
    reach = 1.0
    while (shifted(near + reach) < 0) if up else (shifted(near - reach) > 0):
        reach *= 2.0
    far = near + reach if up else near - reach
    return float(brentq(shifted, min(near, far), max(near, far), xtol=1e-14, rtol=1e-14))
