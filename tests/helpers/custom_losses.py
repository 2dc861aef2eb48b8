"""Custom losses of gradient boosting, as functions of a module, which pickle needs."""

import numpy as np
from naive_losses import exp, expit, log


def weighted(values, sample_weight):
    if sample_weight is None:
        return values
    return values * (sample_weight if values.ndim == 1 else sample_weight[:, None])


def squared(y_true, raw_prediction, sample_weight):
    gradient = raw_prediction - y_true
    return weighted(gradient, sample_weight), weighted(np.ones_like(gradient), sample_weight)


def squared_losses(y_true, raw_prediction):
    rest = y_true - raw_prediction
    losses = rest * rest / 2
    return losses if losses.ndim == 1 else losses.sum(axis=1)


def weighted_mean(y_true, sample_weight):
    return np.average(y_true, axis=0, weights=sample_weight)


def logistic(y_true, raw_prediction, sample_weight):
    p = 1 / (1 + exp(-raw_prediction))
    gradient = p - y_true
    return weighted(gradient, sample_weight), weighted(p * (1 - p), sample_weight)


def logistic_losses(y_true, raw_prediction):
    tail = log(1 + exp(-np.abs(raw_prediction)))
    return np.maximum(raw_prediction, 0) + tail - y_true * raw_prediction


def log_odds(y_true, sample_weight):
    p = np.average(y_true, weights=sample_weight)
    return float(log(p / (1 - p)))


def multinomial(y_true, raw_prediction, sample_weight):
    powers = exp(raw_prediction - raw_prediction.max(axis=1, keepdims=True))
    total = np.zeros(len(powers))
    for column in powers.T:
        total += column
    p = powers * (1 / total)[:, None]
    gradient = p - (np.arange(raw_prediction.shape[1]) == y_true[:, None])
    return weighted(gradient, sample_weight), weighted(p * (1 - p), sample_weight)


def poisson(y_true, raw_prediction, sample_weight):
    mean = exp(raw_prediction)
    return weighted(mean - y_true, sample_weight), weighted(mean, sample_weight)


def half(raw_prediction):
    """An inverse link that is not the logistic function."""
    return expit(raw_prediction / 2)


def class_scores(y_true, raw_prediction, sample_weight):
    """The logistic loss of two classes, or the multinomial loss of more."""
    derivatives = logistic if raw_prediction.ndim == 1 else multinomial
    return derivatives(y_true, raw_prediction, sample_weight)
