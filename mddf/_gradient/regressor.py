"""Gradient boosting for regression."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.validation import Within, naming
from mddf._fitted.base_estimators import TableEstimator
from mddf._gradient.base import GradientBoosting
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import REGRESSION, BoostingTarget, Numbers, Target, check_targets
from mddf._gradient.options import SYMMETRIC
from mddf._targets.kernel_targets import read_values


class Identity(RegressorMixin, BaseEstimator):
    """Regressor that returns its input, so that scorers can be called with predictions."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X


class GradientBoostingRegressor(GradientBoosting, RegressorMixin, TableEstimator):
    """Gradient-boosted trees for regression.

    Each tree is fitted to the gradients and second derivatives of the loss at the predictions of
    the trees before it [1]_. Trees are symmetric [2]_, which is fast and regularises, or grow leaf
    by leaf.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"}, \
            default="squared_error"
        "poisson" and "gamma" predict by an exponential, for targets that are not negative, or
        positive. Leaves of "absolute_error" and "quantile" are medians and quantiles.
    quantile : float or None, default=None
        Of the loss "quantile", which needs it. Of "huber", the share of residuals that count
        squared, of which there are new ones with each tree; None stands for 0.9.
    learning_rate : float, default=0.05
        Factor of the leaf values.
    max_iter : int, default=1000
        Largest number of trees.
    grow_policy : {"symmetric", "leaf-wise"}, default="symmetric"
        Whether all leaves of a level are split alike, at the place that improves most in all; or
        the leaf comes next whose split improves most.
    max_leaf_nodes : int or None, default=31
        Largest number of leaves of a leaf-wise tree. Symmetric trees ignore it: values other
        than 31 and None cause a warning.
    max_depth : int or None, default=None
        Largest number of edges from the root to a leaf, at most 16 in symmetric trees. With None,
        leaf-wise trees have no limit, and symmetric trees have 6 or the depth chosen by
        `early_stopping`.
    min_samples_leaf : int, default=1
        Smallest number of samples in a leaf. A leaf of a symmetric tree stays undivided if the
        split of its level would leave fewer on a side.
    l2_regularization : float or "auto", default=3.0
        Added to the sum of second derivatives in a leaf, for the squared loss the number of
        samples. "auto" stands for 3, or the value chosen by `early_stopping`.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default=0.5
        Features drawn for each level, or for each node of a leaf-wise tree. A float is a share,
        None means all. "auto" stands for 0.5, or the value chosen by `early_stopping`.
    subsample : float or "auto", default=0.8
        Share of the samples that each tree is grown on. "auto" stands for 0.8, or the value
        chosen by `early_stopping`.
    max_bins : int, default=255
        Largest number of bins of a numeric feature.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings.
        Features of 32 categories or more are coded by target statistics, see the notes. Others'
        categories beyond `max_bins`, the rarest, share a bin; categories unknown to fit count as
        missing.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        1 for features with which predictions must not fall, -1 where they must not rise, 0 for
        others; a dict has the names of features.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None, default=None
        Groups of features; a path from the root to a leaf uses features of one group only.
        Features in no group form a further group.
    early_stopping : "auto" or bool, default="auto"
        Whether some samples are held out, and no more trees grown when their score has not become
        better for a while; the trees after the best score are dropped. "auto" does so above 10000
        samples, and up to 100000 grows as many trees again, on all of them. Up to 10000, the loss
        on three folds chooses their number. Symmetric trees race before, with fewer and larger
        steps, for what is left open: depths 4, 6 and 8, and other values of the parameters at
        "auto", as `GradientBoostingClassifier` notes. With fewer than 30 samples, `warm_start` or
        another `scoring`, nothing is chosen that way. If `fit` is given an `X_val`, that is
        scored, and False only keeps the best round.
    scoring : str, callable or None, default="loss"
        Score of held-out samples: the loss, a scorer of scikit-learn, or None for
        R2. Other scores than the loss take more time.
    validation_fraction : float, int or None, default=0.1
        Share or number of samples that are held out. Samples with the same features are held out
        together and count as one. None scores the training samples.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds by which the number of trees and the values "auto" are chosen, such as `TimeOrder`.
        Above 10000 samples, and with ``early_stopping=True``, only the first fold is held out; in
        time order, this is the last fold in time. None: folds and share as described above, with
        the groups of `fit` if there are some.
    n_iter_no_change : int, default=50
        Trees without a better score before fit stops.
    tol : float, default=0.0
        Smallest improvement of a score that counts.
    warm_start : bool, default=False
        Whether fit keeps the trees of the fit before and adds trees up to `max_iter`.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws of samples, features and held-out samples.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_iter_ : int
        Number of trees that are kept.
    max_depth_ : int or None
        Depth of the deepest symmetric tree; None for leaf-wise trees.
    chosen_ : dict
        `max_features`, `l2_regularization` and `subsample` that trees were grown with.
    n_trees_per_iteration_ : int
        1.
    do_early_stopping_ : bool
        Whether the number of trees was chosen on held-out samples.
    train_score_, validation_score_ : ndarray of shape (n_grown + 1,)
        Minus the loss, or the score of the held-out samples by `scoring`: before the first tree
        and after each one that was grown. The latter is empty if none were held out.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which features are categories; None without any.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of the splits of each feature, scaled to sum 1.

    Notes
    -----
    Missing values go to the side that is better for training; where training saw none, right.
    Leaf values are shortened where the loss of the samples that the tree is grown on would rise.
    Gradients are rounded to whole numbers whose sums are exact, so that the model does not depend
    on the order of samples, but where some are drawn or held out, nor on the number of threads or
    the processor.

    Each category of a feature with 32 categories or more becomes the mean of its samples' targets,
    with the mean of all as one more sample; of several classes, the share of each one, of the 8
    most frequent at most. So do pairs of such features, of the 10 with the most categories. A
    training sample's mean comes from samples before it in a random order, of which there are four,
    for one tree after the other [2]_. Missing values are a category of their own; one that fit did
    not see gets the mean of all.

    References
    ----------
    .. [1] J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
       Statistics 29, 2001.
    .. [2] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush and A. Gulin, "CatBoost: unbiased
       boosting with categorical features", Advances in Neural Information Processing Systems 31,
       2018.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(max_iter=50, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.6
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GradientBoosting._parameter_constraints,
        "loss": [StrOptions(set(REGRESSION))],
        "quantile": [Within(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.05,
        max_iter: int = 1000,
        grow_policy: str = SYMMETRIC,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        l2_regularization: float | str = 3.0,
        max_features: float | str | None = 0.5,
        subsample: float | str = 0.8,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        interaction_cst: str | Sequence[Iterable[int]] | None = None,
        early_stopping: bool | str = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        validation_fraction: float | None = 0.1,
        cv: Any = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.grow_policy = grow_policy
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.quantile = quantile

    def _loss_quantile(self) -> float:
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError("quantile must be a number from 0 to 1 for loss='quantile', got None")
        return 0.9 if self.quantile is None else float(self.quantile)

    def _read_numbers(self, y: npt.ArrayLike) -> np.ndarray:
        values = read_values(y)
        if values.shape[1] != 1:
            raise ValueError(f"y must have one target for each sample, got {values.shape[1]}")
        return values[:, 0]

    def _read_target(self, y: npt.ArrayLike, weights: np.ndarray | None) -> BoostingTarget:
        values = self._read_numbers(y)
        weighted = with_weight(values, weights)
        check_targets(self.loss, weighted)
        target = Numbers.from_targets(self.loss, weighted)
        if self.warm_start and hasattr(self, "_trees"):
            assert isinstance(self._target, Numbers)
            target = replace(target, exponent=self._target.exponent)
        return BoostingTarget(target, target.boosted(neutral(values, weights)), weights)

    def _read_validation_target(
        self, y: npt.ArrayLike, target: Target, weights: np.ndarray | None
    ) -> np.ndarray:
        assert isinstance(target, Numbers)
        values = self._read_numbers(y)
        weighted = with_weight(values, weights)
        # Poisson boosting starts from the logarithm of the training mean, which must not be 0. The
        # deviance of zeros is defined, so that a validation set may have only zeros.
        if self.loss != "poisson" or weighted.any():
            check_targets(self.loss, weighted)
        return target.boosted(neutral(values, weights))

    def _check_continues(self, target: Target) -> None:
        if target.loss != self._target.loss:
            raise ValueError(
                f"with warm_start=True, loss must be {self._target.loss!r}, as in the fit before, "
                f"got {self.loss!r}"
            )

    def _scorer(self, rows: BoostingRows, target: Target) -> Callable[[np.ndarray], float] | None:
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        scorer = get_scorer("r2" if self.scoring is None else self.scoring)
        assert isinstance(target, Numbers)
        y = target.restored(rows.y[rows.held_out])
        options: dict[str, np.ndarray] = {}
        if rows.weights is not None and "sample_weight" in inspect.signature(scorer).parameters:
            options["sample_weight"] = rows.weights[rows.held_out]

        def score(raw: np.ndarray) -> float:
            with naming("scoring"):
                return float(scorer(Identity(), target.predicted(raw), y, **options))

        return score

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "_trees")
        return self._convert_raw(X, self._target.predicted)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `predict` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for raw in self._staged_raw(X):
            yield self._target.predicted(raw)


def with_weight(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Targets of the samples with weight."""
    return values if weights is None else values[weights > 0]


def neutral(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Targets in which samples without weight have a valid target that does not matter."""
    return values if weights is None else np.where(weights > 0, values, values[weights > 0][0])
