"""What gradient boosting of classes and of numbers shares."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import RealNotInt, StrOptions

from mddf import _core
from mddf._base.messages import warn
from mddf._base.validation import (
    COUNT,
    JOBS,
    Within,
    check_lengths,
    finite,
    max_features_among,
    naming,
    refuse_booleans,
    refuse_class,
    unchanged_on_failure,
)
from mddf._binning.binner import Binner
from mddf._gradient.dataset import Rows
from mddf._gradient.options import (
    AUTO,
    LEAF_WISE,
    MOST_LEAVES,
    PLAIN,
    SYMMETRIC,
    kernel_options,
    value_of,
    warn_of_ignored,
)
from mddf._gradient.prediction import AsksBoostedTrees
from mddf._gradient.target_encoding import FEWEST_LEVELS, Encoding
from mddf._gradient.training import Boosted, Stopping, boost
from mddf._gradient.trees import BoostedTrees
from mddf._gradient.tuning import MANY_ROWS, Trials, chooses
from mddf._gradient.validation_set import warn_of_no_gain
from mddf._gradient.weights import boosting_weights, within_range
from mddf._input.reading import read_table
from mddf._targets.target_validation import all_weights
from mddf._trees.grower import draw_seeds

# By what factor the training loss may rise where few rows are drawn for each tree. If the targets
# are noise, it rises by some percent.
_DIVERGENCE = 1.5
# Fewer trees than this are no trend: a single tree on some of a handful of rows can raise the loss
# of the others that much.
_FEWEST_TREES_TO_DIVERGE = 10


class GradientBoosting(AsksBoostedTrees):
    """What gradient boosting of classes and of numbers shares.

    It comes before scikit-learn's classes among the bases of those, which say what a target is.
    """

    _entropy: list[int]
    _large_residual: float = np.inf  # of Huber's loss; of fits of earlier releases, not known
    validation_score_: np.ndarray
    train_score_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "learning_rate": [finite(closed="right")],
        "max_iter": [COUNT],
        "grow_policy": [StrOptions({SYMMETRIC, LEAF_WISE})],
        "max_leaf_nodes": [Within(Integral, 2, MOST_LEAVES, closed="both"), None],
        "max_depth": [Within(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Within(Integral, 1, None, closed="left")],
        "l2_regularization": [finite(), StrOptions({AUTO})],
        "max_features": max_features_among("sqrt", "log2", AUTO),
        "subsample": [Within(Real, 0, 1, closed="right"), StrOptions({AUTO})],
        "max_bins": [Within(Integral, 2, 255, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "scoring": [str, callable, None],
        "validation_fraction": [
            Within(RealNotInt, 0, 1, closed="neither"),
            Within(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [COUNT],
        "tol": [finite()],
        "warm_start": ["boolean"],
        "n_jobs": JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: Any,
        *,
        learning_rate: Any,
        max_iter: Any,
        grow_policy: Any,
        max_leaf_nodes: Any,
        max_depth: Any,
        min_samples_leaf: Any,
        l2_regularization: Any,
        max_features: Any,
        subsample: Any,
        max_bins: Any,
        categorical_features: Any,
        monotonic_cst: Any,
        interaction_cst: Any,
        early_stopping: Any,
        scoring: Any,
        validation_fraction: Any,
        n_iter_no_change: Any,
        tol: Any,
        warm_start: Any,
        n_jobs: Any,
        random_state: Any,
        verbose: Any,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.grow_policy = grow_policy
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # What a target is

    def _read(
        self, y: Any, weights: np.ndarray | None
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """What a user passed as y: the target, what is boosted, and weights in the loss."""
        raise NotImplementedError

    def _read_more(self, y: Any, target: Any, weights: np.ndarray | None) -> np.ndarray:
        """What is boosted of a validation set."""
        raise NotImplementedError

    def _check_again(self, target: Any) -> None:
        """Refuse a target that a fit with warm_start=True cannot go on with."""

    def _learnt(self, target: Any) -> dict[str, Any]:
        """The attributes by which a fitted model knows a target."""
        return {}

    def _score(self, rows: Rows, target: Any) -> Callable[[np.ndarray], float] | None:
        """From raw predictions of the rows held out to `scoring`; None for the loss."""
        raise NotImplementedError

    # Fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Any:
        """Boost.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,)
            Classes: numbers, strings or booleans. Of a regressor: numbers.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. If all weights are whole numbers, a weight of k is the same as k equal
            rows (but `min_samples_leaf` counts rows). Otherwise their scale does not matter: they
            are divided by their mean, as are their products with `class_weight`. A few samples,
            fewer than a tenth, count at most 16 times as much as all others together; whole
            numbers with a sum up to 65536 stay as they are.
        X_val, y_val, sample_weight_val : default=None
            Samples to stop by, instead of a share of those that are fitted. The rounds after the
            best one are dropped, and with early stopping no more are grown after
            `n_iter_no_change` without a better score. `X_val` must be transformed as `X` is: a
            pipeline does not do it. A warning says that no round was better than a constant.

        Returns
        -------
        self
        """
        refuse_class("scoring", self.scoring)
        warn_of_ignored(self)
        refuse_booleans("interaction_cst", self.interaction_cst)
        with unchanged_on_failure(self):
            again = self.warm_start and hasattr(self, "_trees")
            table = read_table(
                self, X, reset=not again, categorical_features=self.categorical_features
            )
            check_lengths(X, y=y)
            if sample_weight is not None:
                sample_weight = within_range(all_weights(sample_weight, table.shape[0]))
            target, values, row_weights = self._read(y, sample_weight)
            weights = boosting_weights(row_weights, sample_weight)
            if again:
                self._check_again(target)
                binner, binned = self._binner, self._binner.recode(table)
            else:
                binner = Binner(
                    self.categorical_features, self.max_bins, self.n_jobs, FEWEST_LEVELS
                )
                binned = binner.fit_transform(table, weights, has_groups=X_val is not None)
                drawn = check_random_state(self.random_state).randint(0, 2**32, 4, np.uint64)
                self._entropy = drawn.tolist()
            rows = Rows.of(binned, values, weights, binner.all_levels(table))
            validation = X_val, y_val, sample_weight_val
            on_trial = False
            if any(part is not None for part in validation):
                rows = rows.with_others(*self._read_validation(*validation, binner, target))
            elif chooses(self, len(rows.train), target):
                on_trial = True
            elif self._holds_out(len(rows.train)):
                rows = rows.split(target, self.validation_fraction, self._entropy)
            fitted = self._boost(rows, target, binner, self._trees if again else None, on_trial)
            if X_val is not None and not again:
                warn_of_no_gain(rows, fitted["validation_score_"], fitted["train_score_"], table)
            self.__dict__.update(fitted, _binner=binner, **self._learnt(target))
        return self

    def _holds_out(self, n_rows: int) -> bool:
        if self.early_stopping == "auto":
            return n_rows > MANY_ROWS
        return bool(self.early_stopping)

    def _read_validation(
        self, X: Any, y: Any, sample_weight: Any, binner: Binner, target: Any
    ) -> Any:
        """Codes, values and weights of another table."""
        for name, part, other in (("X_val", X, "y_val"), ("y_val", y, "X_val")):
            if part is None:
                raise ValueError(f"{name} must be there with {other}, got None")
        with naming("X_val"):
            table = read_table(
                self, X, reset=False, categorical_features=self.categorical_features
            )
        check_lengths(X, y_val=y)
        weights = None
        if sample_weight is not None:
            with naming("sample_weight_val"):
                weights = all_weights(sample_weight, table.shape[0])
                weights = boosting_weights(weights, weights)
        with naming("y_val"):
            values = self._read_more(y, target, weights)
        levels = binner.all_levels(table)
        return binner.transform(table, levels=levels), values, weights, levels

    def _boost(
        self,
        rows: Rows,
        target: Any,
        binner: Binner,
        before: BoostedTrees | None,
        on_trial: bool,
    ) -> dict[str, Any]:
        """Attributes, from trees that are grown here after those that there are."""
        n_before = before.n_trees if before else 0
        self._check_before(before, n_before)
        model: Any = self
        encoding, statistics, chosen, trials = None, None, None, None
        if rows.levels is not None and target.n_classes != 1:
            encoding = Encoding.of(
                rows.levels, rows.y, target.n_classes, self._entropy, self.max_bins
            )
        if on_trial:
            trials = Trials.of(self, rows, target, binner.categorical_, encoding, self._entropy)
        seeds = draw_seeds(self._entropy, self.max_iter)[n_before:]
        if trials is not None:
            model = trials.best(self)
            chosen = trials.scores(model)
            seeds = seeds[: trials.best_round(model, chosen)]
        options = kernel_options(model, rows.table, target, binner.categorical_, encoding)
        if encoding is not None:
            rows, statistics = rows.ordered(
                encoding, n_before, self._statistics if before else None
            )
        stops = bool(self.early_stopping) and len(rows.held_out) > 0
        grown = model._grow(rows, target, options, seeds, before, stops)
        warn_of_divergence(model, rows, target, grown)
        trees = before.followed_by(grown.trees) if before else grown.trees
        held_out_scores = grown.scores if chosen is None else chosen
        scores = {"validation_score_": held_out_scores, "train_score_": grown.train_scores}
        if before:  # the first score of each is the last one of the fit before
            for name, new in scores.items():
                old = getattr(self, name)[: n_before + 1]
                scores[name] = np.concatenate([old, new[1:]]) if len(old) else new
        return {
            **scores,
            "_trees": trees,
            "_statistics": statistics,
            "_large_residual": grown.large_residual,
            "_target": target,
            "n_iter_": trees.n_trees,
            "n_trees_per_iteration_": 1,
            "do_early_stopping_": stops or chosen is not None,
            "_chosen": {name: value_of(model, name) for name in PLAIN},
            "is_categorical_": binner.categorical_ if binner.categorical_.any() else None,
        }

    def _check_before(self, before: BoostedTrees | None, n_before: int) -> None:
        """Refuse trees that a fit with warm_start=True cannot go on with."""
        if n_before > self.max_iter:
            raise ValueError(
                f"with warm_start=True, max_iter must be at least {n_before}, the number of trees "
                f"there are, got {self.max_iter}"
            )
        if before and before.symmetric != (self.grow_policy == SYMMETRIC):
            raise ValueError(
                f"with warm_start=True, grow_policy must be that of the trees there are, got "
                f"{self.grow_policy!r}"
            )

    def _grow(
        self,
        rows: Rows,
        target: Any,
        options: _core.BoostOptions,
        seeds: np.ndarray,
        before: BoostedTrees | None,
        stops: bool,
    ) -> Boosted:
        if target.n_classes == 1:
            return Boosted.nothing(rows.table.bins.n_columns, options.symmetric)
        return boost(
            rows.table,
            rows.y,
            rows.weights,
            rows.train,
            rows.held_out,
            options,
            seeds,
            stopping=Stopping(
                int(self.n_iter_no_change) if stops else 0,
                float(self.tol),
                self._score(rows, target) if len(rows.held_out) else None,
            ),
            start=before.raw(rows.table.codes, self.n_jobs) if before else None,
            large_residual=self._large_residual if before else np.inf,
            watch_training=True,
            keys=rows.keys if value_of(self, "subsample") < 1 else None,
            shown=type(self).__name__ if self.verbose else None,
            n_jobs=self.n_jobs,
        )

    def _quantile(self) -> float:
        """The quantile of a loss that has one."""
        return 0.5


def warn_of_divergence(model: Any, rows: Rows, target: Any, grown: Boosted) -> None:
    """Warn if the loss of the training rows ended far above that of a constant.

    Leaves are shortened so that the loss of the rows that a tree was grown on does not rise. If
    these were drawn, the loss of the others still can.
    """
    if not len(grown.train_scores) or grown.trees.n_trees < _FEWEST_TREES_TO_DIVERGE:
        return
    least = target.least_loss(rows.y[rows.train], rows.train_weights)
    before = -grown.train_scores[0] - least
    after = -grown.train_scores[grown.trees.n_trees] - least
    if not after <= _DIVERGENCE * max(before, 0):
        warn(
            f"boosting diverged: the training loss rose from {before:.3g} to {after:.3g}, counted "
            "from the least possible loss. Pass a smaller learning_rate, got "
            f"{model.learning_rate!r}, or a larger subsample, got {value_of(model, 'subsample')!r}"
        )
