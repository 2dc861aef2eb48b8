"""Fits that go on where another one was stopped, whenever that was."""

import errno
import itertools
import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB

from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier, RandomForestClassifier
from mddf._deep_forest import growth
from mddf._ensemble import checkpoints
from mddf._ensemble.checkpoints import Checkpoint

N_LAYERS = 4
DAMAGED = r"checkpoint: '.*layer-00{}\.npz' cannot be read \("


def cascade(folder, Cascade=MDDFClassifier, **parameters):
    parameters = {"n_layers": N_LAYERS, "n_estimators": 4, "cv": 2, **parameters}
    parameters = {"early_stopping": False, "random_state": 0, **parameters}
    return Cascade(checkpoint=folder, **parameters)


def layers(folder):
    return sorted(path.name for path in folder.glob("*.npz"))


def assert_equal(model, expected):
    X, _ = three_classes()
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.oof_probabilities_, expected.oof_probabilities_)
    np.testing.assert_array_equal(model.feature_importances_, expected.feature_importances_)
    for name, of_layers in expected.history_.items():
        if name != "time":
            np.testing.assert_array_equal(model.history_[name], of_layers)
    for name in ("margins_", "weights_", "member_scores_", "alphas_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))


@pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])
def test_a_fit_goes_on_after_any_layer(Cascade, tmp_path):
    X, y = three_classes()
    weights = np.arange(len(y)) % 3 + 1.0
    expected = cascade(None, Cascade).fit(X, y, weights)
    whole = cascade(tmp_path, Cascade).fit(X, y, weights)
    assert_equal(whole, expected)
    names = layers(tmp_path)
    assert names == ["layer-001.npz", "layer-002.npz", "layer-003.npz", "layer-004.npz"]
    for n_kept in (4, 2, 1):
        for name in names[n_kept:]:
            (tmp_path / name).unlink()
        before = {name: (tmp_path / name).stat().st_mtime_ns for name in names[:n_kept]}
        again = cascade(tmp_path, Cascade, n_jobs=2).fit(X, y, weights)
        assert_equal(again, expected)
        after = {name: (tmp_path / name).stat().st_mtime_ns for name in names[:n_kept]}
        assert after == before


def test_of_a_layer_that_is_read_the_seconds_of_growing_it_are_told(tmp_path, monkeypatch):
    clock = itertools.count()  # seconds, one for each look at it
    monkeypatch.setattr("mddf._cascade.fit.perf_counter", lambda: next(clock))
    X, y = three_classes()
    assert cascade(tmp_path).fit(X, y).history_["time"].tolist() == [3] * N_LAYERS  # growing is 1
    assert cascade(tmp_path).fit(X, y).history_["time"].tolist() == [1 + 1] * N_LAYERS


@pytest.mark.parametrize(
    "options",
    [
        {"cv": "oob", "forests": ["random", RandomForestClassifier(3)]},
        {"refit": True, "calibrate": True, "keep_layers": "fewest"},
    ],
    ids=["out-of-bag", "refit"],
)
def test_features_and_what_is_kept(options, tmp_path):
    X, y = three_classes()
    options = {**options, "early_stopping": True, "n_iter_no_change": 1}
    expected = cascade(None, **options).fit_transform(X, y)
    cascade(tmp_path, **options).fit(X, y)
    again = cascade(tmp_path, **options)
    np.testing.assert_array_equal(again.fit_transform(X, y), expected)
    assert_equal(again, cascade(None, **options).fit(X, y))


def test_a_file_that_was_not_finished_counts_for_nothing(tmp_path):
    X, y = three_classes()
    (tmp_path / "layer-001.part").write_bytes(b"half a lay")
    model = cascade(tmp_path, n_layers=1).fit(X, y)
    assert_equal(model, cascade(None, n_layers=1).fit(X, y))
    assert [path.name for path in tmp_path.glob("*.part")] == ["layer-001.part"]  # not ours


# Deep forests


def deep(folder, Deep=DeepForestClassifier, **parameters):
    parameters = {"n_estimators": 4, "cv": 2, "random_state": 0, **parameters}
    return Deep(checkpoint=folder, **parameters)


