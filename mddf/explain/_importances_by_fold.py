"""Importances in each fold of a cross-validation, and how stable they are."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import has_fit_parameter
from tqdm import tqdm

from mddf._base.messages import short
from mddf._base.validation import check_lengths, is_boolean, naming
from mddf._input.reading import whole_frame
from mddf._input.table import Table
from mddf._quality.table_text import as_frame, as_text
from mddf._resampling.folds import Folds, check_groups, make_splits
from mddf._targets.target_validation import all_weights, plain_array

from ._column_groups import ColumnGroups
from ._importances import importances, resolve_kind
from ._permutation import Scoring, take_rows

if TYPE_CHECKING:
    import pandas

# Columns of the table of features.
_HEADINGS = ("feature", "mean", "std", "min", "max", "mean_rank", "best_rank", "worst_rank")


@dataclass(frozen=True, eq=False)
class FoldImportances:
    """Importances of features in each fold. ``print`` shows them as a table.

    `mddf.explain.ImportancesDisplay` draws them, with the standard deviation over folds.

    Parameters
    ----------
    importances : ndarray of shape (n_folds, n_features)
    feature_names : ndarray of shape (n_features,)
        Names of the features, or of the groups of columns.
    kind : {"held-out", "permutation", "impurity"}
    measure : str
        Text that says what the numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from mddf.explain import FoldImportances
    >>> result = FoldImportances(
    ...     np.array([[0.5, 0.1, 0.0], [0.3, 0.0, 0.2]]),
    ...     feature_names=np.array(["a", "b", "c"]),
    ...     kind="permutation",
    ...     measure="fall of R2 if shuffled",
    ... )
    >>> result.ranks
    array([[1., 2., 3.],
           [1., 3., 2.]])
    >>> result.rank_correlation
    0.5
    """

    importances: np.ndarray
    feature_names: np.ndarray
    kind: str
    measure: str

    @property
    def importances_mean(self) -> np.ndarray:
        """Mean over the folds, shape (n_features,)."""
        return self.importances.mean(axis=0)

    @property
    def importances_std(self) -> np.ndarray:
        """Standard deviation over the folds, shape (n_features,)."""
        return self.importances.std(axis=0)

    @property
    def ranks(self) -> np.ndarray:
        """Rank of each feature in each fold, 1 for the largest; equal ones share a mean rank."""
        return rankdata(-self.importances, axis=1)

    @property
    def rank_correlation(self) -> float:
        """Mean of Spearman's correlation over all pairs of folds.

        1: all folds have the same order of features. 0: their orders are unrelated. NaN for a
        single fold. A fold in which all features are equal has correlation 0 with the others.
        """
        n_folds, n_features = self.importances.shape
        if n_folds < 2:
            return float("nan")
        deviation = self.ranks - (n_features + 1) / 2
        norm = np.linalg.norm(deviation, axis=1, keepdims=True)
        unit = np.divide(deviation, norm, out=np.zeros_like(deviation), where=norm > 0)
        pairs = np.triu_indices(n_folds, 1)
        return round(float((unit @ unit.T)[pairs].mean()), 12)

    def to_dicts(self) -> list[dict[str, object]]:
        """Convert the features to dictionaries, the largest mean first."""
        ranks = self.ranks
        columns = (
            self.importances_mean, self.importances_std, self.importances.min(axis=0),
            self.importances.max(axis=0), ranks.mean(axis=0), ranks.min(axis=0),
            ranks.max(axis=0),
        )  # fmt: skip
        figures = np.stack(columns, axis=1)
        order = np.argsort(-self.importances_mean, kind="stable")
        return [
            dict(zip(_HEADINGS, (str(self.feature_names[i]), *figures[i].tolist()), strict=True))
            for i in order.tolist()
        ]

    def to_frame(self) -> pandas.DataFrame:
        """Convert the features to a data frame of pandas, the largest mean first."""
        return as_frame(self.to_dicts(), _HEADINGS)

    def __repr__(self) -> str:
        """Show the features as a table."""
        return str(self)

    def __str__(self) -> str:
        """Show the features as a table."""
        n_folds = len(self.importances)
        stability = f"{n_folds} folds, rank correlation {self.rank_correlation:.2f}"
        return f"{self.measure}; {stability}\n{as_text(self.to_dicts())}"


def importances_by_fold(
    estimator: BaseEstimator,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    cv: Any = 5,
    groups: npt.ArrayLike | None = None,
    kind: str = "auto",
    column_groups: ColumnGroups | None = None,
    scoring: Scoring = None,
    n_repeats: int = 5,
    max_samples: int | float = 1000,
    sample_weight: npt.ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> FoldImportances:
    """Compute importances in each fold of a cross-validation.

    A clone of the estimator is fitted to the training rows of each fold, and its importances are
    measured on the rows that the fold holds out. Importances of one fit have an error that their
    own spread does not show: another training sample can give other importances.

    Parameters
    ----------
    estimator : forest, gradient boosting, deep forest or cascade of mddf
        Need not be fitted. For "permutation", any classifier or regressor.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_outputs)
    cv : int, splitter, iterable of (train, test) or None, default=5
        A number means shuffled folds, stratified by class; None means 5. Splitters such as
        `TimeOrder` or `sklearn.model_selection.RepeatedKFold` may hold out some rows never or
        several times.
    groups : array of shape (n_samples,), default=None
        Rows of a group are held out together, if `cv` is a number or a splitter that uses groups.
        The estimator gets the groups of its training rows if its `fit` takes groups.
    kind : {"auto", "held-out", "permutation", "impurity"}, default="auto"
        As for `importances`.
    column_groups : dict of str to list of str or int, default=None
        Groups of columns that are shuffled together, as for `importances`.
    scoring : str, callable or None, default=None
        The single scorer of "permutation".
    n_repeats : int, default=5
        How often "permutation" shuffles each feature in a fold.
    max_samples : int or float, default=1000
        Number or share of the held-out rows on which "permutation" scores.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows in the fits, and in the scores of "permutation".
    n_jobs : int, default=None
        Threads in which "permutation" shuffles features.
    random_state : int, RandomState or None, default=None
        Seed of the folds if `cv` is a number, and of "permutation".
    verbose : int, default=0
        1 shows a bar of the folds.

    Returns
    -------
    FoldImportances
        The importances of all folds, with mean, standard deviation and ranks.

    Notes
    -----
    Training rows of different folds overlap. The standard deviation over folds is therefore
    smaller than the deviation between studies of different rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import importances_by_fold
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> result = importances_by_fold(forest, X, y, random_state=0)
    >>> result.importances.shape
    (5, 4)
    """
    # 1. Check the rows, and make the folds.
    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must have a method fit, got {short(estimator)}")
    rows = _Rows.checked(X, y, sample_weight, groups)
    if rows.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            "sample_weight needs an estimator whose fit takes weights, got " + short(estimator)
        )
    with naming("random_state"):
        random = check_random_state(random_state)
    folds = _folds(estimator, rows, cv=cv, random=random)
    # 2. Fit to the training rows of each fold, and measure on its held-out rows.
    results = []
    for train, test in tqdm(folds, desc="folds", disable=not verbose, leave=False):
        model = rows.take(train).fit(clone(estimator))
        fold_kind = resolve_kind(model, kind, column_groups)
        held_out = rows.take(test)
        result = importances(
            model, held_out.X, held_out.y, kind=fold_kind, column_groups=column_groups,
            scoring=scoring, n_repeats=n_repeats, max_samples=max_samples, n_jobs=n_jobs,
            sample_weight=held_out.weights if fold_kind == "permutation" else None,
            random_state=random,
        )  # fmt: skip
        if not isinstance(result, Bunch):
            raise ValueError(
                f"scoring must be a single scorer for importances by fold, got {short(scoring)}"
            )
        results.append(result)
    return FoldImportances(
        np.stack([result.importances_mean for result in results]),
        feature_names=results[0].feature_names,
        kind=results[0].kind,
        measure=results[0].measure,
    )


@dataclass(frozen=True)
class _Rows:
    """Rows of a table with their targets, weights and groups."""

    X: Any
    y: Any
    weights: np.ndarray | None
    groups: np.ndarray | None

    @classmethod
    def checked(
        cls,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        groups: npt.ArrayLike | None,
    ) -> _Rows:
        """Check that there is an entry for each row."""
        X = whole_frame(X)
        if isinstance(X, Table):
            raise TypeError("importances_by_fold needs X in memory, got a table of by_columns")
        check_lengths(X, y=y, groups=groups)
        n_samples = len(plain_array(y, "y"))
        weights = None if sample_weight is None else all_weights(sample_weight, n_samples)
        group_values = None
        if groups is not None:
            numbers = np.zeros(n_samples, int)  # only the lengths are compared
            group_values = check_groups(groups, numbers).values
        return cls(X, y, weights, group_values)

    def take(self, rows: np.ndarray) -> _Rows:
        """Keep some rows."""
        y = self.y.iloc[rows] if hasattr(self.y, "iloc") else plain_array(self.y, "y")[rows]
        return _Rows(
            take_rows(self.X, rows),
            y,
            None if self.weights is None else self.weights[rows],
            None if self.groups is None else self.groups[rows],
        )

    def fit(self, estimator: BaseEstimator) -> BaseEstimator:
        """Fit an estimator to the rows, with the groups if its `fit` takes them."""
        parameters = {}
        if self.weights is not None:
            parameters["sample_weight"] = self.weights
        if self.groups is not None and has_fit_parameter(estimator, "groups"):
            parameters["groups"] = self.groups
        return estimator.fit(self.X, self.y, **parameters)


def _folds(
    estimator: BaseEstimator, rows: _Rows, *, cv: Any, random: np.random.RandomState
) -> Folds:
    """Folds of any splitter; a number of folds is stratified by the classes of one output."""
    labels = plain_array(rows.y, "y")
    strata = np.zeros(len(labels), int)
    if is_classifier(estimator) and labels.size == len(labels):
        strata = np.unique(labels.ravel(), return_inverse=True)[1]
    if isinstance(cv, Integral) and (is_boolean(cv) or cv < 2):
        raise ValueError(f"cv must be at least 2 folds, got {cv!r}")
    seed = random.randint(np.iinfo(np.int32).max)
    folds = make_splits(cv, rows.X, rows.y, strata, seed, groups=rows.groups)
    if not folds:
        raise ValueError("cv must give at least one split, got none")
    return folds
