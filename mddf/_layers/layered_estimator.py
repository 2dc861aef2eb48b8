"""Base class of estimators with layers: their fit, and features from their layers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin, is_classifier
from sklearn.utils._metadata_requests import MetadataRequest
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.array_hash import hash_of_arrays
from mddf._base.types import TableLike
from mddf._base.validation import (
    COUNT,
    JOBS,
    Within,
    check_lengths,
    fit_context,
    unchanged_on_failure,
)
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._binning.new_rows import NewRows
from mddf._fitted.base_estimators import TableEstimator, warn_of_seen
from mddf._fitted.batching import Conversion, in_blocks
from mddf._fitted.fitted_model import FittedStages, RunningAverage, Stage
from mddf._fitted.vector_layout import columns_of
from mddf._gradient.elapsed_days import helpful_days
from mddf._input.reading import read_table
from mddf._input.table import Table
from mddf._input.table_warnings import TableWarnings
from mddf._input.target_copies import TargetCopies
from mddf._layers.deadline import Clock
from mddf._layers.trainer import Trainer
from mddf._members.composition import is_named, named_members
from mddf._resampling.folds import ask_for_groups, gives_folds
from mddf._resampling.time_order import X_for_splitter, time_column
from mddf._targets.target_validation import check_weights, plain_array

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

# Descriptions that all estimators with layers share; see `describes_parameters`.
LAYERED_PARAMETERS = """
random_state : int, RandomState or None
    Seed of folds, trees and other members.
checkpoint : str or path
    Folder in which each layer is saved as soon as it is trained. A fit with the same data,
    parameters and seed, which has to be a number, goes on after the last layer in the folder
    and has the same result. A fit with other inputs is refused. So are members of other packages
    in cascades, and in deep forests with ``refit=False`` or a `time_limit`, since their models
    would have to be stored. Change it if the fit is long and may be interrupted.

Attributes
----------
n_layers_ : int
    Number of layers that are kept.
n_without_oof_ : int
    Number of samples without an out-of-fold prediction, which have no past in time order. They are
    left out of all figures, weights and calibrations; their predictions are NaN.
stop_reason_ : str
    Why there are no more layers.
