"""Rules that run after each layer: screening, weights, columns, trees and stopping."""

import numpy as np
import pytest
from forest_cases import three_classes
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import GCForestClassifier
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mddf
from mddf import MDDFClassifier
from mddf.rules import (
    AccuracyScreening,
    BinnedScreening,
    LayerRules,
    LayerView,
    MarginRules,
    OwnClassReweighting,
    trees_by_rows,
)

OPTIONS = {"n_layers": 3, "n_estimators": 4, "cv": 3, "early_stopping": False, "random_state": 0}


def fit(rules, kind=GCForestClassifier, **parameters):
    X, y = three_classes()
    return kind(**(OPTIONS | parameters), rules=rules).fit(X, y)


def view_of(confidence, is_correct, n_folds=2, labels=None):
    """A layer of two classes with given confidences and correct or wrong samples."""
    confidence = np.asarray(confidence, float)
    is_correct = np.asarray(is_correct, bool)
    y = np.zeros(len(confidence), int) if labels is None else np.asarray(labels)
    own = np.where(is_correct, confidence, 1 - confidence)
    vectors = np.empty((1, len(y), 2))
    vectors[0, np.arange(len(y)), y] = own
    vectors[0, np.arange(len(y)), 1 - y] = 1 - own
    return LayerView(
        number=1,
        X=np.zeros((len(y), 3)),
        y=y,
        sample_weight=np.ones(len(y)),
        class_vectors=vectors,
        probabilities=vectors[0],
        margins=(2 * own - 1)[:, None],
        alphas=np.ones(1),
        active=np.ones(len(y), bool),
        history=[],
        n_folds=n_folds,
        n_added=2,
    )


def first_rows(view, n_leaving):
    """Number of confident rows that may leave if each class keeps `n_folds`, one by one."""
    order = sorted(range(len(view.y)), key=lambda row: (-view.confidence[row], row))
    while n_leaving:
        staying = order[n_leaving:]
        needed = {c: min(view.n_folds, int((view.y == c).sum())) for c in set(view.y.tolist())}
        enough = all((view.y[staying] == c).sum() >= n for c, n in needed.items())
        ends_at_a_step = (
            n_leaving == len(order)
            or view.confidence[order[n_leaving - 1]] > view.confidence[order[n_leaving]]
        )
        if enough and ends_at_a_step:
            return set(order[:n_leaving])
        n_leaving -= 1
    return set()


def rows_that_leave(view, gate):
    return set(np.flatnonzero(view.confidence >= gate).tolist()) if not np.isnan(gate) else set()


@st.composite
def views(draw):
    n_samples = draw(st.integers(2, 25))
    levels = st.sampled_from([0.55, 0.6, 0.7, 0.8, 0.9, 0.95])
    confidence = draw(st.lists(levels, min_size=n_samples, max_size=n_samples))
    bits = st.lists(st.booleans(), min_size=n_samples, max_size=n_samples)
    labels = np.array(draw(bits), int)
    return view_of(confidence, draw(bits), draw(st.integers(1, 3)), labels)


@settings(deadline=None, max_examples=80)
@given(views(), st.sampled_from([1.5, 3.0, 10.0]))
def test_accuracy_screening_row_by_row(view, error_reduction):
    order = sorted(range(len(view.y)), key=lambda row: (-view.confidence[row], row))
    needed = 1 - (1 - view.is_correct.mean()) / error_reduction
    n_leaving = 0
    for n in range(1, len(order) + 1):
        if sum(view.is_correct[row] for row in order[:n]) / n > needed:
            n_leaving = n
    gate = AccuracyScreening(error_reduction)(view)
    assert rows_that_leave(view, gate) == first_rows(view, n_leaving)


@settings(deadline=None, max_examples=80)
@given(views(), st.integers(1, 7))
def test_binned_screening_bin_by_bin(view, bin_size):
    order = sorted(range(len(view.y)), key=lambda row: (-view.confidence[row], row))
    needed = 1 - (1 - view.is_correct.mean()) / 3
    n_leaving = 0
    for first in range(0, len(order), bin_size):
        rows = order[first : first + bin_size]
        if np.mean([view.is_correct[row] for row in rows]) < needed:
            break
        n_leaving = min(first + bin_size, len(order))
    gate = BinnedScreening(3.0, bin_size)(view)
    assert rows_that_leave(view, gate) == first_rows(view, n_leaving)


