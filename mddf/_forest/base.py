"""What forests that classify and forests that regress share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mddf._base.fingerprint import fingerprint
from mddf._base.messages import short, warn
from mddf._base.validation import (
    check_lengths,
    monotonic_signs,
    naming,
    refuse_class,
    unchanged_on_failure,
)
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner, NewRows
from mddf._core import Sampling, TreeOptions
from mddf._fitted.batching import by_blocks
from mddf._fitted.fitted_model import FittedStages, StageMember, one_stage
from mddf._forest import out_of_bag
from mddf._forest.ensemble import TreeEnsemble
from mddf._forest.parameters import CONSTRAINTS, tree_options
from mddf._input.reading import read_table
from mddf._resampling.folds import checked_groups
from mddf._resampling.sampling import RowWeights, canonical_order, plan_sampling, row_hashes
from mddf._targets.kernel_targets import Classes
from mddf._targets.target_validation import check_weights
from mddf._trees import grower, predictor
from mddf._trees.arrays import Numbers


class Forest(TreeEnsemble, grower.GrowsTrees):
    """What forests that classify and forests that regress share.

    It comes before scikit-learn's classes among the bases of those, which say what a target is.
    """

    _random_thresholds: ClassVar[bool]
    _oob_name: ClassVar[str]  # of the attribute with out-of-bag predictions
    _balances_trees = False
    _unit: Any = 1.0  # what leaves hold multiples of

    n_estimators: int
    criterion: str
    bootstrap: Any
    max_samples: float | None
    monotonic_cst: Any
    oob_score: bool | Callable[..., float]
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    max_bins: int
    categorical_features: Any

    _importances: np.ndarray
    n_features_in_: int
    _oob: Any  # with warm_start: sums, numbers of trees, and a fingerprint of the rows
    # With warm_start: what all trees so far drew from, if that is the same; else None.
    _drawn: tuple[str, str] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    def _keep(self, parameters: dict[str, Any]) -> None:
        """Keep what a constructor got, its ``locals()``, under the parameters' names."""
        vars(self).update({name: value for name, value in parameters.items() if name != "self"})

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,), or (n_samples, n_outputs) of several outputs
            Classes: numbers, strings or booleans. Of a regressor: numbers.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. With a bootstrap, rows are drawn in proportion to it, `max_samples` says
            how many; otherwise weight k is the same as k equal rows, but `min_samples_leaf` and
            `min_samples_split` count rows.
        groups : array of shape (n_samples,), default=None
            What belongs together, such as the samples of a patient: a bootstrap draws groups with
            all of their samples, so that out-of-bag predictions are of groups that no tree has
            seen. `max_samples` is then of groups, and weights count within trees.

        Returns
        -------
        self
        """
        self._check_bootstrap()
        if groups is not None and (not self.bootstrap or self.bootstrap == "balanced"):
            raise ValueError(
                f"groups need bootstrap=True, which draws them, got bootstrap={self.bootstrap!r}"
            )
        with unchanged_on_failure(self):
            again = self.warm_start and hasattr(self, "_trees")
            table = read_table(
                self, X, reset=not again, categorical_features=self.categorical_features
            )
            check_lengths(X, y=y)
            weights = check_weights(sample_weight, table.shape[0])
            target = self._read(y, weights)
            numbers = None if groups is None else checked_groups(groups, target.key)[1]
            grow = self._continue if again else self._begin
            fitted = grow(table, target, weights, numbers)
            if fitted:
                for name in ("oob_score_", self._oob_name):
                    self.__dict__.pop(name, None)
                self.__dict__.update(fitted)
        return self

    def _read(self, y: Any, weights: Any) -> Any:
        """What a user passed as y."""
        raise NotImplementedError

    @property
    def _width(self) -> int:
        """Numbers of a prediction."""
        raise NotImplementedError

    def _learnt(self, target: Any) -> dict[str, Any]:
        """The attributes by which a fitted forest knows a target."""
        raise NotImplementedError

    def _n_scores(self, target: Any) -> int:
        """How many numbers a prediction consists of."""
        raise NotImplementedError

    def _check_again(self, target: Any) -> None:
        """Refuse a target that a fit with warm_start=True cannot go on with."""

    def _row_weights(self, target: Any, weights: Any) -> RowWeights:
        """Weights of the rows from those of the samples."""
        raise NotImplementedError

    def _remember(
        self, trees: Any, seeds: np.ndarray, codes: np.ndarray, target: Any, weights: Any
    ) -> dict[str, Any]:
        """Further attributes, from trees that were just grown."""
        return {}

    def _score_out_of_bag(
        self, target: Any, sums: np.ndarray, n_trees: np.ndarray
    ) -> dict[str, Any]:
        """Attributes with predictions and their score; see `grower.GrowthResult` for the sums."""
        raise NotImplementedError

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
        """Refuse parameters of a forest whose trees grow in a layer, among others."""
        self._check_bootstrap()
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is for a forest alone: what layers predict from one another is not "
                f"bound by it; got {short(self.monotonic_cst)}"
            )
        if self.criterion == "poisson":
            raise ValueError(
                "criterion='poisson' is for a forest alone: in layers, targets have mean 0"
            )

    def _begin(self, table: Any, target: Any, weights: Any, groups: Any) -> dict[str, Any]:
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs)
        binned = binner.fit_transform(table, weights, has_groups=groups is not None)
        entropy = check_random_state(self.random_state).randint(0, 2**32, 4, dtype=np.uint64)
        fitted = {
            **self._learnt(target),
            "_binner": binner,
            "_entropy": entropy.tolist(),
            "_trees": [],
            "_importances": np.zeros(table.shape[1]),
            "_oob": None,
            "_drawn": None,
            "_drawn_from": [],
        }
        return self._grow(fitted, binned, target, weights, groups, n_before=0)

    def _continue(self, table: Any, target: Any, weights: Any, groups: Any) -> dict[str, Any]:
        binned = self._binner.recode(table)
        self._check_again(target)
        n_before = sum(block.n_trees for block in self._trees)
        if self.n_estimators < n_before:
            raise ValueError(
                f"with warm_start=True, n_estimators must be at least {n_before}, the number of "
                f"trees grown so far, got {self.n_estimators}"
            )
        switched_on = self.oob_score and self._oob is None
        goes_on = self.oob_score and not switched_on
        if goes_on and self._oob[2] != fingerprint(binned.codes, target.key):
            raise ValueError(out_of_bag.OTHER_ROWS)
        if self.n_estimators == n_before and not switched_on:
            warn(
                f"with warm_start=True and n_estimators={n_before}, as many as there are, no "
                "tree is grown",
            )
            return {}
        names = ("_binner", "_entropy", "_trees", "_importances", "_oob", "_drawn", "_drawn_from")
        fitted = {name: getattr(self, name) for name in names}
        return self._grow(fitted, binned, target, weights, groups, n_before)

    def _sampling(
        self, table: BinnedTable, target: Any, weights: Any, groups: Any, entropy: bool
    ) -> Sampling:
        given = self._row_weights(target, weights)
        # Trees that see all rows do not ask for an order, unless their sums are rounded.
        ordered = self.bootstrap or self._balances_trees or given.row is not None
        if ordered or entropy:
            order = canonical_order(table.codes, target.key, given.row)
        else:
            order = np.arange(table.n_rows, dtype=np.int32)
        return plan_sampling(
            order,
            given,
            bootstrap=bool(self.bootstrap),
            max_samples=self.max_samples,
            balance_trees=self._balances_trees,
            labels=target.key if self.bootstrap == "balanced" else None,
            groups=None if groups is None else (groups, row_hashes(table.codes, target.key)),
        )

    def _grow(
        self,
        fitted: dict[str, Any],
        table: BinnedTable,
        target: Any,
        weights: Any,
        groups: Any,
        n_before: int,
    ) -> dict[str, Any]:
        categorical = np.asarray(table.bins.categorical, bool)
        monotonic = monotonic_signs(self, categorical, self._n_scores(target))
        options = self._tree_options(table.n_rows, table.bins.n_columns, target, monotonic)
        sampling = self._sampling(table, target, weights, groups, options.entropy)
        seeds = grower.draw_seeds(fitted["_entropy"], self.n_estimators)
        block = grower.TreeJob(
            seeds=seeds[n_before:],
            options=options,
            sampling=sampling,
            held_out=grower.OUT_OF_BAG if self.oob_score else None,
            importances=True,
        )
        drawn = None
        if self.warm_start and self.bootstrap:
            drawn = out_of_bag.fingerprints(table, target, sampling)
        if self.oob_score and n_before and fitted["_oob"] is None:
            assert drawn is not None
            out_of_bag.check_unchanged(fitted["_drawn"], drawn, n_before, self.oob_score)
            before = replace(block, seeds=seeds[:n_before])
            known = out_of_bag.sums_of(table, target.cells, before, fitted["_trees"], self.n_jobs)
            fitted["_oob"] = out_of_bag.by_rows(known, sampling.rows, table.n_rows, None)
        fitted["_drawn"] = drawn if not n_before or drawn == fitted["_drawn"] else None
        if fitted["_drawn_from"] is not None:
            from_rows = sampling if self.bootstrap else None
            now = (from_rows, table.n_rows, len(block.seeds))
            fitted["_drawn_from"] = [*fitted["_drawn_from"], now]
        if len(block.seeds):
            fitted |= self._grow_block(fitted, block, table, target, weights)
        if not self.oob_score:
            return {**fitted, "_oob": None}
        return fitted | self._out_of_bag(fitted["_oob"], sampling.rows, table.codes, target)

    def _grow_block(
        self, fitted: dict[str, Any], block: grower.TreeJob, table: Any, target: Any, weights: Any
    ) -> dict[str, Any]:
        (grown,) = grower.grow(
            table,
            target.cells,
            [block],
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            description=type(self).__name__,
        )
        found = {
            "_trees": fitted["_trees"] + grown.trees,
            "_importances": fitted["_importances"] + grown.importances,
            **self._remember(grown.trees, block.seeds, table.codes, target, weights),
        }
        if self.oob_score:
            rows = block.sampling.rows
            found["_oob"] = out_of_bag.by_rows(grown, rows, table.n_rows, fitted["_oob"])
        return found

    def _tree_options(
        self, n_samples: int, n_features: int, target: Any = None, monotonic: Any = None
    ) -> TreeOptions:
        values = None if isinstance(target, Classes) else target
        return tree_options(self, n_samples, n_features, values, monotonic)

    def _fitted_stages(self) -> FittedStages:
        """The forest as a stage."""
        check_is_fitted(self, "_trees")
        member = StageMember(self._trees, self._width, self._unit, is_rounded=False)
        return one_stage(self._binner, member)

    def _out_of_bag(self, found: Any, rows: Any, codes: np.ndarray, target: Any) -> dict[str, Any]:
        sums, n_trees = found[:2]
        out_of_bag.warn_of_rows_always_drawn(n_trees, rows)
        return {
            **self._score_out_of_bag(target, sums, n_trees),
            "_oob": (sums, n_trees, fingerprint(codes, target.key)) if self.warm_start else None,
        }

    def _scored(self, score: Any, y_true: Any, y_pred: Any) -> float:
        """The score of out-of-bag predictions, by the user's function if there is one."""
        if len(y_true) == 0:
            return float("nan")
        with naming("oob_score"):
            return (self.oob_score if callable(self.oob_score) else score)(y_true, y_pred)

    def _read_rows(
        self, X: Any, read: Callable[[Any], np.ndarray], row_bytes: int, *, coded: bool = False
    ) -> Any:
        """What `read` makes of the rows of X, one block after the other.

        It gets the codes of a table; or its numbers, where the trees ask for few of them.
        """
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        wanted = predictor.columns_used(self._trees, table.shape[1])
        rows = NewRows(self._binner, table, wanted=wanted)
        numbers = None
        if wanted is not None and not coded:
            numbers = self._binner.plain_numbers(table)
            if numbers is not None and not predictor.need_no_codes(self._trees, numbers, wanted):
                numbers = None

        def read_block(first: Any, end: Any) -> Any:
            if numbers is None:
                return [read(rows.block(first, end).codes)]
            return [read(Numbers(numbers[first:end], self._binner.bins_))]

        (found,) = by_blocks(read_block, table.shape[0], table.shape[1] + row_bytes)
        return found

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each sample ends in.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64 of shape (n_samples, n_estimators)
            Numbers of leaves, which are distinct within a tree.
        """
        check_is_fitted(self, "_trees")
        n_trees = sum(block.n_trees for block in self._trees)
        return self._read_rows(
            X,
            lambda codes: predictor.leaf_indices(self._trees, codes, n_jobs=self.n_jobs),
            16 * n_trees,
            coded=True,
        )

    @property
    def feature_importances_(self) -> Any:
        """Mean decrease of impurity by feature, scaled to sum 1; zeros if no tree has a split."""
        check_is_fitted(self, "_trees")
        total = self._importances.sum()
        return self._importances / total if total > 0 else self._importances.copy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    def _counts(self) -> Iterator[Any]:
        yield "n_features_in_", self.n_features_in_, self._binner.bins_.n_columns
        for block in self._trees:
            yield "width of trees", block.width, self._width
