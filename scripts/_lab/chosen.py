"""Methods that choose among variants of themselves on training rows."""

from __future__ import annotations

import threading
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from mddf import MDDFClassifier

# Hidden layers that the mdDF paper examines.
ARCHITECTURES = ((1024, 512), (16, 8, 8), (70, 50), (50, 30), (30, 20))


class ChosenMLP(ClassifierMixin, BaseEstimator):
    """A perceptron whose architecture and number of epochs are chosen on held-out rows.

    Each architecture is trained on four fifths of the rows; the best epoch of the best one has
    the most accurate predictions of the others and, among equally accurate ones, those of the
    smallest cross-entropy. Then it is trained on all rows. Rectified linear units, cross-entropy
    and no dropout, as in the mdDF paper; Adam (rate 0.001) in place of Adadelta, which
    scikit-learn does not have.

    Parameters
    ----------
    max_epochs : int
        An architecture is given up after a twentieth of them without a better epoch.
    architectures : sequence of tuple of int
        Widths of the hidden layers.
    n_jobs : int or None
        Architectures examined at a time.
    random_state : int or None

    Attributes
    ----------
    architecture_ : tuple of int
    n_epochs_ : int
    """

    def __init__(
        self, max_epochs=100, *, architectures=ARCHITECTURES, n_jobs=None, random_state=None
    ):
        self.max_epochs = max_epochs
        self.architectures = architectures
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Choose, and train what was chosen."""
        X = np.asarray(X, dtype=np.float32)
        self.classes_, labels = np.unique(y, return_inverse=True)
        random = np.random.RandomState(self.random_state)
        split_seed, last_seed, *seeds = random.randint(2**31, size=2 + len(self.architectures))
        alone = np.bincount(labels)[labels] < 2  # the only row of a class is trained on
        train, held_out = train_test_split(
            np.flatnonzero(~alone), test_size=0.2, stratify=labels[~alone], random_state=split_seed
        )
        train = np.concatenate([train, np.flatnonzero(alone)])
        with threadpool_limits(1, user_api="blas"):
            results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._examine)(
                    self._network(architecture, len(train), seed), X, labels, train, held_out
                )
                for architecture, seed in zip(self.architectures, seeds, strict=True)
            )
        best = max(range(len(results)), key=lambda i: results[i][0])
        self.architecture_, self.n_epochs_ = self.architectures[best], results[best][1]
        self.network_ = self._network(self.architecture_, len(labels), last_seed)
        for _ in range(self.n_epochs_):
            self._epoch(self.network_, X, labels)
        return self

    def _network(self, architecture, n_rows, seed):
        # Several steps for each epoch of a small set.
        batch_size = int(np.clip(n_rows // 5, min(16, n_rows), 200))
        return MLPClassifier(architecture, batch_size=batch_size, random_state=seed)

    def _epoch(self, network, X, labels):
        classes = np.arange(len(self.classes_))
        if threading.current_thread() is not threading.main_thread():
            network.partial_fit(X, labels, classes=classes)
            return
        # MLPClassifier turns Ctrl-C, which comes to the main thread, into a warning.
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Training interrupted by user")
            try:
                network.partial_fit(X, labels, classes=classes)
            except UserWarning:
                raise KeyboardInterrupt from None

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
            elif epoch - best_epoch >= max(2, self.max_epochs // 20):
                break
        return best, best_epoch

    def predict_proba(self, X):
        """Probabilities in the order of `classes_`."""
        return self.network_.predict_proba(np.asarray(X, dtype=np.float32))

    def predict(self, X):
        """Labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class ChosenDepth(MDDFClassifier):
    """The mdDF with that of the paper's depth steps c, or none, that is best out-of-fold."""

    def fit(self, X, y):
        """Grow a cascade for each depth step on the training rows, and keep the one to use."""
        cascade = MDDFClassifier(**self.get_params(deep=False))
        grown = (clone(cascade).set_params(depth_step=c).fit(X, y) for c in (2, 4, 8, 16, None))
        self.cascade_ = max(grown, key=lambda c: c.history_["accuracy"][c.n_layers_ - 1])
        self.classes_ = self.cascade_.classes_
        return self

    def predict(self, X):
        """Labels."""
        return self.cascade_.predict(X)

    def predict_proba(self, X):
        """Probabilities."""
        return self.cascade_.predict_proba(X)