def test_class_weights_of_the_user_and_trees_by_rows():
    view = view_of([0.9, 0.6], [True, False])
    np.testing.assert_allclose(OwnClassReweighting()(view), [0.1, 0.6])
    np.testing.assert_allclose(OwnClassReweighting(0.3)(view), [0.3, 0.6])
    assert OwnClassReweighting()(view_of([1, 1], [True, True])).tolist() == [1, 1]
    assert trees_by_rows(view) == 1
    # A quarter of the rows is left, and 3 columns became 5.
    few = view_of([0.9] * 4, [True] * 4)
    few.active[1:] = False
    assert trees_by_rows(few) == pytest.approx(1 / (0.25 * 5 / 3))


@pytest.mark.parametrize("kind", [GCForestClassifier, MDDFClassifier])
def test_rows_that_left_keep_their_vectors(kind):
    X = three_classes()[0] + 0.01
    model = fit(LayerRules(screening=lambda view: 0.8), kind)
    first, *_, last = model.staged_predict_proba(X)
    features = clone(model).set_params(n_layers=1).fit(*three_classes()).transform(X)
    vectors = features.reshape(len(X), -1, 3).mean(axis=1)
    left = vectors.max(axis=1) >= 0.8
    assert 0 < left.sum() < len(X)
    np.testing.assert_allclose(last[left], first[left], rtol=0, atol=1e-12)
    assert not np.array_equal(last[~left], first[~left])
    # Rows are predicted alike one by one and together.
    singles = np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(singles, model.predict_proba(X)[:40])


def test_rows_that_left_are_not_trained_on():
    model = fit(LayerRules(screening=lambda view: 0.8))
    n_active = model.history_["active_samples"]
    assert n_active[0] == 300 > n_active[1] >= n_active[2]
    np.testing.assert_array_equal((model.weights_ > 0).sum(axis=1), n_active)
    # The labels of these rows do not matter for the second layer: their out-of-fold margins stay.
    stay = model.weights_[1] == 0
    np.testing.assert_array_equal(model.margins_[1][stay], model.margins_[0][stay])


def test_rows_at_the_gate_leave():
    confidences = []

    def thirtieth(view):
        confidences.append(np.sort(view.confidence))
        return confidences[-1][-30]

    model = fit(LayerRules(screening=thirtieth))
    n_below = np.sum(confidences[0] < confidences[0][-30])
    assert model.history_["active_samples"][1] == n_below <= 270


def test_folds_of_the_user_and_groups_lose_rows_that_left():
    X, y = three_classes()
    rules = LayerRules(screening=lambda view: 0.7)
    folds = [(np.arange(100, 300), np.arange(100)), (np.arange(100), np.arange(100, 300))]
    model = fit(rules, cv=folds)
    assert model.history_["active_samples"][1] < 300
    groups = np.arange(300) // 3
    grouped = GCForestClassifier(**OPTIONS, rules=rules).fit(X, y, groups=groups)
    assert grouped.history_["active_samples"][1] < 300
    assert fit(rules, cv="oob").history_["active_samples"][1] < 300


def test_a_cascade_ends_if_only_rows_of_one_fold_stay():
    X, y = three_classes()
    of_one_class, others = np.flatnonzero(y == 0), np.flatnonzero(y != 0)
    # Forests of one class are sure of all other rows, which leave.
    folds = [(others, of_one_class), (of_one_class, others)]
    model = fit(LayerRules(screening=lambda view: 1.0), cv=folds)
    assert (model.n_layers_, len(model.predict_proba(X))) == (1, 300)
    assert model.stop_reason_ == (
        "all rows that are left are in one fold of cv; kept 1 of 1 layer"
    )


def test_rules_cannot_change_the_state_of_a_cascade():
    def stop(view):
        for name in ("y", "sample_weight", "probabilities", "margins", "alphas", "active"):
            assert not getattr(view, name).flags.writeable
        return view.number == 2

    rules = LayerRules(screening=lambda view: 0.8, stop=stop)
    X, y = three_classes()
    model = GCForestClassifier(**OPTIONS, rules=rules).fit(X, y, np.ones(300))
    assert model.n_layers_ == 2


def test_columns_trees_and_stop():
    model = fit(
        LayerRules(
            columns=lambda view: [0, 1],
            n_estimators=lambda view: 2,
            stop=lambda view: view.number == 2,
        )
    )
    first, second = model._fitted.stages
    assert model.n_layers_ == 2
    n_features = model.n_features_in_
    assert second.columns[:2].tolist() == [0, 1]
    assert (second.columns[2:] >= n_features).all()
    assert sum(trees.n_trees for trees in second.members[0].models) == 24
    assert sum(trees.n_trees for trees in first.members[0].models) == 12
    assert model.stop_reason_ == "the rule `stop` ended the cascade; kept 2 of 2 layers"


