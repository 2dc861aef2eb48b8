"""Conditions of a study (flipped labels, few rows, scanned images), and figures by layer."""

import numpy as np
from mddf.baselines import MultiGrainedScanner
from sklearn.utils import _safe_indexing

from mddf._layers.margin_loss import class_margins

from . import data

# Selected by hand before the first results: small and large sets, two and many classes, numeric
# and categorical columns. MNIST, bank and carclaims are left out because they take too long.
DATASETS = [
    "adult", "australian", "balance", "breast-ljubljana", "breastcancer", "bupa", "car", "cmc",
    "credit", "german", "glass", "heart", "ionosphere", "letter", "optdigits", "pima", "satimage",
    "tictactoe", "vote", "wine", "yeast",
]  # fmt: skip
CONDITIONS = ("clean", "flipped", "small", "scanned")
# Share of the training labels that the condition "flipped" replaces; not tuned.
FLIPPED_SHARE = 0.2
# Training rows of the condition "small"; not tuned.
SMALL_ROWS = 100
# Height and width of the images of the sets that can be scanned.
IMAGES = {"digits": (8, 8), "optdigits": (8, 8), "mnist": (28, 28)}
# Trees of each forest of a scanner; not tuned.
SCANNER_TREES = 30


def flip_labels(y, share, seed):
    """Replace a share of the labels by a random other class."""
    random = np.random.default_rng(seed)
    classes = np.unique(y)
    codes = np.searchsorted(classes, y)
    chosen = random.random(len(y)) < share
    steps = random.integers(1, max(len(classes), 2), size=len(y))
    return classes[np.where(chosen, (codes + steps) % len(classes), codes)]


def split_under(source, condition, seed, max_rows):
    """Return the `data.Split` of a set under a condition.

    Test rows keep their true labels. Test rows of classes without a training row are left out.
    """
    rows = SMALL_ROWS if condition == "small" else max_rows
    split = data.split(source, seed, rows)
    y = flip_labels(split.y, FLIPPED_SHARE, seed) if condition == "flipped" else split.y
    known = np.flatnonzero(np.isin(split.y_test, y))
    X, X_test, y_test = split.X, _safe_indexing(split.X_test, known), split.y_test[known]
    if condition == "scanned":
        scanner = MultiGrainedScanner(
            shape=IMAGES[source.name], n_estimators=SCANNER_TREES, random_state=seed
        )
        X = scanner.fit_transform(X, y)
        X_test = scanner.transform(X_test)
    return data.Split(X, y, X_test, y_test)


def margins_of(probabilities, labels, classes):
    """Return the probability of the true class minus the largest one of the other classes."""
    return class_margins(probabilities, np.searchsorted(classes, labels))


def describe_layers(cascade, split):
    """Return accuracies, and figures of the margins, after each layer of a fitted cascade."""
    rows = []
    train_stages = cascade.staged_predict_proba(split.X)
    test_stages = cascade.staged_predict_proba(split.X_test)
    for layer, (train, test) in enumerate(zip(train_stages, test_stages, strict=True)):
        train_margins = margins_of(train, split.y, cascade.classes_)
        test_margins = margins_of(test, split.y_test, cascade.classes_)
        rows.append(
            {
                "layer": layer + 1,
                "train_accuracy": np.mean(cascade.classes_[train.argmax(axis=1)] == split.y),
                "oof_accuracy": cascade.history_["accuracy"][layer],
                "test_accuracy": np.mean(cascade.classes_[test.argmax(axis=1)] == split.y_test),
                "train_ratio": train_margins.std() / train_margins.mean(),
                "oof_ratio": cascade.history_["margin_ratio"][layer],
                "test_ratio": test_margins.std() / test_margins.mean(),
                "test_mean": test_margins.mean(),
            }
        )
    return rows
