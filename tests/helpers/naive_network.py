"""Networks of dense layers in NumPy, term by term, in the precision of the arguments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from compiled import _core
from naive import Random

LANES = 16  # the kernel's rows have room for a multiple of so many units, which dropout draws for


@dataclass
class Layers:
    """Weights and biases of each layer, and the scales of the inputs."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    scales: np.ndarray

    def arrays(self):
        return [*self.weights, *self.biases, self.scales]


def product(a, b, start):
    """start + a @ b, added term by term."""
    total = np.zeros((len(a), b.shape[1]), b.dtype) + start
    for column, row in zip(a.T, b, strict=True):
        total += column[:, None] * row
    return total


def activation(x):
    negative = np.minimum(x, 0)
    return np.maximum(x, 0) + negative / (1 - negative)


def slope(value):
    root = 1 + np.minimum(value, 0)
    return root * root


def forward(layers, inputs, factors):
    """Sums of the last layer, with the inputs and activation slopes of each layer."""
    first = layers.scales[:, None] * layers.weights[0]
    used, slopes = [first, *layers.weights[1:]], []
    activations = [inputs]
    for weights, biases, factor in zip(used, layers.biases, [*factors, None], strict=True):
        sums = product(activations[-1], weights, biases)
        if factor is not None:
            value = activation(sums)
            activations.append(factor * value)
            slopes.append(factor * slope(value))
    return sums, activations, slopes


def softmax(sums):
    powers = sums - sums.max(axis=1, keepdims=True).astype(float)
    powers = _core.exp(powers.ravel()).reshape(powers.shape)
    return powers / powers.cumsum(axis=1)[:, -1:]


def gradients(layers, inputs, targets, weights, factors, are_classes):
    """Return the gradients of the loss by all parameters.

    The loss of a row is half the squared error, or the log-loss of classes.
    """
    sums, activations, slopes = forward(layers, inputs, factors)
    kind, n = sums.dtype, sums.dtype.type(len(inputs))
    values = softmax(sums).astype(kind) if are_classes else sums
    by_sums = (values - targets) * (weights / n)[:, None]
    layer_gradients = Layers([], [], np.zeros_like(layers.scales))
    for number in reversed(range(len(layers.weights))):
        own, zero = layers.weights[number], kind.type(0)
        layer_gradients.biases.insert(0, by_sums.cumsum(axis=0, dtype=kind)[-1])
        layer_gradients.weights.insert(0, product(activations[number].T, by_sums, zero))
        if number:
            by_sums = slopes[number - 1] * product(by_sums, own.T, zero)
    # The gradients of the first layer belong to its scaled weights.
    terms = layer_gradients.weights[0] * layers.weights[0]
    layer_gradients.scales = terms.cumsum(axis=1, dtype=kind)[:, -1]
    layer_gradients.weights[0] = layer_gradients.weights[0] * layers.scales[:, None]
    return layer_gradients


def started(random, widths, shares):
    """Initial layers; `shares` are class shares, or None."""

    def drawn(shape, spread):
        uniform = [(random.next() >> 11) * 2.0**-53 for _ in range(int(np.prod(shape)))]
        numbers = (2 * np.array(uniform) - 1) * float.fromhex("0x1.bb67ae8584caap+0")
        return (spread * numbers).astype(np.float32).reshape(shape)

    layers = Layers([], [], np.ones(widths[0], np.float32))
    for n_in, n_out in pairwise(widths[:-1]):
        layers.weights.append(drawn((n_in, n_out), 1 / np.sqrt(n_in)))
        layers.biases.append(drawn((n_out,), 0.5))
    layers.weights.append(np.zeros(widths[-2:], np.float32))
    start = np.zeros(widths[-1]) if shares is None else _core.log(np.maximum(shares, 1e-6))
    layers.biases.append(start.astype(np.float32))
    return layers


