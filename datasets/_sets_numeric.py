"""Single tables of numbers: no categories, no standard split."""

from __future__ import annotations

from dataclasses import replace

from ._spec import File, Part, Table, change, same
from ._uci import columns, grid, uci

YEAST = uci(
    "yeast",
    "Yeast",
    (110, "yeast"),
    {"yeast/yeast.data": "7cf61776fc04f527f93bf57a327b863893a1225d82df02d457e8950173218258"},
    Table(
        columns("sequence mcg gvh alm mit erl pox vac nuc site"),
        label="site",
        delimiter=None,
        drop=("sequence",),
    ),
    [
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
        }
    ],
    description="Where in the cell a yeast protein sits, from scores of its sequence.",
    citation="P. Horton and K. Nakai. A probabilistic classification system for predicting the"
    " cellular localization sites of proteins. ISMB, 1996.",
)

ECOLI = uci(
    "ecoli",
    "Ecoli",
    (39, "ecoli"),
    {"ecoli/ecoli.data": "008bd8fbb1d8b34040c3c8c4e987cac2a7ebf116e008b140cc6441be5261ba1d"},
    Table(
        columns("sequence mcg gvh lip chg aac alm1 alm2 site"),
        label="site",
        delimiter=None,
        drop=("sequence",),
    ),
    [{"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imL": 2, "imS": 2}],
    description="Where in the cell a protein of E. coli sits, from scores of its sequence.",
    citation="P. Horton and K. Nakai. A probabilistic classification system for predicting the"
    " cellular localization sites of proteins. ISMB, 1996.",
)

BREASTCANCER = uci(
    "breastcancer",
    "Breast Cancer Wisconsin (Original)",
    (15, "breast+cancer+wisconsin+original"),
    {
        "breast-cancer-wisconsin/breast-cancer-wisconsin.data": (
            "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64"
        )
    },
    Table(
        columns(
            "id clump_thickness cell_size cell_shape marginal_adhesion epithelial_cell_size"
            " bare_nuclei bland_chromatin normal_nucleoli mitoses class"
        ),
        label="class",
        drop=("id",),
        missing="?",
    ),
    [{2: 458, 4: 241}],
    missing=(16,),
    description="Benign or malignant breast lumps from nine scores, 1 to 10, of cells drawn with"
    " a fine needle. Not the WDBC set, which is 'breast_cancer'.",
    citation="W. H. Wolberg and O. L. Mangasarian. Multisurface method of pattern separation for"
    " medical diagnosis applied to breast cytology. PNAS 87, 1990.",
    label_names={2: "benign", 4: "malignant"},
)

IONOSPHERE = uci(
    "ionosphere",
    "Ionosphere",
    (52, "ionosphere"),
    {
        "ionosphere/ionosphere.data": (
            "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"
        )
    },
    Table((*grid("pulse{}_part{}", 17, 2), "class"), label="class"),
    [{"g": 225, "b": 126}],
    description="Radar returns that show structure in the ionosphere (g) or do not (b), as the"
    " real and imaginary parts of 17 pulses. The imaginary part of the first is always 0.",
    citation="V. G. Sigillito et al. Classification of radar returns from the ionosphere using"
    " neural networks. Johns Hopkins APL Technical Digest 10, 1989.",
    label_names={"g": "good", "b": "bad"},
)

GERMAN = uci(
    "german",
    "Statlog (German Credit Data), numeric version",
    (144, "statlog+german+credit+data"),
    {
        "statlog/german/german.data-numeric": (
            "2752b044394958ab6dd193a0b56ca0f0b3a2d8bc7cb8c008e35a5e84bbec02f8"
        )
    },
    Table((*(f"x{i}" for i in range(1, 25)), "class"), label="class", delimiter=None),
    [{1: 700, 2: 300}],
    description="Good and bad credit risks. The categories of the original were turned into"
    " numbers upstream, some into several columns; the columns have no names.",
    citation="H. Hofmann. Statlog (German Credit Data). UCI Machine Learning Repository, 1994.",
    label_names={1: "good", 2: "bad"},
)

_PIMA_ZEROS = columns("glucose pressure triceps insulin mass")

