"""Gradient-boosted trees as members of layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone

from mddf._base.elementary import class_probabilities
from mddf._base.serialization import register_serializable
from mddf._base.validation import MOST
from mddf._binning.binned_table import BinnedTable
from mddf._binning.encoded_rows import CategoryLevels, EncodedRows
from mddf._core import BoostOptions
from mddf._fitted.fitted_model import FittedMember
from mddf._gradient.base import GradientBoosting
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import ClassificationTarget, RegressionTarget
from mddf._gradient.options import kernel_options, learning_rate_of
from mddf._gradient.rounds import MOST_TIMES, Rounds, most_rounds
from mddf._gradient.target_statistics import Encoding, TargetStatistics, with_statistics
from mddf._gradient.training import Boosted, boost_folds
from mddf._gradient.trees import BoostedTrees
from mddf._members.fit import Fit
from mddf._members.screening import n_kept_columns
from mddf._targets.weights import rows_with_weight

# Largest number of rounds on wide tables (see `screening`), where 500 rounds fit the training
# rows. On tables of latent factors (50 to 200 rows, 1000 to 5000 columns), 2000 rounds took four
# times as long and lowered held-out squared errors by at most 0.12 %.
_MAX_ROUNDS_OF_WIDE = 500


@register_serializable("boosted member")
@dataclass(frozen=True)
class BoostedModel:
    """Boosted trees of one fold.

    Attributes
    ----------
    trees : list of BoostedTrees
        A regressor has an entry for each output. A classifier has an entry for each output with
        two or more classes.
    is_classifier : bool
    statistics : list of TargetStatistics or None
        Further columns of the trees, with an entry for each of `trees`. None if no column has many
        levels.
    widths : list of int or None, default=None
        Number of classes of each output of a classifier of several outputs.
    """

    trees: list[BoostedTrees]
    is_classifier: bool
    statistics: list[TargetStatistics] | None = None
    widths: list[int] | None = None

    @property
    def rounds(self) -> list[int]:
        """Number of rounds for each entry of `trees`."""
        return [trees.n_trees for trees in self.trees]

    def trees_with_statistics(self) -> Iterator[tuple[BoostedTrees, TargetStatistics | None]]:
        return zip(self.trees, self.statistics or repeat(None), strict=False)

    def finish(self, raw: list[np.ndarray], n_rows: int) -> np.ndarray:
        """Class probabilities or targets from the raw predictions of each of `trees`."""
        if self.widths is not None:
            raw_of_outputs = iter(raw)
            return np.hstack(
                [
                    class_probabilities(next(raw_of_outputs)) if n > 1 else np.ones((n_rows, 1))
                    for n in self.widths
                ]
            )
        if not raw:
            return np.ones((n_rows, 1))
        return class_probabilities(raw[0]) if self.is_classifier else np.hstack(raw)


@register_serializable("fitted boosted trees")
@dataclass(frozen=True)
class BoostedFolds(FittedMember):
    """Boosted trees of all folds, whose predictions are averaged."""

    @property
    def has_trees(self) -> bool:
        return False

    @property
    def reads_codes(self) -> bool:
        return True

    @property
    def blocks(self) -> list[BoostedTrees]:
        return [trees for model in self.models for trees in model.trees]

    @property
    def reads_levels(self) -> bool:
        return any(model.statistics is not None for model in self.models)

    @property
    def n_features(self) -> int:
        """Number of columns of the table that the trees were grown on, without statistics."""
        return max(
            (
                trees.n_columns - (0 if statistics is None else statistics.n_columns)
                for model in self.models
                for trees, statistics in model.trees_with_statistics()
            ),
            default=0,
        )

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        rows = replace(rows, codes=np.ascontiguousarray(rows.codes[:, : self.n_features]))
        predictions = []
        for model in self.models:
            raw = []
            for trees, statistics in model.trees_with_statistics():
                raw.append(trees.raw(with_statistics(rows, statistics), n_jobs))
            predictions.append(model.finish(raw, len(rows.codes)))
        return np.mean(predictions, axis=0)


def boosting_options(
    model: GradientBoosting,
    table: BinnedTable,
    n_classes: int,
    encoding: Encoding | None = None,
    most_features: int = MOST,
) -> BoostOptions:
    """Convert parameters to the kernel's options; refuse values that do not fit the table."""
    target: ClassificationTarget | RegressionTarget = RegressionTarget("squared_error", 0)
    if n_classes:
        target = ClassificationTarget("log_loss", np.arange(n_classes))
    model = clone(model)
    model.n_features_in_ = table.bins.n_columns  # constraints are checked against it
    categorical = table.bins.categorical > 0
    return kernel_options(model, table, target, categorical, encoding, most_features=most_features)


