"""What forests that regress have of their own."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.serialization import Saved
from mddf._data.sampling import RowWeights, row_hashes, row_weights
from mddf._data.targets import Values, read_values
from mddf._data.validation import MOST, Within
from mddf._forest.base import Forest
from mddf._trees import grower
from mddf._trees.leaf_targets import LeafTargets, check_quantiles, predict_quantiles


def _in_units_of_y(means: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    # All targets lie below 1; a mean that is rounded up to it might be no number any more.
    most = np.nextafter(1.0, 0.0)
    return np.ldexp(np.clip(means, -most, most), exponents)


class TableRegressor(Saved, RegressorMixin, BaseEstimator):
    """A regressor of tables with missing values, of one target or several."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


class BaseForestRegressor(Forest, TableRegressor):
    """What both forests that regress share; use one of them."""

    _oob_name = "oob_prediction_"

    _parameter_constraints: ClassVar[dict] = {
        **Forest._parameter_constraints,
        "criterion": [StrOptions({"squared_error"})],
        "keep_targets": [Within(Integral, 1, MOST, closed="both"), None],
    }

    _leaf_targets: list

    def __init__(self, n_estimators, *, keep_targets, **parameters):
        super().__init__(n_estimators, **parameters)
        self.keep_targets = keep_targets

    def _read(self, y, weights) -> Values:
        y = read_values(y)
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

    @property
    def _width(self) -> int:
        return self.n_outputs_

    @property
    def _unit(self) -> np.ndarray:
        return np.ldexp(1.0, self._exponents)

    def _counts(self):
        yield "n_outputs_", self.n_outputs_, self._trees[0].width
        yield from super()._counts()

    def _learnt(self, target: Values) -> dict:
        return {
            "n_outputs_": target.y.shape[1],
            "_exponents": target.exponents,
            "_most_targets": self.keep_targets,
            "_leaf_targets": [],
        }

    def _remember(self, trees, seeds, codes, target: Values, weights) -> dict:
        if self.keep_targets is None:
            return {}
        weights = np.ones(len(codes)) if weights is None else weights
        hashes = row_hashes(codes, target.key)
        kept = LeafTargets.keep(self.keep_targets, trees, codes, target.y, weights, hashes, seeds)
        before = self._leaf_targets if self.warm_start and hasattr(self, "_trees") else []
        return {"_leaf_targets": [*before, (kept, len(trees))]}

    def _row_weights(self, target: Values, weights) -> RowWeights:
        return row_weights(weights, None, target.key)

    def _score_out_of_bag(self, target: Values, sums, n_trees) -> dict:
        seen = n_trees > 0
        means = np.full(target.y.shape, np.nan)
        means[seen] = (sums[seen, ::2] + sums[seen, 1::2]) / n_trees[seen, None]
        prediction = _in_units_of_y(means, target.exponents)
        if callable(self.oob_score):
            given, found = target.y, prediction
        else:  # R2 does not depend on the unit, in which squares neither vanish nor overflow
            given, found = np.ldexp(target.y, -target.exponents), means
        if given.shape[1] == 1:
            given, found, prediction = given[:, 0], found[:, 0], prediction[:, 0]
        score = self._scored(r2_score, given[seen], found[seen])
        return {"oob_prediction_": prediction, "oob_score_": score}

    def predict(self, X):
        """Mean over the trees of the mean target in a sample's leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        """
        check_is_fitted(self, "_trees")
        n_trees = sum(block.n_trees for block in self._trees)

        def read(rows):
            sums = np.zeros((len(rows), self.n_outputs_))
            grower.add_values(self._trees, rows, sums, n_jobs=self.n_jobs)
            return _in_units_of_y(sums / n_trees, self._exponents)

        prediction = self._read_rows(X, read, 32 * self._width)
        return prediction[:, 0] if self.n_outputs_ == 1 else prediction

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
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
