"""Fits of every estimator, with the variations that are stored differently."""

import functools
import warnings

import limits
import numpy as np
import pytest
from mddf.baselines import (
    AdaBoostClassifier,
    AdaBoostRhoClassifier,
    ArcGVClassifier,
    DeepBoostClassifier,
    GCForestClassifier,
    LPBoostClassifier,
    MLDFClassifier,
    MultiGrainedScanner,
    ODMClassifier,
    QuadBoostClassifier,
)
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_models import labels, says, table

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.representation import EForest, ForestKernelEmbedding, LeafEmbedding
from mddf.rules import AccuracyScreening, LayerRules, MarginRules, mean_regions, trees_by_rows

WORDS, NUMBERS = labels(), table("numbers")
TARGETS = NUMBERS[:, 3]
LABELS = NUMBERS > [6.0, 3.0, 4.0, 1.0]
SMALL = {"n_estimators": 2, "random_state": 0}
CASCADE = {**SMALL, "n_layers": 2, "cv": 2, "early_stopping": False}
DEEP = {**SMALL, "n_layers": 2, "cv": 2}
WEIGHTS = np.arange(150) % 3 + 0.5


def sign(X, column):
    """A base classifier."""
    return np.where(X[:, column] > X[:, column].mean(), 1.0, -1.0)


def signs(X):
    """Two base classifiers in one."""
    return np.column_stack([sign(X, 0), sign(X, 2)])


def _forests():
    for forest in (RandomForestClassifier, CompletelyRandomForestClassifier):
        name = forest.__name__
        yield name, forest(**SMALL), NUMBERS, WORDS, {}
        bagged = forest(
            **SMALL, bootstrap=True, oob_score=accuracy_score, warm_start=True, criterion="entropy"
        )
        yield f"{name}, bagged", bagged, table("frame"), WORDS, {}
        weighted = forest(**SMALL, class_weight={"setosa": 2.0}, warm_start=True)
        yield f"{name}, weighted", weighted, NUMBERS, WORDS, {"sample_weight": WEIGHTS}
        yield f"{name}, sparse", forest(**SMALL), sparse.csr_array(NUMBERS), WORDS, {}
    for forest in (RandomForestRegressor, CompletelyRandomForestRegressor):
        name = forest.__name__
        yield name, forest(**SMALL), table("frame"), TARGETS, {}
        kept = forest(**SMALL, keep_targets=3, bootstrap=True, oob_score=True)
        yield f"{name}, targets kept", kept, NUMBERS, np.column_stack([TARGETS, -TARGETS]), {}


