"""Checkpoints of other fits, and values that cannot be stored."""

import numpy as np
import pytest
from checkpoint_cases import cascade, deep
from forest_cases import three_classes
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB

from mddf import RandomForestClassifier


def test_models_that_are_not_plain_are_refused_before_the_fit(tmp_path):
    X, y = three_classes()
    model = deep(tmp_path / "new", members=["random", GaussianNB()], refit=False)
    with pytest.raises(ValueError, match=r"checkpoint with refit=False .* member 'GaussianNB'"):
        model.fit(np.nan_to_num(X), y)
    assert not (tmp_path / "new").exists()


def test_checkpoints_of_another_fit_are_refused_with_the_difference(tmp_path):
    X, y = three_classes()
    model = cascade(tmp_path, n_layers=1, forests=["random", RandomForestClassifier(3)])
    model.fit(X, y)
    other_forests = [RandomForestClassifier(3, max_depth=2)]
    for parameters, message in (
        ({"n_estimators": 5}, "n_estimators=4, not n_estimators=5"),
        ({"random_state": 1}, "random_state=0, not random_state=1"),
        (
            {"forests": ["random", *other_forests]},
            "forests=.*max_depth=None.* not forests=.*max_depth=2",
        ),
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


@pytest.mark.parametrize("member", ["linear", "kernel", "kernel-logistic", "network", "random"])
def test_changes_within_a_bin_are_another_x_for_members_on_raw_numbers(member, tmp_path):
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
    """A user's splitter whose representation differs between processes."""

    def __init__(self, shift):
        self.shift = shift

    def split(self, X, y=None, groups=None):
        first = (np.arange(len(X)) + self.shift) % 4 < 2
        return [(first, ~first), (~first, first)]

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2


@pytest.mark.parametrize("make", [cascade, deep])
def test_folds_differ_by_their_held_out_rows(make, tmp_path):
    X, y = three_classes()
    assert len(X) == 300
    options = {"members": ["random"]} if make is deep else {}
    cases = [
        (Halves(0), Halves(0), Halves(1)),
        (Halves(0), Halves(0).split(np.zeros(300)), KFold(2)),
        (*(PredefinedSplit(np.arange(300) // n % 2) for n in (2, 2, 1)),),
        (KFold(3, shuffle=True, random_state=0),) * 2 + (KFold(3, shuffle=True),),
    ]
    for number, (cv, same, other) in enumerate(cases):
        folder = tmp_path / str(number)
        make(folder, n_layers=1, cv=cv, **options).fit(X, y)
        make(folder, n_layers=1, cv=same, **options).fit(X, y)
        with pytest.raises(ValueError, match="is of a fit with other folds by cv;"):
            make(folder, n_layers=1, cv=other, **options).fit(X, y)
        with pytest.raises(ValueError, match="is of a fit with cv=given folds, not cv=2;"):
            make(folder, n_layers=1, cv=2, **options).fit(X, y)


def test_scorers_differ_and_functions_without_a_name_are_refused(tmp_path):
    X, y = three_classes()
    cascade(tmp_path, scoring=make_scorer(accuracy_score)).fit(X, y)
    cascade(tmp_path, scoring=make_scorer(accuracy_score)).fit(X, y)
    with pytest.raises(ValueError, match="of a fit with scoring=_Scorer"):
        cascade(tmp_path, scoring=make_scorer(f1_score, average="macro")).fit(X, y)
    with pytest.raises(ValueError, match="no lambdas or functions inside others, got <function"):
        cascade(tmp_path / "other", scoring=lambda *_: 0.0).fit(X, y)


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
