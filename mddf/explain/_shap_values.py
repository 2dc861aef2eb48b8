"""Contributions of the features to the probabilities of single rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from mddf._base.validation import naming
from mddf._binning.bins import apply_bins
from mddf._fitted.vector_layout import combine
from mddf._inspection.stages import (
    coded_stages,
    feature_names,
    fitted_stages,
    is_sum_of_trees,
    numbers_of,
    predict_numbers,
    refuse_untraceable,
    response_method,
)

from ._checks import check_choice, check_whole
from ._paths import path_contributions
from ._tree_shap import tree_contributions

_OF_TREES: dict[str, Callable[..., Any]] = {"tree": tree_contributions, "path": path_contributions}
_TOLERANCE = 1e-6
_PERMUTATION_ROWS = 100


def shap_values(
    model: Any, X: Any, *, background: Any = None, method: str = "auto", random_state: Any = 0
) -> Any:
    """Contributions of the features to the class probabilities of each row, or to its prediction.

    The contributions of a row and the base values add up to its probabilities; those of a
    regressor to its prediction. Of a cascade with ``calibrate=True``, "tree" and "path" explain
    the probabilities before the calibration, which changes how sure they are and not their order.
    Of gradient boosting they explain raw predictions: `decision_function`, of "poisson" and
    "gamma" the logarithm of the prediction. What target statistics of a category tell is known if
    the category is; those of a pair of categories are known or not by themselves, and what falls
    to them is shared equally by the two.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.
    X : array or DataFrame of shape (n_samples, n_features)
        Rows to be explained.
    background : array or DataFrame of shape (n_background, n_features), default=None
        Rows, such as a sample of those for training, that stand for what is not known of a
        feature. None means `X`, which then needs rows that differ; for "permutation", at most
        100 of its rows. Trees of gradient boosting keep what their training samples weigh in each
        leaf: None means these samples for them.
    method : {"auto", "tree", "path", "permutation"}, default="auto"
        - "auto": "tree" for models that are sums over trees, "permutation" for others, such as a
          deep forest of members of several kinds.
        - "tree": Shapley values of the trees (path-dependent; the nodes' weights are the numbers
          of background rows), exact for trees of any depth. For a cascade
          those of each layer; what falls to a class vector of the layer before is passed on to
          the features in proportion to the absolute values of their contributions to it.
        - "path": as "tree", but by the changes of the mean class vector along the path of a row
          [1]_. Less exact, and many times as fast.
        - "permutation": by the permutation explainer of the package shap, which asks the whole
          model about mixtures of rows. Slow, and true to any model, with classifiers of other
          packages too; an estimate if there are many features.
    random_state : int or None, default=0
        Of "permutation".

    Returns
    -------
    shap.Explanation
        ``values`` has shape (n_samples, n_features, n_classes), ``base_values`` (n_samples,
        n_classes), with outputs in place of classes for a regressor, and without them if there is
        only one, as the raw prediction of two classes; ``data`` holds the rows as numbers,
        categories as codes: those that have target statistics by their place among all.

    Raises
    ------
    ValueError
        If `background` is None and the rows of `X` do not differ: all contributions would be 0.

    Warns
    -----
    UserWarning
        If the rows of `background` do not differ.

    References
    ----------
    .. [1] A. Saabas, treeinterpreter, https://github.com/andosa/treeinterpreter

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import shap_values
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> found = shap_values(forest, X[:5], background=X)
    >>> found.values.shape
    (5, 4, 3)
    """
    try:
        import shap
    except ImportError as error:
        raise ImportError(
            'shap_values needs the package shap: pip install "mddf[explain]"'
        ) from error

    check_choice("method", method, ("auto", "tree", "path", "permutation"))
    fitted_stages(model)
    if method == "auto":
        method = "tree" if is_sum_of_trees(model) else "permutation"
    if method == "permutation":
        if random_state is not None:
            check_whole("random_state", random_state, 0, 2**32 - 1)
    else:
        refuse_untraceable(model, "method='permutation'")
    rows = numbers_of(model, X)
    others = _background(model, background, rows, method)
    if method == "permutation":
        values, base = _by_permutation(model, rows, others, random_state)
        outputs = np.asarray(getattr(model, response_method(model))(X)).reshape(len(rows), -1)
    else:
        known = X if background is None and not _knows_weights(model) else background
        values, base = _by_trees(model, X, known, method)
        outputs = predict_numbers(model, rows, n_jobs=model.n_jobs, finished=False)
    _check_sums(values, base, outputs)
    if single := values.shape[2] == 1 and (is_regressor(model) or len(model.classes_) > 1):
        values, base = values[..., 0], base[..., 0]
    return shap.Explanation(
        values,
        base_values=np.broadcast_to(base, (len(rows), *values.shape[2:])).copy(),
        data=rows,
        feature_names=feature_names(model),
        output_names=None if single else _outputs(model),
    )


def _outputs(model: Any) -> list[str]:
    if is_regressor(model):
        n_outputs = fitted_stages(model).stages[0].members[0].n_columns
        return [f"output{number}" for number in range(n_outputs)]
    return [str(label) for label in model.classes_]


def _knows_weights(model: Any) -> bool:
    """Whether the trees know by themselves what their training samples weigh in the leaves."""
    return all(member.knows_weights for member in fitted_stages(model).members)


def _background(model: Any, background: Any, rows: np.ndarray, method: str) -> np.ndarray:
    """The rows that are compared with, as numbers; they are refused or warned of if all alike."""
    if background is not None:
        with naming("background"):
            others = numbers_of(model, background)
    elif method == "permutation":
        others = rows[:: -(-len(rows) // _PERMUTATION_ROWS)]
    elif _knows_weights(model):
        return rows
    else:
        others = rows
    # Trees see the bins, and members of other kinds the numbers.
    fitted = fitted_stages(model)
    by_codes = fitted.sees_codes_only and not fitted.columns_of_levels
    seen = apply_bins(others, fitted.binner.bins_) if by_codes else others
    if not np.array_equal(seen, np.broadcast_to(seen[:1], seen.shape), equal_nan=True):
        return others
    if background is None:
        raise ValueError(
            "background must hold rows to compare with, such as a sample of the training rows; "
            f"got None, and X has no two rows that the model can tell apart (of {len(others)}), "
            "so that all contributions would be 0"
        )
    warnings.warn(
        f"background has no two rows that the model can tell apart (of {len(others)}): "
        "contributions compare with this row alone, and are 0 for rows like it",
        stacklevel=3,
    )
    return others


def _check_sums(values: np.ndarray, base: np.ndarray, says: np.ndarray) -> None:
    wrong = np.abs(values.sum(axis=1) + base - says)
    if not np.all(wrong <= _TOLERANCE * (np.abs(values).sum(axis=1) + np.abs(base))):
        raise RuntimeError(
            "contributions and base values must add up to what the model says, but miss by "
            f"{wrong.max()}"
        )


def _by_trees(model: Any, X: Any, background: Any, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Contributions and base values of a forest, or through all layers of a cascade."""
    contribute = partial(_OF_TREES[method], n_jobs=model.n_jobs)
    fitted = fitted_stages(model)
    of_others = repeat(None) if background is None else coded_stages(model, background)
    coded = zip(coded_stages(model, X), of_others, strict=False)
    columns: list[np.ndarray] = []  # what the features do to those that each layer adds
    bases: list[np.ndarray] = []
    before = base = np.empty(0)
    for stage, (rows, others) in zip(fitted.stages, coded, strict=True):
        found, biases = [], []
        for number, member in enumerate(stage.members):
            codes = member.seen_codes(rows)
            known = None if others is None else member.seen_codes(others)
            players = member.players(codes.shape[1])
            values, bias = contribute(stage.blocks(number), codes, known, players)
            values = member.of_features(values, fitted.n_raw)
            values = _pass_back(values, fitted.n_raw, before)
            found.append((values * member.per_mean).reshape(-1, member.n_columns))
            biases.append((bias * member.per_mean + member.offset)[None])
        shape = values.shape[:2]
        columns.append(stage.own_columns(np.stack(found)).reshape(*shape, -1))
        bases.append(stage.own_columns(np.stack(biases)))
        before, base = combine(columns, stage.alphas), combine(bases, stage.alphas)
    values = stage.mean(before.reshape(shape[0] * shape[1], -1))
    return values.reshape(*shape, -1), stage.mean(base)[0]


