"""What helps where one class is rare: thresholds, leaf sizes, class weights.

    python scripts/run_imbalance.py --quick
    python scripts/run_imbalance.py --seeds 2

Each model is fitted on 70 % of the rows and scored on the others: area under the ROC curve, mean
precision, log-loss, and F1 of the rarer class at two thresholds: 0.5, and the one that is best for
the training rows, by out-of-fold probabilities. Means over random splits.
"""

from __future__ import annotations

import numpy as np
from _lab import cli, data, tables
from sklearn import metrics
from sklearn.model_selection import cross_val_predict

from mddf import DeepForestClassifier, MDDFClassifier, RandomForestClassifier

FIGURES = ["AUC", "average precision", "log-loss", "F1 at 0.5", "F1", "recall", "threshold"]


def parse(argv=None):
    return cli.study(
        __doc__,
        "imbalance",
        quick={"datasets": ["breast_cancer"], "n_estimators": 5, "seeds": 1},
        datasets=["carclaims"],
        n_estimators=100,
        seeds=2,
    ).read(argv)


def models(n_estimators, seed, n_jobs):
    """Models by name; what they are compared by is the leaf size or the weight of the classes."""
    always = {"n_estimators": n_estimators, "random_state": seed, "n_jobs": n_jobs}

    def forest(**options):
        return RandomForestClassifier(**always, **options)

    return {
        **{f"forest, leaves of {n}": forest(min_samples_leaf=n) for n in (1, 5, 20)},
        "forest, leaves of 5, balanced": forest(min_samples_leaf=5, class_weight="balanced"),
        "mdDF": MDDFClassifier(**always),
        "mdDF, balanced": MDDFClassifier(**always, class_weight="balanced"),
        "deep forest": DeepForestClassifier(**always),
        "deep forest, balanced": DeepForestClassifier(**always, class_weight="balanced"),
    }


def held_out(model, split):
    """Probabilities of the rarer class, of training rows that the trees did not see."""
    if hasattr(model, "oof_probabilities_"):
        return model.oof_probabilities_[:, 1]
    # Not out of bag: bootstraps of balanced weights draw nearly every rare row for each tree.
    return cross_val_predict(model, split.X, split.y, cv=3, method="predict_proba")[:, 1]


def best_threshold(y, scores):
    """That of the largest F1."""
    precision, recall, thresholds = metrics.precision_recall_curve(y, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    return float(thresholds[f1[:-1].argmax()])


def figures(model, split):
    """What a fitted model is worth on the test rows."""
    y = split.y_test
    scores = model.predict_proba(split.X_test)[:, 1]
    threshold = best_threshold(split.y, held_out(model, split))
    flagged = scores >= threshold
    values = (
        metrics.roc_auc_score(y, scores),
        metrics.average_precision_score(y, scores),
        metrics.log_loss(y, scores),
        metrics.f1_score(y, scores >= 0.5),
        metrics.f1_score(y, flagged),
        metrics.recall_score(y, flagged),
        threshold,
    )
    return dict(zip(FIGURES, values, strict=True))


def main(argv=None):
    options = parse(argv)
    rows = []
    for name in options.datasets:
        for seed in range(options.seeds):
            split = data.split(data.Source(name, options.data_home), seed)
            classes, counts = np.unique(split.y, return_counts=True)
            if len(classes) > 2:
                raise SystemExit(f"{name} must have two classes, got {len(classes)}")
            # The rarer class is the second one, of which the probabilities are.
            y, y_test = ((part == classes[counts.argmin()]).astype(int)
                         for part in (split.y, split.y_test))  # fmt: skip
            split = data.Split(split.X, y, split.X_test, y_test)
            for kind, model in models(options.n_estimators, seed, options.n_jobs).items():
                found = figures(model.fit(split.X, split.y), split)
                rows.append({"set": name, "model": kind, "seed": seed, **found})
                print(f"{name}, split {seed}, {kind}: AUC {found['AUC']:.3f}", flush=True)
    numbers = tables.pd.DataFrame(rows)
    means = numbers.groupby(["set", "model"], sort=False)[FIGURES].mean()
    shown = means.map(lambda value: f"{value:.3f}")
    title = f"Test rows, means over {options.seeds} splits; F1 and recall at the threshold chosen"
    tables.show(options.out, [tables.Table("imbalance", title, shown, numbers)])


if __name__ == "__main__":
    main()
