"""AdaBoost_rho: AdaBoost that aims at a fixed margin."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._base.validation import Within

from ._boosting.margin_boosting import BaseMarginBoosting
from ._boosting.weak_learners import Learner


class AdaBoostRhoClassifier(BaseMarginBoosting):
    r"""AdaBoost_rho of Rätsch and Warmuth: AdaBoost that aims at the margin rho.

    In round t, the learner h_t with the largest edge gamma_t = sum_i D_t(i) y_i h_t(x_i) gets

        alpha_t = 1/2 ln((1 + gamma_t) / (1 - gamma_t)) - 1/2 ln((1 + rho) / (1 - rho)),
        D_{t+1}(i) = D_t(i) exp(-alpha_t y_i h_t(x_i)) / Z_t,

    which minimises Z_t exp(rho alpha_t). The product of these factors bounds the share of training
    rows with a normalised margin of at most rho, see
    :func:`mddf.analysis.margin_error_training_bound`. With rho = 0, this is AdaBoost. Boosting
    stops if no edge is above rho, and after a learner without error.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds.
    rho : float, default=0.1
        Margin that boosting aims at, in [0, 1). If a vote has a larger smallest margin, all
        margins exceed rho after enough rounds. If there is none, boosting usually stops early.
    max_depth : int, default=1
        Depth of the trees. Stumps, of depth 1, are searched exhaustively over all features and
        all thresholds half-way between neighbouring values. Deeper trees grow by layers, as in
        :class:`AdaBoostClassifier`. Ignored with `weak_learners`.
    weak_learners : None, "stumps", callable or list of callables, default=None
        None searches trees. "stumps" is a finite set with `n_thresholds` evenly spaced thresholds
        per feature. Callables map X to values in {-1, +1} of shape (n_samples,); a single callable
        may return shape (n_samples, n_learners).
    n_thresholds : int, default=10
        Thresholds per feature of ``weak_learners="stumps"``, at most 65535.
    categorical_features : "from_dtype", array of bool, int or str, or None, default="from_dtype"
        Which features are categories: a mask, column numbers or names. "from_dtype" takes a
        DataFrame's columns of categories or strings.
    early_stopping : bool, default=False
        Whether to hold back a share of the rows, and keep the number of rounds with the lowest
        mean of exp(-y f) on them.
    validation_fraction : float, default=0.1
        The share, in (0, 1).
    n_iter_no_change : int, default=10
        Rounds without a new least validation loss after which to stop.
    random_state : int, RandomState instance or None, default=None
        Draws the validation share; nothing else is random.
    n_jobs : int or None, default=None
        Processes for the classes when there are more than two.
    verbose : int, default=0
        Show a progress bar when positive.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    ensembles_ : list of Ensemble
        The vote: one entry with two classes, else one per class against the rest.
    estimator_weights_ : array of shape (n_learners,), or list of them
        alpha, summed over the rounds that chose the same learner.
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (weighted mean of exp(-y f)), ``weighted_error``, ``edge`` (1 - 2 eps),
        ``target_margin`` (rho_t), ``minimum_margin`` (smallest normalised margin after the
        round), ``step`` (alpha_t), ``n_learners``, and for searched trees ``tree_size`` in nodes.
        With early stopping ``validation_loss``.
    feature_importances_ : array of shape (n_features,)
        Shares of the features in the vote. Callables have none.
    n_iter_ : int
        Rounds made (the most over the classes).

    See Also
    --------
    AdaBoostClassifier : The same with rho = 0, and with further kinds of learners.
    ArcGVClassifier : Aims at the smallest margin so far.

    References
    ----------
    G. Rätsch and M. K. Warmuth, "Efficient margin maximizing with boosting", JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import AdaBoostRhoClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostRhoClassifier(n_estimators=200, rho=0.3, max_depth=2).fit(X, y)
    >>> bool(model.margins(X, y).min() > 0.3)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseMarginBoosting._parameter_constraints,
        "rho": [Within(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        rho: float = 0.1,
        max_depth: int = 1,
        weak_learners: str | Learner | Sequence[Learner] | None = None,
        n_thresholds: int = 10,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.rho = rho
        self.max_depth = max_depth
        self.weak_learners = weak_learners
        self.n_thresholds = n_thresholds
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _target_margin(self, minimum_margin: float) -> float:
        return float(self.rho)
