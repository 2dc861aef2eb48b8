"""Single tables with categories, no standard split."""

from __future__ import annotations

from ._spec import Part, Table, change, same
from ._uci import columns, grid, uci

BREAST_LJUBLJANA = uci(
    "breast-ljubljana",
    "Breast Cancer (Ljubljana)",
    (14, "breast+cancer"),
    {
        "breast-cancer/breast-cancer.data": (
            "ca7d3fa97b62ff967b6894ffbb3acaaf4a51062e0149e5950b3ad6f685970b65"
        )
    },
    Table(
        columns(
            "class age menopause tumor-size inv-nodes node-caps deg-malig breast breast-quad"
            " irradiat"
        ),
        label="class",
        categorical=columns(
            "age menopause tumor-size inv-nodes node-caps breast breast-quad irradiat"
        ),
        missing="?",
    ),
    [{"no-recurrence-events": 201, "recurrence-events": 85}],
    missing=(9,),
    description="Whether breast cancer came back after an operation. Age, tumour size and nodes"
    " are ranges.",
    citation="M. Zwitter and M. Soklic. Breast Cancer. UCI Machine Learning Repository, 1988.",
)

AUSTRALIAN = uci(
    "australian",
    "Statlog (Australian Credit Approval)",
    (143, "statlog+australian+credit+approval"),
    {
        "statlog/australian/australian.dat": (
            "3abe5af151afa50b999a9ba21cbc884e80d80a4050b716cf88b34a2e6ecb731c"
        )
    },
    Table(
        (*(f"A{i}" for i in range(1, 15)), "class"),
        label="class",
        delimiter=None,
        categorical=columns("A1 A4 A5 A6 A8 A9 A11 A12"),
    ),
    [{0: 383, 1: 307}],
    description="Credit card applications with all names and values disguised; upstream filled"
    " the missing values in. The same applications as 'credit'.",
    citation="J. R. Quinlan. Statlog (Australian Credit Approval). UCI Machine Learning"
    " Repository, 1987.",
)

_PRICE = ("low", "med", "high", "vhigh")
CAR = uci(
    "car",
    "Car Evaluation",
    (19, "car+evaluation"),
    {"car/car.data": "b703a9ac69f11e64ce8c223c0a40de4d2e9d769f7fb20be5f8f2e8a619893d83"},
    Table(
        columns("buying maint doors persons lug_boot safety class"),
        label="class",
        categorical=columns("buying maint doors persons lug_boot safety"),
        levels={
            "buying": _PRICE,
            "maint": _PRICE,
            "doors": ("2", "3", "4", "5more"),
            "persons": ("2", "4", "more"),
            "lug_boot": ("small", "med", "big"),
            "safety": ("low", "med", "high"),
        },
    ),
    [{"unacc": 1210, "acc": 384, "good": 69, "vgood": 65}],
    description="How acceptable a car is, made from a hierarchical decision model; every"
    " combination of the six ordered attributes is a row.",
    citation="M. Bohanec and V. Rajkovic. Knowledge acquisition and explanation for"
    " multi-attribute decision making. Avignon, 1988.",
)

CMC = uci(
    "cmc",
    "Contraceptive Method Choice",
    (30, "contraceptive+method+choice"),
    {"cmc/cmc.data": "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9"},
    Table(
        columns(
            "wife_age wife_education husband_education children wife_religion wife_working"
            " husband_occupation living_standard media_exposure method"
        ),
        label="method",
        categorical=columns(
            "wife_education husband_education wife_religion wife_working husband_occupation"
            " living_standard media_exposure"
        ),
    ),
    [{1: 629, 2: 333, 3: 511}],
    description="Which contraception a married woman uses, from an Indonesian survey of 1987.",
    citation="T.-S. Lim, W.-Y. Loh and Y.-S. Shih. A comparison of prediction accuracy,"
    " complexity, and training time of thirty-three classification algorithms. Machine Learning"
    " 40, 2000.",
    label_names={1: "none", 2: "long-term", 3: "short-term"},
)

CREDIT = uci(
    "credit",
    "Credit Approval",
    (27, "credit+approval"),
    {
        "credit-screening/crx.data": (
            "fff49bc186cbddb3ace7371d40d9fbbb3af4f126019c13ff3f562249b1454f4d"
        )
    },
    Table(
        (*(f"A{i}" for i in range(1, 16)), "class"),
        label="class",
        categorical=columns("A1 A4 A5 A6 A7 A9 A10 A12 A13"),
        missing="?",
    ),
    [{"+": 307, "-": 383}],
    missing=(67,),
    description="Credit card applications, granted (+) or not (-), with all names and values"
    " disguised.",
    citation="J. R. Quinlan. Simplifying decision trees. International Journal of Man-Machine"
    " Studies 27, 1987.",
)

