"""LPBoost: the soft-margin linear program, by column generation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from mddf import _core
from mddf._base.validation import Within, finite

from ._boosting.base import BaseBoostingClassifier
from ._boosting.ensemble import Round
from ._boosting.fixed_learners import FromWeakLearners, fixed_learners
from ._boosting.linear_program import LIMIT, Solution, solve_c_form, solve_nu_form
from ._boosting.search import TreeSearch
from ._boosting.weak_learners import TIE


class LPBoostClassifier(FromWeakLearners, BaseBoostingClassifier):
    r"""LPBoost of Demiriz, Bennett and Shawe-Taylor.

    Maximises the soft margin of a convex combination f = sum_j alpha_j h_j,

        max rho - sum_i D_i xi_i  with  y_i f(x_i) >= rho - xi_i, sum_j alpha_j = 1,
        alpha, xi >= 0, D_i = w_i / nu, sum_i w_i = 1,

    whose dual min beta, sum_i u_i y_i h_j(x_i) <= beta, sum u = 1, 0 <= u_i <= D_i, weighs the
    rows. Or, given C, min sum_j alpha_j + C sum_i w_i xi_i with y_i f(x_i) >= 1 - xi_i and the row
    weights w_i as given. Each round adds the learner with the largest edge under u and solves the
    program over the learners so far anew, until no learner has an edge above beta (above 1 in the
    C-form): the optimum over all learners is then reached.

    Parameters
    ----------
    nu : float, default=0.1
        Bounds the share of rows with a margin below rho, in (0, 1]. Ignored when `C` is given.
    C : float or None, default=None
        Cost of a margin error in the C-form, > 0.
    n_estimators : int, default=100
        Largest number of rounds, hence of learners.
    max_depth : int, default=1
        1: stumps, searched exhaustively, so that the optimum is one over all stumps. Deeper trees
        are grown greedily by layers, and the optimum is one over those found.
    weak_learners : None, "stumps", callable or list of callables, default=None
        None searches trees. "stumps" takes a finite set, `n_thresholds` per feature at even
        distances. Given learners map X to values in [-1, 1], as in QuadBoostClassifier. The
        complement of every learner is one as well.
    n_thresholds : int, default=10
        Thresholds per feature of ``weak_learners="stumps"``, at most 65535.
    tol : float, default=1e-8
        How far an edge must lie above beta for a further round.
    categorical_features : "from_dtype", array of bool, int or str, or None, default="from_dtype"
        Which features are categories: a mask, column numbers or names. "from_dtype" takes a
        DataFrame's columns of categories or strings. Trees ask for one category at a time; those
        that fit did not see count as missing.
    early_stopping : bool, default=False
        Hold back a share of the rows and keep the number of rounds with the least error on them.
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
    voters : object, default="deprecated"
        The former name of `weak_learners`, which goes with version 0.4.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    ensembles_ : list of Ensemble
        The vote: one entry with two classes, else one per class against the rest.
    estimator_weights_ : array of shape (n_learners,), or list of them
        alpha; learners enter with the sign that makes their edge positive, so that some may be
        negative.
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (optimum over the learners so far), ``gap`` (how far the optimum over all
        learners may be away, >= 0 and shrinking), ``edge`` (of the round's learner, under the
        weights before it), ``weighted_error`` ((1 - edge) / 2 with these weights scaled to sum 1),
        ``rho``, ``step`` (weight of the round's learner after the round), ``n_learners`` (with
        weight other than 0). With early stopping ``validation_loss``.
    feature_importances_ : array of shape (n_features,)
        Shares of the features in the vote; searched trees and "stumps" only.
    n_iter_ : int
        Rounds made (the most over the classes).

    Notes
    -----
    Equal rows with equal labels are merged and rows are sorted before the programs are set up:
    optima of linear programs need not be unique, and the solution taken must depend neither on
    the order of the rows nor on whether a weight is given as copies. The program sets no
    probabilities: `predict_proba` returns (1 + f) / 2, cut at 0 and 1, which in the nu-form is
    the share of the weights that votes for a class. With more than two classes the nearest point
    of the simplex is taken.

    HiGHS, which solves the programs, cannot be interrupted: Ctrl-C waits until that of the round
    is solved, which takes long with very many rows.

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
        "voters": [None, StrOptions({"stumps", "deprecated"}), callable, list, tuple],
        "n_thresholds": [Within(Integral, 1, 65535, closed="both")],
        "tol": [finite()],
    }

    def __init__(
        self,
        nu: float | None = 0.1,
        *,
        C: float | None = None,
        n_estimators: int = 100,
        max_depth: int = 1,
        weak_learners: Any = None,
        n_thresholds: int = 10,
        tol: Any = 1e-8,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        voters: Any = "deprecated",
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
        self.voters = voters

    def _loss(self, margin: np.ndarray) -> Any:
        return (margin <= 0).astype(np.float64)

    def _link(self) -> str:
        return "linear"

    def _boost(self, X: Any, y: Any, sample_weight: Any, monitor: Any) -> Any:
        X, y, sample_weight = _merge_equal_rows(X, y, sample_weight)
        given = self._given_learners()
        if given is None:
            source = _searched_trees(X, self.max_depth)
        else:
            source = _fixed_learners(given, X, self.n_thresholds)
        rounds = _Master(self, y, sample_weight).rounds(source)
        names = ("objective", "gap", "edge", "weighted_error", "rho", "step", "n_learners")
        return self._follow(rounds, monitor, names)


def _searched_trees(X: Any, max_depth: int) -> Any:
    """Source of learners: a function from signed weights to the learner of largest edge.

    It returns the learner, its values on the rows, and the edge; None where there is no learner.
    """
    search = TreeSearch(X, max_depth)

    def best(signed_weight: Any) -> Any:
        tree, prediction, edge = search.best(signed_weight)
        return tree, prediction.astype(np.float64), edge

    return best


def _fixed_learners(given: Any, X: Any, n_thresholds: int) -> Any:
    """Source of learners from a finite set; a negative edge asks for the complement."""
    learners, values = fixed_learners(given, X, n_thresholds)
    outside = values[np.abs(values) > 1]
    if len(outside):
        raise ValueError(f"weak_learners must have values in [-1, 1]; got {float(outside[0])!r}")

    def best(signed_weight: Any) -> Any:
        if len(values) == 0:
            return None
        edges = _core.learner_edges(values, signed_weight)
        size = np.abs(edges)
        k = int(np.flatnonzero(size >= size.max() - TIE)[0])
        return learners.take(np.array([k])), values[k].astype(np.float64), edges[k]

    return best


def _solve_for_cost(cost: Any, values: np.ndarray, cap: Any) -> Any:
    try:
        return solve_c_form(values, cap)
    except RuntimeError as error:  # seen where the cost is larger than about 1e12
        raise ValueError(f"C must be a cost that the solver copes with; got {cost!r}") from error


class _Master:
    """The program over the learners so far."""

    def __init__(self, params: Any, y: Any, sample_weight: Any) -> None:
        self._y = y
        self._tol = params.tol
        self._nu_form = params.C is None
        self._solve = solve_nu_form if self._nu_form else partial(_solve_for_cost, params.C)
        if self._nu_form:
            share = sample_weight / sample_weight.sum()
            with np.errstate(over="ignore"):  # no cap at all is what a tiny nu means
                self._cap = share / float(params.nu)
            self.u = share
            self._bound = np.inf  # least upper bound on the optimum over all learners
        else:
            most = float(sample_weight.max())
            if float(params.C) * most >= LIMIT:
                raise ValueError(
                    f"C times a sample_weight must be less than {LIMIT:g}, which the solver takes"
                    f" for infinite; got C={params.C!r} and weights up to {most!r}"
                )
            self._cap = float(params.C) * sample_weight
            self.u = self._cap
            self._bound = 0.0  # greatest lower bound
        self._columns: list[np.ndarray] = []
        self._signs: list[float] = []
        self._solution: Solution | None = None

    def rounds(self, source: Any) -> Iterator[Any]:
        """Yield the rounds: one learner more in each, and the weights of all."""
        notes = None
        while (found := source(self.u * self._y)) is not None:
            learner, values, edge = found
            sign, edge = (1.0, edge) if edge >= 0 else (-1.0, -edge)
            improves = self._improves(edge)
            if notes is not None:  # the edge is a bound for the round before as well
                notes["gap"] = self._gap()
            if not improves:
                return
            weights, notes = self._add(sign * values, edge, sign)
            yield Round(learner, len(weights) - 1, weights, notes)

    def _improves(self, edge: Any) -> Any:
        """Whether a learner of this edge violates the dual; notes the bound that it gives."""
        if not self._nu_form:
            self._bound = max(self._bound, self.u.sum() / max(edge, 1.0))
            return edge > 1 + self._tol
        self._bound = min(self._bound, edge)
        beta = 0.0 if self._solution is None else self._solution.objective
        return edge > max(beta + self._tol, TIE)

    def _gap(self) -> Any:
        """How far the optimum over the learners so far may lie from that over all."""
        assert self._solution is not None
        behind = self._bound - self._solution.objective
        return max(behind if self._nu_form else -behind, 0.0)

    def _add(self, column: Any, edge: Any, sign: Any) -> Any:
        """Take a learner in and solve anew; return all weights, and what to note."""
        error = (1 - edge / self.u.sum()) / 2
        self._columns.append(column * self._y)
        self._signs.append(sign)
        now = self._solution = self._solve(np.array(self._columns), self._cap)
        self.u = now.u
        weights = now.alpha * np.array(self._signs)
        return weights, {
            "objective": now.objective,
            "gap": self._gap(),
            "edge": edge,
            "weighted_error": error,
            "rho": now.rho,
            "step": weights[-1],
            "n_learners": np.count_nonzero(weights),
        }


def _merge_equal_rows(X: Any, y: Any, sample_weight: Any) -> Any:
    rows, inverse = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    weight = np.bincount(inverse, sample_weight, minlength=len(rows))
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), weight
