"""Contributions of the features to the predictions of single rows."""

from __future__ import annotations

import importlib.util
import warnings
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor

from mddf._base.validation import check_choice, check_whole, naming
from mddf._binning.bins import apply_bins
from mddf._fitted.vector_layout import combine
from mddf._inspection.stages import (
    coded_stages,
    feature_names,
    fitted_stages,
    is_sum_of_trees,
    numbers_of,
    predict_numbers,
    prediction_method,
    refuse_untraceable,
)

from ._tree_shap import shapley_values

if TYPE_CHECKING:
    import shap

# Largest relative difference between sums of contributions and predictions, a wide margin over
# rounding. It was not tuned; a larger difference is a fault of this package.
_TOLERANCE = 1e-6
# Background rows of "permutation", which mixes each explained row with all of them. shap's maskers
# have the same default.
_PERMUTATION_ROWS = 100


def shap_values(
    model: BaseEstimator,
    X: npt.ArrayLike,
    *,
    background: npt.ArrayLike | None = None,
    method: str = "auto",
    random_state: int | None = 0,
) -> shap.Explanation:
    """Compute the contributions of the features to the predictions of single rows.

    The contributions of a row and its base values add up to its class probabilities, or to its
    prediction by a regressor.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.
    X : array or DataFrame of shape (n_samples, n_features)
        Rows to be explained.
    background : array or DataFrame of shape (n_background, n_features), default=None
        Rows, such as a sample of the training rows, that stand for unknown values of a feature.
        None means `X`, which then needs rows that differ; for "permutation", at most 100 of its
        rows. Trees of gradient boosting store the weight of their training samples in each leaf,
        and None means these samples.
    method : {"auto", "tree", "permutation"}, default="auto"
        - "auto": "tree" for models that are sums over trees, "permutation" for others, such as a
          deep forest with members of several kinds.
        - "tree": Shapley values of the trees (path-dependent: the weight of a node is its number
          of background rows), exact for trees of any depth.
        - "permutation": the permutation explainer of the package shap, which predicts mixtures of
          rows. Slow, but faithful to any model, including members of other packages. An estimate
          if there are many features.
    random_state : int or None, default=0
        Seed of "permutation".

    Returns
    -------
    shap.Explanation
        ``values`` has shape (n_samples, n_features, n_classes) and ``base_values`` (n_samples,
        n_classes). For a regressor, n_classes is the number of outputs. The last axis is absent if
        it has length 1, as for the raw prediction of two classes. ``data`` has the rows as
        numbers. Categories are codes, or positions among all categories of the column if it has
        target statistics.

    Raises
    ------
    ValueError
        If `background` is None and the rows of `X` do not differ: all contributions would be 0.

    Warns
    -----
    UserWarning
        If the rows of `background` do not differ.

    See Also
    --------
    shap_interaction_values : Contributions of pairs of features.

    Notes
    -----
    In a cascade, "tree" explains each layer. The contribution of a class vector of the
    layer before is passed on to the features, in proportion to the absolute values of their
    contributions to this vector. If the cascade has ``calibrate=True``, the explained
    probabilities are those before the calibration, which keeps their order.

    For gradient boosting, "tree" explains raw predictions: `decision_function` of a
    classifier, and the logarithm of the prediction for "poisson", "tweedie" and "gamma". Target
    statistics of a category are known if the category is. Target statistics of a pair of
    categories count as a feature of their own, whose contribution is shared equally by the two
    columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import shap_values
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> explanation = shap_values(forest, X[:5], background=X)
    >>> explanation.values.shape
    (5, 4, 3)
    """
    require_shap("shap_values")
    # 1. Check the parameters, and choose the method.
    check_choice("method", method, ("auto", "tree", "permutation"))
    fitted_stages(model)
    if method == "auto":
        method = "tree" if is_sum_of_trees(model) else "permutation"
    if method == "permutation":
        if random_state is not None:
            check_whole("random_state", random_state, 0, 2**32 - 1)
    else:
        refuse_untraceable(model, "method='permutation'")
    # 2. Convert the rows and the background to numbers.
    rows = numbers_of(model, X)
    background_rows = choose_background(model, background, rows, method)
    # 3. Compute contributions, and check that they add up to the predictions.
    if method == "permutation":
        values, base = _permutation_contributions(model, rows, background_rows, random_state)
        predictions = np.asarray(prediction_method(model)(X)).reshape(len(rows), -1)
    else:
        if background is None and not stores_weights(model):
            background = X
        values, base = _stage_contributions(model, X, background)
        predictions = predict_numbers(model, rows, n_jobs=model.n_jobs, finished=False)
    check_sums(values, base, predictions)
    return as_explanation(model, values, base, rows)


def require_shap(function: str) -> None:
    """Raise an ImportError that names the extra of the package shap, unless it is installed."""
    if importlib.util.find_spec("shap") is None:
        raise ImportError(f'{function} needs the package shap: pip install "mddf[explain]"')


def as_explanation(
    model: BaseEstimator, values: np.ndarray, base: np.ndarray, rows: np.ndarray
) -> shap.Explanation:
    """Wrap values whose last axis has the outputs, and base values of shape (..., n_outputs).

    The last axis is dropped if it has one entry, unless that is the only class.
    """
    import shap

    is_single = values.shape[-1] == 1 and (is_regressor(model) or len(model.classes_) > 1)
    base = np.broadcast_to(base, (len(rows), values.shape[-1])).copy()
    return shap.Explanation(
        values[..., 0] if is_single else values,
        base_values=base[..., 0] if is_single else base,
        data=rows,
        feature_names=feature_names(model),
        output_names=None if is_single else _output_names(model),
    )


