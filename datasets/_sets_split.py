"""Tables with a standard split into training and test rows."""

from __future__ import annotations

from string import ascii_uppercase

from ._spec import Part, Spec, Table, change, restrict, same
from ._uci import columns, grid, uci

_ADULT = Table(
    columns(
        "age workclass fnlwgt education education-num marital-status occupation relationship"
        " race sex capital-gain capital-loss hours-per-week native-country income"
    ),
    label="income",
    categorical=columns(
        "workclass education marital-status occupation relationship race sex native-country"
    ),
    missing="?",
    comment="|",
    label_suffix=".",
)

_LETTER = Table(
    columns(
        "letter x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege"
        " xegvy y-ege yegvx"
    ),
    label="letter",
)

# fmt: off
_LETTER_COUNTS = (
    (633, 630, 594, 638, 616, 622, 609, 583, 590, 599, 593, 604, 648,
     617, 614, 635, 615, 597, 587, 645, 645, 628, 613, 628, 641, 576),
    (156, 136, 142, 167, 152, 153, 164, 151, 165, 148, 146, 157, 144,
     166, 139, 168, 168, 161, 161, 151, 168, 136, 139, 159, 145, 158),
)
# fmt: on

_SATIMAGE = Table(
    (*grid("pixel{}_band{}", 9, 4), "class"),
    label="class",
    delimiter=None,
)

_OPTDIGITS = Table((*grid("pixel_{}_{}", 8, 8), "digit"), label="digit")

_MONKS = Table(
    columns("class a1 a2 a3 a4 a5 a6 id"),
    label="class",
    delimiter=None,
    drop=("id",),
    categorical=columns("a1 a2 a3 a4 a5 a6"),
)

_HORSE_DROP = columns("hospital_number lesion_1 lesion_2 lesion_3")
_HORSE = Table(
    columns(
        "surgery age hospital_number rectal_temperature pulse respiratory_rate"
        " temperature_of_extremities peripheral_pulse mucous_membranes capillary_refill_time pain"
        " peristalsis abdominal_distension nasogastric_tube nasogastric_reflux"
        " nasogastric_reflux_ph rectal_examination abdomen packed_cell_volume total_protein"
        " abdominocentesis_appearance abdominocentesis_total_protein outcome surgical_lesion"
        " lesion_1 lesion_2 lesion_3 pathology_data"
    ),
    label="surgical_lesion",
    delimiter=None,
    drop=_HORSE_DROP,
    categorical=columns(
        "surgery age temperature_of_extremities peripheral_pulse mucous_membranes"
        " capillary_refill_time pain peristalsis abdominal_distension nasogastric_tube"
        " nasogastric_reflux rectal_examination abdomen abdominocentesis_appearance outcome"
        " surgical_lesion pathology_data"
    ),
    missing="?",
)

ADULT = uci(
    "adult",
    "Adult (census income)",
    (2, "adult"),
    {
        "adult/adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "adult/adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    },
    _ADULT,
    [{"<=50K": 24720, ">50K": 7841}, {"<=50K": 12435, ">50K": 3846}],
    missing=(4262, 2203),
    description="Whether a person of the United States census of 1994 earns more than 50000 a"
    " year, from age, schooling, work and family. 'fnlwgt' is a sampling weight.",
    citation="R. Kohavi. Scaling up the accuracy of naive-Bayes classifiers: a decision-tree"
    " hybrid. KDD, 1996.",
)

LETTER = uci(
    "letter",
    "Letter Recognition",
    (59, "letter+recognition"),
    {
        "letter-recognition/letter-recognition.data": (
            "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2"
        )
    },
    _LETTER,
    [dict(zip(ascii_uppercase, part, strict=True)) for part in _LETTER_COUNTS],
    description="Capital letters of twenty typefaces, distorted at random, as sixteen moments and"
    " edge counts of their pixels. The first 16000 rows are for training by custom.",
    citation="P. W. Frey and D. J. Slate. Letter recognition using Holland-style adaptive"
    " classifiers. Machine Learning 6, 1991.",
)

SATIMAGE = uci(
    "satimage",
    "Statlog (Landsat Satellite)",
    (146, "statlog+landsat+satellite"),
    {
        "statlog/satimage/sat.trn": (
            "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613"
        ),
        "statlog/satimage/sat.tst": (
            "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479"
        ),
    },
    _SATIMAGE,
    [
        {1: 1072, 2: 479, 3: 961, 4: 415, 5: 470, 7: 1038},
        {1: 461, 2: 224, 3: 397, 4: 211, 5: 237, 7: 470},
    ],
    description="Kind of soil at the middle of a 3 by 3 patch of a satellite picture, from the"
    " four spectral bands of the nine pixels. Upstream has no rows of class 6.",
    citation="A. Srinivasan. Statlog (Landsat Satellite). UCI Machine Learning Repository, 1993.",
    label_names={
        1: "red soil",
        2: "cotton crop",
        3: "grey soil",
        4: "damp grey soil",
        5: "soil with vegetation stubble",
        7: "very damp grey soil",
    },
)

