"""Base class of gradient boosting for classification and regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import RealNotInt, StrOptions

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
from mddf._binning.binned_table import coded_table
from mddf._binning.binner import Binner
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import BoostingTarget, Target
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
from mddf._gradient.prediction import BoostedPredictions
from mddf._gradient.target_encoding import FEWEST_LEVELS, Encoding
from mddf._gradient.training import Boosted, Stopping, boost
from mddf._gradient.trees import BoostedTrees
from mddf._gradient.tuning import MANY_ROWS, Trials, chooses
from mddf._gradient.validation_set import warn_of_no_gain
from mddf._gradient.weights import boosting_weights, within_range
from mddf._input.reading import read_table
from mddf._input.table import Table
from mddf._targets.target_validation import all_weights
from mddf._trees.grower import draw_seeds

if TYPE_CHECKING:
    from typing import Self

# Factor by which the training loss may rise before fit warns of divergence. Targets that are noise
# raise it by some percent where few rows are drawn for each tree.
_DIVERGENCE = 1.5
# Fewest trees for this warning: a single tree on some of a handful of rows can raise the loss of
# the other rows by more than this factor.
_FEWEST_TREES_TO_DIVERGE = 10


@dataclass(frozen=True)
class Plan:
    """Decisions before the trees of a fit are grown.

    Attributes
    ----------
    model : GradientBoosting
        With the chosen depth and regularisation.
    seeds : ndarray of uint64
        One for each tree.
    encoding : Encoding or None
    scores : ndarray or None
        Scores of the rows held out by which the number of trees was chosen.
    """

    model: GradientBoosting
    seeds: np.ndarray
    encoding: Encoding | None
    scores: np.ndarray | None


class GradientBoosting(BoostedPredictions):
    """Base class of gradient boosting.

    Subclasses know the kind of target. In their bases, this class stands before scikit-learn's.
    """

    _entropy: list[int]  # of all random draws
    _large_residual: float = np.inf  # of Huber's loss; models of earlier releases lack it
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

    # Methods of the kind of target

    def _read_target(self, y: npt.ArrayLike, weights: np.ndarray | None) -> BoostingTarget:
        raise NotImplementedError

    def _read_validation_target(
        self, y: npt.ArrayLike, target: Target, weights: np.ndarray | None
    ) -> np.ndarray:
        """Values that the kernel boosts for a validation set."""
        raise NotImplementedError

    def _check_continues(self, target: Target) -> None:
        """Refuse a target that a fit with warm_start=True cannot continue with."""

    def _target_attributes(self, target: Target) -> dict[str, Any]:
        """Fitted attributes that describe the target."""
        return {}

    def _scorer(self, rows: BoostingRows, target: Target) -> Callable[[np.ndarray], float] | None:
        """Function from raw predictions of the rows held out to `scoring`; None for the loss."""
        raise NotImplementedError

    # Fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: npt.ArrayLike | None = None,
        sample_weight_val: npt.ArrayLike | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing values, and categories as given by
            `categorical_features`. Infinities are refused.
        y : array of shape (n_samples,)
            Classes (numbers, strings or booleans) for a classifier, numbers for a regressor.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. If all weights are whole numbers, a weight of k is the same as k equal
            rows (but `min_samples_leaf` counts rows). Otherwise their scale does not matter: they
            are divided by their mean, as are their products with `class_weight`. A few samples,
            fewer than a tenth, count at most 16 times as much as all others together; whole
            numbers with a sum up to 65536 stay as they are.
        X_val, y_val, sample_weight_val : default=None
            Validation set, instead of a share of the training samples. The trees after the best
            round are dropped. With early stopping, growth ends after `n_iter_no_change` rounds
            without a better score. `X_val` must be transformed like `X`: a pipeline does not do
            that. A warning is issued if no round is better than a constant.

        Returns
        -------
        self
        """
        refuse_class("scoring", self.scoring)
        warn_of_ignored(self)
        refuse_booleans("interaction_cst", self.interaction_cst)
        with unchanged_on_failure(self):
            # 1. Read the table, the target and the weights.
            continues = self.warm_start and hasattr(self, "_trees")
            table = self._read_table(X, reset=not continues)
            check_lengths(X, y=y)
            if sample_weight is not None:
                sample_weight = within_range(all_weights(sample_weight, table.shape[0]))
            target = self._read_target(y, sample_weight)
            weights = boosting_weights(target.weights, sample_weight)
            # 2. Bin the table. A warm start keeps the bins and the seeds of the fit before.
            if continues:
                self._check_continues(target.kind)
                binner = self._binner
                binned = binner.recode(table)
            else:
                binner = Binner(
                    self.categorical_features, self.max_bins, self.n_jobs, FEWEST_LEVELS
                )
                binned = binner.fit_transform(table, weights, has_groups=X_val is not None)
                entropy = check_random_state(self.random_state).randint(0, 2**32, 4, np.uint64)
                self._entropy = entropy.tolist()
            rows = BoostingRows.from_table(
                binned, target.values, weights, binner.all_levels(table)
            )
            # 3. Hold rows out: a validation set, or some training rows, or folds of a trial.
            on_trial = False
            if not (X_val is None and y_val is None and sample_weight_val is None):
                validation = self._read_validation(
                    X_val, y_val, sample_weight_val, binner, target.kind
                )
                rows = rows.with_held_out(validation)
            elif chooses(self, len(rows.train), target.kind):
                on_trial = True
            elif self._holds_out(len(rows.train)):
                rows = rows.split(target.kind, self.validation_fraction, self._entropy)
            # 4. Choose the depth, the regularisation and the number of trees, and grow them.
            before = self._trees if continues else None
            fitted = self._boost(rows, target.kind, binner, before, on_trial=on_trial)
            if X_val is not None and not continues:
                warn_of_no_gain(rows, fitted["validation_score_"], fitted["train_score_"], table)
            attributes = self._target_attributes(target.kind)
            self.__dict__.update(fitted, _binner=binner, **attributes)
        return self

    def _read_table(self, X: Any, *, reset: bool) -> Table:
        return read_table(self, X, reset=reset, categorical_features=self.categorical_features)

    def _holds_out(self, n_rows: int) -> bool:
        if self.early_stopping == "auto":
            return n_rows > MANY_ROWS
        return bool(self.early_stopping)

    def _read_validation(
        self,
        X: Any,
        y: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
        binner: Binner,
        target: Target,
    ) -> BoostingRows:
        for name, value, other in (("X_val", X, "y_val"), ("y_val", y, "X_val")):
            if value is None:
                raise ValueError(f"{name} must be passed with {other}, got None")
        assert y is not None
        with naming("X_val"):
            table = self._read_table(X, reset=False)
        check_lengths(X, y_val=y)
        weights = None
        if sample_weight is not None:
            with naming("sample_weight_val"):
                weights = all_weights(sample_weight, table.shape[0])
                weights = boosting_weights(weights, weights)
        with naming("y_val"):
            values = self._read_validation_target(y, target, weights)
        levels = binner.all_levels(table)
        codes = binner.transform(table, levels=levels)
        return BoostingRows.from_table(coded_table(binner.bins_, codes), values, weights, levels)

    def _boost(
        self,
        rows: BoostingRows,
        target: Target,
        binner: Binner,
        before: BoostedTrees | None,
        *,
        on_trial: bool,
    ) -> dict[str, Any]:
        """Grow trees after the trees of the fit before; return the fitted attributes."""
        n_before = before.n_trees if before else 0
        self._check_before(before, n_before)
        plan = self._plan(rows, target, binner.categorical_, n_before, on_trial=on_trial)
        model = plan.model
        options = kernel_options(model, rows.table, target, binner.categorical_, plan.encoding)
        statistics = None
        if plan.encoding is not None:
            statistics_before = self._statistics if before else None
            rows, statistics = rows.ordered(plan.encoding, n_before, statistics_before)
        stops_early = bool(self.early_stopping) and len(rows.held_out) > 0
        if target.n_classes == 1:
            boosted = Boosted.without_trees(rows.table.bins.n_columns, options.symmetric)
        else:
            patience = int(self.n_iter_no_change) if stops_early else 0
            scorer = model._scorer(rows, target) if len(rows.held_out) else None
            boosted = boost(
                rows,
                options,
                plan.seeds,
                stopping=Stopping(patience, float(self.tol), scorer),
                start=before.raw(rows.table.codes, self.n_jobs) if before else None,
                large_residual=self._large_residual if before else np.inf,
                watch_training=True,
                keys=rows.keys if value_of(model, "subsample") < 1 else None,
                progress_label=type(self).__name__ if self.verbose else None,
                n_jobs=self.n_jobs,
            )
        warn_of_divergence(model, rows, target, boosted)
        trees = before.followed_by(boosted.trees) if before else boosted.trees
        scores = {
            "validation_score_": boosted.scores if plan.scores is None else plan.scores,
            "train_score_": boosted.train_scores,
        }
        if before:  # the first new score is the last one of the fit before
            for name, new_scores in scores.items():
                old_scores = getattr(self, name)[: n_before + 1]
                if len(old_scores):
                    scores[name] = np.concatenate([old_scores, new_scores[1:]])
        return {
            **scores,
            "_trees": trees,
            "_statistics": statistics,
            "_large_residual": boosted.large_residual,
            "_target": target,
            "n_iter_": trees.n_trees,
            "n_trees_per_iteration_": 1,
            "do_early_stopping_": stops_early or plan.scores is not None,
            "_chosen": {name: value_of(model, name) for name in PLAIN},
            "is_categorical_": binner.categorical_ if binner.categorical_.any() else None,
        }

    def _plan(
        self,
        rows: BoostingRows,
        target: Target,
        categorical: np.ndarray,
        n_before: int,
        *,
        on_trial: bool,
    ) -> Plan:
        """Choose how trees are grown and how many, by a trial or as the parameters are."""
        encoding = None
        if rows.levels is not None and target.n_classes != 1:
            encoding = Encoding.from_targets(
                rows.levels, rows.y, target.n_classes, self._entropy, self.max_bins
            )
        seeds = draw_seeds(self._entropy, self.max_iter)[n_before:]
        trials = None
        if on_trial:
            trials = Trials.from_rows(
                rows,
                target,
                self,
                categorical=categorical,
                encoding=encoding,
                entropy=self._entropy,
            )
        if trials is None:
            return Plan(self, seeds, encoding, None)
        model = trials.best(self)
        scores = trials.scores(model)
        return Plan(model, seeds[: trials.best_round(model, scores)], encoding, scores)

    def _check_before(self, before: BoostedTrees | None, n_before: int) -> None:
        """Refuse trees that a fit with warm_start=True cannot continue."""
        if n_before > self.max_iter:
            raise ValueError(
                f"with warm_start=True, max_iter must be at least {n_before}, the number of trees "
                f"of the fit before, got {self.max_iter}"
            )
        if before and before.symmetric != (self.grow_policy == SYMMETRIC):
            raise ValueError(
                "with warm_start=True, grow_policy must be the same as in the fit before, got "
                f"{self.grow_policy!r}"
            )


def warn_of_divergence(
    model: GradientBoosting, rows: BoostingRows, target: Target, boosted: Boosted
) -> None:
    """Warn if the loss of the training rows ended far above the loss of a constant.

    Leaves are shortened so that the loss of the rows that a tree was grown on does not rise. If
    rows are drawn for each tree, the loss of the other rows still can.
    """
    n_trees = boosted.trees.n_trees
    if not len(boosted.train_scores) or n_trees < _FEWEST_TREES_TO_DIVERGE:
        return
    least = target.least_loss(rows.y[rows.train], rows.train_weights)
    before = -boosted.train_scores[0] - least
    after = -boosted.train_scores[n_trees] - least
    if not after <= _DIVERGENCE * max(before, 0):
        warn(
            f"boosting diverged: the training loss rose from {before:.3g} to {after:.3g}, counted "
            "from the least possible loss. Pass a smaller learning_rate, got "
            f"{model.learning_rate!r}, or a larger subsample, got "
            f"{value_of(model, 'subsample')!r}",
            kind="boosting diverged",
        )
