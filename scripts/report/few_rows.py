"""Compare the out-of-fold figures of a deep forest with true ones, in small simulated studies.

    python scripts/report/few_rows.py --quick
    python scripts/report/few_rows.py --studies 100

Each study draws its own training rows, and 4000 new rows give the true figures. There are 8
columns, and three functions of them take turns: a line, an interaction with a sine, and steps.
Groups share four columns and an unknown part of the target, and new rows are of new groups. In the
last design the target is noise. Studies of classes have the sign of the target as label.

"told" is the loss of the out-of-fold predictions, log-loss or RMSE, and "true" the loss of the new
rows. "told / true" leaves out the luck of the training rows: the difference of the losses that the
true function has on the training rows and on the new ones. "covered" is the share of new rows
whose set or interval with a nominal coverage of 0.9 holds the truth. "score interval" is the share
of studies whose 95 % interval of the log-loss or RMSE, as in the report of `mddf fit`, holds the
true one; it is measured with groups only.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import tables
from _lab.study import Study

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._command.scores import intervals


@dataclass(frozen=True)
class Design:
    """Size of a study."""

    n_rows: int
    n_columns: int = 8
    n_rows_of_group: int = 1
    is_noise: bool = False


DESIGNS = {
    "60 rows": Design(60),
    "100 rows": Design(100),
    "300 rows": Design(300),
    "20 groups of 5 rows": Design(100, n_rows_of_group=5),
    "40 groups of 5 rows": Design(200, n_rows_of_group=5),
    "60 rows of noise": Design(60, n_columns=200, is_noise=True),
}
TASKS = ["classification", "regression"]
# Folds of the defaults on so few rows.
N_FOLDS = {"classification": 5, "regression": 10}
N_NEW_ROWS = 4000
COVERAGE = 0.9
# Standard deviation of the unknown part that the rows of a group share; the rest has 1.
GROUP_DEVIATION = 0.8
# Smallest probability in a log-loss, as in the deep forest.
FLOOR = 1e-4


@dataclass(frozen=True)
class Sample:
    """Rows with their targets, the true function of the columns, and the rows' groups."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray  # probability of class 1, or mean of the target
    groups: np.ndarray


def draw(rng, design, n_rows, study_number, is_classification):
    """Draw rows of a study."""
    groups = np.arange(n_rows) // design.n_rows_of_group
    X = rng.normal(size=(n_rows, design.n_columns))
    unknown = np.zeros(n_rows)
    deviation = 1.0
    if design.n_rows_of_group > 1:
        X[:, :4] = rng.normal(size=(groups[-1] + 1, 4))[groups]
        unknown = GROUP_DEVIATION * rng.normal(size=groups[-1] + 1)[groups]
        deviation = np.hypot(1.0, GROUP_DEVIATION)
    functions = [
        X[:, 0] + 0.7 * X[:, 1] - 0.7 * X[:, 5],
        1.5 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 5],
        1.5 * ((X[:, 0] > 0) ^ (X[:, 4] > 0.3)) + 0.5 * np.abs(X[:, 2]) - 1,
    ]
    mean = np.zeros(n_rows) if design.is_noise else functions[study_number % len(functions)]
    y = mean + unknown + rng.normal(size=n_rows)
    if is_classification:
        return Sample(X, (y > 0).astype(int), ndtr(mean / deviation), groups)
    return Sample(X, y, mean, groups)


def loss(y, predictions, is_classification):
    """Return log-loss of the probabilities of class 1, or RMSE."""
    if not is_classification:
        return float(np.sqrt(np.mean((predictions - y) ** 2)))
    own = np.where(y == 1, predictions, 1 - predictions)
    return float(-np.log(np.maximum(own, FLOOR)).mean())


def cell(options, set, seed, design, task):
    plan = DESIGNS[design]
    is_classification = task == "classification"
    rng = np.random.default_rng([seed, list(DESIGNS).index(design)])
    rows = draw(rng, plan, plan.n_rows, seed, is_classification)
    new = draw(rng, plan, N_NEW_ROWS, seed, is_classification)
    has_groups = plan.n_rows_of_group > 1
    model_type = DeepForestClassifier if is_classification else DeepForestRegressor
    model = model_type(random_state=seed, n_jobs=1)
    model.fit(rows.X, rows.y, groups=rows.groups if has_groups else None)
    result = {}
    if is_classification:
        told = model.oof_probabilities_[:, 1]
        predicted = model.predict_proba(new.X)[:, 1]
        result["told_auc"] = roc_auc_score(rows.y, told)
        result["true_auc"] = roc_auc_score(new.y, predicted)
        sets = model.predict_set(new.X, COVERAGE)
        covered = sets[np.arange(N_NEW_ROWS), new.y]
    else:
        told = model.oof_prediction_
        predicted = model.predict(new.X)
        low, high = model.predict_interval(new.X, COVERAGE).T
        covered = (low <= new.y) & (new.y <= high)
    result["told"] = loss(rows.y, told, is_classification)
    result["true"] = loss(new.y, predicted, is_classification)
    result["luck"] = loss(rows.y, rows.truth, is_classification) - loss(
        new.y, new.truth, is_classification
    )
    result["covered"] = covered.mean()
    if has_groups:
        predictions = model.oof_probabilities_ if is_classification else told
        classes = model.classes_ if is_classification else None
        limits = intervals(rows.y, predictions, classes, groups=rows.groups, n_folds=N_FOLDS[task])
        low, high = limits["log-loss" if is_classification else "RMSE"]
        result["score_interval"] = float(low <= result["true"] <= high)
    return result


def report(frame, options):
    frame = frame.assign(difference=frame["told"] - frame["luck"] - frame["true"])
    by_design = frame.groupby(["task", "design"], sort=False)
    figures = ["told", "true", "told_auc", "true_auc", "covered", "score_interval"]
    rows = by_design[[name for name in figures if name in frame]].mean()
    rows["studies"] = by_design.size()
    rows["ratio"] = 1 + by_design["difference"].mean() / rows["true"]
    rows["error"] = by_design["difference"].sem() / rows["true"]
    rows["spread"] = by_design["covered"].std()
    layout = """task design studies:.0f told:.3f true:.3f told_/_true=ratio:.3f error:.3f
    told_AUC=told_auc:.3f true_AUC=true_auc:.3f covered:.3f spread:.3f
    score_interval=score_interval:.2f"""
    title = "Told and true figures, means over studies"
    return [tables.columns("few-rows", title, rows.reset_index(), layout, n_index=2)]


study = Study(
    globals(), "few-rows", "set=simulated seed=studies design=designs task=tasks", studies=20,
    designs=list(DESIGNS), tasks=TASKS, quick={"studies": 2, "designs": ["60 rows"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
