"""What gradient boosting of classes and of numbers shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf import _core
from mddf._data.binned_table import BinnedTable
from mddf._data.binner import Binner, NewRows
from mddf._data.blocks import by_blocks
from mddf._data.levels import Levels
from mddf._data.reading import read_table
from mddf._data.table import Table
from mddf._data.validation import (
    COUNT,
    JOBS,
    MOST,
    Within,
    all_weights,
    check_lengths,
    finite,
    naming,
    refuse_class,
    unchanged_on_failure,
)
from mddf._ensemble.stages import FittedStages, one_stage
from mddf._forest.parameters import resolve_max_features
from mddf._gradient.growing import Boosted, Stopping, boost, boost_folds
from mddf._gradient.inputs import (
    LEAF_WISE,
    SYMMETRIC,
    Rows,
    drawn_entropy,
    interaction_groups,
    monotonic_signs,
    within_range,
)
from mddf._gradient.losses import Labels
from mddf._gradient.stages import BoostedMember
from mddf._gradient.statistics import (
    FEWEST_LEVELS,
    Encoding,
    TargetStatistics,
)
from mddf._gradient.trees import BoostedTrees
from mddf._trees.grower import draw_seeds

# Of symmetric trees, by default.
_DEPTH, _DEEPEST = 6, 16
_MOST_LEAVES = 65535
# From so many samples on, early_stopping="auto" holds some out.
_MANY_ROWS = 10000
# Up to so many, and from so few on, it chooses the number of trees on folds.
_FEW_ROWS, _N_FOLDS = 30, 3


def _many_levels(binner: Binner, table: Table) -> Levels | None:
    """Of the columns of many categories; None if there are none."""
    columns = binner.columns_of_many_levels()
    return binner.levels(table, columns) if columns else None


class GradientBoosting:
    """What gradient boosting of classes and of numbers shares.

    It comes before scikit-learn's classes among the bases of those, which say what a target is.
    """

    _binner: Binner
    _entropy: list[int]
    _trees: BoostedTrees
    _statistics: TargetStatistics | None = None
    _target: Any  # Labels or Numbers
    n_features_in_: int
    validation_score_: np.ndarray
    train_score_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "learning_rate": [finite(closed="right")],
        "max_iter": [COUNT],
        "grow_policy": [StrOptions({SYMMETRIC, LEAF_WISE})],
        "max_leaf_nodes": [Within(Integral, 2, _MOST_LEAVES, closed="both"), None],
        "max_depth": [Within(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Within(Integral, 1, None, closed="left")],
        "l2_regularization": [finite()],
        "max_features": [
            Within(Integral, 1, None, closed="left"),
            Within(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "subsample": [Within(Real, 0, 1, closed="right")],
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
            Not negative. Weight k is the same as k equal rows, but `min_samples_leaf` counts rows.
        X_val, y_val, sample_weight_val : default=None
            Samples to stop by, instead of a share of those that are fitted. The rounds after the
            best one are dropped, and with early stopping no more are grown after
            `n_iter_no_change` without a better score.

        Returns
        -------
        self
        """
        refuse_class("scoring", self.scoring)
        with unchanged_on_failure(self):
            again = self.warm_start and hasattr(self, "_trees")
            table = read_table(
                self, X, reset=not again, categorical_features=self.categorical_features
            )
            check_lengths(X, y=y)
            given = None if sample_weight is None else all_weights(sample_weight, table.shape[0])
            target, values, weights = self._read(y, within_range(given))
            if again:
                self._check_again(target)
                binner, binned = self._binner, self._binner.recode(table)
            else:
                binner = Binner(
                    self.categorical_features, self.max_bins, self.n_jobs, FEWEST_LEVELS
                )
                binned = binner.fit_transform(table, weights)
                self._entropy = drawn_entropy(self.random_state)
            rows = Rows.of(binned, values, weights, _many_levels(binner, table))
            validation = X_val, y_val, sample_weight_val
            if any(part is not None for part in validation):
                rows = rows.with_others(*self._read_validation(*validation, binner, target))
            elif self._holds_out(len(rows.train)):
                rows = self._split(rows, target)
            fitted = self._boost(rows, target, binner, self._trees if again else None)
            self.__dict__.update(fitted, _binner=binner, **self._learnt(target))
        return self

    def _holds_out(self, n_rows: int) -> bool:
        if self.early_stopping == "auto":
            return n_rows > _MANY_ROWS
        return bool(self.early_stopping)

    def _split(self, rows: Rows, target: Any) -> Rows:
        """With some of the training rows held out."""
        if self.validation_fraction is None:
            return replace(rows, held_out=rows.train)
        seed = np.random.SeedSequence(self._entropy, spawn_key=(1,)).generate_state(1)
        labels = None
        if isinstance(target, Labels):
            labels = rows.y[rows.train].astype(int)
            counts = np.bincount(labels, minlength=target.n_classes)
            if counts.min() < 2 or self._n_validation(len(labels)) < target.n_classes:
                labels = None
        with naming("validation_fraction"):
            train, held_out = train_test_split(
                rows.train,
                test_size=self.validation_fraction,
                stratify=labels,
                random_state=int(seed[0]),
            )
        return replace(rows, train=train, held_out=held_out)

    def _n_validation(self, n_rows: int) -> int:
        share = self.validation_fraction
        return int(share) if isinstance(share, Integral) else int(np.ceil(share * n_rows))

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
                weights = within_range(all_weights(sample_weight, table.shape[0]))
        with naming("y_val"):
            values = self._read_more(y, target, weights)
        return binner.transform(table), values, weights, _many_levels(binner, table)

    def _boost(
        self, rows: Rows, target: Any, binner: Binner, before: BoostedTrees | None
    ) -> dict[str, Any]:
        """Attributes, from trees that are grown here after those that there are."""
        n_before = before.n_trees if before else 0
        if n_before > self.max_iter:
            raise ValueError(
                f"with warm_start=True, max_iter must be at least {n_before}, the number of trees "
                f"there are, got {self.max_iter}"
            )
        symmetric = self.grow_policy == SYMMETRIC
        if before and before.symmetric != symmetric:
            raise ValueError(
                f"with warm_start=True, grow_policy must be that of the trees there are, got "
                f"{self.grow_policy!r}"
            )
        encoding, statistics, chosen = None, None, None
        if rows.levels is not None and target.n_classes != 1:
            encoding = Encoding.of(
                rows.levels, rows.y, target.n_classes, self._entropy, self.max_bins
            )
        options = self.kernel_options(rows.table, target, binner.categorical_, encoding)
        seeds = draw_seeds(self._entropy, self.max_iter)[n_before:]
        if self._chooses_on_folds(rows, target):
            chosen = self._scores_of_folds(rows, target, options, seeds, encoding)
        if chosen is not None:
            seeds = seeds[: max(1, int(chosen.argmax()))]
        if encoding is not None:
            rows, statistics = encoding.ordered(
                rows, n_before, self._statistics if before else None
            )
        if target.n_classes == 1:
            grown = Boosted.nothing(rows.table.bins.n_columns, symmetric)
        else:
            stops = self.early_stopping and len(rows.held_out) > 0
            grown = boost(
                rows.table,
                rows.y,
                rows.weights,
                rows.train,
                rows.held_out,
                options,
                seeds,
                symmetric=symmetric,
                stopping=Stopping(
                    int(self.n_iter_no_change) if stops else 0,
                    float(self.tol),
                    self._score(rows, target) if len(rows.held_out) else None,
                ),
                start=before.raw(rows.table.codes, self.n_jobs) if before else None,
                watch_training=True,
                keys=rows.keys() if self.subsample < 1 else None,
                shown=type(self).__name__ if self.verbose else None,
                n_jobs=self.n_jobs,
            )
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
            "_target": target,
            "n_iter_": trees.n_trees,
            "n_trees_per_iteration_": 1,
            "do_early_stopping_": chosen is not None
            or (bool(self.early_stopping) and len(rows.held_out) > 0),
            "is_categorical_": binner.categorical_ if binner.categorical_.any() else None,
        }

    def _chooses_on_folds(self, rows: Rows, target: Any) -> bool:
        by_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        return (
            isinstance(self.early_stopping, str)
            and by_loss
            and not self.warm_start
            and target.n_classes != 1
            and len(rows.held_out) == 0
            and len(rows.train) >= _FEW_ROWS
        )

    def _scores_of_folds(
        self,
        rows: Rows,
        target: Any,
        options: _core.BoostOptions,
        seeds: np.ndarray,
        encoding: Encoding | None,
    ) -> np.ndarray | None:
        """Minus the held-out loss over some folds, before the first tree and after each one."""
        folds = rows.folds(_N_FOLDS, isinstance(target, Labels))
        if folds is None:
            return None
        models = boost_folds(
            rows.table,
            rows.y,
            rows.weights,
            folds,
            options,
            seeds,
            symmetric=self.grow_policy == SYMMETRIC,
            patience=int(self.n_iter_no_change),
            keys=rows.keys() if self.subsample < 1 else None,
            encoding=encoding,
            n_jobs=self.n_jobs,
        )
        held_out = [part for _, part in folds]
        shares = [
            len(part) if rows.weights is None else rows.weights[part].sum() for part in held_out
        ]
        return np.average([model.scores for model in models], axis=0, weights=shares)

    def kernel_options(
        self,
        table: BinnedTable,
        target: Any,
        categorical: np.ndarray,
        encoding: Encoding | None = None,
        most_features: int = MOST,
    ) -> _core.BoostOptions:
        """What the kernel boosts by: all parameters, checked against a table and a target."""
        n_features = table.bins.n_columns + (0 if encoding is None else encoding.n_columns)
        symmetric = self.grow_policy == SYMMETRIC
        depth = self.max_depth or (_DEPTH if symmetric else 0)
        if symmetric and depth > _DEEPEST:
            raise ValueError(
                f"max_depth must be at most {_DEEPEST} with grow_policy='symmetric', whose trees "
                f"have 2**max_depth leaves, got {self.max_depth!r}"
            )
        monotonic = monotonic_signs(self, target, categorical)
        interactions = interaction_groups(self.interaction_cst, self.n_features_in_)
        if encoding is not None:
            monotonic, interactions = encoding.extended(monotonic, interactions)
        return _core.BoostOptions(
            target.kernel_loss,
            n_classes=max(2, target.n_classes),
            symmetric=symmetric,
            learning_rate=float(self.learning_rate),
            max_depth=min(int(depth), MOST),
            max_leaf_nodes=int(self.max_leaf_nodes or _MOST_LEAVES),
            min_samples_leaf=min(int(self.min_samples_leaf), MOST),
            l2=float(self.l2_regularization),
            max_features=min(resolve_max_features(self.max_features, n_features), most_features),
            subsample=float(self.subsample),
            quantile=self._quantile(),
            monotonic=monotonic,
            n_copies=1 if encoding is None else encoding.n_copies,
            interactions=interactions,
        )

    def _quantile(self) -> float:
        """The quantile of a loss that has one."""
        return 0.5

    # Predicting

    def _read_rows(self, X: Any, read: Callable[[np.ndarray], np.ndarray], row_bytes: int) -> Any:
        """What `read` makes of the codes of X, one block of rows after the other."""
        check_is_fitted(self, "_trees")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        rows, statistics = NewRows(self._binner, table), self._statistics
        levels = self._levels(table)

        def read_block(first: int, end: int) -> Any:
            codes = rows.block(first, end)[0]
            if statistics is not None and levels is not None:
                of_rows = levels.of_rows(slice(first, end))
                codes = np.hstack([codes, statistics.transform(of_rows)])
            return [read(codes)]

        (found,) = by_blocks(read_block, table.shape[0], self._trees.n_columns + row_bytes)
        return found

    def _read_raw(self, X: Any, read: Callable[[np.ndarray], np.ndarray]) -> Any:
        """The same of raw predictions."""
        check_is_fitted(self, "_trees")
        return self._read_rows(
            X,
            lambda codes: read(self._trees.raw(codes, self.n_jobs)),
            32 * self._trees.n_scores,
        )

    def _levels(self, table: Table) -> Levels | None:
        """Of the columns that have statistics."""
        if self._statistics is None:
            return None
        return self._binner.levels(table, self._statistics.columns)

    def _codes(self, table: Table) -> np.ndarray:
        """What trees are asked about, of all rows at once."""
        codes, levels = self._binner.transform(table), self._levels(table)
        if self._statistics is None or levels is None:
            return codes
        return np.hstack([codes, self._statistics.transform(levels)])

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self, "_trees")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        return self._trees.staged(self._codes(table), self.n_jobs)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of each tree that each sample ends in.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32 of shape (n_samples, n_iter_)
            Numbers of leaves, which are distinct within a tree. Of a symmetric tree, each has a
            bit for each level, 1 for right, and several may stand for one leaf: the splits of
            some levels leave it as it is.
        """
        check_is_fitted(self, "_trees")
        return self._read_rows(X, self._trees.leaves, 8 * self._trees.n_trees)

    @property
    def feature_importances_(self) -> Any:
        """What the splits of each feature improved, scaled to sum 1; zeros without splits."""
        check_is_fitted(self, "_trees")
        found = self._trees.importances()
        return found if self._statistics is None else self._statistics.shared(found)

    def _fitted_stages(self) -> FittedStages:
        """The trees as a stage."""
        check_is_fitted(self, "_trees")
        if self._statistics is not None:
            raise ValueError(
                f"{type(self).__name__} must not have features of {FEWEST_LEVELS} categories or "
                "more to be read as trees of its features; got columns "
                f"{self._statistics.columns}, which are coded by target statistics"
            )
        member = BoostedMember.of(self._trees, self._target.unit)
        return one_stage(self._binner, member, self._target.link)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        n_statistics = 0 if self._statistics is None else self._statistics.n_columns
        yield "n_features_in_", self.n_features_in_, self._binner.bins_.n_columns
        yield "width of trees", self._trees.n_scores, self._target.n_scores
        yield "columns of trees", self._trees.n_columns, self.n_features_in_ + n_statistics
