"""Boosted features of mdDF: the vote of the layers so far."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, check_is_fitted

from mddf._layers.base_cascade import BaseCascade


def boosted_features(cascade: BaseCascade, vectors: npt.ArrayLike) -> np.ndarray:
    """Boosted features f_t of each layer, from the class vectors of the layers' forests.

    f_t = sum of alpha_l h_l over the layers l up to t (equation 7 of the preprint [1]_). h_l is
    the mean class vector of the forests of layer l, and alpha_l its coefficient after layer t.

    Parameters
    ----------
    cascade : MDDFClassifier, GCForestClassifier or another cascade
        Fitted.
    vectors : array of shape (n_samples, n_features_out)
        Result of ``fit_transform`` for the training samples, which is out of fold, or of
        ``transform`` for new samples.

    Returns
    -------
    ndarray of shape (n_samples, n_layers_, n_classes)

    References
    ----------
    .. [1] S.-H. Lv, L. Yang and Z.-H. Zhou, "Forest Representation Learning Guided by Margin
       Distribution", arXiv:1905.03052v1, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import MDDFClassifier
    >>> from mddf.representation import boosted_features
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MDDFClassifier(2, n_estimators=5, random_state=0, early_stopping=False)
    >>> vectors = model.fit_transform(X, y)
    >>> boosted_features(model, vectors).shape
    (150, 2, 3)
    """
    if not isinstance(cascade, BaseCascade):
        raise TypeError(f"cascade must be a cascade of mddf, got {type(cascade).__name__}")
    check_is_fitted(cascade)
    columns = check_array(vectors, input_name="vectors")
    stages = cascade._fitted.stages
    n_classes = len(cascade.classes_)
    expected = n_classes * sum(len(stage.members) for stage in stages)
    if columns.shape[1] != expected:
        raise ValueError(
            f"vectors must have the {expected} columns of transform, got {columns.shape[1]}"
        )
    ends = n_classes * np.cumsum([len(stage.members) for stage in stages])
    of_layers = np.split(columns, ends[:-1], axis=1)
    means = [layer.reshape(len(columns), -1, n_classes).mean(axis=1) for layer in of_layers]
    features = np.empty((len(columns), len(stages), n_classes))
    for t, stage in enumerate(stages):
        features[:, t] = sum(
            alpha * mean for alpha, mean in zip(stage.alphas, means[: t + 1], strict=True)
        )
    return features
