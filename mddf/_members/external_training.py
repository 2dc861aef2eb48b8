"""Training of classifiers and regressors that are not forests of this package."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import delayed
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import get_tags

from mddf._base.backends import in_order, shared
from mddf._base.parallel import job_count, shares_memory
from mddf._base.serialization import is_serializable
from mddf._base.thread_limits import one_thread
from mddf._binning.categories import CategoryEncoder
from mddf._gradient.base import GradientBoosting
from mddf._members.dataframes import FrameColumns
from mddf._members.external import blaming, weight_parameter
from mddf._members.external_member import (
    FittedModel,
    OnePerOutput,
    SomeClassesClassifier,
    external_vectors,
)
from mddf._members.fit import Fit
from mddf._targets.weights import rows_with_weight

# Below this number of cells times outputs, estimators whose fits consist of many short steps in
# Python are fitted in one thread, because they are slower in several threads. Set by hand.
_FEW_CELLS = 2**19


@dataclass(frozen=True)
class TrainingData:
    """Data on which an external member is trained."""

    X: np.ndarray
    # uint16 codes of classes, (n_samples,) or (n_samples, n_outputs); or float64, (n_samples,
    # n_columns)
    target: np.ndarray
    n_columns: int  # number of classes, or of outputs of a regression
    sample_weight: np.ndarray | None
    n_classes_per_output: Sequence[int] | None = None  # for classes of several outputs
    frame_columns: FrameColumns | None = None  # for estimators that take data frames
    encoders: Mapping[int, CategoryEncoder] = field(default_factory=dict)  # of their categories

    def rows(self, rows: np.ndarray) -> Any:
        """Some rows as the estimator takes them: an array or a data frame."""
        X = self.X[rows]
        columns = self.frame_columns
        return X if columns is None else columns.frame(X, self.encoders)

    @property
    def is_regression(self) -> bool:
        """Whether the target is numeric."""
        return self.target.dtype.kind == "f"

    def outputs(self) -> list[TrainingData]:
        """Split the data by the outputs of the target."""
        if self.is_regression:
            columns = np.split(self.target, self.n_columns, axis=1)
            return [replace(self, target=column, n_columns=1) for column in columns]
        assert self.n_classes_per_output is not None
        return [
            replace(self, target=labels, n_columns=n_classes, n_classes_per_output=None)
            for labels, n_classes in zip(self.target.T, self.n_classes_per_output, strict=True)
        ]


def n_fits(
    estimator: BaseEstimator, n_classes_per_output: Sequence[int] | None, n_targets: int = 1
) -> int:
    """Number of models that are fitted on a part: one, or one for each output."""
    if n_classes_per_output is not None:
        learns_outputs = getattr(estimator, "_learns_outputs", False)
        return 1 if learns_outputs else len(n_classes_per_output)
    return 1 if n_targets == 1 or _learns_targets(estimator) else n_targets


def _learns_targets(estimator: BaseEstimator) -> bool:
    """Whether one regressor can learn several targets."""
    if isinstance(estimator, GradientBoosting):
        return False  # as for the members "boosted": trees of its own for each target
    return is_serializable(estimator) or get_tags(estimator).target_tags.multi_output


def _fit_part(
    X: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None,
    data: TrainingData,
    *,
    estimator: BaseEstimator,
    train: np.ndarray,
    held_out: np.ndarray | None,
    seed: int,
    name: str,
    config: dict[str, object],
) -> tuple[FittedModel, np.ndarray | None]:
    """Fit a clone on some rows, and predict the held-out rows.

    The arrays are passed separately from `data`, since each worker gets them once for all parts.
    """
    data = replace(data, X=X, target=target, sample_weight=sample_weight)
    # Parts are spread over the cores: an estimator's own threads would compete with the others.
    with one_thread(), config_context(**config):
        model = _fitted(estimator, data, train, seed=seed, name=name)
        if held_out is None:
            return model, None
        return model, external_vectors(model, data.rows(held_out), data.n_columns, name)


def _fitted(
    estimator: BaseEstimator, data: TrainingData, train: np.ndarray, *, seed: int, name: str
) -> FittedModel:
    """Fit a clone of the estimator on some rows, or a clone for each output if needed."""
    n_targets = data.n_columns if data.is_regression else 1
    n_models = n_fits(estimator, data.n_classes_per_output, n_targets)
    if n_models == 1:
        return _fitted_to_all(estimator, data, train, seed=seed, name=name)
    outputs = data.outputs()
    seeds = np.random.SeedSequence(seed).generate_state(len(outputs))
    models = [
        _fitted_to_all(estimator, output, train, seed=int(output_seed), name=name)
        for output, output_seed in zip(outputs, seeds, strict=True)
    ]
    return OnePerOutput(models, [output.n_columns for output in outputs])


def _fitted_to_all(
    estimator: BaseEstimator, data: TrainingData, train: np.ndarray, *, seed: int, name: str
) -> FittedModel:
    """Fit a clone of the estimator to the whole target of some rows."""
    model = clone(estimator)
    random = np.random.RandomState(seed)
    _set_random_states(model, random)
    _set_one_thread(model)
    fit_parameters = {}
    if data.sample_weight is not None:
        weight_name = weight_parameter(model)
        if weight_name is None:
            train = _draw_by_weight(train, data.target, data.sample_weight, random)
        else:
            fit_parameters[weight_name] = data.sample_weight[train]
    y = data.target[train]
    if not data.is_regression:
        y = y.astype(np.int64)
    elif data.n_columns == 1:
        y = y[:, 0]
    is_own = is_serializable(model)
    classes = None
    if not (data.is_regression or is_own):
        present, positions = np.unique(y, return_inverse=True)
        if len(present) == 1:  # most classifiers need two classes
            model = DummyClassifier()
            fit_parameters = {}
        elif len(present) <= present[-1]:  # some class is absent from these rows
            classes = present
            y = positions
    rows = data.rows(train)
    with blaming(name, "be fitted", rows):
        model.fit(rows, y, **fit_parameters)
    return model if classes is None else SomeClassesClassifier(model, classes)


def _set_one_thread(model: BaseEstimator) -> None:
    """Set `n_jobs` of other packages' estimators to 1 if users have not set it.

    Parts of a layer are fitted at the same time. For scikit-learn, None already means one thread.
    LightGBM starts as many threads as there are cores whatever the limits of OpenMP are, and its
    results depend on their number.
    """
    for part in [model, *model.get_params(deep=True).values()]:
        if not isinstance(part, BaseEstimator):
            continue
        # Subclasses that users write have scikit-learn's parameters, with their meaning.
        definition = getattr(type(part).__init__, "__module__", "")
        if definition.startswith("sklearn."):
            continue
        if part.get_params(deep=False).get("n_jobs", 1) is None:
            part.set_params(n_jobs=1)


def _draw_by_weight(
    rows: np.ndarray, target: np.ndarray, weights: np.ndarray, random: np.random.RandomState
) -> np.ndarray:
    """Draw as many rows in proportion to their weights, and one row of each class not drawn."""
    drawn = random.choice(rows, len(rows), p=weights[rows] / weights[rows].sum())
    left_out = rows[~np.isin(target[rows], target[drawn])]
    _, first = np.unique(target[left_out], return_index=True)
    return np.concatenate([drawn, left_out[first]])


def fit_external(
    estimator: BaseEstimator,
    data: TrainingData,
    parts: Sequence[tuple[np.ndarray, np.ndarray | None]],
    *,
    entropy: Sequence[int],
    n_jobs: int | None,
    name: str = "",
) -> list[Fit]:
    """Fit clones of a classifier or regressor on parts of the rows, and predict the other rows.

    If the fit of an estimator takes no weights, its rows are drawn in proportion to the weights. A
    ValueError is raised if a part has no training row with a weight above 0.

    Parameters
    ----------
    estimator : estimator
    data : TrainingData
    parts : sequence of (train, held out)
        Training rows and held-out rows of each part. If the latter are None, nothing is predicted.
    entropy : sequence of int
        Entropy of the random states.
    n_jobs : int or None
    name : str, default=""
        The estimator's name in errors, by default the name of its class.
    """
    weights = data.sample_weight
    if weights is not None:
        parts = [(rows_with_weight(train, weights), held_out) for train, held_out in parts]
    seeds = np.random.SeedSequence(entropy).generate_state(len(parts))
    arrays = shared([data.X, data.target, weights])
    # Weights are passed by name: no estimator inside has to request them.
    config = get_config() | {"enable_metadata_routing": False}
    name = name or type(estimator).__name__
    tasks = (
        delayed(_fit_part)(
            *arrays,
            replace(data, X=data.X[:0], target=data.target[:0], sample_weight=None),
            estimator=estimator,
            train=train,
            held_out=held_out,
            seed=int(seed),
            name=name,
            config=config,
        )
        for (train, held_out), seed in zip(parts, seeds, strict=True)
    )
    is_small = data.X.size * data.n_columns < _FEW_CELLS
    if is_small and getattr(estimator, "_fits_step_by_step", False) and shares_memory():
        n_jobs = 1
    # The limit is also set here, because limits of single threads would end between their fits.
    with one_thread(), warnings.catch_warnings():
        # A fold may have many classes in few rows. The check of the whole y has issued the
        # warning.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        fits = list(in_order(tasks, job_count(n_jobs, len(parts), require=None)))
    return [
        Fit.without_rows(model, data.n_columns)
        if held_out is None
        else Fit(model, held_out, vectors)
        for (model, vectors), (_, held_out) in zip(fits, parts, strict=True)
    ]
