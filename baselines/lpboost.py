"""LPBoost: a linear program for the soft margin, solved by column generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from mddf import _core
from mddf._base.docstrings import describes_parameters
from mddf._base.validation import Within, finite
from mddf._targets.weights import rounded_weights

from ._boosting.base import BaseBoostingClassifier
from ._boosting.early_stopping import Monitor
from ._boosting.ensemble import Ensemble, History, Round
from ._boosting.fixed_learners import UsesWeakLearners, fixed_learners
from ._boosting.linear_program import LIMIT, Solution, solve_c_form, solve_nu_form
from ._boosting.parameters import BOOSTING, WEAK_LEARNERS
from ._boosting.search import TreeSearch
from ._boosting.weak_learners import TIE, FloatArray, Learner, Learners


@describes_parameters(WEAK_LEARNERS, BOOSTING)
class LPBoostClassifier(UsesWeakLearners, BaseBoostingClassifier):
    r"""LPBoost, boosting by linear programs.

    Maximises the soft margin of a convex combination f = sum_j alpha_j h_j,

        max rho - sum_i D_i xi_i  with  y_i f(x_i) >= rho - xi_i, sum_j alpha_j = 1,
        alpha, xi >= 0, D_i = w_i / nu, sum_i w_i = 1,

    whose dual, min beta with sum_i u_i y_i h_j(x_i) <= beta, sum u = 1 and 0 <= u_i <= D_i, gives
    weights of the rows. With `C`, it minimises sum_j alpha_j + C sum_i w_i xi_i with
    y_i f(x_i) >= 1 - xi_i, where the w_i are the sample weights. Each round adds the learner with
    the largest edge under u, and solves the program over the learners so far. If no learner has an
    edge above beta (above 1 in the C-form), the optimum over all learners is reached.

    Parameters
    ----------
    nu : float, default=0.1
        Upper bound on the share of rows with a margin below rho, in (0, 1]. Ignored with `C`.
    C : float or None, default=None
        Cost of a margin error in the C-form, > 0. It is multiplied by the sample weights, whose
        scale therefore matters. Without `C` it does not.
    n_estimators : int, default=100
        Maximum number of rounds, and of learners.
    max_depth : int, default=1
        Stumps, of depth 1, are searched exhaustively: the optimum is over all stumps. Deeper trees
        grow greedily by layers: the optimum is over the trees of the rounds.
    weak_learners : None, "stumps", callable or list of callables, default=None
        None searches trees. "stumps" is a finite set with `n_thresholds` evenly spaced thresholds
        per feature. Callables map X to values in [-1, 1], as in `QuadBoostClassifier`. The
        complements of learners are also learners.
    tol : float, default=1e-8
        Boosting goes on if an edge exceeds beta by more than this.

    Attributes
    ----------
    estimator_weights_ : array of shape (n_learners,), or list of them
        alpha. A learner enters with the sign that makes its edge positive; weights of complements
        are negative.
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (optimum over the learners so far), ``gap`` (bound on the distance to the
        optimum over all learners, >= 0 and decreasing), ``edge`` (of the round's learner, under
        the row weights before it), ``weighted_error`` ((1 - edge) / 2 with these weights scaled to
        sum 1), ``rho``, ``step`` (weight of the round's learner after the round), ``n_learners``
        (with a weight other than 0). With early stopping also ``validation_loss``.

    Notes
    -----
    Linear programs may have several optimal solutions. Rows are sorted and equal rows with equal
    labels are merged before, so that the solution depends neither on the order of the rows nor on
    whether a row has a weight or is repeated. The method does not define probabilities:
    `predict_proba` returns (1 + f) / 2, clipped to [0, 1]. In the nu-form, this is the share of
    the weights that vote for a class. With more than two classes, these values are projected to
    the nearest point of the simplex.

    HiGHS, which solves the programs, cannot be interrupted: Ctrl-C takes effect when the program
    of the round is solved, which may take long with very many rows.

    References
    ----------
    A. Demiriz, K. P. Bennett and J. Shawe-Taylor, "Linear programming boosting via column
    generation", Machine Learning 46, 225-254, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(nu=0.2, n_estimators=30).fit(X, y)
    >>> bool((model.history_["gap"] >= 0).all())
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseBoostingClassifier._parameter_constraints,
        "nu": [Within(Real, 0, 1, closed="right")],
        "C": [None, finite(0, "right")],
        "max_depth": [Within(Integral, 1, None, closed="left")],
        "weak_learners": [None, StrOptions({"stumps"}), callable, list, tuple],
        "n_thresholds": [Within(Integral, 1, 65535, closed="both")],
        "tol": [finite()],
    }

    def __init__(
        self,
        nu: float = 0.1,
        *,
        C: float | None = None,
        n_estimators: int = 100,
        max_depth: int = 1,
        weak_learners: str | Learner | Sequence[Learner] | None = None,
        n_thresholds: int = 10,
        tol: float = 1e-8,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.nu = nu
        self.C = C
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.weak_learners = weak_learners
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
        return (margin <= 0).astype(np.float64)

    def _link(self) -> str:
        return "linear"

    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        X, y, sample_weight = _merge_equal_rows(X, y, sample_weight)
        weak_learners = self.weak_learners
        if weak_learners is None:
            source = _search_trees(X, self.max_depth)
        else:
            source = _choose_from_set(weak_learners, X, self.n_thresholds)
        rounds = _MasterProgram(self, y, sample_weight).rounds(source)
        notes = ("objective", "gap", "edge", "weighted_error", "rho", "step", "n_learners")
        return self._collect_rounds(rounds, monitor, notes)


@dataclass(frozen=True)
class _NewLearner:
    """Learner with the largest edge."""

    learner: Learners  # alone
    values: FloatArray  # (n_samples,): on the training rows
    edge: float  # negative if the complement is the better learner


# A function of weights times labels of the rows; None if there is no learner.
_NewLearnerOf = Callable[[FloatArray], _NewLearner | None]


def _search_trees(X: FloatArray, max_depth: int) -> _NewLearnerOf:
    """Search for the tree with the largest edge in each round."""
    search = TreeSearch(X, max_depth)

    def best_tree(signed_weight: FloatArray) -> _NewLearner:
        tree, prediction, edge = search.best(signed_weight)
        return _NewLearner(tree, prediction.astype(np.float64), edge)

    return best_tree


def _choose_from_set(
    weak_learners: str | Learner | Sequence[Learner], X: FloatArray, n_thresholds: int
) -> _NewLearnerOf:
    """Choose the learner with the largest edge of a finite set."""
    learners, values = fixed_learners(weak_learners, X, n_thresholds)
    outside = values[np.abs(values) > 1]
    if len(outside):
        raise ValueError(f"weak_learners must have values in [-1, 1]; got {float(outside[0])!r}")

    def best_of_set(signed_weight: FloatArray) -> _NewLearner | None:
        if len(values) == 0:
            return None
        edges = _core.learner_edges(values, signed_weight)
        size = np.abs(edges)
        k = int(np.flatnonzero(size >= size.max() - TIE)[0])
        return _NewLearner(learners.take(np.array([k])), values[k].astype(np.float64), edges[k])

    return best_of_set


def _solve_for_cost(cost: float, values: FloatArray, cap: FloatArray) -> Solution:
    try:
        return solve_c_form(values, cap)
    # The solver fails for costs above about 1e12.
    except RuntimeError as error:
        raise ValueError(f"C must be a cost that the solver copes with; got {cost!r}") from error


class _MasterProgram:
    """The linear program over the learners so far."""

    def __init__(
        self, params: LPBoostClassifier, y: FloatArray, sample_weight: FloatArray
    ) -> None:
        self._y = y
        self._tol = params.tol
        self._nu_form = params.C is None
        self._solve: Callable[[FloatArray, FloatArray], Solution]
        if params.C is None:
            self._solve = solve_nu_form
            share = _shares(sample_weight)
            # Caps that overflow for a tiny nu are no caps, as they should be.
            with np.errstate(over="ignore"):
                self._cap = share / float(params.nu)
            self.u = share
            # Lowest upper bound on the optimum over all learners.
            self._bound = np.inf
        else:
            self._solve = partial(_solve_for_cost, params.C)
            most = float(sample_weight.max())
            if float(params.C) * most >= LIMIT:
                raise ValueError(
                    f"C times a sample_weight must be less than {LIMIT:g}, which the solver takes"
                    f" for infinite; got C={params.C!r} and weights up to {most!r}"
                )
            self._cap = float(params.C) * sample_weight
            self.u = self._cap
            # Highest lower bound on the optimum over all learners.
            self._bound = 0.0
        self._columns: list[np.ndarray] = []
        self._signs: list[float] = []
        self._solution: Solution | None = None

    def rounds(self, source: _NewLearnerOf) -> Iterator[Round]:
        """Yield rounds that add a learner and replace all weights."""
        notes = None
        while (candidate := source(self.u * self._y)) is not None:
            # A negative edge is the positive edge of the complement.
            sign = 1.0 if candidate.edge >= 0 else -1.0
            edge = sign * candidate.edge
            self._update_bound(edge)
            # The new bound also holds for the round before, whose notes have been yielded.
            if notes is not None:
                notes["gap"] = self._gap()
            if not self._violates_dual(edge):
                return
            weights, notes = self._add(sign * candidate.values, edge, sign)
            yield Round(candidate.learner, len(weights) - 1, weights, notes)

    def _update_bound(self, edge: float) -> None:
        """Update the bound on the optimum over all learners by the largest edge."""
        if self._nu_form:
            self._bound = min(self._bound, edge)
        else:
            self._bound = max(self._bound, self.u.sum() / max(edge, 1.0))

    def _violates_dual(self, edge: float) -> bool:
        """Whether a learner with this edge violates the dual, and so improves the optimum."""
        if not self._nu_form:
            return edge > 1 + self._tol
        beta = 0.0 if self._solution is None else self._solution.objective
        return edge > max(beta + self._tol, TIE)

    def _gap(self) -> float:
        """Bound on the distance from the present optimum to the optimum over all learners."""
        assert self._solution is not None
        difference = self._bound - self._solution.objective
        return max(difference if self._nu_form else -difference, 0.0)

    def _add(
        self, values: FloatArray, edge: float, sign: float
    ) -> tuple[FloatArray, dict[str, float]]:
        """Add a learner and solve the program; return all weights, and the notes of the round."""
        error = (1 - edge / self.u.sum()) / 2
        self._columns.append(values * self._y)
        self._signs.append(sign)
        solution = self._solve(np.array(self._columns), self._cap)
        self._solution = solution
        self.u = solution.u
        weights = solution.alpha * np.array(self._signs)
        return weights, {
            "objective": solution.objective,
            "gap": self._gap(),
            "edge": edge,
            "weighted_error": error,
            "rho": solution.rho,
            "step": weights[-1],
            "n_learners": np.count_nonzero(weights),
        }


def _shares(sample_weight: FloatArray) -> FloatArray:
    """Weights with sum 1, whose bits do not depend on their unit: many learners are equal."""
    if np.any(sample_weight != sample_weight[0]):
        sample_weight = rounded_weights(sample_weight / sample_weight.mean())
    return sample_weight / sample_weight.sum()


def _merge_equal_rows(
    X: FloatArray, y: FloatArray, sample_weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sort rows, and merge equal rows with equal labels."""
    rows, inverse = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    weight = np.bincount(inverse, sample_weight, minlength=len(rows)).astype(float)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), weight
