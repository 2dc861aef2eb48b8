r"""Measure remedies for a rare class: thresholds, leaf sizes, class weights.

    python scripts/report/imbalance.py --quick
    python scripts/report/imbalance.py --seeds 2
    python scripts/report/imbalance.py --csv table.csv --target kind \
        --method lr=sklearn.linear_model:LogisticRegression class_weight=balanced

F1 of the rarer class is measured at the threshold 0.5, and at the threshold with the best F1 on
the training rows by out-of-fold probabilities. The number of a forest is `min_samples_leaf`.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from sklearn import metrics
from sklearn.model_selection import cross_val_predict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import contest, data, models, tables
from _lab.study import Study

from mddf import DeepForestClassifier, MDDFClassifier, RandomForestClassifier
from mddf._command.rows import check_names

# Sets without and with --quick.
SETS = {False: ["carclaims"], True: ["breast_cancer"]}
BALANCED = {"class_weight": "balanced"}
METHODS = {
    **{f"forest {n}": partial(RandomForestClassifier, min_samples_leaf=n) for n in (1, 5, 20)},
    "forest 5 balanced": partial(RandomForestClassifier, min_samples_leaf=5, **BALANCED),
    "mdDF": MDDFClassifier,
    "mdDF balanced": partial(MDDFClassifier, **BALANCED),
    "deep forest": DeepForestClassifier,
    "deep forest balanced": partial(DeepForestClassifier, **BALANCED),
}


def prepare(options, parser):
    options.own_methods = models.own_methods(options, METHODS)
    options.methods = options.methods or [*METHODS, *options.own_methods]
    check_names("--methods: must be among", options.methods, [*METHODS, *options.own_methods])
    options.sources = data.sources(options, options.datasets or SETS[options.quick])


def settings(options):
    """Return the settings that all results share, with those of the user's sets and methods."""
    return {"n_estimators": options.n_estimators} | contest.own_settings(options)


def held_out(model, X, y):
    """Return the out-of-fold probabilities of the rarer class for the training rows."""
    if hasattr(model, "oof_probabilities_"):
        return model.oof_probabilities_[:, 1]
    # Not out of bag: bootstraps of balanced weights draw nearly every rare row for each tree.
    return cross_val_predict(model, X, y, cv=3, method="predict_proba")[:, 1]


def best_threshold(y, scores):
    """Return the threshold with the largest F1."""
    precision, recall, thresholds = metrics.precision_recall_curve(y, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    return float(thresholds[f1[:-1].argmax()])


def cell(options, set, seed, method):
    split = data.split(options.sources[set], seed)
    classes, counts = np.unique(split.y, return_counts=True)
    if len(classes) > 2:
        raise ValueError(f"{set} must have two classes, got {len(classes)}")
    # The rarer class becomes class 1.
    y_train, y = (
        (part == classes[counts.argmin()]).astype(int) for part in (split.y, split.y_test)
    )
    if method in options.own_methods:
        model = models.build(options.own_methods[method], seed, n_jobs=options.n_jobs)
    else:
        common = {"random_state": seed, "n_jobs": options.n_jobs}
        model = METHODS[method](n_estimators=options.n_estimators, **common)
    model.fit(split.X, y_train)
    scores = model.predict_proba(split.X_test)[:, 1]
    threshold = best_threshold(y_train, held_out(model, split.X, y_train))
    flagged = scores >= threshold
    return {
        "AUC": metrics.roc_auc_score(y, scores),
        "average_precision": metrics.average_precision_score(y, scores),
        "log_loss": metrics.log_loss(y, scores),
        "F1_at_half": metrics.f1_score(y, scores >= 0.5),
        "F1": metrics.f1_score(y, flagged),
        "recall": metrics.recall_score(y, flagged),
        "threshold": threshold,
    }


def report(frame, options):
    rows = tables.means(frame, ["set", "method"])
    layout = """set model=method AUC:.3f average_precision:.3f log_loss:.3f
    F1_at_0.5=F1_at_half:.3f F1:.3f recall:.3f threshold:.3f"""
    title = "Test rows, means over splits; F1 and recall at the threshold chosen"
    return [tables.columns("imbalance", title, rows, layout, n_index=2)]


study = Study(
    globals(), "imbalance", "set=sources seed=seeds method=methods", own="as they are",
    datasets=[], methods=[], n_estimators=100, seeds=2, quick={"n_estimators": 5, "seeds": 1},
    known={"methods": list(METHODS)},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
