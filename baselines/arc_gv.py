"""arc-gv: boosting that maximises the smallest margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mddf._base.docstrings import describes_parameters

from ._boosting.margin_boosting import BaseMarginBoosting
from ._boosting.parameters import BOOSTING, WEAK_LEARNERS
from ._boosting.weak_learners import Learner


@describes_parameters(WEAK_LEARNERS, BOOSTING)
class ArcGVClassifier(BaseMarginBoosting):
    r"""arc-gv of Breiman: AdaBoost that maximises the smallest margin.

    In round t, the learner h_t with the largest edge gamma_t = sum_i D_t(i) y_i h_t(x_i) gets

        alpha_t = 1/2 ln((1 + gamma_t) / (1 - gamma_t)) - 1/2 ln((1 + rho_t) / (1 - rho_t)),
        D_{t+1}(i) = D_t(i) exp(-alpha_t y_i h_t(x_i)) / Z_t,

    where rho_t is the smallest margin min_i y_i f(x_i) / sum_j abs(alpha_j) of the vote so far.
    With rho_t = 0 in all rounds, this is AdaBoost. AdaBoost does not always reach the largest
    possible minimum margin; arc-gv does in the limit. Boosting stops if no edge is above rho_t,
    and after a learner without error.

    Attributes
    ----------
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (weighted mean of exp(-y f)), ``weighted_error``, ``edge`` (1 - 2 eps),
        ``target_margin`` (rho_t), ``minimum_margin`` (smallest normalised margin after the
        round), ``step`` (alpha_t), ``n_learners``, and for searched trees ``tree_size`` in nodes.
        With early stopping ``validation_loss``.

    See Also
    --------
    AdaBoostRhoClassifier : Aims at a margin that is fixed beforehand.
    LPBoostClassifier : Maximises the soft margin by linear programs.

    Notes
    -----
    A negative smallest margin counts as 0. The step would otherwise be infinite in the second
    round, in which the smallest margin is -1 unless the first learner has no error. Until the vote
    separates the classes, the rounds are the same as in AdaBoost. On rows that no vote separates,
    arc-gv is AdaBoost.

    References
    ----------
    L. Breiman, "Prediction games and arcing algorithms", Neural Computation 11, 1999.
    L. Reyzin and R. E. Schapire, "How boosting the margin can also boost classifier complexity",
    ICML 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import AdaBoostClassifier, ArcGVClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosting = {"max_depth": 2, "n_estimators": 200}
    >>> arc_gv = ArcGVClassifier(**boosting).fit(X, y)
    >>> adaboost = AdaBoostClassifier(**boosting).fit(X, y)
    >>> bool(arc_gv.margins(X, y).min() > adaboost.margins(X, y).min() > 0)
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
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
        return max(minimum_margin, 0.0)
