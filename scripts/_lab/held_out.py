"""Splits with a third of the rows for testing, and the losses of TabArena.

Sets are those of `mddf.datasets`, or come from a Python file of the user (--own-sets).
"""

import runpy
from functools import cache

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from . import data


@cache
def own_sets(path):
    """Return the globals of a Python file with the user's sets."""
    return runpy.run_path(path)


def keys(options):
    """Return a key for each set, seed and method."""
    sets = [*options.datasets, *(own_sets(options.own_sets)["NAMES"] if options.own_sets else ())]
    return [
        {"set": name, "seed": seed, "method": method}
        for name in dict.fromkeys(sets)
        for seed in range(options.seeds)
        for method in options.methods
    ]


def table(options, name):
    """Return X, y and the task of a set: regression, binary or multiclass."""
    if options.own_sets and name in own_sets(options.own_sets)["NAMES"]:
        X, y, task, *_ = own_sets(options.own_sets)["load"](name)
        return X, np.asarray(y), task
    dataset = data.load(data.Source(name, options.data_home))
    if dataset.task == "regression":
        return dataset.X, dataset.y, "regression"
    n_classes = len(np.unique(dataset.y))
    return dataset.X, np.asarray(dataset.y), "binary" if n_classes == 2 else "multiclass"


def split(options, name, seed):
    """Return X, y, the task, and the row numbers for training and testing."""
    X, y, task = table(options, name)
    strata = None if task == "regression" else data.strata_of(y)
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed, stratify=strata)
    return X, y, task, train, test


def loss(model, X, y, task):
    """Return the loss of a fitted estimator on new rows."""
    if task == "regression":
        return loss_of(model.predict(X), y, task)
    return loss_of(model.predict_proba(X), y, task, model.classes_)


def loss_of(predicted, y, task, classes=None):
    """Return 1 - AUC for two classes, log-loss for more, and RMSE for regression."""
    if task == "regression":
        return float(np.sqrt(np.mean((np.ravel(predicted) - y) ** 2)))
    if task == "binary":
        return 1 - roc_auc_score(y == classes[1], predicted[:, 1])
    return log_loss(y, predicted, labels=classes)
