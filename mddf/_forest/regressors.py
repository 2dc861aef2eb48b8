"""Random and completely-random forests for regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from sklearn import ensemble
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.messages import short
from mddf._base.types import TableLike
from mddf._base.validation import MOST, Within
from mddf._fitted.base_estimators import TableRegressor
from mddf._fitted.fitted_model import FittedMember
from mddf._forest import spread
from mddf._forest.base import Forest
from mddf._forest.growth import TrainingRows
from mddf._forest.out_of_bag import OutOfBagSums
from mddf._forest.parameters import (
    CONSTRAINTS,
    FOREST_PARAMETERS,
    REGRESSION_CRITERIA,
    REGRESSION_PARAMETERS,
)
from mddf._forest.trees import CompletelyRandomTreeRegressor, RandomTreeRegressor
from mddf._resampling.sampling import row_hashes
from mddf._targets.kernel_targets import Values, in_units_of_y, read_values
from mddf._targets.weights import RowWeights, row_weights
from mddf._trees.arrays import TreeBlock
from mddf._trees.leaf_targets import LeafTargets, check_quantiles, predict_quantiles


class BaseForestRegressor(Forest[Values], TableRegressor):
    """Base class of `RandomForestRegressor` and `CompletelyRandomForestRegressor`."""

    _oob_name = "oob_prediction_"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "criterion": [StrOptions(set(REGRESSION_CRITERIA))],
        "keep_targets": [Within(Integral, 1, MOST, closed="both"), None],
    }

    # Stored targets of each fit, and the number of its blocks of trees.
    _leaf_targets: list[tuple[LeafTargets, int]]
    # The value of `keep_targets` that the forest was fitted with.
    _most_targets: int | None

    def _read_target(self, y: npt.ArrayLike, sample_weight: np.ndarray | None) -> Values:
        y = read_values(y)
        if self.criterion == "poisson":
            check_poisson_targets(y, sample_weight)
        if self._continues and y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"with warm_start=True, y must have the {self.n_outputs_} outputs of the fit "
                f"before, got {y.shape[1]}"
            )
        if self._continues and self.keep_targets != self._most_targets:
            raise ValueError(
                f"with warm_start=True, keep_targets must be {self._most_targets}, as in the fit "
                f"before, got {self.keep_targets}"
            )
        values = Values.from_targets(
            y, sample_weight, self._exponents if self._continues else None
        )
        values.warn_of_underflow(sample_weight)
        return values

    def _n_scores(self, target: Values) -> int:
        return target.y.shape[1]

    def _member(self, trees: list[TreeBlock], target: Values) -> FittedMember:
        n_outputs = target.y.shape[1]
        return FittedMember(trees, n_outputs, exponents=target.exponents, is_rounded=False)

    @property
    def _exponents(self) -> np.ndarray:
        """Targets lie below 2 to this power, by output: see `Values`."""
        exponents = self._fitted.members[0].exponents
        assert exponents is not None
        return exponents

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield "n_outputs_", self.n_outputs_, self._trees[0].width
        yield from super()._counts()

    def _target_attributes(self, target: Values) -> dict[str, object]:
        return {
            "n_outputs_": target.y.shape[1],
            "_most_targets": self.keep_targets,
            "_leaf_targets": [],
        }

    def _targets_to_keep(
        self, trees: list[TreeBlock], seeds: np.ndarray, rows: TrainingRows[Values]
    ) -> dict[str, object]:
        if self.keep_targets is None:
            return {}
        codes = rows.table.codes
        weights = rows.sample_weight
        leaf_targets = LeafTargets.from_samples(
            trees,
            codes,
            rows.target.y,
            weights=np.ones(len(codes)) if weights is None else weights,
            hashes=row_hashes(codes, rows.target.key),
            seeds=seeds,
            max_per_leaf=self.keep_targets,
        )
        before = self._leaf_targets if self._continues else []
        return {"_leaf_targets": [*before, (leaf_targets, len(trees))]}

    def _row_weights(self, rows: TrainingRows[Values]) -> RowWeights:
        return row_weights(rows.sample_weight, None, rows.target.key)

    def _score_out_of_bag(self, target: Values, sums: OutOfBagSums) -> dict[str, object]:
        known = sums.n_trees > 0
        means = sums.means_of_parts()
        predictions = in_units_of_y(means, target.exponents)
        if callable(self.oob_score):
            y_true = target.y
            y_pred = predictions
        else:
            # R2 does not depend on the unit, and in this one squares neither vanish nor overflow.
            y_true = np.ldexp(target.y, -target.exponents)
            y_pred = means
        score = self._score_predictions(
            r2_score, _without_single_output(y_true[known]), _without_single_output(y_pred[known])
        )
        return {
            "oob_prediction_": _without_single_output(predictions),
            "oob_score_": score,
        }

    def predict(
        self,
        X: TableLike,
        return_std: bool | str = False,
        *,
        quantiles: npt.ArrayLike | None = None,
    ) -> np.ndarray | Any:  # a pair of arrays with `return_std`
        """Predict the mean over the trees of the mean target in a sample's leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        return_std : bool or {"trees", "jackknife"}, default=False
            Whether to return standard deviations as well. "trees", or True: the standard deviation
            of the predictions of single trees. "jackknife": the standard error of the forest's
            prediction, which says how much it would vary with the training set, by the
            infinitesimal jackknife with the correction for a finite number of trees [1]_. This
            needs a bootstrap and at least as many trees as samples. It is not available in files
            and copies of a forest, which do not store the samples that the trees drew.
        quantiles : float or array of shape (n_quantiles,), default=None
            Quantiles to predict in place of the mean; see `predict_quantiles`.

        Returns
        -------
        prediction : ndarray of shape (n_samples,), or (n_samples, n_outputs)
            With `quantiles`, the result of `predict_quantiles`; without the last axis if
            `quantiles` is a single number.
        std : ndarray of the same shape
            Only with `return_std`. Neither kind includes the scatter of targets about their mean:
            intervals for new targets need `quantiles`.

        References
        ----------
        .. [1] S. Wager, T. Hastie and B. Efron, "Confidence intervals for random forests: the
           jackknife and the infinitesimal jackknife", Journal of Machine Learning Research 15,
           2014.
        """
        check_is_fitted(self)
        kind = spread.check_kind(return_std)
        if quantiles is not None:
            if kind:
                raise ValueError(
                    "quantiles and return_std must not be passed together, got "
                    f"quantiles={short(quantiles)}, return_std={short(return_std)}"
                )
            predicted = self.predict_quantiles(X, np.atleast_1d(quantiles))
            return predicted[..., 0] if np.ndim(quantiles) == 0 else predicted
        prediction = _without_single_output(self._predict_in_blocks(X))
        return (prediction, self._predict_std(X, kind)) if kind else prediction

    def _predict_std(self, X: TableLike, kind: str) -> np.ndarray:
        if kind == "jackknife" and not self.bootstrap:
            raise ValueError(
                'return_std="jackknife" needs bootstrap=True, because it is computed from the '
                f"samples that each tree drew; got bootstrap={self.bootstrap!r}"
            )
        counts = list(self._sample_counts()) if kind == "jackknife" else []

        def std_of_rows(codes: np.ndarray) -> np.ndarray:
            values = spread.tree_values(self._trees, codes, self.n_jobs)
            if kind == "jackknife":
                return spread.jackknife(values, counts)
            std: np.ndarray = values.std(axis=1)
            return std

        # Three arrays of doubles with an entry for each tree and output.
        std = self._by_codes(X, std_of_rows, 24 * self.n_outputs_ * len(self))
        return _without_single_output(in_units_of_y(std, self._exponents))

    def predict_quantiles(
        self, X: TableLike, quantiles: npt.ArrayLike = (0.05, 0.5, 0.95)
    ) -> np.ndarray:
        """Predict quantiles of the training targets in a sample's leaves [1]_.

        Every tree has the same weight; within a tree, the stored targets of the leaf share it in
        proportion to their samples' weights. The quantile q is the smallest target such that
        targets up to it have at least the share q of the weight. All training samples count,
        whether a tree drew them or not.

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
        check_is_fitted(self)
        levels = check_quantiles(quantiles)
        if self._most_targets is None:
            raise ValueError(
                "predict_quantiles needs stored training targets: fit the forest with "
                "keep_targets=5, for example; got keep_targets=None"
            )
        fits = []
        first = 0
        for leaf_targets, n_blocks in self._leaf_targets:
            fits.append((leaf_targets, self._trees[first : first + n_blocks]))
            first += n_blocks
        # Two arrays of doubles with an entry for each output and quantile.
        predicted = self._by_codes(
            X,
            lambda codes: predict_quantiles(fits, codes, levels),
            16 * self.n_outputs_ * len(levels),
        )
        return _without_single_output(predicted)


