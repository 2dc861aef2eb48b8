"""What deep forests that classify and deep forests that regress share as estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._data.binner import Binner, category_mask, fingerprint
from mddf._data.binning import apply_bins
from mddf._data.blocks import NewRows, by_blocks
from mddf._data.folds import gives_folds, group_numbers, is_splitter, make_folds
from mddf._data.sampling import canonical_order
from mddf._data.table import read_table
from mddf._data.validation import (
    COUNT,
    JOBS,
    Within,
    check_lengths,
    check_weights,
    naming,
    unchanged_on_failure,
)
from mddf._deep_forest.external import bounded
from mddf._deep_forest.growth import MOST_COLUMNS, Growth, print_line
from mddf._deep_forest.layers import columns_of
from mddf._deep_forest.nested import outer_folds
from mddf._deep_forest.refit import fitted_layers
from mddf._ensemble.checkpoints import Checkpoint, description, fit_inputs
from mddf._ensemble.vote import sharpened
from mddf._forest.classifier_base import AsksForGroups, warn_of_seen
from mddf._members.external import check_takes_weights
from mddf._members.members import Training
from mddf._members.named import HoldsMembers
from mddf._members.screening import is_wide
from mddf._trees import grower


class BaseDeepForest(HoldsMembers, AsksForGroups, TransformerMixin):
    """What both deep forests share; use one of them.

    It comes before scikit-learn's other classes among the bases of those, which say what a target
    is.
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_layers": [COUNT],
        "n_estimators": [COUNT],
        "members": [StrOptions({"auto"}), "array-like"],
        "cv": ["cv_object", StrOptions({"auto"})],
        "refit": ["boolean"],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "max_bins": [Within(Integral, 2, 255, closed="both")],
        "n_jobs": JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "checkpoint": [str, PathLike, None],
    }

    _member_list = "members"
    _seen: str
    _layers: list
    _binner: Binner

    def __init__(
        self,
        n_layers=2,
        *,
        n_estimators=100,
        members="auto",
        cv="auto",
        refit=True,
        categorical_features="from_dtype",
        max_bins=255,
        n_jobs=None,
        random_state=None,
        verbose=0,
        checkpoint=None,
    ):
        self.n_layers = n_layers
        self.n_estimators = n_estimators
        self.members = members
        self.cv = cv
        self.refit = refit
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _read(self, y, given) -> tuple:
        """From a user's target and weights: a task, weights of rows, and fitted attributes."""
        raise NotImplementedError

    def _members(self, task, categorical: np.ndarray) -> list:
        """The members of a layer."""
        raise NotImplementedError

    @property
    def _width(self) -> int:
        """Numbers of a forecast."""
        raise NotImplementedError

    @property
    def _outputs(self) -> list[str]:
        """What a forecast's numbers are called in names of columns."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Grow the deep forest.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,), or (n_samples, n_outputs) of a regressor
            Classes, which are numbers, strings or booleans; a regressor's are numbers.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. Whole numbers count copies of a sample, which decides how sure the model
            is of what it learns: divide weights that are no counts by their mean.
        groups : array of shape (n_samples,), default=None
            Samples of one group are held out together, by a number of folds and by splitters
            that look at groups. With scikit-learn's metadata routing they are asked for if `cv`
            is such a splitter, or after ``set_fit_request(groups=True)``.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, groups)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y, sample_weight=None, groups=None):
        """Grow the deep forest and give the layer features of the samples it was grown on.

        The features are out-of-fold, so that another model can be trained on them; see
        `MDDFClassifier.fit_transform`. This is why they differ from ``fit(X, y).transform(X)``.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        with unchanged_on_failure(self):
            return np.hstack(self._fit(X, y, sample_weight, groups))

    def _fit(self, X, y, sample_weight, groups) -> list[np.ndarray]:
        """Grow, and return the out-of-fold features of the layers."""
        raise NotImplementedError

    def _grow(self, X, y, sample_weight, groups) -> tuple[Growth, list[np.ndarray]]:
        """Fit, and return how, and the out-of-fold features of the layers."""
        table = read_table(self, X, reset=True, categorical_features=self.categorical_features)
        check_lengths(X, y=y, groups=groups)
        given = check_weights(sample_weight, table.shape[0])
        task, weights, attributes, y = self._read(y, given)
        categorical = category_mask(table, self.categorical_features)
        members = self._members(task, categorical)
        external = [member for member in members if not member.is_forest]
        if weights.row is not None:
            for member in external:
                check_takes_weights("members", member.name, member.model)
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs)
        n_spare = min(len(members) * task.n_columns, max(MOST_COLUMNS, task.n_columns))
        binned = binner.fit_transform(table, given, n_spare=n_spare)
        random = check_random_state(self.random_state)
        entropy = tuple(random.randint(0, 2**32, 4, dtype=np.uint64).tolist())
        numbers = bounded(binner.numbers(table)) if external else None
        shown = binner.numbers(X) if X is table and is_splitter(self.cv) else X
        cv = self.cv
        if isinstance(cv, str):
            cv = 5 if len(task.target) >= task.enough else 10
        (seed,) = np.random.SeedSequence((*entropy, 1)).generate_state(1)
        (outer_seed,) = np.random.SeedSequence((*entropy, 10)).generate_state(1)
        folds = make_folds(cv, shown, y, task.strata, int(seed), groups)
        training = Training(
            binned,
            numbers,
            task,
            weights,
            canonical_order(binned.codes, task.key),
            folds,
            outer_folds(cv, folds, shown, y, task.strata, int(outer_seed), groups),
            out_of_bag=not (groups is not None or gives_folds(self.cv) or is_wide(*table.shape)),
            units=None if groups is None else group_numbers(groups, task.strata, cv),
        )
        checkpoint = self._checkpoint(training, members, given)
        growth = Growth(self, training, members, table.shape[1], entropy, checkpoint)
        seen = fingerprint(binned.codes[:, : table.shape[1]])
        growth.grow()
        self.__dict__.update(attributes)
        self._binner, (self._layers, features) = binner, fitted_layers(growth)
        self._n_raw, self._n_spare, self._seen = table.shape[1], n_spare, seen
        self.n_layers_ = len(self._layers)
        self.history_, self.leaderboard_ = growth.history(), growth.leaderboard
        self.stop_reason_ = growth.stop_reason
        if self.verbose:
            print_line(f"stopped: {self.stop_reason_}")
        return growth, features

    def _checkpoint(self, training, members, given) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        for member in members:
            if not (self.refit or member.is_plain):
                raise ValueError(
                    "checkpoint with refit=False keeps the models of all folds, of which only "
                    "forests of this package and named members that it keeps as arrays are plain, "
                    f"got the member {member.name!r}"
                )
        inputs = fit_inputs(
            training.table,
            training.task.key,
            given,
            training.units,
            folds=training.folds if gives_folds(self.cv) else None,
            numbers=None if all(member.is_forest for member in members) else training.numbers,
        )
        with naming("checkpoint"):
            return Checkpoint(self.checkpoint, description(self, **inputs))

    # Asking.

    def _read_layers(
        self, X, read: Callable[[Iterator], list], *, warn_if_seen=False
    ) -> list[np.ndarray]:
        """Arrays for all rows of X, of what `read` makes of each layer's vectors for a block.

        These have shape (n_members, n_samples, n_columns).
        """
        check_is_fitted(self, "_layers")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        needs_numbers = any(not member.is_forest for member in self._layers[0].members)
        # What has been seen is known by the codes of all columns.
        wanted = None if warn_if_seen else grower.columns_used(self._trees(), self._n_raw)
        rows = NewRows(
            self._binner, table, n_spare=self._n_spare, wanted=wanted, numbers=needs_numbers
        )
        if warn_if_seen:
            warn_of_seen(rows.codes(), self._seen)

        def read_block(first, end):
            return read(self._layer_vectors(*rows.block(first, end), self.n_jobs))

        n_vectors = sum(len(layer.members) for layer in self._layers) * len(self._outputs)
        row_bytes = (24 if needs_numbers else 1) * self._n_raw + 32 * n_vectors
        return by_blocks(read_block, table.shape[0], row_bytes)

    def _trees(self) -> list:
        """All blocks of trees."""
        members = (member for layer in self._layers for member in layer.members)
        return [block for member in members if member.is_forest for block in member.models]

    def _layer_vectors(self, codes, numbers, n_jobs) -> Iterator[np.ndarray]:
        """Yield each layer's vectors of rows whose spare columns are written over for each."""
        before = None
        n_columns = len(self._outputs)
        if numbers is not None:
            numbers = bounded(numbers)
        for layer in self._layers:
            if before is not None:
                apply_bins(before, layer.bins, out=codes, first_column=self._n_raw, n_jobs=n_jobs)
            vectors = np.stack(
                [member.vectors(codes, numbers, n_columns, n_jobs) for member in layer.members]
            )
            yield vectors
            before = layer.augment(vectors)

    def _means(self, stages) -> Iterator[np.ndarray]:
        """Weighted averages of the layers so far, by their vectors, once a weight is above 0."""
        total, weight = np.zeros(1), 0.0
        for layer, vectors in zip(self._layers, stages, strict=True):
            for member, of_member in zip(layer.members, vectors, strict=True):
                if member.weight > 0:
                    total = total + member.weight * sharpened(of_member, member.exponent)
                    weight += member.weight
            if weight > 0:
                yield total / weight

    def _layers_fitted(self) -> list[Any]:
        check_is_fitted(self, "_layers")
        return self._layers

    def transform(self, X):
        """What all members of the kept layers predict: class vectors, or standardised numbers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New samples. For those that it was grown on, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Named by `get_feature_names_out`.
        """

        def read(layers):
            return [np.hstack([columns_of(vectors, None) for vectors in layers])]

        (features,) = self._read_layers(X, read, warn_if_seen=True)
        return features

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that `transform` gives, such as "layer1_random_setosa".

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
        """
        names = [
            f"layer{number + 1}_{member.name}_{output}"
            for number, layer in enumerate(self._layers_fitted())
            for member in layer.members
            for output in self._outputs
        ]
        return np.array(names, dtype=object)

    @property
    def feature_importances_(self):
        """Mean decrease of impurity in the first layer's forests, weighted as in the average.

        Where none of them is kept, of all that were tried, as they grew on the folds. Zeros if
        there are no forests among the members, or none of them has a split.
        """
        first = self._layers_fitted()[0]
        weighted = [(v.weight, v.importances) for v in first.members if v.importances is not None]
        total = np.zeros(self._n_raw)
        for weight, found in weighted or [(1.0, found) for found in first.tried or ()]:
            shares = found[: self._n_raw]
            if shares.any():
                total += max(weight, 1e-9) * shares / shares.sum()
        return total / total.sum() if total.sum() > 0 else total

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_layers")

    def _counts(self):
        n_raw, width, trees = self._binner.bins_.n_columns, self._width, self._trees()
        most = max(MOST_COLUMNS, width)
        n_spare = trees[0].n_columns - n_raw if trees else min(self._n_spare, most)
        yield "n_features_in_", self.n_features_in_, n_raw
        yield "n_raw", self._n_raw, n_raw
        yield "n_spare", self._n_spare, n_spare
        yield "n_layers_", self.n_layers_, len(self._layers)
        for block in trees:
            yield "width of trees", block.width, width