_BAND_IDS = columns("timestamp cylinder_number customer job_number")
CYLINDER = uci(
    "cylinder",
    "Cylinder Bands",
    (32, "cylinder+bands"),
    {
        "cylinder-bands/bands.data": (
            "31b4bd7f6cbca567e06199ae8bbe085c00d64657fcb2daad0c214cb4d08076f7"
        )
    },
    Table(
        columns(
            "timestamp cylinder_number customer job_number grain_screened ink_color"
            " proof_on_direct_ctd_ink blade_mfg cylinder_division paper_type ink_type"
            " direct_steam solvent_type type_on_cylinder press_type press unit_number"
            " cylinder_size paper_mill_location plating_tank proof_cut viscosity caliper"
            " ink_temperature humidity roughness blade_pressure varnish_pct press_speed ink_pct"
            " solvent_pct esa_voltage esa_amperage wax hardener roller_durometer"
            " current_density anode_space_ratio chrome_content band_type"
        ),
        label="band_type",
        categorical=columns(
            "timestamp cylinder_number customer job_number grain_screened ink_color"
            " proof_on_direct_ctd_ink blade_mfg cylinder_division paper_type ink_type"
            " direct_steam solvent_type type_on_cylinder press_type press unit_number"
            " cylinder_size paper_mill_location plating_tank"
        ),
        missing="?",
        lower=True,
        rejoin=True,
    ),
    [{"band": 228, "noband": 312}],
    missing=(999,),
    description="Whether bands spoil a print from a rotogravure cylinder. Words are turned into"
    " lower case, since upstream mixes it. The first four columns are the date and ids;"
    " drop_ids=True leaves them out.",
    citation="B. Evans and D. Fisher. Overcoming process delays with decision tree induction."
    " IEEE Expert 9, 1994.",
    options={"drop_ids": {False: same, True: change({"drop": _BAND_IDS})}},
)

FLAGS = uci(
    "flags",
    "Flags",
    (40, "flags"),
    {"flags/flag.data": "ff7061c0838b2916906040057a2fb6505b5ed43c7f4a231a2c59d0e37bdac3fb"},
    Table(
        columns(
            "name landmass zone area population language religion bars stripes colours red green"
            " blue gold white black orange mainhue circles crosses saltires quarters sunstars"
            " crescent triangle icon animate text topleft botright"
        ),
        label="religion",
        drop=("name",),
        categorical=columns(
            "landmass zone language religion red green blue gold white black orange mainhue"
            " crescent triangle icon animate text topleft botright"
        ),
    ),
    [{0: 40, 1: 60, 2: 36, 3: 8, 4: 4, 5: 27, 6: 15, 7: 4}],
    description="Countries and their flags in 1986; the class is the main religion"
    " (target='religion') or the part of the world (target='landmass'), the other is a feature.",
    citation="R. S. Forsyth. Flags. UCI Machine Learning Repository, 1990.",
    label_names={
        0: "Catholic",
        1: "other Christian",
        2: "Muslim",
        3: "Buddhist",
        4: "Hindu",
        5: "ethnic",
        6: "Marxist",
        7: "others",
    },
    options={
        "target": {
            "religion": same,
            "landmass": change(
                {"label": "landmass"},
                parts=(Part({1: 31, 2: 17, 3: 35, 4: 52, 5: 39, 6: 20}),),
                label_names={
                    1: "North America",
                    2: "South America",
                    3: "Europe",
                    4: "Africa",
                    5: "Asia",
                    6: "Oceania",
                },
            ),
        }
    },
)

HEART = uci(
    "heart",
    "Statlog (Heart)",
    (145, "statlog+heart"),
    {
        "statlog/heart/heart.dat": (
            "f5f3b4204c285bafadd85cb735f38b47689f2be7047feb172dcbeab648110bf9"
        )
    },
    Table(
        columns(
            "age sex chest_pain blood_pressure cholesterol blood_sugar ecg heart_rate angina"
            " oldpeak slope vessels thal class"
        ),
        label="class",
        delimiter=None,
        categorical=columns("sex chest_pain blood_sugar ecg angina thal"),
    ),
    [{1: 150, 2: 120}],
    description="Presence of heart disease from thirteen findings. 'slope' is ordered and kept"
    " as a number.",
    citation="R. Detrano et al. International application of a new probability algorithm for the"
    " diagnosis of coronary artery disease. American Journal of Cardiology 64, 1989.",
    label_names={1: "absent", 2: "present"},
)

