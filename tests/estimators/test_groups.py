"""Groups of samples that are held out together, and their way to `fit`."""

import numpy as np
import pytest
from mddf.baselines import GCForestClassifier
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import DeepForestClassifier, MDDFClassifier

CASCADES = (MDDFClassifier, GCForestClassifier, DeepForestClassifier)


def cascade(kind, cv, **options):
    if kind is DeepForestClassifier:
        options["members"] = ["random", "completely-random"]
    return kind(2, n_estimators=10, cv=cv, random_state=0, **options)


@pytest.fixture(scope="module")
def patients():
    """Several rows per patient; labels can only be learnt from other rows of the patient."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 4))[groups] + 0.01 * rng.normal(size=(200, 4))
    return X, (np.arange(40) % 2)[groups], np.array([f"patient {g}" for g in groups])


def oof_accuracy(model, y):
    return np.mean(model.classes_[model.oof_probabilities_.argmax(axis=1)] == y)


@pytest.mark.parametrize("cv", [4, GroupKFold(4), "auto"], ids=["number", "splitter", "auto"])
@pytest.mark.parametrize("kind", CASCADES)
def test_groups_keep_figures_honest(kind, cv, patients):
    if cv == "auto" and kind is not DeepForestClassifier:
        pytest.skip("no value of this estimator")
    X, y, groups = patients
    honest = cascade(kind, cv).fit(X, y, groups=groups)
    assert oof_accuracy(honest, y) < 0.7
    assert oof_accuracy(cascade(kind, 4).fit(X, y), y) > 0.9


@pytest.mark.parametrize("kind", CASCADES)
def test_groups_match_the_splits(kind, patients):
    X, y, groups = patients
    splits = list(GroupKFold(4).split(X, y, groups))
    options = {"n_layers": 1} if kind is DeepForestClassifier else {}  # groups limit its layers
    expected = cascade(kind, splits).set_params(**options).fit(X, y).predict_proba(X)
    routed = cascade(kind, GroupKFold(4)).set_params(**options).fit(X, y, groups=groups)
    np.testing.assert_array_equal(routed.predict_proba(X), expected)


@pytest.mark.parametrize("kind", CASCADES)
def test_pipelines_and_searches_pass_groups_on(kind, patients):
    X, y, groups = patients
    model = cascade(kind, GroupKFold(4))
    plain = model.fit(X, y, groups=groups).oof_probabilities_
    with config_context(enable_metadata_routing=True):
        piped = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
        np.testing.assert_array_equal(piped[-1].oof_probabilities_, plain)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {f"{kind.__name__.lower()}__n_estimators": [2, 10]},
            cv=StratifiedGroupKFold(2),
        ).fit(X, y, groups=groups)
    # The last fit is on all rows, with the groups: the same, if it is the one of ten trees.
    best = search.best_estimator_[-1]
    assert oof_accuracy(best, y) < 0.75
    if best.n_estimators == 10:
        np.testing.assert_array_equal(best.oof_probabilities_, plain)


def test_integer_cv_requests_groups_through_metadata_routing(patients):
    X, y, groups = patients
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="groups"):
            make_pipeline(StandardScaler(), cascade(MDDFClassifier, 4)).fit(X, y, groups=groups)
        for requests_groups, honest in ((True, True), (False, False)):
            model = cascade(MDDFClassifier, 4).set_fit_request(groups=requests_groups)
            piped = make_pipeline(StandardScaler(), model)
            if requests_groups:
                piped.fit(X, y, groups=groups)
            else:
                with pytest.raises(TypeError, match="groups"):
                    piped.fit(X, y, groups=groups)
                piped.fit(X, y)
            assert (oof_accuracy(piped[-1], y) < 0.7) == honest


def test_groups_that_do_not_do(patients):
    for cv, groups, message in [
        ("oob", np.arange(200), "groups are for.*cv='oob'"),
        ([(range(100), range(100, 200))] * 2, np.arange(200), "groups are for"),
        (4, np.arange(199), "inconsistent numbers of samples"),
        (4, np.full(200, np.nan), "groups.*got nan in row 0"),
        (4, np.zeros((200, 2)), "groups.*1d"),
        (4, np.zeros(200), "groups must hold at least 2"),
        (GroupKFold(4), None, "groups"),
    ]:
        X, y, _ = patients
        with pytest.raises(ValueError, match=message):
            cascade(MDDFClassifier, cv).fit(X, y, groups=groups)