def told(model):
    """The leaderboard but for times."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in model.leaderboard_]


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(
    ("Deep", "parameters"),
    [
        (DeepForestClassifier, {"members": ["random", "boosted", "linear"], "refit": False}),
        (DeepForestClassifier, {"members": ["random", GaussianNB()], "n_layers": 3}),
        (DeepForestRegressor, {"members": ["random", "completely-random", "linear"]}),
        (DeepForestRegressor, {"members": ["random", "boosted"], "refit": False}),
        (DeepForestRegressor, {"members": ["random", "boosted", "linear"]}),
    ],
)
def test_deep_forests_go_on_after_any_layer(
    Deep, parameters, tmp_path, every_layer_helps, monkeypatch
):
    X, y = three_classes()
    X = np.nan_to_num(X)
    y = np.unique(y, return_inverse=True)[1]
    # Layers are grown whether they help or not.
    monkeypatch.setattr(growth.Growth, "_forests_vote", lambda self: True)
    expected = deep(None, Deep, **parameters).fit(X, y)
    deep(tmp_path, Deep, **parameters).fit(X, y)
    names = layers(tmp_path)
    assert len(names) >= 2
    for n_kept in (len(names), 1):
        for name in names[n_kept:]:
            (tmp_path / name).unlink()
        again = deep(tmp_path, Deep, **parameters).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), expected.predict(X))
        np.testing.assert_array_equal(again.transform(X[::2]), expected.transform(X[::2]))
        np.testing.assert_array_equal(again.history_["score"], expected.history_["score"])
        assert told(again) == told(expected)
    with pytest.raises(ValueError, match="is of a fit with n_estimators=4, not n_estimators=5"):
        deep(tmp_path, Deep, **parameters).set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="is of a fit with another X;"):
        deep(tmp_path, Deep, **parameters).fit(X + (np.arange(len(y)) == 0)[:, None], y)


def test_models_that_are_not_plain_are_refused_before_the_fit(tmp_path):
    X, y = three_classes()
    model = deep(tmp_path / "new", members=["random", GaussianNB()], refit=False)
    with pytest.raises(ValueError, match=r"checkpoint with refit=False .* member 'GaussianNB'"):
        model.fit(np.nan_to_num(X), y)
    assert not (tmp_path / "new").exists()


# Refusals


def test_another_fit_is_refused_by_what_differs(tmp_path):
    X, y = three_classes()
    model = cascade(tmp_path, n_layers=1, forests=["random", RandomForestClassifier(3)])
    model.fit(X, y)
    others = [RandomForestClassifier(3, max_depth=2)]
    for parameters, message in (
        ({"n_estimators": 5}, "n_estimators=4, not n_estimators=5"),
        ({"random_state": 1}, "random_state=0, not random_state=1"),
        ({"forests": ["random", *others]}, "forests=.*max_depth=None.* not forests=.*max_depth=2"),
        ({"mu": 0.2}, "mu=0.1, not mu=0.2"),
    ):
        other = cascade(tmp_path, n_layers=1, forests=model.forests).set_params(**parameters)
        with pytest.raises(ValueError, match=rf"checkpoint: .* is of a fit with {message}"):
            other.fit(X, y)
        assert not hasattr(other, "classes_")
    moved = X.copy()
    moved[0, 0] += 9
    for name, arguments in {
        "X": (moved, y),
        "y": (X, y[::-1]),
        "sample_weight": (X, y, np.arange(1.0, len(y) + 1)),
        "groups": (X, y, None, np.arange(len(y)) // 2),
    }.items():
        with pytest.raises(ValueError, match=f"is of a fit with another {name};"):
            model.fit(*arguments)
    model.fit(X, y)
    model.set_params(n_jobs=2, verbose=0, transform_layers="all").fit(X, y)


@pytest.mark.parametrize("member", ["linear", "kernel", "random"])
def test_numbers_that_share_a_bin_are_another_x_for_those_who_see_them(member, tmp_path):
    X, y = np.arange(40.0)[:, None], np.arange(40) // 5 % 2
    model = deep(tmp_path, members=[member], max_bins=4)
    model.fit(X, y)
    X[[1, 2]] = X[[2, 1]]
    if member == "random":
        model.fit(X, y)
    else:
        with pytest.raises(ValueError, match="is of a fit with another X;"):
            model.fit(X, y)


class Halves:
    """A splitter of a user's own, whose text is another one in each process."""

    def __init__(self, shift):
        self.shift = shift

    def split(self, X, y=None, groups=None):
        first = (np.arange(len(X)) + self.shift) % 4 < 2
        return [(first, ~first), (~first, first)]

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2


