"""Methods that choose among variants of themselves on training rows."""

import warnings
from itertools import islice

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from mddf import MDDFClassifier

# Hidden layers that the mdDF paper examines.
ARCHITECTURES = ((1024, 512), (16, 8, 8), (70, 50), (50, 30), (30, 20))


class ChosenMLP(ClassifierMixin, BaseEstimator):
    """A perceptron whose architecture and number of epochs are chosen on held-out rows.

    Each architecture is trained on four fifths of the rows; the best epoch of the best one has
    the most accurate predictions of the others and, among equally accurate ones, those of the
    smallest cross-entropy. Then it is trained on all rows. Rectified linear units, cross-entropy
    and no dropout, as in the mdDF paper; Adam (rate 0.001) in place of Adadelta, which
    scikit-learn does not have. An architecture is given up after a twentieth of `max_epochs`
    without a better one. `architecture_` and `n_epochs_` are what was chosen.
    """

    def __init__(self, max_epochs=100, *, architectures=ARCHITECTURES, random_state=None):
        self.max_epochs, self.architectures = max_epochs, architectures
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
        with warnings.catch_warnings():
            # MLPClassifier makes a warning of Ctrl-C, and its caller would go on.
            warnings.filterwarnings("error", "Training interrupted by user")
            best = best_of_none = (-np.inf, -np.inf)
            for architecture, seed in zip(self.architectures, seeds, strict=True):
                trained = self._epochs(architecture, seed, X[train], labels[train])
                of_this, best_epoch = best_of_none, 0
                for epoch, network in enumerate(islice(trained, self.max_epochs), 1):
                    found = network.predict_proba(X[held_out])
                    accuracy = np.mean(found.argmax(axis=1) == labels[held_out])
                    every = np.arange(len(self.classes_))
                    score = accuracy, -log_loss(labels[held_out], found, labels=every)
                    if score > best:
                        self.architecture_, self.n_epochs_ = architecture, epoch
                    if score > of_this:
                        of_this, best_epoch = score, epoch
                    elif epoch - best_epoch >= max(2, self.max_epochs // 20):
                        break
                    best = max(best, score)
            trained = self._epochs(self.architecture_, last_seed, X, labels)
            (self.network_,) = islice(trained, self.n_epochs_ - 1, self.n_epochs_)
        return self

    def _epochs(self, architecture, seed, X, labels):
        """The network after each epoch."""
        # Several steps for each epoch of a small set.
        batch_size = int(np.clip(len(X) // 5, min(16, len(X)), 200))
        network = MLPClassifier(architecture, batch_size=batch_size, random_state=seed)
        while True:
            network.partial_fit(X, labels, classes=np.arange(len(self.classes_)))
            yield network

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


class Search(GridSearchCV):
    """A search that does not warn of slow convergence and of classes with few rows."""

    def fit(self, X, y):
        """Search."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return super().fit(X, y)


def linear(random_state=None):
    """A logistic regression of scaled columns whose C is chosen by 5 folds."""
    grid = {"model__C": [0.001, 0.01, 0.1, 1.0, 10.0]}
    return _search(LogisticRegression(max_iter=2000), grid, random_state)


def knn(random_state=None):
    """Nearest neighbours of scaled columns; their number and weights are chosen by 5 folds."""
    grid = {"n_neighbors": [1, 3, 5, 9, 15, 25], "weights": ["uniform", "distance"]}
    grid = {f"model__{name}": values for name, values in grid.items()}
    return _search(KNeighborsClassifier(), grid, random_state)


def _search(model, grid, seed):
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return Search(Pipeline([("scale", StandardScaler()), ("model", model)]), grid, cv=folds)