def _without_single_output(values: np.ndarray) -> np.ndarray:
    """Drop the axis of the outputs if there is only one output."""
    return values[:, 0] if values.shape[1] == 1 else values


def check_poisson_targets(y: np.ndarray, weights: np.ndarray | None) -> None:
    """Refuse targets whose Poisson deviance is not defined."""
    counts = y if weights is None else y[weights > 0]
    if np.any(counts < 0):
        raise ValueError(
            "y must not have negative values, which are not allowed for criterion='poisson', got "
            f"{counts.min():g}"
        )
    if not np.all(counts.sum(axis=0) > 0):
        raise ValueError("y must have a sum above 0 for criterion='poisson', got zeros alone")


@describes_parameters(REGRESSION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class RandomForestRegressor(BaseForestRegressor):
    """A random forest for regression.

    Every tree is grown on a bootstrap sample; every node is split at the best threshold of a few
    features drawn at random [1]_. This class can replace the class of scikit-learn with the same
    name.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        Loss by which splits are chosen; with several outputs, its mean. Leaves hold medians for
        "absolute_error", and means otherwise. "poisson" is the deviance of targets that are not
        negative; "friedman_mse" is the same as "squared_error". Change it for medians or counts.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.4)
    True
    """

    _random_thresholds = False
    _tree_type = RandomTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = 1.0,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_targets: int | None = None,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.keep_targets = keep_targets
        self.max_bins = max_bins
        self.categorical_features = categorical_features


@describes_parameters(REGRESSION_PARAMETERS, FOREST_PARAMETERS, COMMON)
class CompletelyRandomForestRegressor(BaseForestRegressor):
    """A completely-random forest for regression.

    Every node is split at a random threshold of a feature drawn at random. Splits do not depend on
    the targets, except that a node whose targets are all equal is not split [1]_. This class can
    replace ``ExtraTreesRegressor(max_features=1)`` of scikit-learn. With a larger `max_features`,
    a random threshold is drawn for each of these features, and the best one is taken: extra trees.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson", "friedman_mse"}, \
            default="squared_error"
        Loss by which the best of several random thresholds is chosen, and importances are
        computed; with several outputs, its mean. Leaves hold medians for "absolute_error", and
        means otherwise. "poisson" is the deviance of targets that are not negative; "friedman_mse"
        is the same as "squared_error". Change it for medians or counts.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting, Y. Yu and Z.-H. Zhou, "Spectrum of variable-random trees",
       Journal of Artificial Intelligence Research 32, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import CompletelyRandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = CompletelyRandomForestRegressor(random_state=0).fit(X, y)
    >>> forest.predict(X[:2])
    array([151.,  75.])
    """

    _random_thresholds = True
    _tree_type = CompletelyRandomTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        max_features: str | int | float | None = 1,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_targets: int | None = None,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.keep_targets = keep_targets
        self.max_bins = max_bins
        self.categorical_features = categorical_features


# Functions that check the type of an estimator accept these forests in place of scikit-learn's
# forests: partial dependence by recursion, and the tree explainer of shap.
ensemble.RandomForestRegressor.register(RandomForestRegressor)
ensemble.ExtraTreesRegressor.register(CompletelyRandomForestRegressor)