"""


@dataclass(frozen=True)
class FitInputs:
    """Checked inputs of fit, except for the target."""

    X: Any  # as the user passed it
    table: Table  # the same as typed columns
    y: npt.ArrayLike  # as the user passed it
    sample_weight: np.ndarray | None  # (n_samples,)
    groups: npt.ArrayLike | None  # (n_samples,): as the user passed them
    clock: Clock  # which runs since the beginning of the fit

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.table.shape[1]

    def X_for_splitter(self, binner: Binner, cv: Any) -> Any:
        """X as a splitter can read it."""
        return X_for_splitter(self.X, cv, lambda: binner.numbers(self.table))


class Layered(TransformerMixin, TableEstimator):
    """An estimator with layers, which it fits and stores, predicts through and transforms with.

    Named members of its list, and their parameters, are parameters of the estimator: ``lr`` and
    ``lr__C`` of ``("lr", LogisticRegression())``.
    """

    _member_list: ClassVar[str]  # name of the parameter that is a list of members
    cv: Any
    categorical_features: Any
    max_bins: int
    n_jobs: int | None
    n_features_in_: int
    n_layers_: int
    _fitted: FittedStages
    random_state: int | np.random.RandomState | None
    checkpoint: str | PathLike[str] | None
    time_limit: float | None = None  # parameter of deep forests only
    _n_without_oof: int
    _seen: str  # hash of the table of the fit

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Get the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether members and their parameters are included.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        if deep:
            for name, member in named_members(getattr(self, self._member_list)):
                params.setdefault(name, member)  # fit refuses the name of another parameter
                if hasattr(member, "get_params") and not isinstance(member, type):
                    inner = member.get_params(deep=True).items()
                    params.update({f"{name}__{key}": value for key, value in inner})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members and their parameters.

        Parameters
        ----------
        **params : dict
            Values by the names of `get_params`.

        Returns
        -------
        self
        """
        if self._member_list in params:  # other parameters may be of its members
            setattr(self, self._member_list, params.pop(self._member_list))
        members = getattr(self, self._member_list)
        replaced = {name for name, _ in named_members(members)} & params.keys()
        replaced -= set(self._get_param_names())
        if replaced:
            members = [
                (member[0], params[member[0]])
                if is_named(member) and member[0] in replaced
                else member
                for member in members
            ]
            setattr(self, self._member_list, members)
        params = {name: value for name, value in params.items() if name not in replaced}
        return super().set_params(**params)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit the layers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,), or (n_samples, n_outputs) for several outputs
            Classes are numbers, strings or booleans. Targets of a regressor are numbers.
        sample_weight : array of shape (n_samples,), default=None
            Not negative. Bootstraps draw in proportion to it, as many rows as have weight or as
            `max_samples` of the forests gives; other trees count weight k as k equal rows. Deep
            forests count a whole weight k as k samples when they decide between models: divide
            weights that are no counts by their mean.
        groups : array of shape (n_samples,), default=None
            Samples of one group are held out together, by a number of folds and by splitters
            that look at groups. With scikit-learn's metadata routing they are asked for if `cv`
            is such a splitter, or after ``set_fit_request(groups=True)``.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            inputs = self._read_inputs(X, y, sample_weight, groups)
            self._fit(inputs, with_features=False)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Fit the layers and return the layer features of the training samples.

        The features are out-of-fold: they come from models that did not see the sample. Another
        model that is trained on them therefore meets similar features on new samples, after
        `transform`. This is why they differ from ``fit(X, y).transform(X)``. In cascades, the
        similarity is not perfect from the second layer on: a sample's neighbours pass on vectors
        of models that saw its label, so that its own vectors know a little too much about it.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        with unchanged_on_failure(self):
            inputs = self._read_inputs(X, y, sample_weight, groups)
            vectors = self._fit(inputs, with_features=True)
        return self._join_layers(vectors)

    def _fit(self, inputs: FitInputs, *, with_features: bool) -> list[np.ndarray]:
        """Fit; returns the out-of-fold vectors of all layers, if `with_features`."""
        raise NotImplementedError

    def _join_layers(self, vectors: list[np.ndarray]) -> np.ndarray:
        """Layer features (n_samples, n_features_out) from the vectors of all layers."""
        return np.hstack([columns_of(layer_vectors, None) for layer_vectors in vectors])

    def _read_inputs(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        groups: npt.ArrayLike | None,
    ) -> FitInputs:
        clock = Clock(self.time_limit)
        table = read_table(
            self,
            X,
            reset=True,
            categorical_features=self.categorical_features,
            time=time_column(self.cv),
            elapsed=helpful_days(self, X, y, sample_weight),
        )
        check_lengths(X, y=y, groups=groups)
        weights = check_weights(sample_weight, table.shape[0])
        return FitInputs(X, table, y, weights, groups, clock)

    def _bin(
        self, inputs: FitInputs, n_spare: int, many_levels: int | None = None
    ) -> tuple[Binner, BinnedTable]:
        """Bin the table, with spare columns on the right."""
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs, many_levels)
        warnings = TableWarnings(
            inputs.table,
            inputs.sample_weight,
            TargetCopies(plain_array(inputs.y, "y"), are_classes=is_classifier(self)),
            has_groups=inputs.groups is not None or gives_folds(self.cv),
            warns_of_time=True,
        )
        table = binner.fit_transform(
            inputs.table, inputs.sample_weight, warnings=warnings, n_spare=n_spare
        )
        return binner, table

    def get_metadata_routing(self) -> MetadataRequest:
        """Metadata that `fit` requests: groups, if `cv` is a splitter that uses them.

        Returns
        -------
        MetadataRequest
        """
        return ask_for_groups(super().get_metadata_routing(), self.cv)

    @property
    def n_without_oof_(self) -> int:
        """Number of training samples without an out-of-fold prediction."""
        check_is_fitted(self)
        return self._n_without_oof

    def _store_rows(self, trainer: Trainer) -> None:
        """Remember the rows of the fit, and how many have no out-of-fold prediction."""
        self._seen = hash_of_arrays(trainer.table.codes[:, : trainer.n_features])
        self._n_without_oof = trainer.n_samples - len(trainer.evaluated_rows)

    def transform(self, X: Any) -> np.ndarray:
        """Layer features of new samples: predictions of the members of all kept layers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New samples. For the training samples, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Class vectors, or standardised numbers, side by side; named by
            `get_feature_names_out`.
        """
        check_is_fitted(self)
        # The codes of all columns decide whether these are the training samples.
        rows = self._encode(X, all_columns=True)
        warn_of_seen(rows.all_rows().codes, self._seen)
        stages = self._fitted_stages()

        def predict(first: int, end: int) -> list[np.ndarray]:
            outputs = stages.run(rows.block(first, end), self.n_jobs)
            return [self._join_layers([output.vectors for output in outputs])]

        (features,) = in_blocks(rows.n_rows, stages.row_bytes, predict)
        return features

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> np.ndarray:
        """Names of the columns that `transform` returns, such as "layer1_random_setosa".

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
            Layers, and the forests of cascades ("layer1_forest3_setosa"), are counted from 1.
            Characters that XGBoost and LightGBM refuse in names, such as "<" and "[", become "_".
        """
        check_is_fitted(self)
        names = [
            f"layer{number + 1}_{member}_{label}"
            for number, stage in enumerate(self._fitted.stages)
            for member in self._member_names(stage)
            for label in self._column_labels
        ]
        return np.array(names, dtype=object)

    def _member_names(self, stage: Stage) -> list[str]:
        """Names of the members of a layer in the names of columns."""
        raise NotImplementedError

    @property
    def _column_labels(self) -> list[str]:
        """Names of the classes or outputs in the names of columns."""
        raise NotImplementedError

    @property
    def _n_columns(self) -> int:
        """Numbers of a vector: classes or outputs."""
        raise NotImplementedError

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield from super()._counts()
        yield "n_layers_", self.n_layers_, len(self._fitted.stages)
        for member in self._fitted.members:
            yield "n_columns", member.n_columns, self._n_columns

    def _encode(self, X: TableLike, *, all_columns: bool = False) -> NewRows:
        """Rows of X as the members of the stages read them."""
        stages = self._fitted_stages()
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        return stages.encode(table, self.n_jobs, all_columns=all_columns)

    def _staged_predictions(
        self, X: TableLike, convert: Conversion | None = None
    ) -> list[np.ndarray]:
        """Predictions for all rows after each stage, as soon as a member has a weight."""
        stages = self._fitted_stages()
        rows = self._encode(X)

        def predict(first: int, end: int) -> list[np.ndarray]:
            average = RunningAverage(stages)
            staged = []
            for output in stages.run(rows.block(first, end), self.n_jobs):
                average.add(output)
                if average.is_defined:
                    staged.append(stages.finish(average.value()))
            return staged

        return in_blocks(rows.n_rows, stages.row_bytes, predict, convert)


def staged_predict_proba(self: Any, X: TableLike) -> Iterator[np.ndarray | list[np.ndarray]]:
    """Class probabilities after each layer.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)

    Yields
    ------
    ndarray of shape (n_samples, n_classes), or a list of these if there are several outputs
        Once for each layer that is kept, from the first one with a weight above 0 on.
    """
    yield from map(self._by_output, self._staged_predictions(X))


def staged_predict(self: Any, X: TableLike) -> Iterator[np.ndarray]:
    """Predicted classes after each layer.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)

    Yields
    ------
    ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        As often as `staged_predict_proba`.
    """
    yield from self._staged_predictions(X, self._most_probable)


def column_names(classes: np.ndarray) -> list[str]:
    """Classes as parts of names that other libraries accept, all different."""
    names = [re.sub(r"[^\w.+=-]", "_", str(label)) for label in classes]
    if len(set(names)) == len(names):
        return names
    return [f"{number}_{name}" for number, name in enumerate(names)]
