"""Gradient boosting of numbers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import StrOptions

from mddf._base.validation import Within, naming
from mddf._fitted.base_estimators import TableEstimator
from mddf._gradient.base import GradientBoosting
from mddf._gradient.losses import REGRESSION, Numbers, check_targets
from mddf._gradient.options import SYMMETRIC
from mddf._targets.kernel_targets import read_values


class Known(RegressorMixin, BaseEstimator):
    """Stands in for a regressor whose predictions are known: they are its X."""

    def predict(self, X: Any) -> np.ndarray:
        """X itself."""
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
        What the values of leaves are multiplied by.
    max_iter : int, default=1000
        Most trees.
    grow_policy : {"symmetric", "leaf-wise"}, default="symmetric"
        Whether all leaves of a level are split alike, at the place that improves most in all; or
        the leaf comes next whose split improves most.
    max_leaf_nodes : int or None, default=31
        Most leaves of a leaf-wise tree. Symmetric trees do not look at it: other values than 31
        and None cause a warning.
    max_depth : int or None, default=None
        Most edges from the root to a leaf, at most 16 in symmetric trees. None stands for no limit
        in others; in these for 6, or what `early_stopping` chooses.
    min_samples_leaf : int, default=1
        Fewest samples of a leaf. A leaf of a symmetric tree stays as it is where the split of its
        level would leave fewer on a side.
    l2_regularization : float or "auto", default=3.0
        Added to the sum of second derivatives in a leaf, for the squared loss the number of
        samples. "auto" stands for 3, or what `early_stopping` chooses.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default=0.5
        Features drawn for each level, or for each node of a leaf-wise tree. A float is a share,
        None means all. "auto" stands for 0.5, or what `early_stopping` chooses.
    subsample : float or "auto", default=0.8
        Share of the samples that each tree is grown on. "auto" stands for 0.8, or what
        `early_stopping` chooses.
    max_bins : int, default=255
        Most bins of a numeric feature.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings.
        Features of 32 categories or more are coded by target statistics, see the notes. Others'
        categories beyond `max_bins`, the rarest, share a bin; those that fit did not see count as
        missing.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        1 for features with which predictions must not fall, -1 where they must not rise, 0 for
        others; a dict has the names of features.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None, default=None
        Groups of features; a path from the root to a leaf asks for features of one group only.
        Features in no group are one more.
    early_stopping : "auto" or bool, default="auto"
        Whether some samples are held out, and no more trees grown when their score has not become
        better for a while; the trees after the best score are dropped. "auto" does so above 10000
        samples, and up to 100000 grows as many trees again, on all of them. Up to 10000, the loss
        on three folds chooses their number. Symmetric trees race before, with fewer and larger
        steps, for what is left open: those of depth 4, 6 and 8, and other values of what is
        "auto", as `GradientBoostingClassifier` notes. With fewer than 30 samples, `warm_start` or
        another `scoring`, nothing is chosen that way. If `fit` is given an `X_val`, that is
        scored, and False only keeps the best round.
    scoring : str, callable or None, default="loss"
        What held-out samples are scored by: the loss, a scorer of scikit-learn's, or None for
        R2. Other scores than the loss take more time.
    validation_fraction : float, int or None, default=0.1
        Share or number of samples that are held out. Samples with the same features are held out
        together and count as one. None scores the training samples.
    n_iter_no_change : int, default=50
        Trees without a better score before fit stops.
    tol : float, default=0.0
        By how much a score must be better.
    warm_start : bool, default=False
        Whether fit keeps the trees that there are and grows those that are missing.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn: samples, features, and those held out.
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
        CategoryLevels of the deepest symmetric tree; None of others.
    chosen_ : dict
        `max_features`, `l2_regularization` and `subsample` by which trees were grown.
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
        What the splits of each feature improved, which sums to 1.

    Notes
    -----
    Missing values go to the side that is better for training; where training saw none, right.
    Leaf values are shortened where the loss of the samples that the tree is grown on would rise.
    Gradients are rounded to whole numbers whose sums are exact, so that the model does not depend
    on the order of samples, but where some are drawn or held out, nor on the number of threads or
    the processor.

    Of a feature of 32 categories or more, each category becomes the mean of its samples' targets,
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
        loss: Any = "squared_error",
        *,
        quantile: Any = None,
        learning_rate: Any = 0.05,
        max_iter: Any = 1000,
        grow_policy: Any = SYMMETRIC,
        max_leaf_nodes: Any = 31,
        max_depth: Any = None,
        min_samples_leaf: Any = 1,
        l2_regularization: Any = 3.0,
        max_features: Any = 0.5,
        subsample: Any = 0.8,
        max_bins: Any = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: Any = 50,
        tol: Any = 0.0,
        warm_start: Any = False,
        n_jobs: Any = None,
        random_state: Any = None,
        verbose: Any = 0,
    ) -> None:
        super().__init__(
            loss,
            learning_rate=learning_rate,
            max_iter=max_iter,
            grow_policy=grow_policy,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            max_features=max_features,
            subsample=subsample,
            max_bins=max_bins,
            categorical_features=categorical_features,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            early_stopping=early_stopping,
            scoring=scoring,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.quantile = quantile

    def _quantile(self) -> float:
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError("quantile must be a number from 0 to 1 for loss='quantile', got None")
        return 0.9 if self.quantile is None else float(self.quantile)

    def _numbers(self, y: Any, weights: np.ndarray | None, *, is_validation: bool = False) -> Any:
        """Targets that are fine for the loss; those of samples without weight do not matter."""
        y = read_values(y)
        if y.shape[1] != 1:
            raise ValueError(f"y must have one target for each sample, got {y.shape[1]}")
        y = y[:, 0]
        counted = y if weights is None else y[weights > 0]
        # The start of Poisson boosting is the logarithm of a mean, which must not be 0. The
        # deviance of zeros is defined, so that a validation set may have nothing else.
        only_zeros = self.loss == "poisson" and not counted.any()
        if not (is_validation and only_zeros):
            check_targets(self.loss, counted)
        return y if weights is None else np.where(weights > 0, y, counted[0]), counted

    def _read(self, y: Any, weights: np.ndarray | None) -> Any:
        y, counted = self._numbers(y, weights)
        target = Numbers.of(self.loss, counted)
        if self.warm_start and hasattr(self, "_trees"):
            target = replace(target, exponent=self._target.exponent)
        return target, target.boosted(y), weights

    def _read_more(self, y: Any, target: Any, weights: np.ndarray | None) -> Any:
        return target.boosted(self._numbers(y, weights, is_validation=True)[0])

    def _check_again(self, target: Any) -> None:
        if target.loss != self._target.loss:
            raise ValueError(
                f"with warm_start=True, loss must be {self._target.loss!r}, as in the fit before, "
                f"got {self.loss!r}"
            )

    def _score(self, rows: Any, target: Any) -> Any:
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        scorer = get_scorer("r2" if self.scoring is None else self.scoring)
        y = target.restored(rows.y[rows.held_out])
        options = {}
        if rows.weights is not None and "sample_weight" in inspect.signature(scorer).parameters:
            options["sample_weight"] = rows.weights[rows.held_out]

        def score(raw: np.ndarray) -> Any:
            with naming("scoring"):
                return float(scorer(Known(), target.predicted(raw), y, **options))

        return score

    def predict(self, X: Any) -> np.ndarray:
        """Numbers, in units of the targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._read_raw(X, lambda raw: self._target.predicted(raw))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """What `predict` would say after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for raw in self._staged_raw(X):
            yield self._target.predicted(raw)
