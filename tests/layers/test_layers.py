"""A layer of a cascade."""

from dataclasses import dataclass, replace

import naive
import numpy as np
import pytest
from forest_cases import bin_table, same_trees, three_classes, watched_growth
from mddf.baselines import GCForestClassifier
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from mddf import (
    CompletelyRandomForestClassifier,
    DeepForestClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf._binning.binned_table import BinnedTable
from mddf._binning.bins import find_bins
from mddf._layers import cascade_layer
from mddf._layers.cascade_forests import named_forest
from mddf._layers.cascade_layer import layer_splits
from mddf._layers.layer_trainer import LayerInput, LayerJob, LayerTrainer
from mddf._layers.member import EstimatorMember, ForestMember
from mddf._layers.tasks import ClassificationTask
from mddf._resampling.folds import make_folds
from mddf._resampling.sampling import canonical_order, plan_sampling
from mddf._targets.weights import RowWeights
from mddf._trees import grower, predictor

N_FEATURES = 5


@dataclass(frozen=True)
class Samples:
    """Training samples of a layer."""

    labels: np.ndarray
    n_classes: int
    weights: RowWeights
    order: np.ndarray


@dataclass(frozen=True)
class RecordedInput:
    """Input of a layer and its folds."""

    table: BinnedTable
    numbers: np.ndarray
    augmented: np.ndarray
    columns: np.ndarray
    folds: list | None
    reweighting: np.ndarray | None = None
    redraw: bool = False
    refit: bool = False


def grow_layer(forests, samples, layer, seeds, n_jobs=None):
    labels, weights = samples.labels, samples.weights
    task = ClassificationTask(labels, samples.n_classes, weights.row, calibrate=False)
    trainer = LayerTrainer(
        table=layer.table,
        n_features=N_FEATURES,
        numbers=layer.numbers,
        task=task,
        weights=weights,
        order=samples.order,
        n_jobs=n_jobs,
    )
    members = [
        ForestMember("forest", forest)
        if hasattr(forest, "_tree_options")
        else EstimatorMember("estimator", forest, is_rounded=True)
        for forest in forests
    ]
    layer_input = LayerInput(layer.columns, layer.reweighting, layer.redraw, layer.augmented)
    splits = layer_splits(layer.folds, trainer.all_rows, refit=layer.refit)
    job = LayerJob(layer_input, splits, seeds)
    fitted, vectors = cascade_layer.grow_layer(trainer, members, job)
    return fitted, np.stack(vectors)


def problem(*, n_samples=120, weights=None, out_of_bag=False, seed=0, random_labels=False):
    """Samples and the input of a first layer, with space for three more features."""
    X, y = three_classes()
    X, labels = (
        np.nan_to_num(X)[:n_samples, :N_FEATURES],
        np.unique(y, return_inverse=True)[1][:n_samples],
    )
    labels = labels.astype(np.uint16)
    if random_labels:
        labels = np.random.default_rng(seed).permutation(labels)
    table = bin_table(X, find_bins(X), n_spare=3)
    folds = None if out_of_bag else make_folds(4, X, labels, labels, seed)
    samples = Samples(
        labels, 3, RowWeights(weights, weights), canonical_order(table.codes, labels)
    )
    columns = np.arange(N_FEATURES, dtype=np.int32)
    layer = RecordedInput(table, X, np.zeros((n_samples, 3)), columns, folds)
    return samples, layer


FORESTS = [RandomForestClassifier(6), CompletelyRandomForestClassifier(4)]


def predicted_by(members, codes, n_classes=3):
    """Class vectors of rows from trees; prediction itself is tested elsewhere."""
    sums = predictor.leaf_sums(members, codes)
    assert sums.shape[1] == n_classes
    return sums / sums.sum(axis=1, keepdims=True)


def test_out_of_fold_vectors_come_from_the_fold_that_held_out_the_sample():
    samples, layer = problem()
    fitted, vectors = grow_layer(FORESTS, samples, layer, (1, 2, 3))
    assert vectors.shape == (2, 120, 3)
    np.testing.assert_allclose(vectors.sum(axis=2), 1)
    for members, of_forest in zip(fitted.members, vectors, strict=True):
        for trees, (_, held_out) in zip(members.models, layer.folds, strict=True):
            expected = predicted_by([trees], layer.table.codes[held_out])
            np.testing.assert_allclose(of_forest[held_out], expected, atol=1e-10)


def test_trees_of_a_fold_do_not_depend_on_its_held_out_rows():
    samples, layer = problem()
    fitted, _ = grow_layer(FORESTS, samples, layer, (1,))
    _, held_out = layer.folds[2]
    other = samples.labels.copy()
    other[held_out] = (other[held_out] + 1) % 3
    again, _ = grow_layer(FORESTS, replace(samples, labels=other), layer, (1,))
    for member, other_member in zip(fitted.members, again.members, strict=True):
        of_fold, of_other = (
            [predicted_by([trees], layer.table.codes) for trees in m.models]
            for m in (member, other_member)
        )
        np.testing.assert_array_equal(of_fold[2], of_other[2])
        assert not np.array_equal(of_fold[1], of_other[1])


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_random_labels_are_predicted_at_chance(out_of_bag):
    accuracies = []
    for seed in range(6):
        samples, layer = problem(
            n_samples=300, out_of_bag=out_of_bag, seed=seed, random_labels=True
        )
        forests = [named_forest(name, 20, out_of_bag) for name in ("random", "completely-random")]
        _, vectors = grow_layer(forests, samples, layer, (seed,))
        guesses = vectors.mean(axis=0).argmax(axis=1)
        accuracies.append(np.mean(guesses == samples.labels))
    # 1800 guesses at a third: a standard deviation is 0.011.
    assert 0.28 < np.mean(accuracies) < 0.39


def test_out_of_bag_vectors_come_from_trees_that_did_not_draw_the_sample():
    samples, layer = problem(out_of_bag=True)
    forest = RandomForestClassifier(25)
    with watched_growth() as blocks:
        fitted, (vectors,) = grow_layer([forest], samples, layer, (7,))
    sums = np.zeros((120, 3))
    (trees,), (block,) = fitted.members[0].models, blocks
    for seed, nodes in zip(block.seeds, naive.decode(trees), strict=True):
        left_out = naive.bootstrap(seed, samples.order, 120, 120) == 0
        for row in np.flatnonzero(left_out):
            for label, share in naive.find_leaf(
                nodes, layer.table.codes[row]
            ).distribution.items():
                sums[row, label] += share
    assert sums.any(axis=1).all()
    np.testing.assert_allclose(vectors, sums / sums.sum(axis=1, keepdims=True), atol=1e-10)


def test_samples_drawn_by_every_tree_get_the_class_shares():
    samples, layer = problem(out_of_bag=True)
    _, (vectors,) = grow_layer([RandomForestClassifier(1)], samples, layer, (0,))
    shares = np.bincount(samples.labels) / 120
    prior = np.all(np.isclose(vectors, shares), axis=1)
    assert 0.5 < prior.mean() < 0.75  # a bootstrap draws 63 %
    np.testing.assert_allclose(vectors.sum(axis=1), 1)


def test_a_refit_adds_forests_of_all_samples_to_those_of_the_folds():
    samples, layer = problem(weights=np.arange(120) % 3 + 1.0)
    layer = replace(layer, reweighting=np.linspace(0.5, 1.5, 120), redraw=True)
    plain, expected = grow_layer(FORESTS, samples, layer, (1, 2))
    with watched_growth() as blocks:
        refit = replace(layer, refit=True)
        fitted, vectors = grow_layer(FORESTS, samples, refit, (1, 2))
    np.testing.assert_array_equal(vectors, expected)
    two, vectors = grow_layer(FORESTS, samples, refit, (1, 2), n_jobs=2)
    np.testing.assert_array_equal(vectors, expected)
    np.testing.assert_array_equal(two.importances, fitted.importances)
    kept = [block for block in blocks if block.keep]
    by_hand = [
        grower.TreeJob(
            block.seeds,
            forest._tree_options(120, N_FEATURES),
            plan_sampling(
                samples.order,
                samples.weights,
                bootstrap=forest.bootstrap,
                reweighting=layer.reweighting,
                redraw=True,
            ),
            layer.columns,
            importances=True,
        )
        for forest, block in zip(FORESTS, kept, strict=True)
    ]
    grown = grower.grow(layer.table, grower.ClassTarget(samples.labels, 3), by_hand)
    for member, of_hand in zip(fitted.members, grown, strict=True):
        (a,), (b,) = member.models, of_hand.trees
        assert same_trees(a, b)
    importances = sum(of_hand.importances for of_hand in grown)
    np.testing.assert_allclose(fitted.importances, importances / importances.sum())
    assert not np.array_equal(fitted.importances, plain.importances)


def test_classifiers_get_the_columns_weights_and_seeds_of_the_layer():
    fits = []

    class Spy(GaussianNB):
        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

        def fit(self, X, y, sample_weight=None):
            fits.append((X, y, sample_weight, self.random_state))
            return super().fit(X, y, sample_weight)

    weights = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    samples, layer = problem(weights=weights)
    reweighting = np.linspace(0.5, 1.5, 120)
    augmented = np.random.default_rng(1).random((120, 3))
    columns = np.arange(N_FEATURES, N_FEATURES + 3, dtype=np.int32)
    layer = replace(layer, reweighting=reweighting, augmented=augmented, columns=columns)
    grow_layer([Spy()], samples, layer, (1,))
    for (X, y, fold_weights, _), (train, _) in zip(fits, layer.folds, strict=True):
        train = train[weights[train] > 0]
        np.testing.assert_array_equal(X, augmented[train])
        np.testing.assert_array_equal(y, samples.labels[train])
        np.testing.assert_allclose(fold_weights, (weights * reweighting)[train])
    assert len({state for *_, state in fits}) == len(layer.folds)


def test_classifiers_without_weights_get_drawn_samples():
    samples, layer = problem()
    reweighting = np.where(samples.labels == 1, 1.0, 0.25)
    targets = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            targets.append(y)
            return super().fit(X, y)

    for _ in range(2):
        grow_layer([Spy()], samples, replace(layer, reweighting=reweighting), (1,))
    assert all(np.array_equal(a, b) for a, b in zip(targets[:4], targets[4:], strict=True))
    for (train, _), drawn in zip(layer.folds, targets, strict=False):
        assert len(drawn) == len(train)
        before, after = (np.mean(y == 1) for y in (samples.labels[train], drawn))
        odds = 4 * before / (1 - before)
        assert after == pytest.approx(odds / (1 + odds), abs=0.15)
        assert after > before


class Odd(GaussianNB):
    """A classifier with invalid probabilities."""

    def __init__(self, wrong=None, priors=None, var_smoothing=1e-9):
        super().__init__(priors=priors, var_smoothing=var_smoothing)
        self.wrong = wrong

    def predict_proba(self, X):
        return self.wrong(super().predict_proba(X))


def test_members_with_invalid_predictions_are_named():
    for wrong, message in [
        (lambda p: np.where(np.arange(len(p))[:, None] % 7 == 0, np.nan, p), "got NaN"),
        (
            lambda p: np.where(np.arange(len(p))[:, None] % 7 == 0, np.inf, p),
            "got NaN or infinity",
        ),
        (lambda p: p - 0.9, "got -0"),
        (lambda p: p[:, :1], r"of shape \(\d+, 3\), got an array of shape \(\d+, 1\)"),
    ]:
        for kind in ["mddf", "gcforest", "deep forest"]:
            X, y = load_iris(return_X_y=True)
            odd = Odd(wrong)
            model = {
                "mddf": MDDFClassifier(1, forests=["random", odd], n_estimators=2),
                "gcforest": GCForestClassifier(1, forests=["random", odd], n_estimators=2),
                "deep forest": DeepForestClassifier(1, members=["random", odd], n_estimators=2),
            }[kind]
            with pytest.raises(
                ValueError, match=rf"^the member 'Odd( of forests\[1\])?' must give .*{message}"
            ):
                model.fit(X, y)
