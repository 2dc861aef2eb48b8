"""AdaBoost_rho: AdaBoost that aims at a fixed margin."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._base.docstrings import describes_parameters
from mddf._base.validation import Within

from ._boosting.margin_boosting import BaseMarginBoosting
from ._boosting.parameters import BOOSTING, WEAK_LEARNERS
from ._boosting.weak_learners import Learner


@describes_parameters(WEAK_LEARNERS, BOOSTING)
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
    rho : float, default=0.1
        Margin that boosting aims at, in [0, 1). If a vote has a larger smallest margin, all
        margins exceed rho after enough rounds. If there is none, boosting usually stops early.

    Attributes
    ----------
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (weighted mean of exp(-y f)), ``weighted_error``, ``edge`` (1 - 2 eps),
        ``target_margin`` (rho_t), ``minimum_margin`` (smallest normalised margin after the
        round), ``step`` (alpha_t), ``n_learners``, and for searched trees ``tree_size`` in nodes.
        With early stopping ``validation_loss``.

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
