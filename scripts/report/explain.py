"""Measure the quality of explanations: contributions, and importances of a noise column.

    python scripts/report/explain.py --quick
    python scripts/report/explain.py

Contributions are compared with exact Shapley values of small models, which the package shap
computes over all subsets of six features; only sets without categories take part. A noise column
is added to each set, and its rank by importance is reported.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, need, tables
from _lab.study import Study

from mddf import MDDFClassifier, RandomForestClassifier
from mddf.explain import importances, shap_values

MODELS = {
    "forest": lambda n, **options: RandomForestClassifier(max(10, n), **options),
    "mdDF": lambda n, **options: MDDFClassifier(
        3, n_estimators=max(2, n // 5), early_stopping=False, **options
    ),
}


def agreement(model, split, n_rows):
    """Compare contributions with exact Shapley values on the six most important columns."""
    shap = need("shap", "explain")
    forest = RandomForestClassifier(50, random_state=0).fit(split.X, split.y)
    columns = np.argsort(-forest.feature_importances_)[:6]
    X, rows = split.X[:2000, columns], split.X_test[:n_rows, columns]
    model.fit(X, split.y[:2000])
    masker = shap.maskers.Independent(X[:30], max_samples=30)
    exact = shap.explainers.Exact(model.predict_proba, masker)(rows).values
    contributions = shap_values(model, rows, background=X[:30], method="tree").values
    yield {
        "method": "tree",
        "correlation": np.corrcoef(contributions.ravel(), exact.ravel())[0, 1],
        "error": np.abs(contributions - exact).sum() / np.abs(exact).sum(),
    }


def noise(model, split):
    """Return the ranks of a noise column by importance."""
    random = np.random.default_rng(0)
    X, rows = (
        tables.pd.DataFrame(part).rename(columns=str).assign(noise=random.normal(size=len(part)))
        for part in (split.X, split.X_test)
    )
    model.fit(X[:8000], split.y[:8000])
    for kind in ("held-out", "permutation", "impurity"):
        importance = importances(
            model, rows[:3000], split.y_test[:3000], kind=kind, random_state=0
        )
        names = importance.feature_names[np.argsort(-importance.importances_mean)].tolist()
        yield {
            "kind": kind,
            "rank": names.index("noise") + 1,
            "features": len(names),
            "first": ", ".join(names[:3]),
        }


def cell(options, set, model):
    split = data.split(data.Source(set, options.data_home), 0)
    model = MODELS[model](options.n_estimators, random_state=0, n_jobs=options.n_jobs)
    plain = not hasattr(split.X, "columns")
    return {
        "agreement": list(agreement(model, split, options.rows)) if plain else [],
        "noise": list(noise(model, split)),
    }


def report(frame, options):
    report_tables = []
    for name, title, layout in (
        ("agreement", "Contributions against exact Shapley values, six features",
         "set model method correlation:.3f relative_error=error:.3f"),
        ("noise", "Where importances rank a column of noise",
         "set model kind rank_of_the_noise=rank features first_three=first"),
    ):  # fmt: skip
        rows = tables.unnest(frame, name)
        report_tables += (
            [tables.columns(name, title, rows, layout, n_index=3)] if len(rows) else []
        )
    return report_tables


study = Study(
    globals(), "explain", "set=datasets model=models", ("n_estimators", "rows"),
    datasets=["adult", "wine", "breast_cancer", "iris"], models=MODELS, n_estimators=50,
    rows=20, quick={"datasets": ["wine"], "n_estimators": 10, "rows": 6},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