OPTDIGITS = uci(
    "optdigits",
    "Optical Recognition of Handwritten Digits",
    (80, "optical+recognition+of+handwritten+digits"),
    {
        "optdigits/optdigits.tra": (
            "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd"
        ),
        "optdigits/optdigits.tes": (
            "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
        ),
    },
    _OPTDIGITS,
    [
        dict(enumerate((376, 389, 380, 389, 387, 376, 377, 387, 380, 382))),
        dict(enumerate((178, 182, 177, 183, 181, 182, 181, 179, 174, 180))),
    ],
    description="Handwritten digits on an 8 by 8 grid; each value counts the ink in a 4 by 4"
    " block, 0 to 16. Training and test digits are by different writers.",
    citation="E. Alpaydin and C. Kaynak. Cascading classifiers. Kybernetika 34, 1998.",
)


def _monks(number: int, sums: tuple[str, str], train: tuple[int, int], test: int) -> Spec:
    rule = {
        1: "a1 equals a2, or a5 is 1",
        2: "exactly two of the six attributes are 1",
        3: "a5 is 3 and a4 is 1, or a5 is not 4 and a2 is not 3; six training labels are wrong",
    }[number]
    base = f"monks-problems/monks-{number}"
    return uci(
        f"monks-{number}",
        f"MONK's Problem {number}",
        (70, "monk+s+problems"),
        {f"{base}.train": sums[0], f"{base}.test": sums[1]},
        _MONKS,
        [{0: train[0], 1: train[1]}, {0: test, 1: 432 - test}],
        description=f"An artificial concept on six attributes: {rule}. The test part is the"
        " whole space of 432 rows.",
        citation="S. B. Thrun et al. The MONK's problems: a performance comparison of different"
        " learning algorithms. CMU-CS-91-197, 1991.",
        folder="monks",
        copies=(f"monks-{number}.test",),
    )


MONKS = (
    _monks(
        1,
        (
            "d9c328b6f0e095ab10f7bc8468f1d2141f3d08be73e665c3bf0a62994c922606",
            "e501ada3b21d876ab86f3e1614747bd2edc443a685f229a25e480aa1dea629f6",
        ),
        (62, 62),
        216,
    ),
    _monks(
        2,
        (
            "7ebcc278005737caad0cd52e6aa31256a2c3174da8047faf4ac3a9d35edbdaa8",
            "945650affde377c27f6218c8b17893e339ea831f4bee9f9d7123020699cfbf40",
        ),
        (105, 64),
        290,
    ),
    _monks(
        3,
        (
            "726f258f80be06af4bb2d8831789514a663f5813e47429211fe19dcd367966f8",
            "1d816ae7347afaf895050667adc3f382904c6ed2332d0a2d09353f5e6cb54612",
        ),
        (62, 60),
        204,
    ),
)

HORSE = uci(
    "horse",
    "Horse Colic",
    (47, "horse+colic"),
    {
        "horse-colic/horse-colic.data": (
            "270db486c78796143ffa84b4808118b3d4b96d1bd0f70bf22b3bb0bfca21e547"
        ),
        "horse-colic/horse-colic.test": (
            "2c14b28c71da2a4778a6f161819804e032545a1c13f73fddf5d5b220c7ae3853"
        ),
    },
    _HORSE,
    [{1: 191, 2: 109}, {1: 41, 2: 27}],
    missing=(1605, 322),
    description="Whether a horse with colic had a surgical lesion (target='lesion') or what"
    " became of it (target='outcome'; the one row without an outcome in each part is left out)."
    " The hospital number and the three codes of the lesion are dropped; the target that is not"
    " asked for stays among the features, as upstream has it.",
    citation="M. McLeish and M. Cecile. Horse Colic. UCI Machine Learning Repository, 1989.",
    label_names={1: "lesion", 2: "no lesion"},
    options={
        "target": {
            "lesion": same,
            "outcome": change(
                {"label": "outcome", "skip_unlabelled": True},
                parts=(
                    Part({1: 178, 2: 77, 3: 44}, missing=1602),
                    Part({1: 47, 2: 12, 3: 8}, missing=309),
                ),
                label_names={1: "lived", 2: "died", 3: "was put down"},
            ),
        }
    },
    copies=("horse-colic.test",),
)

SETS = (
    ADULT,
    LETTER,
    SATIMAGE,
    OPTDIGITS,
    *MONKS,
    HORSE,
    restrict(LETTER, "letter-ab", ("A", "B"), "Letter Recognition, A against B"),
    restrict(OPTDIGITS, "optdigits-17", (1, 7), "Optical digits, 1 against 7"),
    restrict(OPTDIGITS, "optdigits-49", (4, 9), "Optical digits, 4 against 9"),
)