def _output_names(model: BaseEstimator) -> list[str]:
    if is_regressor(model):
        n_outputs = fitted_stages(model).stages[0].members[0].n_columns
        return [f"output{number}" for number in range(n_outputs)]
    return [str(label) for label in model.classes_]


def stores_weights(model: BaseEstimator) -> bool:
    """Whether all trees store the weight of their training samples in each leaf."""
    return all(member.has_leaf_weights for member in fitted_stages(model).members)


def choose_background(
    model: BaseEstimator, background: npt.ArrayLike | None, rows: np.ndarray, method: str
) -> np.ndarray:
    """Choose background rows, as numbers; refuse or warn of rows that are all equal."""
    if background is not None:
        with naming("background"):
            background_rows = numbers_of(model, background)
    elif method == "permutation":
        background_rows = rows[:: -(-len(rows) // _PERMUTATION_ROWS)]
    elif stores_weights(model):
        return rows
    else:
        background_rows = rows
    # To trees, rows are equal if they fall into the same bins.
    fitted = fitted_stages(model)
    by_codes = fitted.reads_codes_only and not fitted.columns_of_levels
    compared = apply_bins(background_rows, fitted.binner.bins_) if by_codes else background_rows
    first = np.broadcast_to(compared[:1], compared.shape)
    if not np.array_equal(compared, first, equal_nan=True):
        return background_rows
    n_rows = len(background_rows)
    if background is None:
        raise ValueError(
            "background must hold rows to compare with, such as a sample of the training rows; "
            f"got None, and X has no two rows that the model can distinguish (of {n_rows}), so "
            "that all contributions would be 0"
        )
    warnings.warn(
        f"background has no two rows that the model can distinguish (of {n_rows}): "
        "contributions compare with this row alone, and are 0 for rows like it",
        stacklevel=3,
    )
    return background_rows


def check_sums(values: np.ndarray, base: np.ndarray, predictions: np.ndarray) -> None:
    """Raise a RuntimeError unless the values of each row and its base are the prediction."""
    features = tuple(range(1, values.ndim - 1))
    error = np.abs(values.sum(axis=features) + base - predictions)
    if not np.all(error <= _TOLERANCE * (np.abs(values).sum(axis=features) + np.abs(base))):
        raise RuntimeError(
            "contributions and base values must add up to the predictions, but miss them by "
            f"{error.max()}"
        )


def _stage_contributions(
    model: BaseEstimator,
    X: npt.ArrayLike,
    background: npt.ArrayLike | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Contributions of the features through all stages of a model, and base values."""
    fitted = fitted_stages(model)
    background_stages = repeat(None) if background is None else coded_stages(model, background)
    stage_inputs = zip(coded_stages(model, X), background_stages, strict=False)
    columns: list[np.ndarray] = []  # contributions of the features to the columns of each stage
    base_columns: list[np.ndarray] = []
    before = np.empty(0)  # contributions of the features to the columns added so far
    for stage, (rows, background_rows) in zip(fitted.stages, stage_inputs, strict=True):
        contributions = []
        biases = []
        for number, member in enumerate(stage.members):
            codes = member.tree_codes(rows)
            background_codes = None
            if background_rows is not None:
                background_codes = member.tree_codes(background_rows)
            values, bias, _ = shapley_values(
                stage.blocks(number),
                codes,
                background_codes,
                member.players(codes.shape[1]),
                n_jobs=model.n_jobs,
            )
            values = member.feature_amounts(values, fitted.n_raw)
            values = _pass_back(values, fitted.n_raw, before)
            contributions.append((values * member.per_mean).reshape(-1, member.n_columns))
            biases.append((bias * member.per_mean + member.offset)[None])
        n_rows, n_features, _ = values.shape
        stage_columns = stage.own_columns(np.stack(contributions))
        columns.append(stage_columns.reshape(n_rows, n_features, -1))
        base_columns.append(stage.own_columns(np.stack(biases)))
        before = combine(columns, stage.alphas)
        base = combine(base_columns, stage.alphas)
    values = stage.mean(before.reshape(n_rows * n_features, -1))
    return values.reshape(n_rows, n_features, -1), stage.mean(base)[0]


def _pass_back(contributions: np.ndarray, n_raw: int, before: np.ndarray) -> np.ndarray:
    """Distribute the contributions of columns that the layer before added over the features.

    `before` has the contributions of the features to the added columns, shape (n_rows, n_raw,
    n_added); it is empty at the first layer. The result has shape (n_rows, n_raw, n_classes).
    """
    raw = contributions[:, :n_raw]
    if not before.size:
        return raw
    size = np.abs(before)
    total = size.sum(axis=1, keepdims=True)
    # A column without contributions counts for all features alike.
    share = np.divide(size, total, out=np.full_like(size, 1 / n_raw), where=total > 0)
    return raw + np.einsum("nak,nfa->nfk", contributions[:, n_raw:], share)


def _permutation_contributions(
    model: BaseEstimator,
    rows: np.ndarray,
    background_rows: np.ndarray,
    random_state: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    import shap

    masker = shap.maskers.Independent(background_rows, max_samples=len(background_rows))
    explainer = shap.PermutationExplainer(
        lambda numbers: predict_numbers(model, numbers, n_jobs=model.n_jobs),
        masker,
        seed=random_state,
    )
    explanation = explainer(rows, silent=True)
    base = np.asarray(explanation.base_values)
    return explanation.values.reshape(*rows.shape, -1), base.reshape(len(rows), -1)
