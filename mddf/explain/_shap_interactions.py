"""Contributions of pairs of features to the predictions of single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mddf._base.messages import short
from mddf._fitted.fitted_model import Stage
from mddf._inspection.stages import (
    coded_stages,
    fitted_stages,
    numbers_of,
    predict_numbers,
    refuse_untraceable,
)

from ._shap_values import (
    as_explanation,
    check_sums,
    choose_background,
    require_shap,
    stores_weights,
)
from ._tree_shap import shapley_values

if TYPE_CHECKING:
    import shap


def shap_interaction_values(
    model: BaseEstimator, X: npt.ArrayLike, *, background: npt.ArrayLike | None = None
) -> shap.Explanation:
    """Compute the contributions of pairs of features to the predictions of single rows.

    The matrix of a row is symmetric. Its columns add up to the contributions of `shap_values` with
    ``method="tree"``, and all of its entries with the base value to the prediction. The diagonal
    has what a feature contributes without the others.

    Parameters
    ----------
    model : forest or gradient boosting of mddf
        Fitted. A cascade must have a single layer.
    X : array or DataFrame of shape (n_samples, n_features)
        Rows to be explained. The result has n_features ** 2 numbers for each row and class.
    background : array or DataFrame of shape (n_background, n_features), default=None
        Rows that stand for unknown values of a feature, as for `shap_values`.

    Returns
    -------
    shap.Explanation
        ``values`` has shape (n_samples, n_features, n_features, n_classes), and ``base_values``
        (n_samples, n_classes). The last axis is absent if it has length 1. ``data`` has the rows
        as numbers, as of `shap_values`.

    Raises
    ------
    TypeError
        If the model is not a sum over trees, or has several layers.
    ValueError
        If `background` is None and the rows of `X` do not differ.

    See Also
    --------
    shap_values : Contributions of single features.

    Notes
    -----
    The entry of two features is half of their Shapley interaction index [1]_; [2]_ uses it for
    trees. The weight of a node is its number of background rows (path-dependent), and the values
    are exact for trees of any depth. For gradient boosting they refer to raw predictions. The time
    grows with the number of nodes times the number of features on the path to a node.

    References
    ----------
    .. [1] M. Grabisch and M. Roubens, "An axiomatic approach to the concept of interaction among
       players in cooperative games", International Journal of Game Theory 28, 1999.
    .. [2] S. Lundberg et al., "From local explanations to global understanding with explainable
       AI for trees", Nature Machine Intelligence 2, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import shap_interaction_values
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> explanation = shap_interaction_values(forest, X[:5], background=X)
    >>> explanation.values.shape
    (5, 4, 4, 3)
    """
    require_shap("shap_interaction_values")
    stage = _single_stage(model)
    rows = numbers_of(model, X)
    choose_background(model, background, rows, "tree")  # for its errors and warnings
    if background is None and not stores_weights(model):
        background = X
    values, base = _stage_interactions(model, stage, X, background)
    predictions = predict_numbers(model, rows, n_jobs=model.n_jobs, finished=False)
    check_sums(values, base, predictions)
    return as_explanation(model, values, base, rows)


def _single_stage(model: BaseEstimator) -> Stage:
    """The only stage of a model that is a sum over trees; a TypeError refuses other models."""
    stages = fitted_stages(model).stages
    refuse_untraceable(model, "shap_values(model, X, method='permutation'), without interactions")
    if len(stages) > 1:
        raise TypeError(
            "model must have a single layer for interaction values, which cannot be passed back "
            f"through layers, got {len(stages)} layers of {short(model)}; use shap_values"
        )
    return stages[0]


def _stage_interactions(
    model: BaseEstimator, stage: Stage, X: npt.ArrayLike, background: npt.ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """Interaction values through the members of a stage, and base values."""
    rows = next(coded_stages(model, X))
    background_rows = None if background is None else next(coded_stages(model, background))
    n_raw = fitted_stages(model).n_raw
    member_values = []
    member_bases = []
    for number, member in enumerate(stage.members):
        codes = member.tree_codes(rows)
        _, bias, interactions = shapley_values(
            stage.blocks(number),
            codes,
            None if background_rows is None else member.tree_codes(background_rows),
            member.players(codes.shape[1]),
            with_interactions=True,
            n_jobs=model.n_jobs,
        )
        assert interactions is not None
        values = interactions
        for _ in range(2):  # for each axis of features
            values = member.feature_amounts(values, n_raw)[:, :n_raw].swapaxes(1, 2)
        member_values.append((values * member.per_mean).reshape(-1, member.n_columns))
        member_bases.append((bias * member.per_mean + member.offset)[None])
    values = stage.mean(stage.own_columns(np.stack(member_values)))
    base = stage.mean(stage.own_columns(np.stack(member_bases)))[0]
    return values.reshape(len(rows.codes), n_raw, n_raw, -1), base
