"""The perceptron of run_uci.py: architecture and length of training chosen on held-out rows."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

# Hidden layers that the mdDF paper examines.
ARCHITECTURES = ((1024, 512), (16, 8, 8), (70, 50), (50, 30), (30, 20))


def hold_out(y, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to validate on, in equal shares of each class.

    The only row of a class is trained on.
    """
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    alone = counts[codes] < 2
    rows = np.flatnonzero(~alone)
    train, held_out = train_test_split(
        rows, test_size=share, stratify=codes[rows], random_state=seed
    )
    return np.concatenate([train, np.flatnonzero(alone)]), held_out


class ChosenMLP(ClassifierMixin, BaseEstimator):
    """Trains each architecture on a part of the rows, and the best one again on all of them.

    The best epoch of the best architecture has the most accurate predictions of the held-out
    rows, and among equally accurate ones those of the smallest cross-entropy. Rectified linear
    units, cross-entropy and no dropout, as in the paper; Adam (rate 0.001) in place of Adadelta,
    which scikit-learn does not have.

    Parameters
    ----------
    architectures : sequence of tuple of int
        Widths of the hidden layers.
    max_epochs : int
    patience : int
        Epochs without a better one after which an architecture is given up.
    validation_share : float
    n_jobs : int or None
        Architectures examined at a time.
    random_state : int or None

    Attributes
    ----------
    architecture_ : tuple of int
    n_epochs_ : int
    """

    def __init__(
        self,
        architectures=ARCHITECTURES,
        *,
        max_epochs=100,
        patience=5,
        validation_share=0.2,
        n_jobs=None,
        random_state=None,
    ):
        self.architectures = architectures
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_share = validation_share
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Choose, and train what was chosen."""
        X = np.asarray(X, dtype=np.float32)
        self.classes_, labels = np.unique(y, return_inverse=True)
        random = np.random.RandomState(self.random_state)
        split_seed, last_seed, *seeds = random.randint(2**31, size=2 + len(self.architectures))
        train, held_out = hold_out(labels, self.validation_share, split_seed)
        networks = [
            self._model(architecture, len(train), seed)
            for architecture, seed in zip(self.architectures, seeds, strict=True)
        ]
        with threadpool_limits(1, user_api="blas"):
            results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._examine)(network, X, labels, train, held_out) for network in networks
            )
        best = max(range(len(results)), key=lambda i: results[i][0])
        self.architecture_, self.n_epochs_ = self.architectures[best], results[best][1]
        self._network = self._model(self.architecture_, len(labels), last_seed)
        for _ in range(self.n_epochs_):
            self._epoch(self._network, X, labels)
        return self

    def _model(self, architecture, n_rows, seed):
        # Several steps for each epoch of a small set.
        batch_size = int(np.clip(n_rows // 5, min(16, n_rows), 200))
        return MLPClassifier(architecture, batch_size=batch_size, random_state=seed)

    def _epoch(self, network, X, labels):
        network.partial_fit(X, labels, classes=np.arange(len(self.classes_)))

    def _examine(self, network, X, labels, train, held_out):
        """Accuracy and negative cross-entropy of the best epoch, and its number."""
        best, best_epoch = (-np.inf, -np.inf), 0
        for epoch in range(1, self.max_epochs + 1):
            self._epoch(network, X[train], labels[train])
            probabilities = network.predict_proba(X[held_out])
            accuracy = accuracy_score(labels[held_out], probabilities.argmax(axis=1))
            loss = log_loss(labels[held_out], probabilities, labels=np.arange(len(self.classes_)))
            if (accuracy, -loss) > best:
                best, best_epoch = (accuracy, -loss), epoch
            elif epoch - best_epoch >= self.patience:
                break
        return best, best_epoch

    def predict(self, X):
        """Labels."""
        return self.classes_[self._network.predict(np.asarray(X, dtype=np.float32))]


def perceptron(X, **options):
    """A ChosenMLP on standardised numbers and indicators of categories.

    Medians stand in for missing numbers; a missing category is a category of its own.
    """
    numeric = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    if hasattr(X, "columns"):
        categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        numeric = make_column_transformer(
            (categories, make_column_selector(dtype_include="category")),
            (numeric, make_column_selector(dtype_exclude="category")),
        )
    return make_pipeline(numeric, ChosenMLP(**options))
