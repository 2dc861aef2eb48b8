"""Which of the training rows are held out."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from mddf._data.validation import naming
from mddf._gradient.inputs import Rows
from mddf._gradient.losses import Labels


def held_out(rows: Rows, target: Any, share: Any, entropy: list[int]) -> Rows:
    """With some of the training rows held out: a share or number of them, or None for all.

    Classes have their shares, unless one of them would have no row on a side.
    """
    if share is None:
        return replace(rows, held_out=rows.train)
    seed = np.random.SeedSequence(entropy, spawn_key=(1,)).generate_state(1)
    n_held_out = share if isinstance(share, Integral) else np.ceil(share * len(rows.train))
    labels = None
    if isinstance(target, Labels):
        labels = rows.y[rows.train].astype(int)
        counts = np.bincount(labels, minlength=target.n_classes)
        if counts.min() < 2 or n_held_out < target.n_classes:
            labels = None
    with naming("validation_fraction"):
        train, others = train_test_split(
            rows.train, test_size=share, stratify=labels, random_state=int(seed[0])
        )
    return replace(rows, train=train, held_out=others)
