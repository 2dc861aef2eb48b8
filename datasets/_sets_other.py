"""Sets with files of their own kind: archives, headers, images, sparse text, scikit-learn's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ._spec import (
    Archive,
    Embedded,
    File,
    Har,
    Idx,
    Part,
    Spec,
    SvmLight,
    Table,
    change,
    restrict,
    same,
)
from ._uci import columns, file_url, page

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"
_LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"

TITANIC = Spec(
    name="titanic",
    title="Titanic",
    description="Who of those aboard survived, from class, age group and sex; the version of"
    " Delve with 2201 rows, not the passenger list.",
    citation="R. J. M. Dawson. The 'unusual episode' data revisited. Journal of Statistics"
    " Education 3, 1995.",
    source="https://www.cs.toronto.edu/~delve/data/titanic/desc.html",
    hint="Delve packs its files; unpack them and look for Dataset.data",
    format=Table(
        columns("class age sex survived"),
        label="survived",
        delimiter=None,
        categorical=columns("class age sex"),
    ),
    parts=(Part({"no": 1490, "yes": 711}),),
    files=(
        File(
            "Dataset.data",
            "f496cd8f3d2497ec8e7b71b51e349ceea958a597f82556bca249a9ce8fe40785",
            upstream_sum=False,
        ),
    ),
)

_BANK_COLUMNS = columns(
    "age job marital education default balance housing loan contact day month duration campaign"
    " pdays previous poutcome y"
)
_BANK_ADDITIONAL_COLUMNS = columns(
    "age job marital education default housing loan contact month day_of_week duration campaign"
    " pdays previous poutcome emp.var.rate cons.price.idx cons.conf.idx euribor3m nr.employed y"
)
_BANK_WORDS = columns("job marital education default housing loan contact month poutcome")
_BANK_UNKNOWN = {45211: 52124, 41188: 12718}


def _unknown_as_missing(spec: Spec) -> Spec:
    part = replace(spec.parts[0], missing=_BANK_UNKNOWN[spec.rows])
    return change({"missing": "unknown"}, parts=(part,))(spec)


BANK = Spec(
    name="bank",
    title="Bank Marketing",
    description="Whether a client takes a deposit after a telephone call of a Portuguese bank;"
    " variant='full' is the first collection, variant='additional' a later one with economic"
    " indicators. 'duration' is known only after the call and all but decides the label:"
    " drop_duration=True leaves it out. 'unknown' is a category unless unknown_as_missing=True;"
    " pdays is -1 (full) or 999 (additional) where nobody had called before.",
    citation="S. Moro, P. Cortez and P. Rita. A data-driven approach to predict the success of"
    " bank telemarketing. Decision Support Systems 62, 2014.",
    source=page(222, "bank+marketing"),
    hint="the page offers a zip that holds bank.zip and bank-additional.zip",
    format=Table(_BANK_COLUMNS, label="y", delimiter=";", header=True, categorical=_BANK_WORDS),
    parts=(Part({"no": 39922, "yes": 5289}),),
    files=(
        File(
            "bank-full.csv",
            "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
            archive=Archive("bank.zip", file_url("00222/bank.zip")),
        ),
    ),
    options={
        "variant": {
            "full": same,
            "additional": change(
                {
                    "columns": _BANK_ADDITIONAL_COLUMNS,
                    "categorical": (*_BANK_WORDS, "day_of_week"),
                },
                parts=(Part({"no": 36548, "yes": 4640}),),
                files=(
                    File(
                        "bank-additional-full.csv",
                        "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
                        archive=Archive(
                            "bank-additional.zip", file_url("00222/bank-additional.zip")
                        ),
                        member="bank-additional/bank-additional-full.csv",
                    ),
                ),
            ),
        },
        "drop_duration": {False: same, True: change({"drop": ("duration",)})},
        "unknown_as_missing": {False: same, True: _unknown_as_missing},
    },
)

_CLAIMS_NUMERIC = columns(
    "WeekOfMonth WeekOfMonthClaimed Age PolicyNumber RepNumber Deductible DriverRating Year"
)
_CLAIMS_COLUMNS = columns(
    "Month WeekOfMonth DayOfWeek Make AccidentArea DayOfWeekClaimed MonthClaimed"
    " WeekOfMonthClaimed Sex MaritalStatus Age Fault PolicyType VehicleCategory VehiclePrice"
    " PolicyNumber RepNumber Deductible DriverRating Days:Policy-Accident Days:Policy-Claim"
    " PastNumberOfClaims AgeOfVehicle AgeOfPolicyHolder PoliceReportFiled WitnessPresent"
    " AgentType NumberOfSuppliments AddressChange-Claim NumberOfCars Year BasePolicy FraudFound"
)

CARCLAIMS = Spec(
    name="carclaims",
    title="Vehicle insurance claims",
    description="Which claims of 1994 to 1996 were fraud (6 %). PolicyNumber, a row id, is"
    " dropped. Age 0 (320 rows) stands for an age not known. Insurance fraud, not payment-card"
    " fraud.",
    citation="Angoss KnowledgeSeeker / Oracle data-mining example, vehicle insurance claims,"
    " 1994 to 1996.",
    source="https://www.kaggle.com/datasets/shivamb/vehicle-claim-fraud-detection",
    hint="this reads the older form, carclaims.csv, whose last column is FraudFound; the page has"
    " a later form, which writes columns and prices in another way",
    format=Table(
        _CLAIMS_COLUMNS,
        label="FraudFound",
        header=True,
        drop=("PolicyNumber",),
        categorical=tuple(
            c for c in _CLAIMS_COLUMNS if c not in _CLAIMS_NUMERIC and c != "FraudFound"
        ),
    ),
    parts=(Part({"No": 14497, "Yes": 923}),),
    files=(
        File(
            "carclaims.csv",
            "ba8c1d0ff22a2c6c789e72890f5ee66ce34f9739a6415bc318d6c1b7b1a11043",
            upstream_sum=False,
        ),
    ),
)

_MNIST_SUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

MNIST = Spec(
    name="mnist",
    title="The MNIST database of handwritten digits",
    description="Handwritten digits on a 28 by 28 grid of grey levels, 0 to 255.",
    citation="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner. Gradient-based learning applied to"
    " document recognition. Proceedings of the IEEE 86, 1998.",
    source="http://yann.lecun.com/exdb/mnist/",
    format=Idx(784),
    parts=(
        Part(dict(enumerate((5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)))),
        Part(dict(enumerate((980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)))),
    ),
    files=tuple(File(name, sha, f"{_MNIST}{name}.gz") for name, sha in _MNIST_SUMS.items()),
)

_HAR_ARCHIVE = Archive(
    "UCI HAR Dataset.zip",
    file_url("00240/UCI HAR Dataset.zip"),
    "2045e435c955214b38145fb5fa00776c72814f01b203fec405152dac7d5bfeb0",
)

HAR = Spec(
    name="har",
    title="Human Activity Recognition Using Smartphones",
    description="What a person wearing a phone at the waist does, from 561 figures of 2.56"
    " seconds of its motion sensors. `groups` holds the number of the person; nobody is in both"
    " parts. Upstream repeats some feature names; the copies are numbered here.",
    citation="D. Anguita et al. A public domain dataset for human activity recognition using"
    " smartphones. ESANN, 2013.",
    source=page(240, "human+activity+recognition+using+smartphones"),
    hint="the page offers a zip that holds 'UCI HAR Dataset.zip'",
    format=Har(561),
    parts=(
        Part({1: 1226, 2: 1073, 3: 986, 4: 1286, 5: 1374, 6: 1407}),
        Part({1: 496, 2: 471, 3: 420, 4: 491, 5: 532, 6: 537}),
    ),
    files=tuple(
        File(f"UCI HAR Dataset/{name}.txt", archive=_HAR_ARCHIVE)
        for name in (
            "features",
            "activity_labels",
            *(
                f"{part}/{kind}_{part}"
                for part in ("train", "test")
                for kind in ("X", "y", "subject")
            ),
        )
    ),
    label_names={
        1: "WALKING",
        2: "WALKING_UPSTAIRS",
        3: "WALKING_DOWNSTAIRS",
        4: "SITTING",
        5: "STANDING",
        6: "LAYING",
    },
)


def _libsvm(folder: str, name: str) -> tuple[File, ...]:
    """Training and test file as the LIBSVM site names them."""
    return tuple(File(n, url=f"{_LIBSVM}{folder}{n}.bz2") for n in (name, f"{name}.t"))


PROTEIN = Spec(
    name="protein",
    title="Protein (LIBSVM)",
    description="Secondary structure at a place of a protein, three classes, from 17 neighbouring"
    " places of 21 values each. The training file is the whole one of 17766 rows.",
    citation="J.-Y. Wang. Application of support vector machines in bioinformatics. Master's"
    " thesis, National Taiwan University, 2002.",
    source=_LIBSVM_PAGE,
    format=SvmLight(357),
    parts=(Part(rows=17766), Part(rows=6621)),
    labels=(0, 1, 2),
    files=_libsvm("", "protein"),
)

SENSIT = Spec(
    name="sensit",
    title="SensIT Vehicle (LIBSVM)",
    description="Kind of a passing vehicle, or noise, from a network of sensors;"
    " variant='combined' has the features of 'acoustic' and 'seismic' side by side.",
    citation="M. F. Duarte and Y. H. Hu. Vehicle classification in distributed sensor networks."
    " Journal of Parallel and Distributed Computing 64, 2004.",
    source=_LIBSVM_PAGE,
    format=SvmLight(100),
    parts=(Part(rows=78823), Part(rows=19705)),
    labels=(1, 2, 3),
    files=_libsvm("vehicle/", "combined"),
    options={
        "variant": {
            "combined": same,
            "acoustic": change(format=SvmLight(50), files=_libsvm("vehicle/", "acoustic")),
            "seismic": change(format=SvmLight(50), files=_libsvm("vehicle/", "seismic")),
        }
    },
)


def _embedded(
    name: str,
    title: str,
    n_features: int,
    counts: Sequence[int],
    description: str,
    citation: str,
    label_names: Sequence[str] = (),
) -> Spec:
    """Describe a set that comes with scikit-learn as ``load_<name>``."""
    return Spec(
        name=name,
        title=title,
        description=description,
        citation=citation,
        source=f"https://scikit-learn.org/stable/modules/generated/sklearn.datasets.load_{name}.html",
        format=Embedded(n_features, loader=f"load_{name}"),
        parts=(Part(dict(enumerate(counts))),),
        label_names=dict(enumerate(label_names)),
    )


EMBEDDED = (
    _embedded(
        "digits",
        "Optical digits, test part",
        64,
        (178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        "Handwritten digits on an 8 by 8 grid; the rows of the test part of 'optdigits'.",
        "E. Alpaydin and C. Kaynak. Cascading classifiers. Kybernetika 34, 1998.",
    ),
    _embedded(
        "wine",
        "Wine",
        13,
        (59, 71, 48),
        "Three cultivars of Italian wine from thirteen chemical measurements.",
        "S. Aeberhard, D. Coomans and O. de Vel. Comparison of classifiers in high dimensional"
        " settings. James Cook University, 1992.",
    ),
    _embedded(
        "breast_cancer",
        "Breast Cancer Wisconsin (Diagnostic)",
        30,
        (212, 357),
        "Malignant (0) or benign (1) breast lumps from thirty measures of cell nuclei (WDBC).",
        "W. N. Street, W. H. Wolberg and O. L. Mangasarian. Nuclear feature extraction for breast"
        " tumor diagnosis. SPIE 1905, 1993.",
        ("malignant", "benign"),
    ),
    _embedded(
        "iris",
        "Iris",
        4,
        (50, 50, 50),
        "Three kinds of iris from the sizes of sepals and petals.",
        "R. A. Fisher. The use of multiple measurements in taxonomic problems. Annals of Eugenics"
        " 7, 1936.",
        ("setosa", "versicolor", "virginica"),
    ),
)

SETS = (
    TITANIC,
    BANK,
    CARCLAIMS,
    MNIST,
    HAR,
    PROTEIN,
    SENSIT,
    *EMBEDDED,
    restrict(MNIST, "mnist-17", (1, 7), "MNIST, 1 against 7"),
    restrict(MNIST, "mnist-49", (4, 9), "MNIST, 4 against 9"),
)
