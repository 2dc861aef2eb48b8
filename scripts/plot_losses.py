"""Draw the margin-distribution loss beside those of boosting and of the SVM (mdDF, Fig. 3).

    python scripts/plot_losses.py --out results/losses.png
    python scripts/plot_losses.py --target-margin 0.7 --mu 0.05 --theta 0.2

The loss of this package is ``(z - r)^2 / r^2`` up to the target margin r and
``mu (z - r)^2 / (1 - r)^2`` above it. The paper's picture shows a variant around 1 with a band of
width 2 theta in which nothing is lost: ``(z - 1 + theta)^2 / (1 - theta)^2`` below 1 - theta,
``mu (z - 1 - theta)^2 / (1 + theta)^2`` above 1 + theta.
"""

from __future__ import annotations

import argparse

import numpy as np
from _pictures import STYLES, pyplot, save

from mddf._margin_loss import margin_loss


def band_loss(z, theta, mu):
    """The paper's Equation 51."""
    below = np.square(z - 1 + theta) / (1 - theta) ** 2
    above = mu * np.square(z - 1 - theta) / (1 + theta) ** 2
    return np.where(z <= 1 - theta, below, np.where(z > 1 + theta, above, 0.0))


def curves(target_margin, mu, theta):
    """Name, ends of the range it is meant for, and function of each loss."""
    return (
        ("0-1", -1, 2, lambda z: (z <= 0).astype(float)),
        (r"exponential, $e^{-z}$", -1, 2, lambda z: np.exp(-z)),
        (r"hinge, $\max(1 - z, 0)$", -1, 2, lambda z: np.maximum(1 - z, 0)),
        (
            rf"$\ell_{{md}}$, $r={target_margin:g}$, $\mu={mu:g}$",
            -1,
            1,
            lambda z: margin_loss(z, target_margin, mu),
        ),
        (
            rf"$\ell_{{md}}$ with band, $\theta={theta:g}$, $\mu={mu:g}$",
            -1,
            2,
            lambda z: band_loss(z, theta, mu),
        ),
    )


def draw(options):
    """The picture."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(5.2, 3.9), layout="constrained")
    for (name, low, high, loss), style in zip(
        curves(options.target_margin, options.mu, options.theta), STYLES, strict=False
    ):
        z = np.linspace(low, high, 1201)
        axis.plot(z, loss(z), label=name, markevery=(0, 119), **style)
    axis.set(xlabel="margin $z$", ylabel="loss", xlim=(-1, 2), ylim=(-0.05, 4.2))
    axis.legend(loc="upper right")
    caption = (
        "Convex losses over the margin, with the 0-1 loss. Margins of a cascade end at 1, and the "
        "loss with them: it falls to 0 at r and rises to mu at 1."
    )
    return save(figure, options.out, caption)


def share(text):
    """A parser of numbers between 0 and 1, both excluded."""
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, got {text}")
    return value


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target-margin", type=share, default=0.9, help="r (default: 0.9)")
    parser.add_argument("--mu", type=share, default=0.1, help="default: 0.1")
    parser.add_argument("--theta", type=share, default=0.2, help="default: 0.2")
    parser.add_argument("--quick", action="store_true", help="the same: it takes no data")
    parser.add_argument("--out", default="results/losses.png", help=".png, .pdf or .svg")
    return parser.parse_args(argv)


def main(argv=None):
    draw(parse(argv))


if __name__ == "__main__":
    main()
