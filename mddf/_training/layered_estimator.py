"""What estimators of several layers share: how they are fitted and asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from mddf._base.validation import COUNT, JOBS, Within, naming, unchanged_on_failure
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner, NewRows
from mddf._fitted.base_estimators import warn_of_seen
from mddf._fitted.batching import by_blocks, last
from mddf._fitted.fitted_model import FittedStages
from mddf._input.reading import read_table
from mddf._input.table import Table
from mddf._resampling.folds import ask_for_groups
from mddf._training.checkpoints import Checkpoint, description
from mddf._trees import predictor

CONSTRAINTS: dict[str, Any] = {
    "n_layers": [COUNT],
    "n_estimators": [COUNT],
    "refit": ["boolean"],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "max_bins": [Within(Integral, 2, 255, closed="both")],
    "n_jobs": JOBS,
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "checkpoint": [str, PathLike, None],
}


class Layered(TransformerMixin):
    """Grows layers, and asks its fitted stages about new rows.

    Comes before scikit-learn's classes among the bases of an estimator.
    """

    cv: Any
    categorical_features: Any
    max_bins: int
    n_jobs: int | None
    random_state: Any
    checkpoint: Any
    _seen: str

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Grow the layers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,), or (n_samples, n_outputs) of a regressor
            Classes, which are numbers, strings or booleans; a regressor's are numbers.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. Bootstraps draw in proportion to it as many rows as have weight, unless
            the forests say otherwise by `max_samples`; other trees count weight k as k equal rows.
            To deep forests, whole numbers count copies of a sample, which decides how sure the
            model is of what it learns: divide weights that are no counts by their mean.
        groups : array of shape (n_samples,), default=None
            Samples of one group are held out together, by a number of folds and by splitters
            that look at groups. With scikit-learn's metadata routing they are asked for if `cv`
            is such a splitter, or after ``set_fit_request(groups=True)``.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, groups, with_features=False)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> np.ndarray:
        """Grow the layers and give the layer features of the samples they were grown on.

        The features are out-of-fold: no tree that saw a sample says anything of it, so that
        another model trained on them meets on new samples, after `transform`, nearly what it was
        trained for. This is why they differ from ``fit(X, y).transform(X)``. Only nearly: from
        the second layer on a sample's neighbours pass on vectors of trees that saw its label, so
        that its own vectors tell a little too much of it.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        with unchanged_on_failure(self):
            vectors = self._fit(X, y, sample_weight, groups, with_features=True)
        return self._features(vectors)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, *, with_features: bool
    ) -> list[np.ndarray]:
        """Fit; the out-of-fold vectors of all layers, if features are wanted of them."""
        raise NotImplementedError

    def _features(self, layers: list[np.ndarray]) -> np.ndarray:
        """Features, shape (n_samples, n_features_out), of the vectors of all layers."""
        raise NotImplementedError

    def _coded(
        self,
        table: Table,
        given: Any,
        n_spare: int,
        *,
        many_levels: int | None = None,
        has_groups: bool = False,
    ) -> tuple[Binner, BinnedTable, tuple[int, ...]]:
        """The table as codes with spare columns, and the entropy of all random streams."""
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs, many_levels)
        binned = binner.fit_transform(table, given, n_spare=n_spare, has_groups=has_groups)
        random = check_random_state(self.random_state)
        return binner, binned, tuple(random.randint(0, 2**32, 4, dtype=np.uint64).tolist())

    def _checkpoint(self, inputs: dict[str, list[np.ndarray]]) -> Checkpoint:
        """That of a fit on these inputs."""
        with naming("checkpoint"):
            return Checkpoint(self.checkpoint, description(self, **inputs))

    def get_metadata_routing(self) -> Any:
        """What `fit` asks for: groups, where `cv` is a splitter that does.

        Returns
        -------
        MetadataRequest
        """
        return ask_for_groups(super().get_metadata_routing(), self.cv)

    def _fitted_stages(self) -> FittedStages:
        """What a fitted model consists of."""
        raise NotImplementedError

    def _read_layers(
        self,
        X: Any,
        read: Callable[[FittedStages, Iterator[tuple[np.ndarray, np.ndarray]]], list[np.ndarray]],
        *,
        warn_if_seen: bool = False,
    ) -> list[np.ndarray]:
        """Arrays for all rows of X, of what `read` makes of what the stages say of a block."""
        fitted = self._fitted_stages()
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        # What has been seen is known by the codes of all columns.
        wanted = None if warn_if_seen else predictor.columns_used(fitted.blocks, fitted.n_raw)
        rows = NewRows(
            fitted.binner,
            table,
            n_spare=fitted.n_added,
            wanted=wanted,
            numbers=not fitted.sees_codes_only,
            levels=fitted.columns_of_levels,
        )
        if warn_if_seen:
            warn_of_seen(rows.codes(), self._seen)

        def read_block(first: int, end: int) -> list[np.ndarray]:
            return read(fitted, fitted.ask(rows.block(first, end), self.n_jobs))

        return by_blocks(read_block, table.shape[0], fitted.row_bytes)

    def _read_stages(
        self, X: Any, read: Callable[[Iterator[np.ndarray]], list[np.ndarray]]
    ) -> list[np.ndarray]:
        """Arrays for all rows of X, of what `read` makes of the predictions after each layer."""
        return self._read_layers(X, lambda fitted, asked: read(fitted.outcomes(asked)))

    def _averages(self, X: Any) -> np.ndarray:
        """The average over all layers, as it is before it is calibrated or put in units."""
        (found,) = self._read_layers(X, lambda fitted, asked: [last(fitted.averages(asked))])
        return found

    def _layer_features(
        self, X: Any, make: Callable[[list[np.ndarray]], np.ndarray]
    ) -> np.ndarray:
        """Features of new rows, which `make` makes of the vectors of all layers."""

        def read(_: FittedStages, asked: Iterator[Any]) -> list[np.ndarray]:
            return [make([vectors for vectors, _ in asked])]

        (features,) = self._read_layers(X, read, warn_if_seen=True)
        return features


def column_names(classes: np.ndarray) -> list[str]:
    """Classes as parts of names that other libraries take, all different."""
    names = [re.sub(r"[^\w.+=-]", "_", str(label)) for label in classes]
    if len(set(names)) == len(names):
        return names
    return [f"{number}_{name}" for number, name in enumerate(names)]
