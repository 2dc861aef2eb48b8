"""Draw the margin-distribution loss and other convex losses (mdDF's preprint, Fig. 3).

    python scripts/reproduce/losses.py --out results/losses

The loss of this package is ``(z - r)^2 / r^2`` up to the target margin r and
``mu (z - r)^2 / (1 - r)^2`` above it. The paper's picture shows a variant around 1 with a band of
width 2 theta in which nothing is lost: ``(z - 1 + theta)^2 / (1 - theta)^2`` below 1 - theta,
``mu (z - 1 - theta)^2 / (1 + theta)^2`` above 1 + theta.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import cli, pictures

from mddf._layers.margin_loss import margin_loss
from mddf.analysis import BandMarginLoss

TARGET_MARGIN = 0.9
MU = 0.1
THETA = 0.2
# Largest margin of each loss, and the loss.
LOSSES = {
    "0-1": (2, lambda z: (z <= 0).astype(float)),
    r"exponential, $e^{-z}$": (2, lambda z: np.exp(-z)),
    r"hinge, $\max(1 - z, 0)$": (2, lambda z: np.maximum(1 - z, 0)),
    rf"$\ell_{{md}}$, $r={TARGET_MARGIN}$, $\mu={MU}$": (
        1, lambda z: margin_loss(z, TARGET_MARGIN, MU),
    ),
    rf"$\ell_{{md}}$ with band, $\theta={THETA}$, $\mu={MU}$": (
        2, BandMarginLoss(THETA, MU).value,
    ),
}  # fmt: skip


def parse(argv=None):
    return cli.Parser(__doc__, "losses", format=["png", "pdf"]).read(argv)


def main(argv=None):
    options = parse(argv)
    figure, ((axis,),) = pictures.panels([3.9], 1, 5.2)
    for (name, (high, loss)), style in zip(LOSSES.items(), pictures.STYLES, strict=False):
        z = np.linspace(-1, high, 1201)
        axis.plot(z, loss(z), label=name, markevery=(0, 119), **style)
    axis.set(xlabel="margin $z$", ylabel="loss", xlim=(-1, 2), ylim=(-0.05, 4.2))
    axis.legend(loc="upper right")
    caption = (
        "Convex losses over the margin, with the 0-1 loss. Margins of a cascade end at 1, and the "
        "loss with them: it falls to 0 at r and rises to mu at 1."
    )
    pictures.save(figure, options, "losses", caption)


if __name__ == "__main__":
    main()
