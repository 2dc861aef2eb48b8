"""Tasks of deep forests for classification, several outputs and regression."""

import numpy as np

from mddf._fitted.calibration import UNCALIBRATED
from mddf._layers.stack import Average, weighted_mean
from mddf._layers.tasks import ClassificationTask, ClassOutputsTask, RegressionTask
from mddf._layers.weight_reasons import weight_reasons
from mddf._targets.class_outputs import ClassOutputs


def classification_task(labels, weight=None, *, calibrate=True, **score):
    """A classification task with labels from 0 on."""
    n_classes = int(labels.max()) + 1
    labels = labels.astype(np.uint16)
    return ClassificationTask(labels, n_classes, weight, calibrate=calibrate, **score)


def outputs_task(labels, weight=None, *, calibrate=True):
    """A classification task with a column of labels per output."""
    outputs = ClassOutputs.from_y(labels, every_class=True)
    return ClassOutputsTask(outputs, weight, calibrate=calibrate)


def regression_task(y, weight=None):
    """A regression task with targets of shape (n_samples, n_outputs)."""
    return RegressionTask(y, weight)


def reasons_of(task, votes, weights):
    """The reasons for the weights of members with these votes."""
    mean = weighted_mean(weights, votes)
    return weight_reasons(task, votes, Average(weights, mean, UNCALIBRATED, mean))