def boost_parts(
    model: GradientBoosting,
    table: BinnedTable,
    task: Any,
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    weights: np.ndarray | None,
    keys: np.ndarray,
    levels: CategoryLevels | None = None,
    entropy: Sequence[int],
    rounds: Sequence[int] | None,
    n_jobs: int | None = None,
    screens: bool = True,
    goes_on: bool = False,
    until: float = np.inf,
    start_by: float = np.inf,
    whole: bool = False,
) -> list[Fit]:
    """Train a boosted model for each part, and predict the held-out rows.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    table : BinnedTable
    task : ClassificationTask or RegressionTask
    parts : list of (train, held out)
    weights : ndarray of shape (n_samples,) or None
        Weights from `boosting_weights`.
    keys : ndarray of uint64 of shape (n_samples,)
        Hashes of the rows. Rows with the same key are drawn together.
    levels : CategoryLevels or None, default=None
        Levels of the columns with many categories, which get target statistics.
    entropy : sequence of int
        Entropy of the random states.
    rounds : sequence of int or None
        Number of rounds for each output that needs trees, the same for all parts. None takes the
        number up to `max_iter` with the least loss over all held-out rows, or `max_iter` itself
        without early stopping.
    n_jobs : int or None, default=None
    screens : bool, default=True
        Whether splits of wide tables search only some columns, drawn at random.
    goes_on : bool, default=False
        Whether rounds go on after `max_iter`, at rising rates, while the loss falls.
    until, start_by, whole
        Limits of time; see `boost_folds`.
    """
    # 1. Skip outputs with a single class, which need no trees.
    widths = task.n_classes_per_output
    outputs = [(i, y.astype(float), n) for i, (y, n) in enumerate(task.outputs) if n != 1]
    # 2. Choose the numbers of rounds and of searched columns.
    if weights is not None:
        parts = [(rows_with_weight(train, weights), held_out) for train, held_out in parts]
    max_features = MOST
    if screens:
        max_features = min(n_kept_columns(len(train), table.bins.n_columns) for train, _ in parts)
    if rounds is None and not model.early_stopping:
        rounds = [most_rounds(model, any_held_out=False)] * len(outputs)
    max_rounds = _max_rounds(model, is_wide=max_features < table.bins.n_columns, goes_on=goes_on)
    # 3. Boost the outputs one after the other. Each has an equal share of the time.
    start = monotonic()
    boosted_by_output = []
    for position, (output, y, n_classes) in enumerate(outputs):
        seed = (*entropy, output)
        encoding = None
        if levels is not None:
            encoding = Encoding.from_targets(levels, y, n_classes, seed, model.max_bins)
        time_share = (position + 1) / len(outputs)
        boosted_by_output.append(
            boost_folds(
                BoostingRows.from_table(table, np.ascontiguousarray(y), weights),
                parts,
                boosting_options(model, table, n_classes, encoding, max_features),
                _rounds_of(
                    model,
                    seed,
                    max_rounds if rounds is None else rounds[position],
                    table.n_rows,
                    goes_on=goes_on,
                ),
                patience=int(model.n_iter_no_change) if rounds is None else 0,
                keys=keys,
                encoding=encoding,
                until=start + time_share * (until - start),
                start_by=start + time_share * (start_by - start),
                whole=whole,
                n_jobs=n_jobs,
            )
        )
    # 4. Combine the outputs of each part.
    is_classifier = task.outputs[0][1] > 0
    return [
        _combine_outputs(boosted, held_out, is_classifier=is_classifier, widths=widths)
        for (_, held_out), *boosted in zip(parts, *boosted_by_output, strict=True)
    ]


def _max_rounds(model: GradientBoosting, *, is_wide: bool, goes_on: bool) -> int:
    """Number of rounds after which early stopping ends in any case."""
    max_rounds = most_rounds(model, any_held_out=True)
    if is_wide:
        return min(max_rounds, _MAX_ROUNDS_OF_WIDE)
    return max_rounds * MOST_TIMES if goes_on else max_rounds


def _rounds_of(
    model: GradientBoosting, entropy: tuple[int, ...], n: int, n_rows: int, *, goes_on: bool
) -> Rounds:
    """The first `n` rounds of a model; if it goes on, rates rise after `max_iter`."""
    if goes_on:
        rate = learning_rate_of(model, n_rows)
        return Rounds.rising(entropy, n, rate, int(model.max_iter))
    return Rounds.of_model(model, entropy, n, n_rows)


def _combine_outputs(
    boosted: Sequence[Boosted],
    held_out: np.ndarray,
    *,
    is_classifier: bool,
    widths: list[int] | None,
) -> Fit:
    trees = [output.trees for output in boosted]
    statistics = [output.statistics for output in boosted if output.statistics is not None]
    model = BoostedModel(trees, is_classifier, statistics or None, widths)
    vectors = model.finish([output.raw for output in boosted], len(held_out))
    blind_vectors = vectors
    if any(output.blind_raw is not None for output in boosted):
        raw = [o.raw if o.blind_raw is None else o.blind_raw for o in boosted]
        blind_vectors = model.finish(raw, len(held_out))
    return Fit(model, held_out, vectors, blind_vectors)