def _pass_back(contributions: Any, n_raw: int, before: Any) -> np.ndarray:
    """Put what falls to the columns of the layer before down to the features.

    Parameters
    ----------
    contributions : ndarray of shape (n_rows, n_raw + n_added, n_classes)
    n_raw : int
    before : ndarray of shape (n_rows, n_raw, n_added)
        Contributions of the features to these columns; empty at the first layer.

    Returns
    -------
    ndarray of shape (n_rows, n_raw, n_classes)
    """
    raw, added = contributions[:, :n_raw], contributions[:, n_raw:]
    if not before.size:
        return raw
    size = np.abs(before)
    total = size.sum(axis=1, keepdims=True)
    share = np.divide(size, total, out=np.full_like(size, 1 / n_raw), where=total > 0)
    return raw + np.einsum("nak,nfa->nfk", added, share)


def _by_permutation(
    model: Any, rows: np.ndarray, others: np.ndarray, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    import shap

    masker = shap.maskers.Independent(others, max_samples=len(others))
    explainer = shap.PermutationExplainer(
        lambda numbers: predict_numbers(model, numbers, n_jobs=model.n_jobs),
        masker,
        seed=random_state,
    )
    found = explainer(rows, silent=True)
    base = np.asarray(found.base_values)
    return found.values.reshape(*rows.shape, -1), base.reshape(len(rows), -1)
