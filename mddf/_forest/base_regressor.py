"""What forests that regress share."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.validation import MOST, Within
from mddf._fitted.base_estimators import TableRegressor
from mddf._forest import spread
from mddf._forest.base import Forest
from mddf._forest.parameters import CONSTRAINTS, REGRESSION_CRITERIA
from mddf._resampling.sampling import RowWeights, row_hashes, row_weights
from mddf._targets.kernel_targets import Values, in_units_of_y, read_values
from mddf._trees import predictor
from mddf._trees.leaf_targets import LeafTargets, check_quantiles, predict_quantiles


class BaseForestRegressor(Forest, TableRegressor):
    """What both forests that regress share; use one of them."""

    _oob_name = "oob_prediction_"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "criterion": [StrOptions(set(REGRESSION_CRITERIA))],
        "keep_targets": [Within(Integral, 1, MOST, closed="both"), None],
    }

    _leaf_targets: list[Any]

    def _read(self, y: Any, weights: Any) -> Values:
        y = read_values(y)
        if self.criterion == "poisson":
            _check_counts(y, weights)
        again = self.warm_start and hasattr(self, "_trees")
        if again and y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"with warm_start=True, y must have the {self.n_outputs_} outputs of the fit "
                f"before, got {y.shape[1]}"
            )
        if again and (self.keep_targets != self._most_targets):
            raise ValueError(
                f"with warm_start=True, keep_targets must be {self._most_targets}, as in the fit "
                f"before, got {self.keep_targets}"
            )
        values = Values.of(y, weights, self._exponents if again else None)
        values.warn_of_lost(weights)
        return values

    def _n_scores(self, target: Values) -> int:
        return target.y.shape[1]

    @property
    def _width(self) -> int:
        return self.n_outputs_

    @property
    def _unit(self) -> np.ndarray:
        return np.ldexp(1.0, self._exponents)

    def _counts(self) -> Iterator[Any]:
        yield "n_outputs_", self.n_outputs_, self._trees[0].width
        yield from super()._counts()

    def _learnt(self, target: Values) -> dict[str, Any]:
        return {
            "n_outputs_": target.y.shape[1],
            "_exponents": target.exponents,
            "_most_targets": self.keep_targets,
            "_leaf_targets": [],
        }

    def _remember(
        self, trees: Any, seeds: np.ndarray, codes: np.ndarray, target: Values, weights: Any
    ) -> dict[str, Any]:
        if self.keep_targets is None:
            return {}
        weights = np.ones(len(codes)) if weights is None else weights
        hashes = row_hashes(codes, target.key)
        kept = LeafTargets.keep(self.keep_targets, trees, codes, target.y, weights, hashes, seeds)
        before = self._leaf_targets if self.warm_start and hasattr(self, "_trees") else []
        return {"_leaf_targets": [*before, (kept, len(trees))]}

    def _row_weights(self, target: Values, weights: Any) -> RowWeights:
        return row_weights(weights, None, target.key)

    def _score_out_of_bag(
        self, target: Values, sums: np.ndarray, n_trees: np.ndarray
    ) -> dict[str, Any]:
        seen = n_trees > 0
        means = np.full(target.y.shape, np.nan)
        means[seen] = (sums[seen, ::2] + sums[seen, 1::2]) / n_trees[seen, None]
        prediction = in_units_of_y(means, target.exponents)
        if callable(self.oob_score):
            given, found = target.y, prediction
        else:  # R2 does not depend on the unit, in which squares neither vanish nor overflow
            given, found = np.ldexp(target.y, -target.exponents), means
        if given.shape[1] == 1:
            given, found, prediction = given[:, 0], found[:, 0], prediction[:, 0]
        score = self._scored(r2_score, given[seen], found[seen])
        return {"oob_prediction_": prediction, "oob_score_": score}

    def predict(self, X: Any, return_std: Any = False, *, quantiles: Any = None) -> Any:
        """Mean over the trees of the mean target in a sample's leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        return_std : bool or {"trees", "jackknife"}, default=False
            Whether to return standard deviations, too. "trees", or True: of what single trees
            predict. "jackknife": standard errors of the forest's prediction, as it would differ
            from one training set to another, by the infinitesimal jackknife with the correction
            for a finite number of trees [1]_; it needs a bootstrap, as many trees as samples or
            more, and is known where the forest was fitted, not in files and copies.
        quantiles : float or array of shape (n_quantiles,), default=None
            Quantiles of the targets in place of the mean, as `predict_quantiles` has them.

        Returns
        -------
        prediction : ndarray of shape (n_samples,), or (n_samples, n_outputs)
            With `quantiles`, that of `predict_quantiles`, for a single one without its last axis.
        std : ndarray of the same shape
            Only with `return_std`. Neither kind has the scatter of targets about their mean in
            it: for intervals of new targets, see `quantiles`.

        References
        ----------
        .. [1] S. Wager, T. Hastie and B. Efron, "Confidence intervals for random forests: the
           jackknife and the infinitesimal jackknife", Journal of Machine Learning Research 15,
           2014.
        """
        check_is_fitted(self, "_trees")
        kind = spread.check_kind(return_std)
        if quantiles is not None:
            if kind:
                raise ValueError(
                    "quantiles and return_std cannot be had at once, got "
                    f"quantiles={short(quantiles)}, return_std={short(return_std)}"
                )
            found = self.predict_quantiles(X, np.atleast_1d(quantiles))
            return found[..., 0] if np.ndim(quantiles) == 0 else found
        prediction = self._predict_means(X)
        return (prediction, self._predict_std(X, kind)) if kind else prediction

    def _predict_std(self, X: Any, kind: str) -> np.ndarray:
        if kind == "jackknife" and not self.bootstrap:
            raise ValueError(
                'return_std="jackknife" needs bootstrap=True: it is found from what trees drew; '
                f"got bootstrap={self.bootstrap!r}"
            )
        counts = list(self._sample_counts()) if kind == "jackknife" else []

        def read(codes: np.ndarray) -> np.ndarray:
            values = spread.tree_values(self._trees, codes, self.n_jobs)
            if kind == "trees":
                return in_units_of_y(spread.between_trees(values), self._exponents)
            return in_units_of_y(spread.jackknife(values, counts), self._exponents)

        std = self._read_rows(X, read, 24 * self._width * len(self), coded=True)
        return std[:, 0] if self.n_outputs_ == 1 else std

    def _predict_means(self, X: Any) -> np.ndarray:
        def read(rows: Any) -> np.ndarray:
            means = predictor.mean_vectors(self._trees, rows, self._width, n_jobs=self.n_jobs)
            return in_units_of_y(means, self._exponents)

        prediction = self._read_rows(X, read, 32 * self._width)
        return prediction[:, 0] if self.n_outputs_ == 1 else prediction

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of the training targets in a sample's leaves [1]_.

        Every tree has the same weight, and within a tree every target that is kept of the leaf in
        proportion to its sample's weight. A quantile is the least target that at least so large a
        share does not exceed. All training samples count, whether a tree drew them or not.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        quantiles : array of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            From 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles)
            With several outputs, of shape (n_samples, n_outputs, n_quantiles).

        Raises
        ------
        ValueError
            If the forest was fitted with ``keep_targets=None``.

        References
        ----------
        .. [1] N. Meinshausen, "Quantile regression forests", Journal of Machine Learning Research
           7, 2006.
        """
        check_is_fitted(self, "_trees")
        levels = check_quantiles(quantiles)
        if self._most_targets is None:
            raise ValueError(
                "predict_quantiles needs a forest that keeps training targets: fit it with "
                "keep_targets=5, say, got keep_targets=None"
            )
        parts, first = [], 0
        for kept, n_blocks in self._leaf_targets:
            parts.append((kept, self._trees[first : first + n_blocks]))
            first += n_blocks
        found = self._read_rows(
            X,
            lambda codes: predict_quantiles(parts, codes, levels),
            16 * self._width * len(levels),
            coded=True,
        )
        return found[:, 0] if self.n_outputs_ == 1 else found


def _check_counts(y: np.ndarray, weights: np.ndarray | None) -> None:
    """Refuse targets that have no Poisson deviance."""
    counts = y if weights is None else y[weights > 0]
    if np.any(counts < 0):
        raise ValueError(
            "y must not have negative values, which are not allowed for criterion='poisson', got "
            f"{counts.min():g}"
        )
    if not np.all(counts.sum(axis=0) > 0):
        raise ValueError("y must have a sum above 0 for criterion='poisson', got zeros alone")
