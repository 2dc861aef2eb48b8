"""Features of a kernel and logistic regressions as the kernel computes them, number by number."""

import numpy as np
from naive_losses import exp, log


def features(kernel, jitter):
    """`_core.kernel_features` in plain Python."""
    n, m = kernel.shape
    root = np.zeros((m, m))
    values = np.zeros((n, m))
    for i in range(m):
        for j in range(i + 1):
            rest = kernel[i, j] + (jitter if i == j else 0.0)
            for k in range(j):
                rest -= root[i, k] * root[j, k]
            root[i, j] = np.sqrt(max(rest, 0.5 * jitter)) if i == j else rest / root[j, j]
    for i in range(n):
        for j in range(m):
            rest = kernel[i, j]
            for k in range(j):
                rest -= values[i, k] * root[j, k]
            values[i, j] = rest / root[j, j]
    return values, root


def dot(a, b):
    """Sum of products: every eighth of them is added to the same partial sum."""
    sums = [0.0] * 8
    for j, (a_value, b_value) in enumerate(zip(a.ravel(), b.ravel(), strict=True)):
        sums[j % 8] += a_value * b_value
    even = (sums[0] + sums[4]) + (sums[2] + sums[6])
    odd = (sums[1] + sums[5]) + (sums[3] + sums[7])
    return even + odd


class Problem:
    """Loss of a logistic regression and its derivatives."""

    def __init__(self, features, labels, weights, offsets, penalty):
        self.features = features
        self.labels = labels
        self.weights = weights
        self.offsets = offsets
        self.penalty = penalty

    def at(self, coefficients):
        """Loss, gradient, and probabilities of the scores."""
        n_scores = len(self.offsets)
        gradient = coefficients * self.penalty
        probabilities = np.zeros((len(self.features), n_scores))
        loss = 0.0
        for i, (row, label, weight) in enumerate(
            zip(self.features, self.labels, self.weights, strict=True)
        ):
            dots = [dot(row, own) for own in coefficients]
            scores = self.offsets + dots
            if n_scores == 1:
                score = scores[0]
                power = float(exp(-abs(score)))
                probabilities[i] = (1.0 if score > 0 else power) / (1 + power)
                row_loss = max(-score if label == 1 else score, 0.0) + float(log(1 + power))
                targets = np.array([label == 1])
            else:
                powers = exp(scores - scores.max())
                # In order: `sum` of Python 3.12 and later carries rounding errors along.
                total = 0.0
                for own_power in powers.tolist():
                    total += own_power
                probabilities[i] = powers / total
                row_loss = float(log(total)) + scores.max() - scores[label]
                targets = np.arange(n_scores) == label
            loss += weight * row_loss
            for k in range(n_scores):
                gradient[k] += weight * (probabilities[i, k] - float(targets[k])) * row
        return loss + 0.5 * self.penalty * dot(coefficients, coefficients), gradient, probabilities

    def curvature(self, probabilities, vector):
        """Product of the Hessian and a vector."""
        product = self.penalty * vector
        for row, weight, shares in zip(self.features, self.weights, probabilities, strict=True):
            scores = [dot(row, own) for own in vector]
            mean = 0.0
            for share, score in zip(shares, scores, strict=True):
                mean += share * score
            for k, (share, score) in enumerate(zip(shares, scores, strict=True)):
                product[k] += weight * (share * (score - mean)) * row
        return product

    def newton_direction(self, gradient, probabilities):
        """Rough solution of hessian * direction = -gradient by conjugate gradients."""
        direction = np.zeros_like(gradient)
        residual = -gradient
        conjugate = -gradient
        square = np.sqrt(dot(gradient, gradient)) ** 2
        enough = 0.5 * 0.5 * square
        for _ in range(60):
            if not square > enough:
                break
            curved = self.curvature(probabilities, conjugate)
            length = square / dot(conjugate, curved)
            direction = direction + length * conjugate
            residual = residual - length * curved
            next_square = dot(residual, residual)
            conjugate = residual + next_square / square * conjugate
            square = next_square
        return direction


def fit(features, labels, weights, offsets, start, penalty, tolerance):
    """`_core.fit_logistic` in plain Python."""
    problem = Problem(features, labels, weights, offsets, penalty)
    coefficients = start
    total = sum(weights.tolist())
    loss, gradient, probabilities = problem.at(coefficients)
    for _ in range(30):
        if not np.sqrt(dot(gradient, gradient)) > tolerance * total:
            break
        direction = problem.newton_direction(gradient, probabilities)
        slope = dot(gradient, direction)
        for half in range(20):
            trial = coefficients + 0.5**half * direction
            trial_point = problem.at(trial)
            if trial_point[0] <= loss + 1e-4 * 0.5**half * slope:
                break
        else:
            break
        coefficients = trial
        loss, gradient, probabilities = trial_point
    return coefficients
