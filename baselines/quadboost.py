"""QuadBoost: boosting with the quadratic loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from mddf import _core
from mddf._base.docstrings import describes_parameters
from mddf._base.validation import Within, finite

from ._boosting.base import BaseBoostingClassifier
from ._boosting.early_stopping import Monitor
from ._boosting.ensemble import Ensemble, History, Round
from ._boosting.fixed_learners import UsesWeakLearners, fixed_learners
from ._boosting.parameters import BOOSTING, WEAK_LEARNERS
from ._boosting.search import TreeSearch, UsedTrees
from ._boosting.weak_learners import FloatArray, Learner

_NOTES = ("objective", "decrease", "correlation", "step", "n_learners")


@describes_parameters(WEAK_LEARNERS, BOOSTING)
class QuadBoostClassifier(UsesWeakLearners, BaseBoostingClassifier):
    r"""QuadBoost, boosting with the quadratic loss.

    Greedy coordinate descent on the quadratic risk of f = sum_j alpha_j h_j, over a finite set of
    learners or over all trees of `max_depth`, without weights on the examples::

        sum_i w_i (y_i - f(x_i))^2  +  2 lambda |alpha|_1            (penalty="l1")
                                    +  lambda |alpha|_2^2            (penalty="l2")
                                    subject to |alpha_j| <= alpha_max (penalty="linf"),

    with sum_i w_i = 1. With r_j = sum_i w_i h_j(x_i) (y_i - f(x_i)), eta_j = sum_i w_i h_j(x_i)^2
    and z = r_j + eta_j alpha_j, the best weight of learner j is z / eta_j without a penalty,
    sgn(z) max(|z| - lambda, 0) / eta_j with "l1", z / (eta_j + lambda) with "l2", and z / eta_j
    clipped to [-alpha_max, alpha_max] with "linf": adding a learner and re-weighting one that is
    already in the vote follow the same rule. Each round changes the weight of the learner that
    lowers the objective most.

    Parameters
    ----------
    penalty : {None, "l1", "l2", "linf"}, default=None
        With "l1", boosting stops at the Lasso solution; with "l2", it approaches the ridge
        solution. With None, "l2" and "linf", the number of learners is controlled by the number of
        rounds or by early stopping.
    lambda_ : float, default=0.01
        Strength of "l1" and "l2", >= 0. Ignored otherwise.
    alpha_max : float, default=0.01
        Largest absolute weight of "linf", > 0. Ignored otherwise.
    weak_learners : None, "stumps", callable or list of callables, default="stumps"
        With None, every round searches the tree with the largest abs(r_j): a continuous set of
        learners, as in the theory of the paper. This needs `penalty` None or "l1". "stumps" is a
        set of decision stumps with `n_thresholds` evenly spaced thresholds per feature; their
        complements are negative weights. Callables map X to real values of shape (n_samples,); a
        single callable may return shape (n_samples, n_learners). Learners that agree on the
        training rows up to their sign count as a single learner.
    max_depth : int, default=1
        Largest depth of the trees of ``weak_learners=None``. The search is exhaustive at depth 1:
        all features and all thresholds between two training rows. Deeper trees are the best tree
        with one more layer of leaves, layer by layer.
    tol : float, default=1e-20
        Boosting stops if the best change lowers the objective by no more than this.

    Attributes
    ----------
    estimator_weights_ : array of shape (n_learners,), or list of them
        alpha of the learners that were chosen.
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (risk and penalty after the round), ``decrease`` (by the round),
        ``correlation`` (r of the learner before the round), ``step`` (change of its weight),
        ``n_learners`` (with weight other than 0). With early stopping ``validation_loss``.
    feature_importances_ : array of shape (n_features,)
        Shares of the features in the vote; not for callables.

    Notes
    -----
    Probabilities are (1 + f) / 2, clipped to [0, 1]: the expected quadratic loss is lowest at
    f = 2 p - 1. With more than two classes, these values are projected to the nearest point of the
    simplex.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille and J.-F. Roy, "Efficient
    learning of ensembles with QuadBoost", arXiv:1506.02535, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import QuadBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = QuadBoostClassifier(penalty="l1", lambda_=0.02, n_estimators=1000).fit(X, y)
    >>> bool((np.diff(model.history_["objective"]) <= 0).all())
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseBoostingClassifier._parameter_constraints,
        "penalty": [None, StrOptions({"l1", "l2", "linf"})],
        "lambda_": [finite()],
        "alpha_max": [finite(0, "right")],
        "weak_learners": [None, StrOptions({"stumps"}), callable, list, tuple],
        "max_depth": [Within(Integral, 1, None, closed="left")],
        "n_thresholds": [Within(Integral, 1, 65535, closed="both")],
        "tol": [finite()],
    }

    def __init__(
        self,
        penalty: str | None = None,
        *,
        n_estimators: int = 100,
        lambda_: float = 0.01,
        alpha_max: float = 0.01,
        weak_learners: str | Learner | Sequence[Learner] | None = "stumps",
        max_depth: int = 1,
        n_thresholds: int = 10,
        tol: float = 1e-20,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.n_estimators = n_estimators
        self.lambda_ = lambda_
        self.alpha_max = alpha_max
        self.weak_learners = weak_learners
        self.max_depth = max_depth
        self.n_thresholds = n_thresholds
        self.tol = tol
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self, margin: FloatArray) -> FloatArray:
        return (1 - margin) ** 2

    def _link(self) -> str:
        return "linear"

    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        if self.weak_learners is None:
            if self.penalty in ("l2", "linf"):
                raise ValueError(
                    "penalty must be None or 'l1' with weak_learners=None, since a search by"
                    f" correlation does not find the best new tree otherwise; got {self.penalty!r}"
                )
            descent = _TreeDescent(self, X, y, sample_weight / sample_weight.sum())
            return self._collect_rounds(descent.rounds(), monitor, _NOTES)
        learners, values = fixed_learners(self.weak_learners, X, self.n_thresholds)
        ensemble, round_arrays = self._run_kernel(
            _core.quadboost_path,
            learners,
            values,
            y,
            sample_weight / sample_weight.sum(),
            self.penalty or "none",
            float(self.lambda_),
            float(self.alpha_max),
            self.n_estimators,
            float(self.tol),
        )
        step, objective, correlation, n_learners = round_arrays
        return ensemble, {
            "objective": objective,
            "decrease": -np.diff(objective, prepend=1.0),
            "correlation": correlation,
            "step": step,
            "n_learners": n_learners.astype(np.int64),
        }