# UCI withdrew the set, so the address is that of a copy pinned to one commit.
PIMA = replace(
    uci(
        "pima",
        "Pima Indians Diabetes",
        (34, "diabetes"),
        {},
        Table(
            columns("pregnant glucose pressure triceps insulin mass pedigree age class"),
            label="class",
        ),
        [{0: 500, 1: 268}],
        source="https://www.openml.org/d/37",
        description="Diabetes within five years among women of Pima descent near Phoenix. Zeros in"
        " glucose, pressure, triceps, insulin and mass stand for values not taken; they stay"
        " zeros unless zeros_as_missing=True.",
        citation="J. W. Smith et al. Using the ADAP learning algorithm to forecast the onset of"
        " diabetes mellitus. SCAMC, 1988.",
        label_names={0: "no diabetes", 1: "diabetes"},
        options={
            "zeros_as_missing": {
                False: same,
                True: change(
                    {"zero_missing": _PIMA_ZEROS},
                    parts=(Part({0: 500, 1: 268}, missing=5 + 35 + 227 + 374 + 11),),
                ),
            }
        },
    ),
    files=(
        File(
            "pima-indians-diabetes.data",
            "06f5b7c2cd7bca686fda4f92eab5f61e7ff6426a9acefa2e3dda04fc54293cf5",
            "https://raw.githubusercontent.com/nebiljabari/Pima-Indian-Diabetes-Study/"
            "644641bcb55ac6bf7750c4ab54a26b5e8e922925/pima-indians-diabetes.data",
        ),
    ),
)

BALANCE = uci(
    "balance",
    "Balance Scale",
    (12, "balance+scale"),
    {
        "balance-scale/balance-scale.data": (
            "5611187ef7345d807aa8ae22615945ade52a190537c0b1434bd44c3e877c5bb4"
        )
    },
    Table(
        columns("class left_weight left_distance right_weight right_distance"),
        label="class",
    ),
    [{"L": 288, "B": 49, "R": 288}],
    description="To which side a balance tips; the class follows from comparing weight times"
    " distance on both sides, and every combination of 1 to 5 is a row.",
    citation="R. S. Siegler. Three aspects of cognitive development. Cognitive Psychology 8,"
    " 1976.",
    label_names={"L": "left", "B": "balanced", "R": "right"},
)

BUPA = uci(
    "bupa",
    "Liver Disorders",
    (60, "liver+disorders"),
    {
        "liver-disorders/bupa.data": (
            "a166a3e7a6f4dc41aaaedc59a107e57d8adcaeb8821f0873d756982f1ea74c92"
        )
    },
    Table(columns("mcv alkphos sgpt sgot gammagt drinks selector"), label="selector"),
    [{1: 145, 2: 200}],
    description="Blood tests and drinks a day of men. The label is the last column, as in most"
    " studies; upstream says that it only marks a training and a test half and is no diagnosis.",
    citation="R. S. Forsyth. Liver Disorders. UCI Machine Learning Repository, 1990.",
    copies=("bupa.data",),
)

GLASS = uci(
    "glass",
    "Glass Identification",
    (42, "glass+identification"),
    {"glass/glass.data": "dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d"},
    Table(columns("id ri na mg al si k ca ba fe type"), label="type", drop=("id",)),
    [{1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}],
    description="What a piece of glass was made for, from its refractive index and the weight of"
    " its oxides. No rows are of type 4.",
    citation="I. W. Evett and E. J. Spiehler. Rule induction in forensic science. Home Office,"
    " 1987.",
    label_names={
        1: "building windows, float",
        2: "building windows, not float",
        3: "vehicle windows, float",
        5: "containers",
        6: "tableware",
        7: "headlamps",
    },
)

WINE_UCI = uci(
    "wine-uci",
    "Wine (UCI's file)",
    (109, "wine"),
    {"wine/wine.data": "6be6b1203f3d51df0b553a70e57b8a723cd405683958204f96d23d7cd6aea659"},
    Table(
        columns(
            "class alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids"
            " nonflavanoid_phenols proanthocyanins color_intensity hue od280_od315 proline"
        ),
        label="class",
    ),
    [{1: 59, 2: 71, 3: 48}],
    description="Three cultivars of Italian wine from thirteen chemical measurements. The same"
    " rows as 'wine', which needs no file; labels are 1 to 3 here and 0 to 2 there.",
    citation="S. Aeberhard, D. Coomans and O. de Vel. Comparison of classifiers in high"
    " dimensional settings. James Cook University, 1992.",
    folder="wine",
)

SETS = (
    YEAST,
    ECOLI,
    BREASTCANCER,
    IONOSPHERE,
    GERMAN,
    PIMA,
    BALANCE,
    BUPA,
    GLASS,
    WINE_UCI,
)