def kept(random, shape, n_kept):
    """Factors of units: 0 for dropped units."""
    if n_kept == 256:
        return np.ones(shape, np.float32)
    n_rows, width = shape
    room = -(-width // LANES) * LANES
    drawn = b"".join(random.next().to_bytes(8, "little") for _ in range(n_rows * room // 8))
    drawn = np.frombuffer(drawn, np.uint8).reshape(n_rows, room)[:, :width]
    return np.where(drawn < n_kept, np.float32(256) / np.float32(n_kept), np.float32(0))


class Adam:
    """Running means of the gradients of an array and of their squares."""

    FIRST, SECOND = np.float32(0.9), np.float32(0.95)

    def __init__(self, values):
        self.values = values
        self.mean, self.square = np.zeros_like(values), np.zeros_like(values)

    def step(self, gradient, rate, decay, of_mean, of_square):
        unit = np.float32(1)
        self.mean[:] = self.FIRST * self.mean + (unit - self.FIRST) * gradient
        self.square[:] = self.SECOND * self.square + (unit - self.SECOND) * (gradient * gradient)
        root = np.sqrt(self.square * of_square) + np.float32(1e-8)
        change = rate * (self.mean * of_mean / root)
        self.values[:] = (unit - rate * decay) * self.values - change


def train(
    inputs,
    targets,
    weights,
    *,
    width,
    n_hidden,
    n_epochs,
    batch,
    rate,
    dropout,
    decay,
    are_classes,
    seed,
):
    """`_core.train_network` with NumPy."""
    n, random = len(inputs), Random(seed)
    weights = np.ones(n, np.float32) if weights is None else weights
    widths = [inputs.shape[1], *[width] * n_hidden, targets.shape[1]]
    shares = (targets.astype(float) * weights[:, None]).cumsum(axis=0)[-1] / n
    layers = started(random, widths, shares if are_classes else None)
    adams = [Adam(values) for values in layers.arrays()]
    # How fast each array learns, and decays.
    roots = np.sqrt(np.array(widths[:-1], np.float32))
    n_layers = len(roots)
    decays = [*[np.float32(decay)] * n_layers, *[np.float32(0)] * (n_layers + 1)]
    batch, n_kept = min(batch, n), 256 - int(np.floor(dropout * 256 + 0.5))
    n_batches = n // batch
    n_steps, order = n_epochs * n_batches, list(range(n))
    mean_left = square_left = 1.0
    for step in range(n_steps):
        if step % n_batches == 0:
            for i in range(n - 1, 0, -1):
                j = random.below(i + 1)
                order[i], order[j] = order[j], order[i]
        mean_left *= float(Adam.FIRST)
        square_left *= float(Adam.SECOND)
        done = step / n_steps
        now = np.float32(rate * min(done / 0.1, (1 - done) / (1 - 0.1)))
        rates = [*(now / roots), *[np.float32(0.1) * now] * n_layers, np.float32(6) * now]
        batch_rows = order[step % n_batches * batch :][:batch]
        factors = [kept(random, (batch, width), n_kept) for _ in range(n_hidden)]
        layer_gradients = gradients(
            layers, inputs[batch_rows], targets[batch_rows], weights[batch_rows],
            factors=factors, are_classes=are_classes,
        )  # fmt: skip
        gradient_arrays = layer_gradients.arrays()
        corrections = [np.float32(1 / (1 - left)) for left in (mean_left, square_left)]
        for adam, gradient, own, its_decay in zip(
            adams, gradient_arrays, rates, decays, strict=True
        ):
            adam.step(gradient, own, its_decay, *corrections)
    layers.weights[0] = layers.weights[0] * layers.scales[:, None]
    return list(zip(layers.weights, layers.biases, strict=True))


def ask(layers, inputs):
    """Return the output of networks for rows, in double precision."""
    for number, (weights, biases) in enumerate(layers):
        inputs = product(inputs, weights.astype(float), biases)
        if number < len(layers) - 1:
            inputs = activation(inputs)
    return inputs
