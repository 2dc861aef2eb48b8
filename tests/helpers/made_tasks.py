"""Tasks of deep forests, of labels and numbers."""

import numpy as np

from mddf._members.tasks import ClassificationTask, RegressionTask


def classification_task(labels, *, calibrate):
    """Of labels from 0 on."""
    n_classes = int(labels.max()) + 1
    return ClassificationTask(labels.astype(np.uint16), n_classes, None, calibrate=calibrate)


def regression_task(y):
    """Of numbers of shape (n_samples, n_outputs)."""
    return RegressionTask(y, None)
