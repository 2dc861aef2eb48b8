"""The real files, compared with published facts that are repeated here independently."""

import shutil

import numpy as np
import pandas as pd
import pytest
from mddf.datasets import DataFileError, load, names
from mddf.datasets._io.spec import Embedded
from mddf.datasets._registry import SPECS

ABSENT = {"har", "protein", "sensit"}
LETTER_TOTALS = (734, 813)

# name: (rows of each part, columns, counts of each part in the order of sorted labels)
SPLIT = {
    "adult": ((32561, 16281), 14, [(24720, 7841), (12435, 3846)]),
    "satimage": (
        (4435, 2000),
        36,
        [(1072, 479, 961, 415, 470, 1038), (461, 224, 397, 211, 237, 470)],
    ),
    "mnist": (
        (60000, 10000),
        784,
        [
            (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
            (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
        ],
    ),
    "optdigits": (
        (3823, 1797),
        64,
        [
            (376, 389, 380, 389, 387, 376, 377, 387, 380, 382),
            (178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        ],
    ),
    "monks-1": ((124, 432), 6, [(62, 62), (216, 216)]),
    "monks-2": ((169, 432), 6, [(105, 64), (290, 142)]),
    "monks-3": ((122, 432), 6, [(62, 60), (204, 228)]),
    # 27 columns, less the hospital number and three that code the lesion
    "horse": ((300, 68), 27 - 4, [(191, 109), (41, 27)]),
}

# name: (rows, columns, counts by label)
WHOLE = {
    "yeast": (
        1484,
        8,
        {
            "CYT": 463,
            "NUC": 429,
            "MIT": 244,
            "ME3": 163,
            "ME2": 51,
            "ME1": 44,
            "EXC": 35,
            "VAC": 30,
            "POX": 20,
            "ERL": 5,
        },
    ),
    "breastcancer": (699, 9, {2: 458, 4: 241}),
    "breast-ljubljana": (286, 9, {"no-recurrence-events": 201, "recurrence-events": 85}),
    "ionosphere": (351, 34, {"g": 225, "b": 126}),
    "german": (1000, 24, {1: 700, 2: 300}),
    "pima": (768, 8, {0: 500, 1: 268}),
    "australian": (690, 14, {0: 383, 1: 307}),
    "balance": (625, 4, {"L": 288, "B": 49, "R": 288}),
    "bupa": (345, 6, {1: 145, 2: 200}),
    "car": (1728, 6, {"unacc": 1210, "acc": 384, "good": 69, "vgood": 65}),
    "cmc": (1473, 9, {1: 629, 2: 333, 3: 511}),
    "credit": (690, 15, {"+": 307, "-": 383}),
    "cylinder": (540, 39, {"band": 228, "noband": 312}),
    "ecoli": (
        336,
        7,
        {"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imL": 2, "imS": 2},
    ),
    "flags": (194, 28, dict(enumerate((40, 60, 36, 8, 4, 27, 15, 4)))),
    "glass": (214, 9, {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}),
    "heart": (270, 13, {1: 150, 2: 120}),
    "hepatitis": (155, 19, {1: 32, 2: 123}),
    "tictactoe": (958, 9, {"positive": 626, "negative": 332}),
    "titanic": (2201, 3, {"no": 1490, "yes": 711}),
    "vote": (435, 16, {"democrat": 267, "republican": 168}),
    "wine-uci": (178, 13, {1: 59, 2: 71, 3: 48}),
    "zoo": (101, 16, dict(enumerate((41, 20, 5, 13, 4, 8, 10), start=1))),
    "bank": (45211, 16, {"no": 39922, "yes": 5289}),
    # 32 columns, less the row id
    "carclaims": (15420, 32 - 1, {"No": 14497, "Yes": 923}),
}

# name: columns of the file (from 0) that hold categories
CATEGORICAL = {
    "adult": {1, 3, 5, 6, 7, 8, 9, 13},
    "monks-1": set(range(1, 7)),
    "breast-ljubljana": set(range(1, 10)) - {6},
    "australian": {0, 3, 4, 5, 7, 8, 10, 11},
    "car": set(range(6)),
    "cmc": {1, 2, 4, 5, 6, 7, 8},
    "credit": {0, 3, 4, 5, 6, 8, 9, 11, 12},
    "cylinder": set(range(20)),
    "heart": {1, 2, 5, 6, 8, 12},
    "hepatitis": {*range(2, 14), 19},
    "tictactoe": set(range(9)),
    "titanic": set(range(3)),
    "vote": set(range(1, 17)),
    "zoo": set(range(1, 17)) - {13},
    "bank": {1, 2, 3, 4, 6, 7, 8, 10, 15},
}

# name: (missing cells, rows with any) of each part
MISSING = {
    "adult": [(4262, 2399), (2203, 1221)],
    "horse": [(1605, 294), (322, 67)],
    "breastcancer": [(16, 16)],
    "breast-ljubljana": [(9, 9)],
    "credit": [(67, 37)],
    "cylinder": [(999, 263)],
    "hepatitis": [(167, 75)],
}


# name: (rows, columns, categorical columns of the file, missing cells, least and largest target)
NUMERIC = {
    "abalone": (4177, 8, {0}, 0, (1, 29)),
    "airfoil": (1503, 5, set(), 0, (103.38, 140.987)),
    "auto-mpg": (398, 7, {7}, 6, (9, 46.6)),
    "bike": (17379, 12, {2, 7, 9}, 0, (1, 977)),
    "california": (20640, 9, {9}, 207, (14999, 500001)),
    "concrete": (1030, 8, set(), 0, (2.33, 82.6)),
    "energy": (768, 8, {5, 7}, 0, (6.01, 43.1)),
    "forest-fires": (517, 12, {2, 3}, 0, (0, 1090.84)),
    "insurance": (1338, 6, {1, 4, 5}, 0, (1121.8739, 63770.42801)),
    "kin8nm": (8192, 8, set(), 0, (0.040165378, 1.4585206)),
    "student-mat": (395, 30, {0, 1, 3, 4, 5, 8, 9, 10, 11, *range(15, 23)}, 0, (0, 20)),
    "student-por": (649, 30, {0, 1, 3, 4, 5, 8, 9, 10, 11, *range(15, 23)}, 0, (0, 19)),
    "yacht": (308, 6, set(), 0, (0.01, 62.42)),
}


@pytest.fixture(scope="module")
def real(data_home):
    """Load a real data set once for all tests that do not change it."""
    loaded = {}

    def get(name, **options):
        key = (name, *options.items())
        if key not in loaded:
            loaded[key] = load(name, data_home=data_home, download=False, **options)
        return loaded[key]

    return get


def parts(data):
    return [data.X_train, data.X_test] if data.has_standard_split else [data.X]


def missing(X):
    empty = np.asarray(pd.isna(X))
    return int(empty.sum()), int(empty.any(axis=1).sum())


def test_every_set_is_in_a_table():
    derived = {name for name, spec in SPECS.items() if spec.parent is not None}
    embedded = {name for name, spec in SPECS.items() if isinstance(spec.format, Embedded)}
    assert {*SPLIT, *WHOLE, *NUMERIC, "letter"} | derived | embedded | ABSENT == set(names())


def test_sets_with_a_split(real):
    for name in SPLIT:
        rows, n_columns, counts = SPLIT[name]
        data = real(name)
        assert data.X.shape == (sum(rows), n_columns)
        assert (data.X_train.shape[0], data.X_test.shape[0]) == rows
        assert (len(data.y_train), len(data.y_test)) == rows
        counts_by_label = [
            tuple(np.unique(y, return_counts=True)[1]) for y in (data.y_train, data.y_test)
        ]
        assert counts_by_label == counts


def test_sets_without_a_split(real):
    for name in WHOLE:
        n_rows, n_columns, counts = WHOLE[name]
        data = real(name)
        assert not data.has_standard_split
        assert data.X.shape == (n_rows, n_columns)
        labels, counts_by_label = np.unique(data.y, return_counts=True)
        assert dict(zip(labels.tolist(), counts_by_label.tolist(), strict=True)) == counts


def test_numeric_targets(real):
    for name in NUMERIC:
        n_rows, n_columns, categorical, n_missing, ends = NUMERIC[name]
        data = real(name)
        assert (data.task, data.y.dtype, len(data.classes)) == ("regression", np.float64, 0)
        assert data.X.shape == (n_rows, n_columns)
        assert {SPECS[name].format.columns.index(c) for c in data.categorical} == categorical
        assert missing(data.X)[0] == n_missing
        assert (data.y.min(), data.y.max()) == ends
        assert "a numeric target, no standard split" in repr(data)


def test_targets_that_are_chosen(real):
    cooling = real("energy", target="cooling")
    assert (cooling.y.min(), cooling.y.max()) == (10.9, 48.03)
    assert cooling.feature_names == real("energy").feature_names
    both = real("student-mat", earlier_grades=True)
    assert both.feature_names[-2:] == ("G1", "G2")
    assert np.corrcoef(both.X["G2"], both.y)[0, 1] > 0.9


def test_a_wrong_target_is_noticed(data_home, tmp_path):
    (tmp_path / "regression/yacht").mkdir(parents=True)
    text = (data_home / "regression/yacht/yacht_hydrodynamics.data").read_text()
    path = tmp_path / "regression/yacht/yacht_hydrodynamics.data"
    path.write_text(text.replace("62.42", "6.242"))
    with pytest.raises(DataFileError, match=r"must have target from, to \(0.01, 62.42\), got"):
        load("yacht", data_home=tmp_path, download=False, check_hash=False)
    path.write_text(text.replace("62.42", "much"))
    with pytest.raises(DataFileError, match="column 'resistance' must be a number, got 'much'"):
        load("yacht", data_home=tmp_path, download=False, check_hash=False)


def test_categorical_columns_and_missing_cells(real):
    for name in sorted({*SPLIT, *WHOLE}):
        data = real(name)
        spec = SPECS[name]
        if name in CATEGORICAL:
            assert {spec.format.columns.index(c) for c in data.categorical} == CATEGORICAL[name]
        n_missing = [missing(X) for X in parts(data)]
        assert n_missing == MISSING.get(name, [(0, 0)] * len(n_missing))
        assert isinstance(data.X, pd.DataFrame) == bool(data.categorical)
        assert len(data.feature_names) == data.X.shape[1]
        assert len(data.target_names) == len(data.classes)


def test_letter(real):
    data = real("letter")
    assert (len(data.X_train), len(data.X_test)) == (16000, 4000)
    counts = np.unique(data.y, return_counts=True)[1]
    assert len(counts) == 26
    assert (counts.min(), counts.max()) == LETTER_TOTALS
    assert data.y[0] == "T"
    assert (data.X.min(), data.X.max()) == (0, 15)


def test_two_classes_of_digits(real):
    for name in ["mnist-17", "mnist-49", "optdigits-17", "optdigits-49"]:
        base, _, digits = name.partition("-")
        whole = real(base)
        data = real(name)
        labels = [int(d) for d in digits]
        for part in ("train", "test"):
            keep = np.isin(getattr(whole, f"y_{part}"), labels)
            np.testing.assert_array_equal(
                getattr(data, f"y_{part}"), getattr(whole, f"y_{part}")[keep]
            )
            np.testing.assert_array_equal(
                getattr(data, f"X_{part}"), getattr(whole, f"X_{part}")[keep]
            )
        assert data.classes.tolist() == labels


def test_optdigits_test_part_is_scikit_learns_digits(real):
    digits = load("digits")
    np.testing.assert_array_equal(real("optdigits").X_test, digits.X)
    np.testing.assert_array_equal(real("optdigits").y_test, digits.y)


def test_wine_file_is_scikit_learns_wine(real):
    np.testing.assert_allclose(real("wine-uci").X, load("wine").X)
    np.testing.assert_array_equal(real("wine-uci").y, load("wine").y + 1)


def test_monks_follow_their_rules(real):
    X = real("monks-1").X_test.astype(int)
    np.testing.assert_array_equal(real("monks-1").y_test, (X.a1 == X.a2) | (X.a5 == 1))
    X = real("monks-2").X_test.astype(int)
    np.testing.assert_array_equal(real("monks-2").y_test, (X == 1).sum(axis=1) == 2)
    wrong = []
    for part in ("train", "test"):
        X = getattr(real("monks-3"), f"X_{part}").astype(int)
        rule = ((X.a5 == 3) & (X.a4 == 1)) | ((X.a5 != 4) & (X.a2 != 3))
        wrong.append(int((rule != getattr(real("monks-3"), f"y_{part}")).sum()))
    assert wrong == [6, 0]


def test_adult(real):
    data = real("adult")
    first = data.X.iloc[0]
    assert (first["age"], first["workclass"], first["native-country"]) == (
        39,
        "State-gov",
        "United-States",
    )
    assert data.X_train.isna().any()[lambda has: has].index.tolist() == [
        "workclass",
        "occupation",
        "native-country",
    ]
    # A country of a training row only is a category of the test rows too.
    assert "Holand-Netherlands" not in set(data.X_test["native-country"])
    assert "Holand-Netherlands" in data.X_test["native-country"].cat.categories


def test_cylinder_record_that_is_broken_over_two_lines(real):
    row = real("cylinder").X.iloc[521]
    assert (row["timestamp"], row["cylinder_size"], row["current_density"]) == (
        19930421,
        "tabloid",
        40,
    )
    for name in ("paper_type", "cylinder_size", "ink_color"):
        assert all(word == word.lower() for word in real("cylinder").categories[name])
    assert real("cylinder").categories["ink_color"] == ("key",)


def test_cylinder_without_ids(real):
    X = real("cylinder", drop_ids=True).X
    pd.testing.assert_frame_equal(X, real("cylinder").X.iloc[:, 4:])


def test_horse_outcome(real):
    data = real("horse", target="outcome")
    assert data.target_names == ("lived", "died", "was put down")
    assert (len(data.y_train), len(data.y_test)) == (299, 67)
    assert "surgical_lesion" in data.feature_names
    assert not {"outcome", "hospital_number", "lesion_1"} & set(data.feature_names)


def test_flags_landmass(real):
    data = real("flags", target="landmass")
    assert len(data.classes) == 6
    assert "religion" in data.categorical
    assert data.X.shape == (194, 28)
    words = [c for c, levels in data.categories.items() if isinstance(levels[0], str)]
    assert [SPECS["flags"].format.columns.index(c) for c in words] == [17, 28, 29]
    assert {"landmass", "zone", "language"} <= set(real("flags").categorical)


def test_pima_zeros(real):
    data = real("pima", zeros_as_missing=True)
    zeros = (real("pima").X == 0)[:, 1:6]
    np.testing.assert_array_equal(np.isnan(data.X[:, 1:6]), zeros)
    assert not np.isnan(data.X[:, [0, 6, 7]]).any()


@pytest.mark.parametrize(
    ("variant", "shape", "counts", "unknown", "never"),
    [
        ("full", (45211, 16), (39922, 5289), 52124, -1),
        ("additional", (41188, 20), (36548, 4640), 12718, 999),
    ],
)
def test_bank(real, variant, shape, counts, unknown, never):
    data = real("bank") if variant == "full" else real("bank", variant=variant)
    assert data.X.shape == shape
    assert tuple(np.unique(data.y, return_counts=True)[1]) == counts
    words = (data.X == "unknown").to_numpy()
    assert words.sum() == unknown
    assert (data.X["pdays"] == never).any()
    assert "duration" in data.feature_names
    assert ("day_of_week" in data.categorical) == (variant == "additional")
    assert len(data.categorical) == (9 if variant == "full" else 10)
    assert variant == "full" or words.any(axis=1).sum() == 10700


def test_bank_options(real):
    data = real("bank", drop_duration=True, unknown_as_missing=True)
    assert missing(data.X)[0] == 52124
    assert data.X.shape == (45211, 15)
    assert "duration" not in data.feature_names
    assert "unknown" not in data.categories["job"]


def test_vote_question_marks(real):
    data = real("vote")
    assert all(set(levels) == {"?", "n", "y"} for levels in data.categories.values())
    marks = (data.X == "?").to_numpy()
    assert (marks.sum(), marks.any(axis=1).sum()) == (392, 203)
    other = real("vote", unknown_as_missing=True)
    assert missing(other.X) == (392, 203)
    assert all(set(levels) == {"n", "y"} for levels in other.categories.values())


def test_carclaims(real):
    data = real("carclaims")
    assert len(data.categorical) == 24
    numbers = [c for c in data.feature_names if c not in data.categorical]
    assert numbers == [
        "WeekOfMonth",
        "WeekOfMonthClaimed",
        "Age",
        "RepNumber",
        "Deductible",
        "DriverRating",
        "Year",
    ]
    assert (data.X["Age"] == 0).sum() == 320
    odd = data.X[(data.X["DayOfWeekClaimed"] == "0") & (data.X["MonthClaimed"] == "0")]
    assert len(odd) == 1
    assert "20,000 to 29,000" in data.categories["VehiclePrice"]


def test_car_categories_are_ordered(real):
    X = real("car").X
    assert all(X[name].cat.ordered for name in X)
    assert X["buying"].cat.categories.tolist() == ["low", "med", "high", "vhigh"]
    assert not real("tictactoe").X["square_0_0"].cat.ordered


def test_titanic_joint_counts(real):
    data = real("titanic")
    table = pd.crosstab([data.X["class"], data.X["age"]], data.y)
    assert table.loc[("1st", "adult")].tolist() == [122, 197]
    assert table.loc[("3rd", "child")].tolist() == [52, 27]
    assert table.loc[("crew", "adult")].tolist() == [673, 212]


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("letter", "letter-recognition.data", "rows 20000, got 19999"),
        ("satimage", "sat.tst", "test rows 2000, got 1999"),
        ("zoo", "zoo.data", "rows 101, got 100"),
    ],
)
def test_a_real_file_that_lost_a_line(data_home, tmp_path, name, file, message):
    (tmp_path / name).mkdir()
    for path in (data_home / name).iterdir():
        shutil.copyfile(path, tmp_path / name / path.name)
    path = tmp_path / name / file
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:9] + lines[10:]))
    with pytest.raises(DataFileError, match="SHA-256"):
        load(name, data_home=tmp_path, download=False)
    with pytest.raises(DataFileError, match=message):
        load(name, data_home=tmp_path, download=False, check_hash=False)
