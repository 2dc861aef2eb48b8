"""Random forecasts, and twins of computations on probabilities and margins, in NumPy."""

import numpy as np
from scipy.optimize import minimize_scalar

FLOOR = 1e-4  # the least that a sample's own probability counts as


def log_losses(probabilities, labels):
    """Negative logarithm of the probability of each sample's own class."""
    return -np.log(np.maximum(probabilities[np.arange(len(labels)), labels], FLOOR))


def sharpened(probabilities, exponent):
    """Probabilities to the power of an exponent, scaled to sum 1."""
    powers = np.maximum(probabilities, FLOOR) ** exponent if exponent != 1 else probabilities
    return powers / powers.sum(axis=-1, keepdims=True)


def smoothed(probabilities, share):
    """Probabilities with a share spread evenly over the classes."""
    return (1 - share) * probabilities + share / probabilities.shape[-1]


def fit_exponent(probabilities, labels):
    """The exponent with the lowest mean log-loss of sharpened probabilities."""

    def loss(logarithm):
        return log_losses(sharpened(probabilities, np.exp(logarithm)), labels).mean()

    return np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)


def class_margins(vectors, labels):
    """Return the vote of the own class of each sample minus that of the best other class."""
    other_vectors = vectors.copy()
    other_vectors[np.arange(len(labels)), labels] = -np.inf
    return vectors[np.arange(len(labels)), labels] - other_vectors.max(axis=1)


def margin_loss(z, target_margin, mu):
    """The margin-distribution loss of mdDF."""
    below, above = 1 / target_margin**2, mu / (1 - target_margin) ** 2
    return (z - target_margin) ** 2 * np.where(z <= target_margin, below, above)


def reweight(losses, strength):
    """Factors of the sample weights at the next layer."""
    return 1 - strength + strength * losses / losses.mean()


def forecasts(seed=0, n=300, k=3, n_forecasts=4):
    """Labels, and forecasts of different quality."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    truth = np.eye(k)[labels]
    noise = rng.dirichlet(np.ones(k), (n_forecasts, n))
    share = np.linspace(0.1, 0.6, n_forecasts)[:, None, None]
    return labels, share * truth + (1 - share) * noise


def greedy_weights(vectors, labels, steps=25, weight=None):
    """The greedy search in plain steps."""
    bag, best, best_loss = [], None, np.inf
    for _ in range(steps):
        losses = []
        for i in range(len(vectors)):
            mean = np.mean([np.maximum(vectors[j], FLOOR) for j in [*bag, i]], axis=0)
            losses.append(round(np.average(log_losses(mean, labels), weights=weight), 6))
        ties = [i for i, loss in enumerate(losses) if loss == min(losses)]
        bag.append(max(ties, key=bag.count))
        if min(losses) < best_loss:
            best, best_loss = list(bag), min(losses)
    return np.bincount(best, minlength=len(vectors)) / len(best)
