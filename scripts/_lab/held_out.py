"""A third of the rows of a set, named or a user's own, held out for testing; TabArena's losses."""

import runpy

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from . import data

OWN = {}


def own_sets(path):
    """What a file of own sets holds."""
    if path not in OWN:
        OWN[path] = runpy.run_path(path)
    return OWN[path]


def keys(options):
    """A cell for each set and each method."""
    sets = [*options.datasets, *(own_sets(options.own_sets)["NAMES"] if options.own_sets else ())]
    return [
        {"set": name, "seed": seed, "method": method}
        for name in dict.fromkeys(sets)
        for seed in range(options.seeds)
        for method in options.methods
    ]


def table(options, name):
    """X, y and a task."""
    if options.own_sets and name in own_sets(options.own_sets)["NAMES"]:
        X, y, task, *_ = own_sets(options.own_sets)["load"](name)
        return X, np.asarray(y), task
    found = data.load(data.Source(name, options.data_home))
    if found.task == "regression":
        return found.X, found.y, "regression"
    n_classes = len(np.unique(found.y))
    return found.X, np.asarray(found.y), "binary" if n_classes == 2 else "multiclass"


def split(options, name, seed):
    """X, y, a task, and the rows to train and to test on."""
    X, y, task = table(options, name)
    strata = None if task == "regression" else data.strata_of(y)
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed, stratify=strata)
    return X, y, task, train, test


def loss(model, X, y, task):
    """Of an estimator on new rows."""
    if task == "regression":
        return loss_of(model.predict(X), y, task)
    return loss_of(model.predict_proba(X), y, task, model.classes_)


def loss_of(found, y, task, classes=None):
    """1 - AUC of two classes, log-loss of more, RMSE, of what was predicted."""
    if task == "regression":
        return float(np.sqrt(np.mean((np.ravel(found) - y) ** 2)))
    if task == "binary":
        return 1 - roc_auc_score(y == classes[1], found[:, 1])
    return log_loss(y, found, labels=classes)