def _cascades():
    other_cascades = [
        "random",
        RandomForestClassifier(2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ]
    variations = {
        "numbers": {},
        "refit": {"refit": True, "calibrate": True},
        "out-of-bag": {"cv": "oob"},
        "others": {"forests": other_cascades},
        "scorer": {"scoring": make_scorer(accuracy_score)},
    }
    for Cascade in (MDDFClassifier, GCForestClassifier):
        for name, options in variations.items():
            yield (
                f"{Cascade.__name__}, {name}",
                Cascade(**{**CASCADE, **options}),
                NUMBERS,
                WORDS,
                {},
            )
        yield f"{Cascade.__name__}, frame", Cascade(**CASCADE), table("frame"), WORDS, {}
    for structure in ("stacking", "no-preconc"):
        yield (
            structure,
            MDDFClassifier(**CASCADE, rules=MarginRules(structure=structure)),
            NUMBERS,
            WORDS,
            {},
        )
    for alpha in ("stagewise", "mean-margin"):
        yield alpha, MDDFClassifier(**CASCADE, rules=MarginRules(alpha=alpha)), NUMBERS, WORDS, {}
    screened = {"screening": AccuracyScreening(), "n_estimators": trees_by_rows}
    for Cascade, rules in ((MDDFClassifier, MarginRules), (GCForestClassifier, LayerRules)):
        model = Cascade(**CASCADE, rules=rules(**screened))
        yield f"{Cascade.__name__}, rules", model, NUMBERS, WORDS, {}
    regions = MarginRules(augmentation=mean_regions, screening=AccuracyScreening())
    yield "regions", MDDFClassifier(**CASCADE, rules=regions), NUMBERS, WORDS, {}
    grouped = MDDFClassifier(**{**CASCADE, "cv": GroupKFold(2)})
    yield "groups", grouped, NUMBERS, WORDS, {"groups": np.arange(150) % 9}
    for measure in ("hamming-loss", "one-error"):
        several = MLDFClassifier(**CASCADE, measure=measure)
        yield f"labels, {measure}", several, table("frame"), LABELS, {}
    yield "labels that exclude each other", MLDFClassifier(**CASCADE), NUMBERS, WORDS, {}
    with config_context(enable_metadata_routing=True):
        routed = MDDFClassifier(**CASCADE).set_fit_request(groups=True)
    yield "routing", routed.set_output(transform="pandas"), NUMBERS, WORDS, {}


def _deep_forests():
    regressors = ["random", "completely-random", "boosted", "linear", "kernel"]
    member_names = [*regressors, "kernel-logistic"]
    own = [
        "random",
        RandomForestClassifier(2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ]
    for refit in (True, False):
        model = DeepForestClassifier(**DEEP, members=member_names, refit=refit)
        yield f"deep forest, refit={refit}", model, table("frame"), WORDS, {}
        regressor = DeepForestRegressor(**DEEP, members=regressors, refit=refit)
        yield f"deep regressor, refit={refit}", regressor, table("frame"), TARGETS, {}
    model = DeepForestClassifier(**DEEP, members=own, scoring="accuracy")
    yield "deep forest, own members", model, NUMBERS, WORDS, {}
    several = np.column_stack([WORDS, WORDS == "setosa"]).astype(str)
    for name, members in {"named": member_names, "own": own}.items():
        model = DeepForestClassifier(**DEEP, members=members)
        yield f"deep forest, several outputs, {name} members", model, NUMBERS, several, {}
    model = DeepForestClassifier(**{**DEEP, "cv": StratifiedKFold(2)}, class_weight="balanced")
    yield "deep forest, two classes", model, NUMBERS, WORDS == "setosa", {"sample_weight": WEIGHTS}
    yield (
        "deep forest, one class",
        DeepForestClassifier(**DEEP, members=member_names),
        NUMBERS,
        np.zeros(150),
        {},
    )
    rare = np.where(np.arange(150) == 7, "a class of one row", WORDS)
    folds = {**DEEP, "cv": KFold(2, shuffle=True, random_state=0), "refit": False}
    model = DeepForestClassifier(**folds, members=[LogisticRegression(max_iter=500)])
    yield "deep forest, a fold without a class", model, NUMBERS, rare, {}
    network = {**DEEP, "members": ["network"]}
    yield "deep forest, network", DeepForestClassifier(**network), table("frame"), WORDS, {}
    model = DeepForestRegressor(**network, refit=False)
    yield "deep regressor, network", model, table("frame"), TARGETS, {}
    boosted = DeepForestRegressor(**DEEP, members=["boosted"])
    yield "deep regressor, boosted", boosted, NUMBERS, TARGETS, {}
    members = [Ridge(), HistGradientBoostingRegressor(max_iter=3), RandomForestRegressor(2)]
    model = DeepForestRegressor(**DEEP, members=regressors)
    yield "deep regressor, own members", model, NUMBERS, TARGETS, {}
    tree = HistGradientBoostingRegressor(max_iter=3)
    frame = DeepForestRegressor(**DEEP, members=[tree])
    yield "deep regressor, a member that sees frames", frame, table("frame"), TARGETS, {}


def _boosting():
    for Boosting in (
        AdaBoostClassifier,
        AdaBoostRhoClassifier,
        ArcGVClassifier,
        DeepBoostClassifier,
        LPBoostClassifier,
        QuadBoostClassifier,
    ):
        yield Boosting.__name__, Boosting(n_estimators=3), NUMBERS, WORDS, {}
        several = [functools.partial(sign, column=column) for column in (0, 2)]
        for name, learners in {"stumps": "stumps", "one": signs, "several": several}.items():
            start = Boosting(n_estimators=3)
            if "weak_learners" in start.get_params():
                start.set_params(weak_learners=learners)
                yield f"{Boosting.__name__}, {name}", start, NUMBERS, WORDS == "setosa", {}
    fits = AdaBoostClassifier(3, estimator=LogisticRegression())
    yield "AdaBoost, fits of an estimator", fits, NUMBERS, WORDS, {}
    yield "ODM", ODMClassifier(), NUMBERS, WORDS, {}


def _gradient_boosting():
    small = {"max_iter": 3, "random_state": 0}
    for policy in ("symmetric", "leaf-wise"):
        classifier = GradientBoostingClassifier(**small, grow_policy=policy)
        yield f"gradient boosting, {policy}", classifier, table("frame"), WORDS, {}
    regressor = GradientBoostingRegressor(**small, early_stopping=True, warm_start=True)
    yield "gradient boosting, regressor", regressor, NUMBERS, TARGETS, {}
    several = GradientBoostingRegressor("tweedie", **small, tweedie_power=1.2)
    outputs = np.column_stack([np.abs(TARGETS), 1 + np.abs(TARGETS)])
    yield "gradient boosting, several outputs", several, NUMBERS, outputs, {}
    linear = GradientBoostingClassifier(**small, linear_leaves=True)
    yield "gradient boosting, linear leaves", linear, table("frame"), WORDS, {}
    names = [[f"{i % 35}", f"{i % 3}"] for i in range(len(WORDS))]
    levels = GradientBoostingClassifier(**small, categorical_features=[0, 1])
    yield "gradient boosting, many levels", levels, np.array(names, object), WORDS, {}


def _scanners():
    scanner = MultiGrainedScanner([1], n_estimators=1, cv=2, max_depth=3, random_state=0)
    yield "scanner", scanner, table("images"), WORDS, {}
    pooling = MultiGrainedScanner([1, (1, 2)], n_estimators=1, pooling="max", random_state=0)
    yield "scanner, pooling", pooling, table("images"), WORDS, {}


def _within_others():
    forest = RandomForestClassifier(**SMALL)
    yield "pipeline", make_pipeline(StandardScaler(), forest), NUMBERS, WORDS, {}
    yield "calibrated", CalibratedClassifierCV(forest, cv=2), NUMBERS, WORDS, {}


def _representations():
    yield "leaf embedding", LeafEmbedding(**SMALL, sparse_output=False), NUMBERS, WORDS, {}
    yield "kernel embedding", ForestKernelEmbedding(**SMALL), NUMBERS, WORDS, {}
    yield "eforest", EForest(**SMALL), NUMBERS, WORDS, {}


FITS = {
    name: rest
    for cases in (
        _forests,
        _cascades,
        _deep_forests,
        _boosting,
        _gradient_boosting,
        _scanners,
        _representations,
        _within_others,
    )
    for name, *rest in cases()
}


def fit(name, **parameters):
    """Fit a copy of a model with other parameters and few boosting rounds."""
    model, X, y, options = FITS[name]
    model = clone(model).set_params(**parameters)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        limits.limit_rounds_of_members(patch, 4)
        warnings.filterwarnings("ignore", r"\d+ of \d+ samples have no out-of-bag")
        return model.fit(X, y, **options)


@functools.cache
def fitted(name):
    """A fitted model with its table and its output for the table."""
    model, X = fit(name), FITS[name][1]
    return model, X, says(model, X)
