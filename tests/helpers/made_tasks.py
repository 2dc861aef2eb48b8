"""Tasks of deep forests for classification, several outputs and regression."""

import numpy as np

from mddf._layers.tasks import ClassificationTask, ClassOutputsTask, RegressionTask
from mddf._targets.class_outputs import ClassOutputs


def classification_task(labels, weight=None, *, calibrate=True):
    """A classification task with labels from 0 on."""
    n_classes = int(labels.max()) + 1
    return ClassificationTask(labels.astype(np.uint16), n_classes, weight, calibrate=calibrate)


def outputs_task(labels, weight=None, *, calibrate=True):
    """A classification task with a column of labels per output."""
    outputs = ClassOutputs.from_y(labels, every_class=True)
    return ClassOutputsTask(outputs, weight, calibrate=calibrate)


def regression_task(y, weight=None):
    """A regression task with targets of shape (n_samples, n_outputs)."""
    return RegressionTask(y, weight)
