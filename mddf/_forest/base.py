"""Base class of all forests: fit and predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mddf._base.array_hash import hash_of_arrays
from mddf._base.messages import short, warn
from mddf._base.types import TableLike
from mddf._base.validation import (
    check_lengths,
    fit_context,
    monotonic_signs,
    naming,
    plain_parameters,
    refuse_changed,
    refuse_class,
    resolve_max_features,
    unchanged_on_failure,
)
from mddf._binning.binner import Binner
from mddf._core import Sampling, TreeOptions
from mddf._fitted.base_estimators import TableEstimator
from mddf._fitted.batching import in_blocks
from mddf._fitted.fitted_model import FittedMember, one_stage
from mddf._forest import out_of_bag
from mddf._forest.growth import DrawnTrees, ForestState, ForestTarget, TargetT, TrainingRows
from mddf._forest.out_of_bag import OutOfBagSums
from mddf._forest.parameters import (
    CONSTRAINTS,
    ENTROPIES,
    FIXED_PARAMETERS,
    LOSSES,
    count_samples,
    impurity_in_kernel_unit,
)
from mddf._forest.partial_dependence import average_over_unknown
from mddf._forest.trees import ForestTree
from mddf._input.date_columns import sums_by_feature
from mddf._input.reading import read_table
from mddf._input.table_warnings import TableWarnings
from mddf._input.target_copies import TargetCopies
from mddf._resampling.folds import check_groups
from mddf._resampling.sampling import canonical_order, plan_sampling, row_hashes
from mddf._targets.kernel_targets import Classes
from mddf._targets.target_validation import check_weights, plain_array
from mddf._targets.weights import RowWeights
from mddf._trees import grower, predictor
from mddf._trees.arrays import TreeBlock


class Forest(TableEstimator, Generic[TargetT]):
    """Base class of the forests for classification and for regression.

    Subclasses name this class before the classes of scikit-learn among their bases, and define how
    targets are read, weighted and scored.
    """

    # Whether thresholds are drawn at random instead of searched (completely-random forests).
    _random_thresholds: ClassVar[bool]
    # Name of the attribute with the out-of-bag predictions.
    _oob_name: ClassVar[str]
    # Whether classes are weighted to be balanced in the sample of each tree.
    _balances_trees = False
    _tree_type: ClassVar[type[ForestTree]]

    n_estimators: int
    criterion: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    max_features: str | float | None
    bootstrap: bool | str
    max_samples: float | None
    monotonic_cst: npt.ArrayLike | dict[str, int] | None
    oob_score: bool | Callable[..., float]
    random_state: int | RandomState | None
    verbose: int
    warm_start: bool
    max_bins: int

    _entropy: list[int]
    _importances: np.ndarray
    _fixed: dict[str, Any]
    # With warm_start=True.
    _oob: OutOfBagSums | None
    # An entry for each fit; None if the forest comes from a file.
    _drawn_from: list[DrawnTrees] | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: TableLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing values, and categories in the columns of
            `categorical_features`. Infinities are refused.
        y : array of shape (n_samples,), or (n_samples, n_outputs) for several outputs
            Classes (numbers, strings or booleans) for a classifier, numbers for a regressor.
        sample_weight : array of shape (n_samples,), default=None
            Weights must not be negative. A bootstrap draws rows in proportion to their weights.
            Without a bootstrap, a weight of k is the same as k equal rows, except that
            `min_samples_leaf` and `min_samples_split` count rows.
        groups : array of shape (n_samples,), default=None
            Groups of samples that belong together, such as the samples of a patient. A bootstrap
            draws groups with all of their samples, so that out-of-bag predictions come from trees
            that have not been trained on the group. `max_samples` then counts groups, and weights
            apply to rows within trees.

        Returns
        -------
        self
        """
        self._check_bootstrap()
        self._check_groups(groups)
        with unchanged_on_failure(self):
            # 1. Read X, y, weights and groups.
            continues = self._continues
            if continues:
                refuse_changed(self._fixed, plain_parameters(self, FIXED_PARAMETERS))
            table = read_table(
                self, X, reset=not continues, categorical_features=self.categorical_features
            )
            check_lengths(X, y=y)
            weights = check_weights(sample_weight, table.shape[0])
            target = self._read_target(y, weights)
            group_numbers = None
            if groups is not None:
                _, group_numbers = check_groups(groups, target.key)
            # 2. Bin the table. A warm start keeps the bins of the first fit.
            if continues:
                binner = self._binner
                binned = binner.recode(table)
            else:
                binner = Binner(self.categorical_features, self.max_bins, self.n_jobs)
                copies = TargetCopies(plain_array(y, "y"), are_classes=is_classifier(self))
                warnings = TableWarnings(table, weights, copies, has_groups=groups is not None)
                binned = binner.fit_transform(table, weights, warnings=warnings)
            rows = TrainingRows(binned, target, weights, group_numbers)
            # 3. Begin with the trees of the earlier fit, or without trees.
            if continues:
                self._check_continuation(rows)
                if self.n_estimators == len(self):
                    warn(
                        f"with warm_start=True and n_estimators={self.n_estimators}, as many as "
                        "there are, no tree is grown",
                    )
                    return self
                state = ForestState(
                    self._entropy, self._trees, self._importances, self._oob, self._drawn_from
                )
            else:
                entropy = check_random_state(self.random_state).randint(0, 2**32, 4, np.uint64)
                importances = np.zeros(binner.bins_.n_columns)
                state = ForestState(entropy.tolist(), [], importances, draws=[])
            # 4. Plan all trees.
            job = self._plan_trees(rows, state)
            if state.draws is not None:
                sampling = job.sampling if self.bootstrap else None
                drawn = DrawnTrees(sampling, binned.n_rows, len(job.seeds) - state.n_trees)
                state.draws = [*state.draws, drawn]
            # 5. Grow the trees that are missing, and predict the rows that they did not draw.
            fitted = {} if continues else self._target_attributes(target)
            fitted |= self._grow_missing_trees(rows, state, job)
            fitted |= self._out_of_bag_attributes(rows, state, job)
            # 6. Store the attributes.
            for name in ("oob_score_", self._oob_name):
                self.__dict__.pop(name, None)
            self.__dict__.update(self._attributes(state, binner, target) | fitted)
        return self

    # Steps that depend on the kind of target.

    def _read_target(self, y: npt.ArrayLike, sample_weight: np.ndarray | None) -> TargetT:
        """Check y and prepare it for the kernel."""
        raise NotImplementedError

    def _member(self, trees: list[TreeBlock], target: TargetT) -> FittedMember:
        """Describe trees that were grown for a target."""
        raise NotImplementedError

    def _target_attributes(self, target: TargetT) -> dict[str, object]:
        """Return the fitted attributes that describe the target, such as `classes_`."""
        raise NotImplementedError

    def _n_scores(self, target: TargetT) -> int:
        """Count the scores that monotonic constraints would apply to: 1 for two classes."""
        raise NotImplementedError

    def _check_target_continues(self, target: TargetT) -> None:
        """Refuse a target that a warm start cannot continue with."""

    def _row_weights(self, rows: TrainingRows[TargetT]) -> RowWeights:
        """Combine the weights of the samples and of their classes."""
        raise NotImplementedError

    def _targets_to_keep(
        self, trees: list[TreeBlock], seeds: np.ndarray, rows: TrainingRows[TargetT]
    ) -> dict[str, object]:
        """Return attributes with the training targets in the leaves of trees just grown."""
        return {}

    def _score_out_of_bag(self, target: TargetT, sums: OutOfBagSums) -> dict[str, object]:
        """Return attributes with the out-of-bag predictions and their score."""
        raise NotImplementedError

    # Checks of parameters.

    def _check_groups(self, groups: npt.ArrayLike | None) -> None:
        if groups is not None and (not self.bootstrap or self.bootstrap == "balanced"):
            raise ValueError(
                f"groups need bootstrap=True, which draws them, got bootstrap={self.bootstrap!r}"
            )

    def _check_bootstrap(self) -> None:
        refuse_class("oob_score", self.oob_score)
        if self.bootstrap:
            return
        if self.oob_score:
            raise ValueError(
                "oob_score needs bootstrap=True: without it no tree leaves a row out; "
                f"got oob_score={short(self.oob_score)}, bootstrap={self.bootstrap!r}"
            )
        if self.max_samples is not None:
            raise ValueError(
                "max_samples needs bootstrap=True, "
                f"got max_samples={short(self.max_samples)}, bootstrap={self.bootstrap!r}"
            )

    def _check_in_layer(self) -> None:
        """Refuse parameters that a forest cannot have as a member of a layer."""
        self._check_bootstrap()
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is for a forest alone: later layers, which predict from the "
                f"forest's predictions, do not respect it; got {short(self.monotonic_cst)}"
            )
        if self.criterion == "poisson":
            raise ValueError(
                "criterion must be another one in layers, where targets have mean 0, "
                f"got {self.criterion!r}"
            )

    # Steps of a warm start.

    @property
    def _continues(self) -> bool:
        """Whether fit keeps the trees of an earlier fit."""
        return self.warm_start and self.__sklearn_is_fitted__()

    def _check_continuation(self, rows: TrainingRows[TargetT]) -> None:
        """Refuse rows and parameters that do not match the trees of the earlier fit."""
        self._check_target_continues(rows.target)
        n_before = len(self)
        if self.n_estimators < n_before:
            raise ValueError(
                f"with warm_start=True, n_estimators must be at least {n_before}, the number of "
                f"trees grown so far, got {self.n_estimators}"
            )
        if not self.oob_score:
            return
        if self._oob is None:
            raise ValueError(
                "with warm_start=True, oob_score must be set from the first fit on, since the "
                f"{n_before} trees grown so far have no out-of-bag predictions; got "
                f"oob_score={short(self.oob_score)}"
            )
        if self._oob.fingerprint != hash_of_arrays(rows.table.codes, rows.target.key):
            raise ValueError(out_of_bag.OTHER_ROWS)

    # Steps of growing.

    def _attributes(
        self, state: ForestState, binner: Binner, target: TargetT
    ) -> dict[str, object]:
        """Fitted attributes that store a state."""
        return {
            "_fitted": one_stage(binner, self._member(state.trees, target)),
            "_entropy": state.entropy,
            "_importances": state.importances,
            "_oob": state.out_of_bag,
            "_drawn_from": state.draws,
            "_fixed": plain_parameters(self, FIXED_PARAMETERS),
        }

    def _plan_trees(self, rows: TrainingRows[TargetT], state: ForestState) -> grower.TreeJob:
        """Plan all trees, including the trees of earlier fits."""
        bins = rows.table.bins
        signs = monotonic_signs(
            self, np.asarray(bins.categorical, bool), self._n_scores(rows.target)
        )
        options = self._tree_options(rows.table.n_rows, bins.n_columns, rows.target, signs)
        return grower.TreeJob(
            seeds=grower.draw_seeds(state.entropy, self.n_estimators),
            options=options,
            sampling=self._sampling(rows, entropy=options.entropy),
            held_out=grower.OUT_OF_BAG if self.oob_score else None,
            importances=True,
        )

    def _tree_options(
        self,
        n_samples: int,
        n_features: int,
        target: ForestTarget | None = None,
        monotonic: np.ndarray | None = None,
    ) -> TreeOptions:
        def in_kernel_unit(impurity: float) -> float:
            values = None if isinstance(target, Classes) else target
            return impurity_in_kernel_unit(float(impurity), self.criterion, values)

        return TreeOptions(
            entropy=self.criterion in ENTROPIES,
            random_thresholds=self._random_thresholds,
            max_features=resolve_max_features(self.max_features, n_features),
            max_depth=min(int(self.max_depth or grower.NO_DEPTH_LIMIT), grower.NO_DEPTH_LIMIT),
            min_samples_split=count_samples(self.min_samples_split, n_samples, 2),
            min_samples_leaf=count_samples(self.min_samples_leaf, n_samples, 1),
            min_weight_leaf=float(self.min_weight_fraction_leaf),
            max_leaf_nodes=min(int(self.max_leaf_nodes or 0), grower.NO_DEPTH_LIMIT),
            min_decrease=in_kernel_unit(self.min_impurity_decrease),
            prune=in_kernel_unit(self.ccp_alpha),
            loss=LOSSES[self.criterion],
            monotonic=monotonic,
        )

    def _sampling(self, rows: TrainingRows[TargetT], *, entropy: bool) -> Sampling:
        """Plan how each tree draws its rows."""
        weights = self._row_weights(rows)
        codes = rows.table.codes
        key = rows.target.key
        # Draws of rows and rounded sums (of weights and entropies) depend on the order of rows.
        # For equal results on a permuted table, they use an order by the content of the rows.
        # Without such draws and sums, finding this order would be a waste of time.
        if self.bootstrap or self._balances_trees or weights.row is not None or entropy:
            order = canonical_order(codes, key, weights.row)
        else:
            order = np.arange(rows.table.n_rows, dtype=np.int32)
        return plan_sampling(
            order,
            weights,
            bootstrap=bool(self.bootstrap),
            max_samples=self.max_samples,
            balance_trees=self._balances_trees,
            labels=key if self.bootstrap == "balanced" else None,
            groups=rows.groups,
            hashes=None if rows.groups is None else row_hashes(codes, key),
        )

    def _grow_missing_trees(
        self, rows: TrainingRows[TargetT], state: ForestState, job: grower.TreeJob
    ) -> dict[str, object]:
        """Grow the trees that the state lacks, and return attributes with their targets."""
        new_job = replace(job, seeds=job.seeds[state.n_trees :])
        if not len(new_job.seeds):
            return {}
        (grown,) = grower.grow(
            rows.table,
            rows.target.kernel_target,
            [new_job],
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            description=type(self).__name__,
        )
        state.trees = state.trees + grown.trees
        state.importances = state.importances + grown.importances
        if self.oob_score:
            state.out_of_bag = out_of_bag.add_to_rows(
                grown, job.sampling.rows, rows.table.n_rows, state.out_of_bag
            )
        return self._targets_to_keep(grown.trees, new_job.seeds, rows)

    def _out_of_bag_attributes(
        self, rows: TrainingRows[TargetT], state: ForestState, job: grower.TreeJob
    ) -> dict[str, object]:
        """Score the out-of-bag predictions, if there are any; only warm starts keep the sums."""
        sums = state.out_of_bag
        state.out_of_bag = None
        if not self.oob_score:
            return {}
        assert sums is not None
        out_of_bag.warn_of_rows_always_drawn(sums.n_trees, job.sampling.rows)
        if self.warm_start:
            rows_fingerprint = hash_of_arrays(rows.table.codes, rows.target.key)
            state.out_of_bag = replace(sums, fingerprint=rows_fingerprint)
        return self._score_out_of_bag(rows.target, sums)

    def _score_predictions(
        self, score: Callable[..., float], y_true: np.ndarray, y_pred: np.ndarray
    ) -> float:
        """Score out-of-bag predictions, by the user's function if there is one."""
        if len(y_true) == 0:
            return float("nan")
        with naming("oob_score"):
            return (self.oob_score if callable(self.oob_score) else score)(y_true, y_pred)

    # Fitted trees, with the interface of scikit-learn's ensembles.

    @property
    def _trees(self) -> list[TreeBlock]:
        return self._fitted.stages[0].members[0].models

    @property
    def estimators_(self) -> list[ForestTree]:
        """The trees as fitted trees of scikit-learn, with `tree_`; made anew at each access."""
        check_is_fitted(self)
        return [
            self._tree_type.from_forest(self, tree)
            for block in self._trees
            for tree in block.single_trees()
        ]

    def __len__(self) -> int:
        check_is_fitted(self)
        return sum(block.n_trees for block in self._trees)

    def __bool__(self) -> bool:
        # Without this method, truth would follow from `len`, which fails before fit.
        return True

    def __getitem__(self, index: int | slice) -> ForestTree | list[ForestTree]:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[ForestTree]:
        return iter(self.estimators_)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Rows that each tree was grown on, ascending, each repeated as often as it was drawn."""
        return [
            np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            for counts in self._sample_counts()
        ]

    def _sample_counts(self) -> Iterator[np.ndarray]:
        """For each tree, yield the number of times that it drew each row."""
        check_is_fitted(self)
        if self._drawn_from is None:
            raise AttributeError(
                f"the rows that the trees of this {type(self).__name__} drew are not stored in "
                "files and copies of it: fit it again with the same random_state"
            )
        seeds = iter(grower.draw_seeds(self._entropy, len(self)).tolist())
        for drawn in self._drawn_from:
            yield from drawn.counts([next(seeds) for _ in range(drawn.n_trees)])

    def __getstate__(self) -> dict[str, object]:
        state = super().__getstate__()
        return {name: None if name == "_drawn_from" else state[name] for name in state}

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean decrease of impurity by feature, scaled to sum 1; zeros if no tree has a split."""
        check_is_fitted(self)
        total = self._importances.sum()
        importances = self._importances / total if total > 0 else self._importances.copy()
        return sums_by_feature(self, importances)

    def apply(self, X: TableLike) -> np.ndarray:
        """Return the leaf that each sample ends in.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64 of shape (n_samples, n_estimators)
            Indices of leaves, which are distinct within a tree.
        """

        def leaves(codes: np.ndarray) -> np.ndarray:
            return predictor.forest_leaves(self._trees, codes, n_jobs=self.n_jobs)

        return self._by_codes(X, leaves, 16 * len(self))

    def _by_codes(
        self, X: TableLike, compute: Callable[[np.ndarray], np.ndarray], row_bytes: int
    ) -> np.ndarray:
        """Result of a function of codes for all rows of X, computed in blocks.

        `row_bytes` is the memory that the function takes for a row, in addition to its codes.
        """
        rows = self._fitted_stages().encode(self._read_new_rows(X), self.n_jobs)
        (result,) = in_blocks(
            rows.n_rows,
            self._fitted.n_raw + row_bytes,
            lambda first, end: [compute(rows.block(first, end).codes)],
        )
        return result

    def decision_path(self, X: TableLike) -> tuple[sparse.csr_matrix, np.ndarray]:
        """Mark the nodes of all trees that each sample passes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where a sample passes a node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Tree t has the columns ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1] - 1``.
        """
        paths = [tree.decision_path(X) for tree in self.estimators_]
        start = np.cumsum([0, *(path.shape[1] for path in paths)])
        return sparse.hstack(paths, format="csr"), start

    def _compute_partial_dependence_recursion(
        self, grid: npt.ArrayLike, features: np.ndarray
    ) -> np.ndarray:
        """Average predictions over all features but some, which have the values of a grid.

        scikit-learn calls this method by its name. The result has shape (n_points,), or
        (n_outputs, n_points) if there are several outputs.
        """
        means = average_over_unknown(self._trees, self._binner, grid, features)
        means = means * self._fitted.members[0].unit
        return means[:, 0] if means.shape[1] == 1 else means.T