def test_named_mddf():
    paper = MDDFClassifier.named("paper", n_layers=2, rules__depth_step=4)
    assert paper.rules == MarginRules(strength=1.0, augmentation="mean", depth_step=4)
    assert (paper.scoring, paper.n_layers) == (None, 2)
    assert MDDFClassifier.named("ST").rules.structure == "stacking"
    assert MDDFClassifier.named("NP").rules.structure == "no-preconc"
    assert MDDFClassifier.named("SF").forests == ["random"] * 4
    assert MDDFClassifier.named("paper-stagewise").rules.alpha == "stagewise"
    assert MDDFClassifier.named("paper-mean-margin").rules.alpha == "mean-margin"
    with pytest.raises(ValueError, match=r"paper means rules__strength=1\.0; got 0\.25"):
        MDDFClassifier.named("paper", rules__strength=0.25)
    rules = LayerRules(stop=lambda view: True)
    assert MDDFClassifier.named("paper", rules=rules).rules.stop is rules.stop
    X, y = three_classes()
    model = MDDFClassifier.named("SF", n_layers=2, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


def test_named_cascades_share_nothing():
    GCForestClassifier.named("gcForestCS").rules.screening = None
    assert GCForestClassifier.named("gcForestCS").rules.screening == AccuracyScreening()
    MDDFClassifier.named("SF").forests.append("random")
    assert MDDFClassifier.named("SF").forests == ["random"] * 4


@pytest.mark.parametrize("name", ["gcForestCS", "DBC-Forest", "AWDF", "tree-network"])
def test_rules_of_mddf_are_saved_with_the_model(name, tmp_path):
    X, y = three_classes()
    model = GCForestClassifier.named(name, n_estimators=4, random_state=0).fit(X, y)
    mddf.save(model, tmp_path / "model.mddf")
    loaded = mddf.load(tmp_path / "model.mddf")
    assert loaded.rules == model.rules
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_hyperparameters_of_mddf_are_searched_by_name():
    X, y = three_classes()
    stop = LayerRules(stop=lambda view: True)
    model = MDDFClassifier(**OPTIONS).set_params(rules__mu=0.05)
    assert (model.rules.mu, model.rules.strength) == (0.05, 0.25)
    model.set_params(rules=stop, rules__strength=1.0)
    assert (model.rules.stop, model.rules.strength) == (stop.stop, 1.0)
    shared = model.rules
    assert MDDFClassifier.named("paper", rules=shared, rules__mu=0.01).rules.mu == 0.01
    assert shared.mu == 0.1
    search = GridSearchCV(MDDFClassifier(**OPTIONS), {"rules__strength": [0.0, 1.0]}, cv=2)
    assert search.fit(X, y).best_estimator_.rules.strength in (0, 1)
    assert search.estimator.rules is None
    with pytest.raises(ValueError, match="Invalid parameter 'muu' for estimator MarginRules"):
        model.set_params(rules__muu=1)


class LastLayer(MarginRules):
    def coefficients(self, history):
        return np.append(np.zeros(len(history.before)), 1.0)


class OtherRules(LayerRules):
    pass


def test_classes_of_rules_are_kept_or_refused():
    X, y = three_classes()
    rules = LastLayer()
    model = MDDFClassifier(**OPTIONS, rules=rules).set_params(rules__mu=0.05)
    assert (type(model.rules), model.rules.mu, rules.mu) == (LastLayer, 0.05, 0.1)
    assert model.fit(X, y).alphas_.tolist() == [0, 0, 1]
    other = MDDFClassifier(rules=OtherRules())
    for refused in (lambda: other.fit(X, y), lambda: other.set_params(rules__mu=0.05)):
        with pytest.raises(ValueError, match="must be derived from MarginRules, got OtherRules"):
            refused()
    GCForestClassifier(**OPTIONS, rules=OtherRules()).fit(X, y)


@pytest.mark.parametrize(
    ("name", "returned", "expected"),
    [
        ("screening", True, "a finite number of at least 0, or None, got True"),
        ("screening", np.inf, "a finite number of at least 0, or None, got inf"),
        ("n_estimators", True, "a finite factor above 0, got True"),
        ("n_estimators", np.inf, "a finite factor above 0, got inf"),
        ("max_depth", True, "an int of at least 1 or None, got True"),
        ("stop", np.zeros(300), "True or False, got ndarray of shape"),
    ],
)
def test_results_of_rules_are_checked(name, returned, expected):
    with pytest.raises(ValueError, match=f"{name} of rules must return {expected}"):
        fit(LayerRules(**{name: lambda view: returned}))
