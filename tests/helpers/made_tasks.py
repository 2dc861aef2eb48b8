"""Tasks of deep forests, of labels, of several outputs and of numbers."""

import numpy as np

from mddf._targets.class_outputs import ClassOutputs
from mddf._training.tasks import ClassificationTask, ClassOutputsTask, RegressionTask


def classification_task(labels, weight=None, *, calibrate=True):
    """Of labels from 0 on."""
    n_classes = int(labels.max()) + 1
    return ClassificationTask(labels.astype(np.uint16), n_classes, weight, calibrate=calibrate)


def outputs_task(labels, weight=None, *, calibrate=True):
    """Of a column of labels for each output."""
    outputs = ClassOutputs.from_y(labels, every_class=True)
    return ClassOutputsTask(outputs, weight, calibrate=calibrate)


def regression_task(y, weight=None):
    """Of numbers of shape (n_samples, n_outputs)."""
    return RegressionTask(y, weight)
