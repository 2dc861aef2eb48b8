"""Measure the spread of the coverage of prediction sets and intervals in small studies.

    python scripts/report/few_rows.py --quick
    python scripts/report/few_rows.py --studies 100

Each study draws its own training rows from a data set of scikit-learn: breast cancer for
classification, diabetes for regression. A study has 80 single rows, or 20 patients with 4 rows
each. The rows of a patient are copies of one row. Noise of 0.3 standard deviations is added to
the columns of each copy, and to the target in regression. Patients are passed to fit as groups.
The rest of the set are test rows, with the same noise. A study has one share of covered test rows
for each nominal coverage; the tables show the mean and the spread of this share over the studies.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import tables
from _lab.study import Study

from mddf import DeepForestClassifier, DeepForestRegressor


@dataclass(frozen=True)
class Design:
    """Training rows of a study."""

    n_patients: int
    n_repeats: int
    regression: bool


DESIGNS = {
    "80 rows": Design(80, 1, regression=False),
    "20 groups of 4 rows": Design(20, 4, regression=False),
    "regression, 80 rows": Design(80, 1, regression=True),
    "regression, 20 groups of 4 rows": Design(20, 4, regression=True),
}
COVERAGES = (0.8, 0.9, 0.98)
# Noise of a repeated measurement, in standard deviations of a column; not tuned.
NOISE = 0.3


def cell(options, set, seed, design):
    plan = DESIGNS[design]
    load = load_diabetes if plan.regression else load_breast_cancer
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=plan.n_patients, stratify=None if plan.regression else y,
        random_state=seed,
    )  # fmt: skip
    random = np.random.default_rng(seed)
    repeated = plan.n_repeats > 1
    noise = NOISE * X_test.std(axis=0) if repeated else np.zeros(X.shape[1])
    target_noise = NOISE * y_test.std() if repeated and plan.regression else 0
    patients = np.repeat(np.arange(plan.n_patients), plan.n_repeats)
    X = X[patients] + noise * random.normal(size=(len(patients), X.shape[1]))
    X_test = X_test + noise * random.normal(size=X_test.shape)
    y = y[patients]
    if target_noise:
        y = y + target_noise * random.normal(size=len(y))
        y_test = y_test + target_noise * random.normal(size=len(y_test))
    model_type = DeepForestRegressor if plan.regression else DeepForestClassifier
    model = model_type(n_estimators=20, random_state=seed, n_jobs=1)
    model.fit(X, y, groups=patients if repeated else None)
    rows = []
    for coverage in COVERAGES:
        if plan.regression:
            low, high = model.predict_interval(X_test, coverage=coverage).T
            covered = (low <= y_test) & (y_test <= high)
            size = (high - low) / y_test.std()
        else:
            sets = model.predict_set(X_test, coverage=coverage)
            covered = sets[np.arange(len(y_test)), y_test]
            size = sets.sum(axis=1)
        rows.append({"coverage": coverage, "covered": covered.mean(), "size": size.mean()})
    return {"coverages": rows}


def report(frame, options):
    long = tables.unnest(frame, "coverages")
    groups = long.groupby(["design", "coverage"], sort=False)
    rows = groups[["covered", "size"]].mean().join(groups["covered"].std().rename("deviation"))
    rows["low"] = groups["covered"].quantile(0.05)
    rows["studies"] = groups.size()
    layout = """design nominal=coverage:.2f studies:.0f mean=covered:.3f
    standard_deviation=deviation:.3f 5_%_quantile=low:.3f size:.2f"""
    title = "Share of test rows whose set or interval holds the truth, over studies"
    return [tables.columns("few-rows", title, rows.reset_index(), layout, n_index=2)]


study = Study(
    globals(), "few-rows", "set=bundled seed=studies design=designs", studies=40,
    designs=list(DESIGNS), quick={"studies": 2},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