HEPATITIS = uci(
    "hepatitis",
    "Hepatitis",
    (46, "hepatitis"),
    {
        "hepatitis/hepatitis.data": (
            "9971f9d18abb4fc9dd6749eefb0f864b36fa7bdd59f54188c0b148a5c28214bc"
        )
    },
    Table(
        columns(
            "class age sex steroid antivirals fatigue malaise anorexia liver_big liver_firm"
            " spleen_palpable spiders ascites varices bilirubin alk_phosphate sgot albumin"
            " protime histology"
        ),
        label="class",
        categorical=columns(
            "sex steroid antivirals fatigue malaise anorexia liver_big liver_firm"
            " spleen_palpable spiders ascites varices histology"
        ),
        missing="?",
    ),
    [{1: 32, 2: 123}],
    missing=(167,),
    description="Whether a patient with hepatitis lived.",
    citation="P. Diaconis and B. Efron. Computer-intensive methods in statistics. Scientific"
    " American 248, 1983.",
    label_names={1: "die", 2: "live"},
)

TICTACTOE = uci(
    "tictactoe",
    "Tic-Tac-Toe Endgame",
    (101, "tic+tac+toe+endgame"),
    {
        "tic-tac-toe/tic-tac-toe.data": (
            "a996a756484d0cf8cbad1680d823aadbfcff8ae2d78c450e6999362d580301c5"
        )
    },
    Table(
        (*grid("square_{}_{}", 3, 3), "class"),
        label="class",
        categorical=grid("square_{}_{}", 3, 3),
    ),
    [{"positive": 626, "negative": 332}],
    description="All boards at the end of a game that x began; positive where x has three in a"
    " row. Squares hold x, o or b (blank).",
    citation="D. W. Aha. Incremental constructive induction: an instance-based approach. ICML,"
    " 1991.",
)

_VOTES = columns(
    "handicapped-infants water-project-cost-sharing adoption-of-the-budget-resolution"
    " physician-fee-freeze el-salvador-aid religious-groups-in-schools anti-satellite-test-ban"
    " aid-to-nicaraguan-contras mx-missile immigration synfuels-corporation-cutback"
    " education-spending superfund-right-to-sue crime duty-free-exports"
    " export-administration-act-south-africa"
)
VOTE = uci(
    "vote",
    "Congressional Voting Records",
    (105, "congressional+voting+records"),
    {
        "voting-records/house-votes-84.data": (
            "c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e"
        )
    },
    Table(("party", *_VOTES), label="party", categorical=_VOTES),
    [{"democrat": 267, "republican": 168}],
    description="Party of a member of the House of 1984 from sixteen votes. '?' means neither yes"
    " nor no, so it is a third category; unknown_as_missing=True makes it a missing value.",
    citation="J. C. Schlimmer. Concept acquisition through representational adjustment. PhD"
    " thesis, University of California, Irvine, 1987.",
    options={
        "unknown_as_missing": {
            False: same,
            True: change(
                {"missing": "?"}, parts=(Part({"democrat": 267, "republican": 168}, missing=392),)
            ),
        }
    },
)

_ZOO_BINARY = columns(
    "hair feathers eggs milk airborne aquatic predator toothed backbone breathes venomous fins"
    " tail domestic catsize"
)
ZOO = uci(
    "zoo",
    "Zoo",
    (111, "zoo"),
    {"zoo/zoo.data": "cddc71c26ab9bc82795b8f4ff114cade41885d92720c6af29ffb69bcf73f0315"},
    Table(
        columns(
            "name hair feathers eggs milk airborne aquatic predator toothed backbone breathes"
            " venomous fins legs tail domestic catsize type"
        ),
        label="type",
        drop=("name",),
        categorical=_ZOO_BINARY,
    ),
    [{1: 41, 2: 20, 3: 5, 4: 13, 5: 4, 6: 8, 7: 10}],
    description="Kinds of animals from yes-or-no traits and the number of legs.",
    citation="R. S. Forsyth. Zoo. UCI Machine Learning Repository, 1990.",
    label_names={
        1: "mammal",
        2: "bird",
        3: "reptile",
        4: "fish",
        5: "amphibian",
        6: "insect",
        7: "other invertebrate",
    },
)

SETS = (
    BREAST_LJUBLJANA,
    AUSTRALIAN,
    CAR,
    CMC,
    CREDIT,
    CYLINDER,
    FLAGS,
    HEART,
    HEPATITIS,
    TICTACTOE,
    VOTE,
    ZOO,
)
