"""The data sets of run_uci.py: which there are, and how each one is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sklearn.model_selection import train_test_split

from mddf import datasets

BUNDLED = ("digits", "wine", "breast_cancer", "iris")
PAPER = ("adult", "yeast", "letter", "protein", "har", "sensit", "satimage", "mnist")
SUITES = {"bundled": BUNDLED, "paper": PAPER}

# Sets without a standard split: rows for testing, if not 30 % of each class.
TEST_ROWS = {"yeast": 446}
# Random splits differ more than fits on one split do; the bundled sets are for a first look.
N_SEEDS = {"yeast": 10, **dict.fromkeys(BUNDLED, 2)}
DEFAULT_SEEDS = 5


@dataclass(frozen=True)
class Split:
    """A training and a test part."""

    X: object
    y: object
    X_test: object
    y_test: object


def n_seeds(name: str, asked: int | None, quick: bool) -> int:
    """How often a set is run."""
    if asked is not None:
        return asked
    return 1 if quick else N_SEEDS.get(name, DEFAULT_SEEDS)


def splits(name: str, seeds, data_home=None) -> Iterator[tuple[int, Split]]:
    """Each seed with its split: the standard one where there is one, else a random one.

    Raises
    ------
    Whatever `mddf.datasets.load` raises, before the first split.
    """
    data = datasets.load(name, data_home=data_home)
    for seed in seeds:
        if data.has_standard_split:
            yield seed, Split(data.X_train, data.y_train, data.X_test, data.y_test)
            continue
        in_shares = name not in TEST_ROWS
        X, X_test, y, y_test = train_test_split(
            data.X,
            data.y,
            test_size=0.3 if in_shares else TEST_ROWS[name],
            stratify=data.y if in_shares else None,
            random_state=seed,
        )
        yield seed, Split(X, y, X_test, y_test)
