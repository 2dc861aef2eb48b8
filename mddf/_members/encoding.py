"""Pipelines by which estimators of numeric arrays accept mixed frames: `mddf.with_encoder`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from mddf._base.messages import short
from mddf._input.calendar import DAYS, calendar_parts
from mddf._input.date_columns import microseconds_of

_KINDS = ("one-hot", "codes")
# Rarer categories share a column. With all of them, a column of thousands of texts would be as
# many features. Not tuned.
_MAX_ONE_HOT = 50
# scikit-learn's histogram boosting takes at most 255 categories.
_MAX_CODES = 254
# Types of columns that are encoded; all others are numbers. pandas has two types of text.
_CATEGORIES = ["object", "string", "category"]
_DATES = ["datetime", "datetimetz"]


class DateEncoder(TransformerMixin, BaseEstimator):
    """Converts columns of dates of a data frame to parts that recur, as numbers."""

    def fit(self, X: Any, y: object = None) -> Self:
        """Remember the number of columns."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Convert each column to its month, weekday, day of the year and hour."""
        parts = [
            values
            for name in X.columns
            for part, values in calendar_parts(microseconds_of(X, name)).items()
            if part != DAYS
        ]
        return np.column_stack(parts)


def with_encoder(estimator: BaseEstimator, *, kind: str = "one-hot") -> Pipeline:
    """Make a pipeline in which an estimator of numeric arrays accepts mixed frames of pandas.

    Columns of text or categories are encoded, dates become their month, weekday, day of the year
    and hour. With "one-hot", numbers are also scaled and missing
    ones replaced by the mean, as linear models, networks and neighbours need it. The pipeline can
    be a model of its own, or a member of a deep forest that is fitted on a data frame of any kind.

    Parameters
    ----------
    estimator : estimator of scikit-learn or another package
        It is cloned.
    kind : {"one-hot", "codes"}, default="one-hot"
        Encoding of categories: a column of 0 and 1 for each of at most 50 categories, or a column
        of whole numbers, which trees can use. With "codes", numbers pass unchanged.

    Returns
    -------
    Pipeline

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from mddf import with_encoder
    >>> X = pd.DataFrame({"city": ["Rome", "Oslo", None, "Rome"], "size": [1.0, 2.0, 3.0, None]})
    >>> model = with_encoder(LogisticRegression()).fit(X, [1, 0, 0, 1])
    >>> model.predict(pd.DataFrame({"city": ["Rome"], "size": [1.0]})).tolist()
    [1]
    """
    if not (hasattr(estimator, "fit") and not isinstance(estimator, type)):
        raise TypeError(
            f"estimator must be an estimator with a fit method, got {short(estimator)}"
        )
    if kind not in _KINDS:
        raise ValueError(f"kind must be 'one-hot' or 'codes', got {short(kind)}")
    categories = make_column_selector(dtype_include=_CATEGORIES)
    dates = make_column_selector(dtype_include=_DATES)
    if kind == "codes":
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MAX_CODES
        )
        columns = make_column_transformer(
            (encoder, categories), (DateEncoder(), dates), remainder="passthrough"
        )
    else:
        encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=_MAX_ONE_HOT, sparse_output=False
        )
        from sklearn.impute import SimpleImputer

        numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        columns = make_column_transformer(
            (encoder, categories),
            (make_pipeline(DateEncoder(), clone(numbers)), dates),
            remainder=numbers,
        )
    return make_pipeline(columns, clone(estimator))