@pytest.mark.parametrize("make", [cascade, deep])
@pytest.mark.parametrize(
    ("cv", "same", "other"),
    [
        (Halves(0), Halves(0), Halves(1)),
        (Halves(0), Halves(0).split(np.zeros(300)), KFold(2)),
        (*(PredefinedSplit(np.arange(300) // n % 2) for n in (2, 2, 1)),),
        (KFold(3, shuffle=True, random_state=0),) * 2 + (KFold(3, shuffle=True),),
    ],
    ids=["own", "splits", "long", "drawn"],
)
def test_folds_are_told_apart_by_what_they_hold_out(make, cv, same, other, tmp_path):
    X, y = three_classes()
    assert len(X) == 300
    options = {"members": ["random"]} if make is deep else {}
    make(tmp_path, n_layers=1, cv=cv, **options).fit(X, y)
    make(tmp_path, n_layers=1, cv=same, **options).fit(X, y)
    with pytest.raises(ValueError, match="is of a fit with other folds by cv;"):
        make(tmp_path, n_layers=1, cv=other, **options).fit(X, y)
    with pytest.raises(ValueError, match="is of a fit with cv=given folds, not cv=2;"):
        make(tmp_path, n_layers=1, cv=2, **options).fit(X, y)


def test_the_type_of_a_value_does_not_matter(tmp_path):
    X, y = three_classes()
    X[:, 1] = np.nan_to_num(X[:, 1]).round() % 2
    model = cascade(
        tmp_path, n_layers=1, categorical_features=[1], class_weight={0: 2, 1: 1, 2: 3}
    )
    model.set_params(grains=[np.arange(len(X[0]))]).fit(X, y)
    model.set_params(random_state=np.int64(0), n_estimators=np.int32(4))
    model.set_params(categorical_features=np.array([1]), grains=[[*range(len(X[0]))]])
    model.set_params(class_weight={2: 3, 1: np.int64(1), 0: 2}).fit(X, y)
    with pytest.raises(ValueError, match="categorical_features="):
        model.set_params(categorical_features=np.array([], int)).fit(X, y)


def test_scorers_are_told_apart_and_functions_without_a_name_are_refused(tmp_path):
    X, y = three_classes()
    cascade(tmp_path, scoring=make_scorer(accuracy_score)).fit(X, y)
    cascade(tmp_path, scoring=make_scorer(accuracy_score)).fit(X, y)
    with pytest.raises(ValueError, match="of a fit with scoring=_Scorer"):
        cascade(tmp_path, scoring=make_scorer(f1_score, average="macro")).fit(X, y)
    with pytest.raises(ValueError, match="no lambdas or functions inside others, got <function"):
        cascade(tmp_path / "other", scoring=lambda *_: 0.0).fit(X, y)


def test_a_damaged_file_is_named(tmp_path):
    X, y = three_classes()
    cascade(tmp_path).fit(X, y)
    (tmp_path / "layer-002.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=rf"{DAMAGED.format(2)}its checksum is wrong"):
        cascade(tmp_path).fit(X, y)


@pytest.mark.parametrize("make", [cascade, deep])
def test_a_layer_under_the_name_of_another_is_refused(make, tmp_path, every_layer_helps):
    """Also where both layers have the same shape, and where they change places."""
    X, y = three_classes()
    make(tmp_path).set_params(n_layers=2).fit(X, y)
    first, second = (tmp_path / f"layer-00{number}.npz" for number in (1, 2))
    whole = first.read_bytes(), second.read_bytes()
    for contents, number, held in (
        ((whole[0], whole[0]), 2, 1),
        ((whole[1], whole[1]), 1, 2),
        (whole[::-1], 1, 2),
    ):
        first.write_bytes(contents[0])
        second.write_bytes(contents[1])
        with pytest.raises(ValueError, match=rf"{DAMAGED.format(number)}it is layer {held} under"):
            make(tmp_path).set_params(n_layers=2).fit(X, y)


def test_a_layer_that_is_missing_between_others_is_grown_again(tmp_path):
    X, y = three_classes()
    expected = cascade(tmp_path).fit(X, y)
    whole = {path.name: path.read_bytes() for path in tmp_path.glob("*.npz")}
    (tmp_path / "layer-002.npz").unlink()
    assert_equal(cascade(tmp_path).fit(X, y), expected)
    assert layers(tmp_path) == sorted(whole)


def test_a_layer_of_another_estimator_is_refused(tmp_path):
    X, y = three_classes()
    Checkpoint(tmp_path, {"estimator": "A", "C": "1"}).save(0, 1)
    with pytest.raises(ValueError, match="of a fit with estimator=A, not estimator=B"):
        Checkpoint(tmp_path, {"estimator": "B", "C": "1"}).load(0, parts)
    with pytest.raises(ValueError, match="of a fit with C=1, not C=None"):
        Checkpoint(tmp_path, {"estimator": "A"}).load(0, parts)

    class Named(MDDFClassifier):
        pass

    options = {"n_layers": 1, "n_estimators": 2, "cv": 2, "random_state": 0}
    MDDFClassifier(checkpoint=tmp_path / "fit", **options).fit(X, y)
    with pytest.raises(ValueError, match="estimator=MDDFClassifier, not estimator=Named"):
        Named(checkpoint=tmp_path / "fit", **options).fit(X, y)


def small_file(folder):
    """A checkpoint with a layer of all types, and the bytes of its file."""
    checkpoint = Checkpoint(folder, {"seed": "0"})
    checkpoint.save(0, {"a": [np.arange(3.0), None, "text"]}, 0.5)
    return checkpoint, (folder / "layer-001.npz").read_bytes()


@pytest.mark.parametrize("every", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_every_bit_of_a_file_counts(every, tmp_path):
    checkpoint, whole = small_file(tmp_path)
    for position in range(0, len(whole), every):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        (tmp_path / "layer-001.npz").write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{DAMAGED.format(1)}its checksum is wrong"):
            checkpoint.load(0, parts)


def test_files_that_end_early_or_late_are_refused(tmp_path):
    checkpoint, whole = small_file(tmp_path)
    for contents in (
        b"",
        whole[:20],
        whole[:-1],
        whole[:-32],
        whole[1:],
        whole + b"\n",
        2 * whole,
    ):
        (tmp_path / "layer-001.npz").write_bytes(contents)
        with pytest.raises(ValueError, match=rf"{DAMAGED.format(1)}its checksum is wrong"):
            checkpoint.load(0, parts)
    (tmp_path / "layer-001.npz").write_bytes(whole)
    assert checkpoint.load(0, parts)[1] == 0.5
    (tmp_path / "layer-001.npz").unlink()
    (tmp_path / "layer-001.npz").mkdir()
    with pytest.raises(OSError, match=r"checkpoint cannot be read: Is a directory: '.*layer-001"):
        checkpoint.load(0, parts)


def forge(path, outline=None, changed=()):
    """Write other arrays into a file, with the right checksum."""
    with np.load(path) as stored:
        arrays = dict(stored) | dict(changed)
    if outline is not None:
        arrays["outline"] = np.frombuffer(json.dumps(outline).encode(), np.uint8)
    with path.open("w+b") as file:
        np.savez(file, **arrays)
        file.write(checkpoints._checksum(file, file.tell()))


@pytest.mark.parametrize(
    "outline",
    [
        None,
        7,
        [],
        [1, {"seed": "0"}],
        [1, 7, []],
        [1, {"seed": "0"}, 7],
        [1, {"seed": "0"}, [{"array": 99}, 0.5]],
        [1, {"seed": "0"}, [{"dict": {"mddf_type": "no part"}}, 0.5]],
        [1, {"seed": "0"}, [{"dict": {"mddf_type": ["layer"]}}, 0.5]],
        [1, {"seed": "0"}, [{"neither": 0}, 0.5]],
    ],
    ids=repr,
)
def test_forged_outlines_are_named(outline, tmp_path):
    checkpoint, _ = small_file(tmp_path)
    changed = {"outline": np.zeros(3)} if outline is None else {}
    forge(tmp_path / "layer-001.npz", outline, changed)
    with pytest.raises(ValueError, match=DAMAGED.format(1)):
        checkpoint.load(0, parts)


@pytest.mark.parametrize("make", [cascade, deep])
def test_forged_layers_are_named(make, tmp_path):
    X, y = three_classes()
    make(tmp_path).fit(X, y)
    path = tmp_path / "layer-001.npz"
    with np.load(path) as stored:
        n_rows, number = len(y), json.loads(stored["outline"].tobytes())
        vectors = {
            name: array[..., :1]
            for name, array in stored.items()
            if array.ndim > 1 and n_rows in array.shape
        }
    whole = path.read_bytes()
    for layer in ([], [1, 2, 3], [[], [], 0.0], ["layer", {"array": 0}, None], [None] * 5):
        forge(path, [*number[:2], layer])
        with pytest.raises(ValueError, match=DAMAGED.format(1)):
            make(tmp_path).fit(X, y)
        path.write_bytes(whole)
    forge(path, changed=vectors)
    with pytest.raises(ValueError, match=rf"{DAMAGED.format(1)}its vectors must have shape"):
        make(tmp_path).fit(X, y)


def test_what_cannot_be_kept_is_refused(tmp_path):
    X, y = three_classes()
    external = cascade(tmp_path, forests=["random", LogisticRegression()])
    with pytest.raises(ValueError, match=r"checkpoint needs forests of this package.*Logistic"):
        external.fit(X, y)
    for seed in (None, np.random.RandomState(0)):
        with pytest.raises(ValueError, match=r"checkpoint needs a number as random_state.*got"):
            cascade(tmp_path, random_state=seed).fit(X, y)
    with pytest.raises(TypeError, match="holds arrays, numbers and text, got <object"):
        Checkpoint(tmp_path, {}).save(0, object())
    assert not layers(tmp_path)


@pytest.mark.parametrize("make", [cascade, deep])
def test_folders_that_cannot_be_are_refused_by_name(tmp_path, make):
    X, y = three_classes()
    (tmp_path / "file").write_text("")
    for folder in ("file", "file/below", "x" * 300):
        with pytest.raises(OSError, match=r"checkpoint must be a folder that can be written to"):
            make(tmp_path / folder).fit(X, y)
    with pytest.raises(FileNotFoundError, match=r"checkpoint must be .*: '/proc/none'"):
        make("/proc/none").fit(X, y)
    with pytest.raises(ValueError, match=r"checkpoint cannot be used: .*null"):
        make("a\0b").fit(X, y)


def test_a_disk_that_is_full_is_told_by_name(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    checkpoint = Checkpoint(tmp_path, {})
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match=r"checkpoint must be .*: No space left on device"):
        checkpoint.save(0, 1)


def parts(*given):
    return given


def test_values_come_back(tmp_path):
    checkpoint = Checkpoint(tmp_path / "new" / "folder", {"seed": "0"})
    assert checkpoint.load(0, parts) is None
    checkpoint.save(0, {"a": [np.arange(3.0), None, "text"]}, 0.1, [np.zeros((0, 2), np.uint8)])
    first, second, (third,) = checkpoint.load(0, parts)
    np.testing.assert_array_equal(first["a"][0], np.arange(3.0))
    assert first["a"][1:] == [None, "text"]
    assert second == 0.1
    assert third.shape == (0, 2)
    assert third.dtype == np.uint8


# Killed


def fit_and_report(make, folder, told):
    os.dup2(told, 1)
    X, y = three_classes()
    make(folder, verbose=1).fit(X, y)


def killed_fit(make, folder, seconds):
    """How many layers a fit said it had grown before it was killed."""
    read, write = os.pipe()
    fit = multiprocessing.get_context("fork").Process(
        target=fit_and_report, args=(make, folder, write)
    )
    fit.start()
    os.close(write)
    time.sleep(seconds)
    os.kill(fit.pid, signal.SIGKILL)
    fit.join()
    with os.fdopen(read) as file:
        return sum(line.startswith("layer ") for line in file)


@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_at_random_moments(times, tmp_path):
    X, y = three_classes()
    start = time.perf_counter()
    expected = cascade(None).fit(X, y)
    whole = time.perf_counter() - start
    random = np.random.default_rng(times)
    stopped = set()
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        n_told = killed_fit(cascade, folder, whole * random.uniform(0, 1.5))
        stopped.add(len(layers(folder)))
        assert len(layers(folder)) >= n_told
        assert_equal(cascade(folder).fit(X, y), expected)
        assert len(layers(folder)) == N_LAYERS
    assert times < 20 or len(stopped) > 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_deep_forests_killed_at_random_moments(tmp_path):
    X, y = three_classes()
    start = time.perf_counter()
    expected = deep(None).fit(X, y)
    whole = time.perf_counter() - start
    random = np.random.default_rng(0)
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        n_told = killed_fit(deep, folder, whole * random.uniform(0, 1.2))
        assert len(layers(folder)) >= n_told
        again = deep(folder).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
