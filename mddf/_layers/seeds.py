"""Random streams of a fit: each purpose has a stream of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


class Purpose(Enum):
    """Purpose of a random stream.

    The numbers are mixed into the seeds. They do not change: the same `random_state` has to give
    the same predictions in every patch release. A new purpose takes a number after the last one;
    4 and 8 are not in use.
    """

    # Forests on folds: of a cascade's layer, or of the first layer of a deep forest.
    FORESTS = (0,)
    FOLDS = (1,)
    # Batches of the descent that finds the coefficients of a cascade's layers.
    COEFFICIENTS = (2,)
    FOREST_OPTIONS = (3,)
    # Members of a deep forest's first layer that are not forests.
    ESTIMATORS = (5,)
    REFITTED_FORESTS = (6,)
    REFITTED_ESTIMATORS = (7,)
    # 9 is for the later layers of a deep forest: models without a pair of outer folds, vectors for
    # the third layer and later ones, and a layer as it is evaluated.
    PAIR_FORESTS = (9, 0)
    PAIR_ESTIMATORS = (9, 1)
    NESTED_VECTORS = (9, 2)
    OPTIMISTIC_LAYER = (9, 3)
    NESTED_LAYER = (9, 4)
    REWEIGHTING = (9, 5)
    OUTER_FOLDS = (10,)
    BOOSTING_OPTIONS = (11,)
    RACE = (12,)
    ERROR_SCALE = (13,)
    TIMED_TREES = (14,)
    BOOSTING_FOLDS = (15,)
    # Models without a pair of parts of the rows, for figures of few rows.
    FIGURES = (16,)


@dataclass(frozen=True)
class Seeds:
    """Entropy of a fit, from which the seeds for all purposes are derived."""

    entropy: tuple[int, ...]

    @classmethod
    def from_random_state(cls, random_state: Any) -> Seeds:
        """Draw the entropy from the parameter `random_state` of an estimator."""
        random = check_random_state(random_state)
        return cls(tuple(random.randint(0, 2**32, 4, dtype=np.uint64).tolist()))

    def entropy_for(self, purpose: Purpose, *numbers: int) -> tuple[int, ...]:
        """Entropy of one stream; the numbers tell layers, members or folds apart."""
        return (*self.entropy, *purpose.value, *numbers)

    def integers(self, purpose: Purpose, *numbers: int, size: int) -> list[int]:
        """Seeds of 32 bits, such as scikit-learn's splitters take."""
        sequence = np.random.SeedSequence(self.entropy_for(purpose, *numbers))
        return [int(seed) for seed in sequence.generate_state(size)]

    def integer(self, purpose: Purpose, *numbers: int) -> int:
        """One seed of 32 bits."""
        (seed,) = self.integers(purpose, *numbers, size=1)
        return seed