class _TreeDescent:
    """Coordinate descent over all trees: one search and one change of a weight each round.

    With no penalty or "l1", the tree with the largest abs(r_j) is the best one among those outside
    the vote, and no tree inside it hides a better one. With "l2" and "linf" it may: a tree whose
    weight is at its best keeps an r_j other than 0, and the search would find it again and again.
    """

    def __init__(
        self, params: QuadBoostClassifier, X: FloatArray, y: FloatArray, weight: FloatArray
    ) -> None:
        self.lambda_ = params.lambda_ if params.penalty == "l1" else 0.0
        self.tol = params.tol
        self.search = TreeSearch(X, params.max_depth)
        self.y = y
        self.weight = weight
        self.f = np.zeros(len(y))
        self.used = UsedTrees()
        self.alpha = np.zeros(0)

    def rounds(self) -> Iterator[Round]:
        """Yield rounds until no tree lowers the objective by more than `tol`."""
        objective = 1.0
        while True:
            signed = self.weight * (self.y - self.f)
            total = float(np.abs(signed).sum())
            if total == 0:
                return
            tree, prediction, edge = self.search.best(signed / total)
            correlations = self.used.edges(signed)
            alpha = self.alpha
            if self.used.find(prediction) is None:
                correlations = np.append(correlations, total * edge)
                alpha = np.append(alpha, 0.0)
            # eta_j is 1, since trees vote -1 or +1.
            z = correlations + alpha
            steps = np.sign(z) * np.maximum(np.abs(z) - self.lambda_, 0.0) - alpha
            decreases = steps * (2 * correlations - steps)
            decreases -= 2 * self.lambda_ * (np.abs(alpha + steps) - np.abs(alpha))
            k = int(np.argmax(decreases))
            if decreases[k] <= self.tol:
                return
            if k == len(self.used):
                self.used.add(tree, prediction)
                self.alpha = alpha
            self.f += steps[k] * self.used.prediction(k)
            self.alpha[k] += steps[k]
            before = objective
            risk = float((self.weight * (self.y - self.f) ** 2).sum())
            objective = risk + 2 * self.lambda_ * float(np.abs(self.alpha).sum())
            notes = {
                "objective": objective,
                "decrease": before - objective,
                "correlation": correlations[k],
                "step": steps[k],
                "n_learners": np.count_nonzero(self.alpha),
            }
            yield Round(self.used.trees[k], k, steps[k], notes)
