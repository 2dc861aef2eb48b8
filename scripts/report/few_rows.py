"""How far the coverage of sets of classes is from the nominal one in a study of few rows.

    python scripts/report/few_rows.py --quick
    python scripts/report/few_rows.py --studies 100

Each study draws its own training rows from scikit-learn's breast cancer set: 80 single rows, or 20
patients with 4 rows each, which are one row with noise of 0.3 standard deviations added. Patients
are passed to fit as groups. The rest of the set tests. A study has one share of covered test rows
for each nominal coverage; the tables show the mean and the spread of this share over the studies.
"""

import numpy as np
from _lab import tables
from _lab.study import Study
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from mddf import DeepForestClassifier

# Number of patients, and rows of each.
DESIGNS = {"80 rows": (80, 1), "20 groups of 4 rows": (20, 4)}
COVERAGES = (0.8, 0.9, 0.98)
NOISE = 0.3  # of a repeated measurement, in standard deviations of a column


def cell(options, set, seed, design):
    n_patients, n_repeats = DESIGNS[design]
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n_patients, stratify=y, random_state=seed
    )
    random = np.random.default_rng(seed)
    noise = NOISE * X_test.std(axis=0) if n_repeats > 1 else np.zeros(X.shape[1])
    patients = np.repeat(np.arange(n_patients), n_repeats)
    X = X[patients] + noise * random.normal(size=(len(patients), X.shape[1]))
    X_test = X_test + noise * random.normal(size=X_test.shape)
    model = DeepForestClassifier(n_estimators=20, random_state=seed, n_jobs=1)
    model.fit(X, y[patients], groups=patients if n_repeats > 1 else None)
    rows = []
    for coverage in COVERAGES:
        sets = model.predict_set(X_test, coverage=coverage)
        covered = sets[np.arange(len(y_test)), y_test].mean()
        rows.append({"coverage": coverage, "covered": covered, "size": sets.sum(axis=1).mean()})
    return {"coverages": rows}


def report(frame, options):
    long = tables.unnest(frame, "coverages")
    groups = long.groupby(["design", "coverage"], sort=False)
    rows = groups[["covered", "size"]].mean().join(groups["covered"].std().rename("deviation"))
    rows["low"] = groups["covered"].quantile(0.05)
    rows["studies"] = groups.size()
    shown = """design nominal=coverage:.2f studies:.0f mean=covered:.3f
    standard_deviation=deviation:.3f 5_%_quantile=low:.3f classes_in_a_set=size:.2f"""
    title = "Share of test rows whose set holds the true class, over studies"
    return [tables.columns("few-rows", title, rows.reset_index(), shown, 2)]


study = Study(
    globals(), "few-rows", "set=breast_cancer seed=studies design=designs", studies=40,
    designs=list(DESIGNS), quick={"studies": 2},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
