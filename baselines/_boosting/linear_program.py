"""Linear programs of LPBoost over a fixed set of learners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, linprog

from .weak_learners import FloatArray

#: HiGHS takes bounds from this value on as infinite.
LIMIT = 1e20


@dataclass(frozen=True)
class Solution:
    """Optimum of the soft-margin program.

    Parameters
    ----------
    alpha : array of shape (n_learners,)
        Weights of the learners, >= 0.
    u : array of shape (n_samples,)
        Dual weights of the rows.
    objective : float
        Optimal value of rho - D sum xi in the nu-form, or of sum alpha + C sum xi in the C-form.
    rho : float
        The target margin; 1 in the C-form.
    """

    alpha: FloatArray
    u: FloatArray
    objective: float
    rho: float


def solve_nu_form(values: FloatArray, cap: FloatArray) -> Solution:
    """Solve max rho - sum_i D_i xi_i, y_i f(x_i) >= rho - xi_i, sum alpha = 1, alpha, xi >= 0.

    The solver gets the dual, min beta with sum_i u_i y_i h_j(x_i) <= beta for all j, sum u = 1
    and 0 <= u_i <= D_i, whose rows are the few learners. alpha and rho are its multipliers, and
    both programs have the same optimum. `values` are y_i h_j(x_i), of shape (n_learners,
    n_samples), and `cap` the D_i > 0, with sum at least 1. A RuntimeError says that the solver
    failed.
    """
    n_learners, n_samples = values.shape
    result = _solve(
        cost=np.append(np.zeros(n_samples), 1.0),
        rows=np.hstack([values, -np.ones((n_learners, 1))]),
        limits=np.zeros(n_learners),
        bounds=np.vstack([np.column_stack([np.zeros(n_samples), cap]), [-np.inf, np.inf]]),
        equal_rows=np.append(np.ones(n_samples), 0.0)[None],
        equal_limits=np.ones(1),
    )
    u = np.clip(result.x[:-1], 0.0, cap)
    return Solution(_multipliers(result), u / u.sum(), result.fun, result.eqlin.marginals[0])


def solve_c_form(values: FloatArray, cap: FloatArray) -> Solution:
    """Solve min sum alpha + sum_i C_i xi_i, y_i f(x_i) >= 1 - xi_i, alpha, xi >= 0.

    The solver gets the dual, max sum u with sum_i u_i y_i h_j(x_i) <= 1 for all j and
    0 <= u_i <= C_i. The arguments are as in :func:`solve_nu_form`, with C in place of D.
    """
    n_learners, n_samples = values.shape
    result = _solve(
        cost=-np.ones(n_samples),
        rows=values,
        limits=np.ones(n_learners),
        bounds=np.column_stack([np.zeros(n_samples), cap]),
    )
    return Solution(_multipliers(result), np.clip(result.x, 0.0, cap), -result.fun, 1.0)


def _solve(
    *,
    cost: FloatArray,
    rows: FloatArray,
    limits: FloatArray,
    bounds: FloatArray,
    equal_rows: FloatArray | None = None,
    equal_limits: FloatArray | None = None,
) -> OptimizeResult:
    result = linprog(
        cost,
        A_ub=rows,
        b_ub=limits,
        A_eq=equal_rows,
        b_eq=equal_limits,
        bounds=bounds,
        method="highs",
        # Presolving finds nothing in these dense programs and takes longer than solving them.
        options={"presolve": False},
    )
    if result.status != 0:
        raise RuntimeError(f"the linear program of LPBoost was not solved: {result.message}")
    return result


def _multipliers(result: OptimizeResult) -> FloatArray:
    """Multipliers of the learners' rows."""
    # HiGHS returns derivatives of a minimum, which have the opposite sign.
    return np.maximum(-result.ineqlin.marginals, 0.0)
