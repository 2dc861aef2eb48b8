"""DeepBoost: boosting of trees with a penalty on their complexity."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions

from mddf._base.docstrings import describes_parameters
from mddf._base.elementary import exp, log
from mddf._base.validation import Within, finite, resolve_named

from ._boosting.base import BaseBoostingClassifier
from ._boosting.complexity import Complexity, complexity_table
from ._boosting.early_stopping import Monitor
from ._boosting.ensemble import Ensemble, History, Round
from ._boosting.losses import loss_of
from ._boosting.parameters import BOOSTING
from ._boosting.search import LEAST_ERROR, TreeSearch, UsedTrees
from ._boosting.steps import exact_step, majorizer_step
from ._boosting.weak_learners import FloatArray, WeakTrees

#: Parameters of special cases that have names of their own.
NAMED_SETTINGS: dict[str, dict[str, object]] = {
    "AdaBoost": {"loss": "exponential", "beta": 0.0, "lambda_": 0.0},
    "AdaBoost-L1": {"loss": "exponential", "lambda_": 0.0},
    "DeepBoost-exponential": {"loss": "exponential"},
    "LogReg": {"loss": "logistic", "beta": 0.0, "lambda_": 0.0},
    "LogReg-L1": {"loss": "logistic", "lambda_": 0.0},
    "DeepBoost-logistic": {"loss": "logistic"},
}


@describes_parameters(BOOSTING)
class DeepBoostClassifier(BaseBoostingClassifier):
    r"""DeepBoost of Cortes, Mohri and Syed (2014).

    Greedy coordinate descent on equation 4 of the paper [1]_,

        F(alpha) = sum_i w_i Phi(1 - y_i f(x_i)) + sum_j (lambda r_j + beta) |alpha_j|,

    with f = sum_j alpha_j h_j, sum_i w_i = 1, and r_j a bound on the complexity of the family that
    h_j belongs to. Every round changes the weight of the learner with the steepest descent, among
    new trees and the trees in the vote; this weight may also become 0. Boosting stops if no
    learner lowers F. F never increases.

    Parameters
    ----------
    loss : {"exponential", "logistic"} or object, default="exponential"
        Phi(u) = e^u or log2(1 + e^u), of u = 1 - y f. An object has methods ``value(u)`` and
        ``derivative(u)`` of an array, for another convex, increasing, differentiable Phi. All
        steps are then exact.
    beta : float, default=1e-3
        Penalty of a unit of absolute weight, >= 0.
    lambda_ : float, default=1e-3
        Penalty of a unit of absolute weight per unit of complexity, >= 0. Complexities fall with
        the number of training rows, for which the total of the sample weights stands: weights in
        another unit, such as ``w / w.sum()``, change the penalty, and with it the model.
    hypotheses : {"trees", "stumps"}, default="trees"
        "trees" have a depth of up to `max_depth`. "stumps" are H1, thresholds on one feature, and
        H2, a stump followed by the same split on both sides.
    max_depth : int, default=4
        K, the largest depth of "trees". Ignored with "stumps".
    search : {"layerwise", "greedy"}, default="layerwise"
        "layerwise", as in the paper, takes the best of these trees: the best stump over all
        features and thresholds, and for each further depth the best tree that adds a layer of
        leaves to the one before. "greedy", as in the reference implementation, grows one
        tree in breadth-first order and splits a node if that lowers eps + P / 2. Ignored with
        "stumps".
    complexity : {"paper", "reference"} or callable, default="paper"
        r_j. "paper" is equations 7 and 8 for stumps, and 9 for trees. "reference" is
        sqrt((2 n + 1) log2(d + 2) ln(m) / m). A callable maps (n_nodes, n_samples, n_features) to
        a number >= 0. n is the number of all nodes. n_samples is the total weight of the training
        rows, so that weights count as copies.
    step : {"majorizer", "exact"}, default="majorizer"
        "majorizer" is the closed form of the paper, which is exact for the exponential loss and
        too short for the logistic loss. It does not exist for a loss that is an object. "exact"
        searches for the minimum along the coordinate.

    Attributes
    ----------
    ensembles_ : list of Ensemble
        The vote: one entry with two classes, else one per class against the rest. A vote is empty
        if the penalties forbid every learner; f is then 0, which predicts ``classes_[1]``.
    estimator_weights_ : array of shape (n_learners,), or list of them
        alpha; 0 for learners that have left the vote.
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (F after the round), ``weighted_error`` (eps of the learner; above 1/2 if its
        complement gets the weight), ``edge`` (1 - 2 eps), ``step`` (eta), ``n_learners`` (with a
        weight other than 0), ``tree_size`` (nodes, or levels of "stumps"). With early stopping
        also ``validation_loss``.

    See Also
    --------
    AdaBoostClassifier : The case beta = lambda = 0 with the exponential loss.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and U. Syed, "Deep boosting", ICML 2014, PMLR 32(2), 1179-1187. The
       reference implementation is https://github.com/google/deepboost.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import DeepBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DeepBoostClassifier(loss="logistic", max_depth=3).fit(X, y)
    >>> bool((np.diff(model.history_["objective"]) <= 0).all())
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseBoostingClassifier._parameter_constraints,
        "loss": [StrOptions({"exponential", "logistic"}), HasMethods(["value", "derivative"])],
        "beta": [finite()],
        "lambda_": [finite()],
        "hypotheses": [StrOptions({"trees", "stumps"})],
        "max_depth": [Within(Integral, 1, None, closed="left")],
        "search": [StrOptions({"layerwise", "greedy"})],
        "complexity": [StrOptions({"paper", "reference"}), callable],
        "step": [StrOptions({"majorizer", "exact"})],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: Any = "exponential",
        beta: float = 1e-3,
        lambda_: float = 1e-3,
        hypotheses: str = "trees",
        max_depth: int = 4,
        search: str = "layerwise",
        complexity: str | Complexity = "paper",
        step: str = "majorizer",
        categorical_features: npt.ArrayLike | None = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.beta = beta
        self.lambda_ = lambda_
        self.hypotheses = hypotheses
        self.max_depth = max_depth
        self.search = search
        self.complexity = complexity
        self.step = step
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def named(cls, name: str, **params: Any) -> Self:
        """Make a special case of DeepBoost that has a name of its own.

        Parameters
        ----------
        name : str
            "AdaBoost" (exponential loss, beta = lambda = 0), "AdaBoost-L1" (exponential,
            lambda = 0), "LogReg" (logistic, beta = lambda = 0), "LogReg-L1" (logistic,
            lambda = 0), "DeepBoost-exponential" or "DeepBoost-logistic".
        **params
            Parameters that the name does not fix.

        Returns
        -------
        DeepBoostClassifier
            Not fitted.

        Raises
        ------
        ValueError
            If there is no such name, or a parameter contradicts it.
        """
        return cls(**resolve_named(name, NAMED_SETTINGS, {}, params))

    def _loss(self, margin: FloatArray) -> FloatArray:
        return loss_of(self.loss).value(1 - margin)

    def _link(self) -> Any:
        return self.loss

    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        rounds = _Descent(self, X, y, sample_weight).rounds()
        notes = ("objective", "weighted_error", "edge", "step", "n_learners", "tree_size")
        return self._collect_rounds(rounds, monitor, notes)


