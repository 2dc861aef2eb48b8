"""Base class of gradient boosting for classification and regression."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._metadata_requests import MetadataRequest
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.validation import (
    check_lengths,
    fit_context,
    naming,
    plain_parameters,
    refuse_booleans,
    refuse_changed,
    refuse_class,
    unchanged_on_failure,
)
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._binning.column_table import ColumnTable
from mddf._core import BoostOptions
from mddf._fitted.base_estimators import TableEstimator
from mddf._fitted.batching import Conversion, in_blocks
from mddf._fitted.fitted_model import one_stage
from mddf._gradient.custom_loss import CustomLoss, GradientHessian
from mddf._gradient.dataset import BoostingRows, Units, encoding_of
from mddf._gradient.elapsed_days import helpful_days
from mddf._gradient.fit_warnings import (
    warn_of_copies,
    warn_of_divergence,
    warn_of_limit,
    warn_of_no_gain,
)
from mddf._gradient.fitted_trees import FittedBoosting
from mddf._gradient.losses import BoostingTarget, TargetKind
from mddf._gradient.offsets import read_offset
from mddf._gradient.options import (
    GRADIENT,
    NEWTON,
    PLAIN,
    is_auto,
    kernel_options,
    may_have_linear_leaves,
    scores_by_loss,
    value_of,
    warn_of_ignored,
)
from mddf._gradient.parameters import CONSTRAINTS, FIXED_PARAMETERS
from mddf._gradient.rounds import Rounds, most_rounds
from mddf._gradient.target_statistics import FEWEST_LEVELS, Encoding, TargetStatistics
from mddf._gradient.training import Boosted, Fold, boost
from mddf._gradient.trees import BoostedTrees
from mddf._gradient.tuning import (
    MAX_ROWS_WITH_FOLDS,
    Trials,
    uses_trials,
    with_parameters,
)
from mddf._gradient.validation import refuse_incomplete, validation_folds
from mddf._gradient.weights import boosting_weights, within_range
from mddf._input.date_columns import sums_by_feature
from mddf._input.reading import read_table
from mddf._input.table import Table
from mddf._input.table_warnings import TableWarnings
from mddf._input.target_copies import TargetCopies
from mddf._resampling.folds import ask_for_groups, gives_folds, group_numbers
from mddf._resampling.time_order import X_for_splitter, time_column
from mddf._targets.target_validation import all_weights, plain_array

if TYPE_CHECKING:
    from typing import Self


class GradientBoosting(TableEstimator):
    """Base class of gradient boosting for classification and regression.

    Subclasses implement the methods that depend on the kind of target. They list this class before
    the mixins of scikit-learn.
    """

    # Parameters, which the constructors of the subclasses store.
    loss: str | GradientHessian | CustomLoss
    learning_rate: float | str
    max_iter: int | str
    grow_policy: str
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float | str
    max_features: float | str | None
    subsample: float | str
    max_bins: int
    linear_leaves: bool | str
    split_score: str
    monotonic_cst: npt.ArrayLike | dict[str, int] | None
    interaction_cst: str | Sequence[Iterable[int]] | None
    early_stopping: bool | str
    scoring: str | Callable[..., float] | None
    validation_fraction: float | None
    cv: Any
    n_iter_no_change: int
    tol: float
    warm_start: bool
    random_state: int | np.random.RandomState | None
    verbose: int

    _entropy: list[int]  # entropy of all random draws
    _large_residual: float  # state of Huber's loss
    _chosen: dict[str, Any]
    _split_score: str
    _fixed: dict[str, Any]
    validation_score_: np.ndarray
    train_score_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS
    _fixed_parameters: ClassVar[tuple[str, ...]] = FIXED_PARAMETERS

    @property
    def _continues(self) -> bool:
        """Whether fit keeps the trees of an earlier fit."""
        return self.warm_start and self.__sklearn_is_fitted__()

    # Methods that depend on the kind of target

    def _loss_quantile(self) -> float:
        """Quantile of the loss; losses without one ignore it."""
        return 0.5

    def _read_target(self, y: npt.ArrayLike, weights: np.ndarray | None) -> BoostingTarget:
        raise NotImplementedError

    def _read_validation_target(
        self, y: npt.ArrayLike, target: TargetKind, weights: np.ndarray | None
    ) -> np.ndarray:
        """Convert the targets of a validation set to the values that the kernel gets."""
        raise NotImplementedError

    def _check_continues(self, target: TargetKind) -> None:
        """Refuse a target with which a fit with warm_start=True cannot continue."""
        if target.loss != self._target.loss:
            raise ValueError(
                f"with warm_start=True, loss must be {short(self._target.loss)}, as in the fit "
                f"before, got {short(self.loss)}"
            )

    def _target_attributes(self, target: TargetKind) -> dict[str, Any]:
        return {}

    def _scorer(
        self, rows: BoostingRows, target: TargetKind
    ) -> Callable[[np.ndarray], float] | None:
        """Function that scores raw predictions of the held-out rows; None for the loss."""
        raise NotImplementedError

    # Fitting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        groups: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        X_val: Any = None,
        y_val: npt.ArrayLike | None = None,
        sample_weight_val: npt.ArrayLike | None = None,
        offset_val: npt.ArrayLike | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing values, and categories as given by
            `categorical_features`. Infinities are refused.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Classes (numbers, strings or booleans) for a classifier, numbers for a regressor, which
            may be several for each sample.
        sample_weight : array of shape (n_samples,), default=None
            Weights must not be negative. If all are whole numbers, a weight of k is the same as k
            equal rows, except that `min_samples_leaf` counts rows. Otherwise the weights are
            divided by their mean, so that their scale does not matter; the same holds for their
            products with `class_weight`. A few samples (fewer than a tenth) have at most 16 times
            the weight of all other samples together, unless all weights are whole numbers with a
            sum of at most 65536.
        groups : array of shape (n_samples,), default=None
            Samples of one group are held out together when the number of trees is chosen.
        offset : array of shape (n_samples,) or (n_samples, n_scores), default=None
            Known part of the raw prediction of each sample, to which the trees are added. With a
            logarithmic link (such as "poisson"), it is the logarithm of the exposure. For a
            classifier it is a part of `decision_function`, with a column for each class if there
            are more than two. With several targets it has a column for each of them. It is not
            part of the model: pass the offset of new samples to `predict`, which otherwise
            predicts for offset 0.
        X_val, y_val, sample_weight_val, offset_val : default=None
            Validation set, used instead of a share of the training samples. The trees after the
            best round are dropped. With early stopping, growth ends after `n_iter_no_change`
            rounds without a better score. `class_weight` has the factors of the training samples
            there. `X_val` must be transformed like `X`, which a pipeline
            does not do. A warning is issued if no round is better than a constant.

        Returns
        -------
        self
        """
        refuse_class("scoring", self.scoring)
        refuse_class("loss", self.loss)
        warn_of_ignored(self)
        refuse_booleans("interaction_cst", self.interaction_cst)
        with unchanged_on_failure(self):
            # 1. Read and bin the training rows.
            continues = self._continues
            holds_groups_out = groups is not None or gives_folds(self.cv) or X_val is not None
            table, binner, target, rows = self._read_rows(
                X, y, sample_weight, groups, offset, holds_groups_out=holds_groups_out
            )
            # 2. Hold rows out: a validation set, folds of trials, or a share of the training rows.
            kind = target.kind
            has_validation_set = any(
                part is not None for part in (X_val, y_val, sample_weight_val, offset_val)
            )
            self._check_score(kind, has_validation_set=has_validation_set)
            on_trial = not has_validation_set and uses_trials(self, len(rows.train), kind)
            folds = None
            units = None
            if has_validation_set:
                rows = self._with_validation_set(
                    rows,
                    target,
                    binner,
                    X=X_val,
                    y=y_val,
                    sample_weight=sample_weight_val,
                    offset=offset_val,
                )
            elif on_trial or self._holds_out(len(rows.train), kind):
                X = X_for_splitter(X, self.cv, partial(binner.numbers, table))
                folds = validation_folds(self, X, rows, kind, groups, entropy=self._entropy)
                rows, units = self._hold_out(rows, kind, folds, on_trial=on_trial)
            if folds is None and groups is not None:
                group_numbers(groups, target.values, self.cv)  # refuses invalid groups
            # 3. Choose the depth, the regularisation and the number of trees, and grow them.
            units_of_trials = (units or rows.units) if on_trial else None
            fitted = self._boost(rows, kind, binner, units_of_trials, folds)
            if X_val is not None and not continues:
                warn_of_no_gain(rows, fitted["validation_score_"], fitted["train_score_"], table)
            if units is not None:
                warn_of_copies(self, units, fitted["validation_score_"], fitted["n_iter_"])
            self.__dict__.update(fitted, **self._target_attributes(kind))
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Metadata that `fit` requests: groups, if `cv` is a splitter that uses them.

        Returns
        -------
        MetadataRequest
        """
        request = super().get_metadata_routing()
        return ask_for_groups(request, self.cv)

    def _read_table(self, X: Any, *, reset: bool, elapsed: Collection[str] = ()) -> Table:
        return read_table(
            self,
            X,
            reset=reset,
            categorical_features=self.categorical_features,
            time=time_column(self.cv),
            elapsed=elapsed,
        )

    def _bin(
        self, table: Table, y: npt.ArrayLike, weights: np.ndarray | None, *, has_groups: bool
    ) -> tuple[Binner, BinnedTable | ColumnTable]:
        """Fit a binner to a table, and bin the table, in a file if the user named a folder."""
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs, FEWEST_LEVELS)
        fit_binner = binner.fit_transform if table.codes_folder is None else binner.fit_to_file
        warnings = TableWarnings(
            table,
            weights,
            TargetCopies(plain_array(y, "y"), are_classes=is_classifier(self)),
            has_groups=has_groups,
            warns_of_time=bool(self.early_stopping),
        )
        binned: BinnedTable | ColumnTable = fit_binner(table, weights, warnings=warnings)
        return binner, binned

    def _holds_out(self, n_rows: int, target: TargetKind) -> bool:
        if self.early_stopping == "auto":
            has_score = target.has_loss or not scores_by_loss(self)
            return n_rows > MAX_ROWS_WITH_FOLDS and has_score
        return bool(self.early_stopping)

    def _check_score(self, target: TargetKind, *, has_validation_set: bool) -> None:
        """Refuse to score held-out rows by a custom loss without a function for its values."""
        if target.has_loss or not scores_by_loss(self):
            return
        if has_validation_set or (self.early_stopping and self.early_stopping != "auto"):
            raise ValueError(
                "loss must be a CustomLoss with the function `loss`, or scoring a scorer, if "
                f"held-out samples are scored, got scoring='loss' and loss={short(self.loss)}"
            )

    def _read_rows(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        groups: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
        *,
        holds_groups_out: bool,
    ) -> tuple[Table, Binner, BoostingTarget, BoostingRows]:
        """Read the table, the target and the weights, and bin the table.

        A warm start keeps the bins and the seeds of the fit before.
        """
        continues = self._continues
        if continues:
            refuse_changed(self._fixed, plain_parameters(self, self._fixed_parameters))
        elapsed = () if continues else helpful_days(self, X, y, sample_weight)
        table = self._read_table(X, reset=not continues, elapsed=elapsed)
        check_lengths(X, y=y, groups=groups)
        if sample_weight is not None:
            sample_weight = within_range(all_weights(sample_weight, table.shape[0]))
        target = self._read_target(y, sample_weight)
        weights = boosting_weights(target.weights, sample_weight)
        if continues:
            self._check_continues(target.kind)
            binner = self._binner
            in_memory = table.codes_folder is None
            binned = binner.recode(table) if in_memory else binner.recode_to_file(table)
        else:
            binner, binned = self._bin(table, y, weights, has_groups=holds_groups_out)
            entropy = check_random_state(self.random_state).randint(0, 2**32, 4, np.uint64)
            self._entropy = entropy.tolist()
        offsets = None if offset is None else read_offset(offset, table, target.kind)
        levels = binner.all_levels(table)
        rows = BoostingRows.from_table(binned, target.values, weights, levels, offsets)
        return table, binner, target, rows

    def _hold_out(
        self, rows: BoostingRows, target: TargetKind, folds: list[Fold] | None, *, on_trial: bool
    ) -> tuple[BoostingRows, Units | None]:
        """Hold out the first fold, or a share of the rows; trials hold rows out later.

        Also returns the units of rows that fit itself holds out.
        """
        units = None
        if folds is None and (on_trial or self.validation_fraction is not None):
            units = rows.units
        if on_trial:
            return (rows if units is None else units.rows), units
        if folds is None:
            return rows.split(target, self.validation_fraction, self._entropy), units
        train, held_out = folds[0]
        return replace(rows, train=train, held_out=held_out), units

    def _with_validation_set(
        self,
        rows: BoostingRows,
        target: BoostingTarget,
        binner: Binner,
        *,
        X: Any,
        y: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
    ) -> BoostingRows:
        refuse_incomplete(X, y)
        assert y is not None
        with naming("X_val"):
            table = self._read_table(X, reset=False)
        check_lengths(X, y_val=y)
        weights = None
        if sample_weight is not None:
            with naming("sample_weight_val"):
                weights = all_weights(sample_weight, table.shape[0])
        with naming("y_val"):
            values = self._read_validation_target(y, target.kind, weights)
        with naming("sample_weight_val"):
            weights = target.validation_weights(weights, values)
        levels = binner.all_levels(table)
        codes = binner.encode(table, levels=levels, n_jobs=self.n_jobs).codes
        offsets = None
        if offset is not None:
            offsets = read_offset(offset, table, target.kind, "offset_val")
        if (rows.offset is not None) != (offset is not None):
            raise ValueError(
                "offset_val must be passed with offset and a validation set, and not without "
                f"offset, got {short(offset)}"
            )
        return rows.with_held_out(codes, values, weights, levels, offsets)

    def _boost(
        self,
        rows: BoostingRows,
        target: TargetKind,
        binner: Binner,
        units: Units | None = None,  # of rows that trials hold out together; None: no trials
        folds: list[Fold] | None = None,  # of trials; None: made of the units
    ) -> dict[str, Any]:
        """Grow trees, after the trees of an earlier fit if any; return the fitted attributes."""
        before = self._trees if self._continues else None
        n_before = before.n_trees if before else 0
        self._check_before(before, n_before)
        # 1. Choose the parameters and the number of trees, by trials or as the user set them.
        n_rows = rows.n_rows_of_table
        model, encoding, rounds, trial_scores = self._choose(
            rows, target, binner.categorical_, units, folds
        )
        rounds = rounds[n_before:]
        chosen = {name: value_of(model, name, n_rows) for name in PLAIN}
        # 2. Grow the trees, both with and without linear leaves if held-out rows choose.
        options = [
            kernel_options(tried, rows.table, target, binner.categorical_, encoding, n_rows=n_rows)
            for tried in _with_leaves_to_try(model, rows, before)
        ]
        statistics = None
        if encoding is not None:
            statistics_before = self._statistics if before else None
            rows, statistics = rows.ordered(encoding, n_before, statistics_before)
        stops_early = bool(self.early_stopping) and rows.any_held_out
        draws_rows = chosen["subsample"] < 1
        candidates = [
            model._grow(
                rows, target, option, rounds,
                patience=int(self.n_iter_no_change) if stops_early else 0,
                before=before, draws_rows=draws_rows,
            )
            for option in options
        ]  # fmt: skip
        boosted = max(candidates, key=lambda candidate: candidate.scores.max(initial=-np.inf))
        # 3. Warn, and join the trees and scores to those of the earlier fit.
        warn_of_divergence(model, rows, target, boosted)
        trees = before.followed_by(boosted.trees) if before else boosted.trees
        validation_scores = boosted.scores if trial_scores is None else trial_scores
        warn_of_limit(self, validation_scores, n_before)
        train_scores = boosted.train_scores
        if before:
            validation_scores = _joined_scores(self.validation_score_, n_before, validation_scores)
            train_scores = _joined_scores(self.train_score_, n_before, train_scores)
        is_categorical = binner.categorical_[: self.n_features_in_]  # without parts of dates
        return {
            "validation_score_": validation_scores,
            "train_score_": train_scores,
            "_fitted": one_stage(
                binner, FittedBoosting.from_trees(trees, target, statistics), target.link
            ),
            "_large_residual": boosted.large_residual,
            "n_iter_": trees.n_trees,
            "n_trees_per_iteration_": 1,
            "do_early_stopping_": stops_early or trial_scores is not None,
            "_chosen": chosen,
            "_fixed": plain_parameters(self, self._fixed_parameters),
            "_split_score": GRADIENT if model.split_score == GRADIENT else NEWTON,
            "is_categorical_": is_categorical if is_categorical.any() else None,
        }

    def _choose(
        self,
        rows: BoostingRows,
        target: TargetKind,
        categorical: np.ndarray,
        units: Units | None,
        folds: list[Fold] | None,
    ) -> tuple[GradientBoosting, Encoding | None, Rounds, np.ndarray | None]:
        """Choose the parameters and the number of trees, by trials or as the user set them.

        Returns a model with the parameters, settings of target statistics if there are any, the
        rounds, and the scores of trials.
        """
        any_held_out = units is not None or rows.any_held_out
        n_rounds = most_rounds(self, any_held_out=any_held_out)
        rounds = Rounds.of_model(self, self._entropy, n_rounds, rows.n_rows_of_table)
        encoding = None
        if rows.levels is not None and target.n_classes != 1:
            encoding = encoding_of(rows, target, self._entropy, self.max_bins)
        if units is None:
            return self, encoding, rounds, None
        trials = Trials.from_rows(
            rows, target, self, units, folds, categorical=categorical, encoding=encoding
        )
        if not trials.folds:
            return self, encoding, rounds, None
        trials, model = trials.race(self)
        scores = trials.scores(model)
        return model, trials.encoding, rounds[: trials.best_round(model, scores)], scores

    def _grow(
        self,
        rows: BoostingRows,
        target: TargetKind,
        options: BoostOptions,
        rounds: Rounds,
        *,
        patience: int,
        before: BoostedTrees | None,
        draws_rows: bool,
    ) -> Boosted:
        """Grow the trees of these rounds, after the trees of an earlier fit if any."""
        if target.n_classes == 1:
            trees = BoostedTrees.none(rows.table.bins.n_columns, options.symmetric)
            return Boosted(trees, np.zeros(0), np.zeros(0), np.zeros((0, 1)))
        return boost(
            rows,
            options,
            rounds,
            patience=patience,
            tol=float(self.tol),
            score=self._scorer(rows, target) if rows.any_held_out else None,
            start=rows.raw_of(before, self.n_jobs) if before else None,
            large_residual=self._large_residual if before else np.inf,
            watch_training=True,
            keys=rows.draw_keys if draws_rows else None,
            objective=target.objective,
            progress_label=type(self).__name__ if self.verbose else None,
            n_jobs=self.n_jobs,
        )

    def _check_before(self, before: BoostedTrees | None, n_before: int) -> None:
        """Refuse trees that a fit with warm_start=True cannot continue."""
        if not is_auto(self, "max_iter") and n_before > int(self.max_iter):
            raise ValueError(
                f"with warm_start=True, max_iter must be at least {n_before}, the number of trees "
                f"of the fit before, got {self.max_iter}"
            )
        may_change = is_auto(self, "linear_leaves")
        if before and not may_change and before.has_linear_leaves != bool(self.linear_leaves):
            raise ValueError(
                "with warm_start=True, linear_leaves must be the same as in the fit before or "
                f"'auto', got {self.linear_leaves!r}"
            )

    # Predictions and attributes of a fitted model.

    @property
    def _member(self) -> FittedBoosting:
        member = self._fitted.members[0]
        assert isinstance(member, FittedBoosting)
        return member

    @property
    def _trees(self) -> BoostedTrees:
        return self._member.trees

    @property
    def _target(self) -> TargetKind:
        return self._member.target

    @property
    def _statistics(self) -> TargetStatistics | None:
        return self._member.statistics

    def _predict_in_blocks(
        self,
        X: Any,
        convert: Conversion | None = None,
        *,
        finish: bool = True,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        table = self._read_new_rows(X)
        offsets = None if offset is None else read_offset(offset, table, self._target)
        return self._fitted.predict(table, self.n_jobs, convert, finish=finish, offset=offsets)

    def _staged_raw(self, X: Any, offset: npt.ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Yield raw predictions after each tree; the arrays are used again for the next tree."""
        table = self._read_new_rows(X)
        rows = self._fitted.encode(table, self.n_jobs).block(0, table.shape[0])
        staged = self._trees.staged(self._member.tree_codes(rows), self.n_jobs)
        if offset is None:
            return staged
        offsets = read_offset(offset, table, self._target)
        return (raw + offsets for raw in staged)

    def apply(self, X: Any) -> np.ndarray:
        """Find the leaf of each tree that each sample ends in.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32 of shape (n_samples, n_iter_)
            Leaf numbers, which are distinct within a tree. The number of a leaf of a symmetric
            tree has one bit for each level, 1 for right. Several numbers may denote one leaf,
            because the split of a level can leave a node undivided.
        """
        rows = self._fitted_stages().encode(self._read_new_rows(X), self.n_jobs)
        # A byte for each code, and the leaves (int32) with a temporary copy.
        row_bytes = self._trees.n_columns + 2 * 4 * self._trees.n_trees

        def leaves(first: int, end: int) -> list[np.ndarray]:
            return [self._trees.leaves(self._member.tree_codes(rows.block(first, end)))]

        (leaves_of_rows,) = in_blocks(rows.n_rows, row_bytes, leaves)
        return leaves_of_rows

    @property
    def max_depth_(self) -> int | None:
        """Depth of the deepest symmetric tree; None for leaf-wise trees."""
        check_is_fitted(self)
        levels = np.diff(self._trees.arrays["first_split"])
        return int(levels.max(initial=0)) if self._trees.symmetric else None

    @property
    def split_score_(self) -> str:
        """Score of the splits: "newton" or "gradient"."""
        check_is_fitted(self)
        return self._split_score

    @property
    def linear_leaves_(self) -> bool:
        """Whether the leaves are linear functions."""
        check_is_fitted(self)
        return self._trees.has_linear_leaves

    @property
    def chosen_(self) -> dict[str, Any]:
        """Values of `max_features`, `l2_regularization` and `subsample` that fit used."""
        check_is_fitted(self)
        return dict(self._chosen)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Gain of the splits of each feature, scaled to sum 1; zeros without splits."""
        check_is_fitted(self)
        gains = self._trees.importances()
        if self._statistics is not None:
            gains = self._statistics.shared(gains)
        return sums_by_feature(self, gains)


def _with_leaves_to_try(
    model: GradientBoosting, rows: BoostingRows, before: BoostedTrees | None
) -> list[GradientBoosting]:
    """Copies of a model with constant leaves, and with linear leaves if held-out rows choose.

    Trees of a fit before decide about the trees that follow them.
    """
    if not is_auto(model, "linear_leaves"):
        return [model]
    if before:
        return [with_parameters(model, linear_leaves=before.has_linear_leaves)]
    models = [with_parameters(model, linear_leaves=False)]
    if rows.any_held_out and may_have_linear_leaves(model):
        models.append(with_parameters(model, linear_leaves=True))
    return models


def _joined_scores(scores_before: np.ndarray, n_before: int, scores: np.ndarray) -> np.ndarray:
    """Scores of the fit before, followed by new scores, the first of which is its last one."""
    if not len(scores_before):
        return scores
    return np.concatenate([scores_before[: n_before + 1], scores[1:]])
