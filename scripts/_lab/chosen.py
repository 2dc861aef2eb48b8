"""Methods that tune themselves on the training rows."""

from itertools import islice

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier

from mddf import MDDFClassifier

# Hidden layers of the perceptrons in the mdDF paper.
ARCHITECTURES = ((1024, 512), (16, 8, 8), (70, 50), (50, 30), (30, 20))


class ChosenMLP(ClassifierMixin, BaseEstimator):
    """A perceptron whose architecture and number of epochs are selected on held-out rows.

    Each architecture is trained on four fifths of the rows. The architecture and epoch with the
    highest accuracy on the remaining rows are selected; the smaller cross-entropy breaks ties.
    The network is then trained on all rows. As in the mdDF paper, it has rectified linear units,
    cross-entropy and no dropout. Adam (rate 0.001) replaces Adadelta, which scikit-learn does not
    have. Training of an architecture stops after max_epochs / 20 epochs without improvement.
    `architecture_` and `n_epochs_` are the selected values.
    """

    def __init__(self, max_epochs=100, *, random_state=None):
        self.max_epochs = max_epochs
        self.random_state = random_state

    def fit(self, X, y):
        """Select architecture and epochs, then train on all rows."""
        X = np.asarray(X, dtype=np.float32)
        self.classes_, labels = np.unique(y, return_inverse=True)
        random = np.random.RandomState(self.random_state)
        split_seed, last_seed, *seeds = random.randint(2**31, size=2 + len(ARCHITECTURES))
        is_only_row = np.bincount(labels)[labels] < 2
        # The only row of a class cannot be held out: the network must learn every class.
        train, held_out = train_test_split(
            np.flatnonzero(~is_only_row),
            test_size=0.2,
            stratify=labels[~is_only_row],
            random_state=split_seed,
        )
        train = np.concatenate([train, np.flatnonzero(is_only_row)])
        best = best_of_none = (-np.inf, -np.inf)
        for architecture, seed in zip(ARCHITECTURES, seeds, strict=True):
            trained = self._epochs(architecture, seed, X[train], labels[train])
            best_of_architecture, best_epoch = best_of_none, 0
            for epoch, network in enumerate(islice(trained, self.max_epochs), 1):
                probabilities = network.predict_proba(X[held_out])
                accuracy = np.mean(probabilities.argmax(axis=1) == labels[held_out])
                all_labels = np.arange(len(self.classes_))
                score = accuracy, -log_loss(labels[held_out], probabilities, labels=all_labels)
                if score > best:
                    self.architecture_, self.n_epochs_ = architecture, epoch
                if score > best_of_architecture:
                    best_of_architecture, best_epoch = score, epoch
                elif epoch - best_epoch >= max(2, self.max_epochs // 20):
                    break
                best = max(best, score)
        trained = self._epochs(self.architecture_, last_seed, X, labels)
        (self.network_,) = islice(trained, self.n_epochs_ - 1, self.n_epochs_)
        return self

    def _epochs(self, architecture, seed, X, labels):
        """Yield the network after each epoch."""
        # At least about five steps for each epoch, also on a small set.
        batch_size = int(np.clip(len(X) // 5, min(16, len(X)), 200))
        network = MLPClassifier(architecture, batch_size=batch_size, random_state=seed)
        while True:
            network.partial_fit(X, labels, classes=np.arange(len(self.classes_)))
            yield network

    def predict_proba(self, X):
        """Return the probabilities in the order of `classes_`."""
        return self.network_.predict_proba(np.asarray(X, dtype=np.float32))

    def predict(self, X):
        """Return the predicted labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# The grids of the mdDF paper (its section 4, and section 5.1 for the depth step c).
PAPER_GRID = {
    "rules__target_margin": [0.7, 0.75, 0.8, 0.85, 0.9, 0.95],
    "rules__mu": [0.01, 0.05, 0.1],
    "rules__depth_step": [2, 4, 8, 16],
}


def paper_mddf(random_state=None, **parameters):
    """The paper's mdDF; 3 folds of the training rows select r, mu and c by accuracy.

    The paper does not say how it chose among its 72 combinations.
    """
    model = MDDFClassifier.named("paper", random_state=random_state, **parameters)
    folds = StratifiedKFold(3, shuffle=True, random_state=random_state)
    return GridSearchCV(model, PAPER_GRID, cv=folds)