class _Descent:
    """Coordinate descent: the margins of the vote, and the trees with their weights."""

    def __init__(
        self, params: DeepBoostClassifier, X: FloatArray, y: FloatArray, sample_weight: FloatArray
    ) -> None:
        self.loss = loss_of(params.loss)
        # The closed form is exact for the exponential loss.
        named = isinstance(params.loss, str)
        self.exact = not named or (params.step == "exact" and params.loss != "exponential")
        stumps = params.hypotheses == "stumps"
        complexity = complexity_table(
            params.complexity,
            params.hypotheses,
            max_depth=params.max_depth,
            n_rows=len(y),
            n_samples=sample_weight.sum(),
            n_features=X.shape[1],
        )
        with np.errstate(over="ignore"):
            self.cost_by_size = params.lambda_ * complexity + params.beta
        if not np.isfinite(self.cost_by_size).all():
            raise ValueError(
                "lambda_ times the complexities plus beta must be finite; got"
                f" lambda_={params.lambda_!r}, beta={params.beta!r}"
            )
        self.stumps = stumps
        mode = "stumps" if stumps else params.search
        max_depth = 2 if stumps else params.max_depth
        self.search = TreeSearch(X, max_depth, mode, self.cost_by_size)
        self.y = y
        self.weight = sample_weight / sample_weight.sum()
        self.log_weight = log(self.weight)
        # 1 - y f, with f = 0.
        self.u = np.ones(len(y))
        self.used = UsedTrees()
        self.alpha = np.zeros(0)
        # L_j of the trees in use.
        self.cost = np.zeros(0)

    def _size(self, tree: WeakTrees) -> int:
        """Size that determines the cost of a tree: levels of stumps, nodes of other trees."""
        return 1 + (tree.size > 3) if self.stumps else tree.size

    def rounds(self) -> Iterator[Round]:
        """Yield rounds that change the weight of the best tree, until no tree lowers F."""
        is_perfect = False
        while not is_perfect:
            log_slope = self.log_weight + self.loss.log_derivative(self.u)
            shift = log_slope.max()
            if shift == -np.inf:  # Phi is flat: all margins are large enough
                return
            slope = exp(log_slope - shift)
            total = slope.sum()
            # 1 / S, which is infinite once S has underflowed.
            inverse = exp(-shift) / total
            if np.isinf(inverse) and self.cost_by_size.max() > 0:
                return
            distribution = slope / total
            k = self._choose(distribution * self.y, inverse)
            if k is None:
                return
            agreement = (self.used.prediction(k) * self.y).astype(np.int8)
            error = float(distribution[agreement < 0].sum())
            # Without a penalty nothing is left to learn once a learner is right on every row.
            is_perfect = self.cost[k] == 0 and min(error, 1 - error) < LEAST_ERROR
            yield self._move(k, agreement, error, inverse)

    def _move(self, k: int, agreement: NDArray[np.int8], error: float, inverse: float) -> Round:
        """Change the weight of tree k."""
        cost = self.cost[k]
        penalty = cost * inverse if cost > 0 else 0.0
        if self.exact:
            step = exact_step(
                self.loss, self.u, self.weight, agreement, alpha=self.alpha[k], cost=cost
            )
        else:
            step = majorizer_step(error, self.alpha[k], penalty)
        self.u -= step * agreement
        self.alpha[k] = 0.0 if step == -self.alpha[k] else self.alpha[k] + step
        tree = self.used.trees[k]
        notes = {
            "objective": self.weight @ self.loss.value(self.u) + self.cost @ np.abs(self.alpha),
            "weighted_error": error,
            "edge": 1 - 2 * error,
            "step": step,
            "n_learners": np.count_nonzero(self.alpha),
            "tree_size": self._size(tree),
        }
        return Round(tree, k, step, notes)

    def _choose(self, signed: FloatArray, inverse: float) -> int | None:
        """Choose the tree with the steepest descent; None if no tree lowers F."""
        scale = inverse / 2 if self.cost_by_size.max() > 0 else 0.0
        tree, prediction, edge = self.search.best(signed, scale)
        cost = self.cost_by_size[min(self._size(tree), len(self.cost_by_size) - 1)]
        same_tree = self.used.find(prediction)
        scores = self._used_scores(self.used.edges(signed), scale)
        score = edge / 2 - cost * scale if same_tree is None else scores[same_tree]
        k = self.used.choose(tree, prediction, score, scores)
        if k == len(self.alpha):
            self.alpha = np.append(self.alpha, 0.0)
            self.cost = np.append(self.cost, cost)
        return k

    def _used_scores(self, edges: FloatArray, scale: float) -> FloatArray:
        """Slope |d_j| of the trees in use, by eps_j - 1/2 = -edge_j / 2."""
        half_penalty = self.cost * scale
        moving = np.abs(np.sign(self.alpha) * half_penalty - edges / 2)
        resting = np.maximum(np.abs(edges) / 2 - half_penalty, 0.0)
        return np.where(self.alpha != 0, moving, resting)
