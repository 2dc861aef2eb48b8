"""Measure how good explanations are: contributions, and importances of a column of noise.

    python scripts/run_explain.py --quick
    python scripts/run_explain.py

Two tables: how well contributions agree with the exact Shapley values of small models (by
enumerating all subsets of six features, the background being 30 training rows), and where
importances rank a column of noise that is added to the features. Sets that are not there are left
out.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from _lab import cli, data, need, tables

from mddf import MDDFClassifier, RandomForestClassifier
from mddf.explain import importances, shap_values

BUNDLED = ["wine", "breast_cancer", "iris"]


def parse(argv=None):
    return cli.study(
        __doc__,
        "run_explain",
        quick={"datasets": BUNDLED, "n_estimators": 10, "rows": 6},
        datasets=["adult", *BUNDLED],
        n_estimators=50,
        rows=20,
    ).read(argv)


def models(options):
    """A forest, and a cascade of three layers with a fifth of the trees for each fold."""
    few = max(2, options.n_estimators // 5)
    options = {"random_state": 0, "n_jobs": options.n_jobs}
    return {
        "forest": RandomForestClassifier(5 * few, **options),
        "mdDF, 3 layers": MDDFClassifier(3, n_estimators=few, early_stopping=False, **options),
    }


def exact(predict, rows, background):
    """Shapley values by enumeration, shape (n_rows, n_features, n_classes)."""
    n = rows.shape[1]
    said = {}
    for size in range(n + 1):
        for known in itertools.combinations(range(n), size):
            mixed = np.repeat(background[None], len(rows), axis=0)
            mixed[:, :, list(known)] = rows[:, None, list(known)]
            found = predict(mixed.reshape(-1, n)).reshape(len(rows), len(background), -1)
            said[known] = found.mean(axis=1)
    values = np.zeros((len(rows), n, said[()].shape[1]))
    for known, value in said.items():
        size = len(known)
        weight = math.factorial(size) * math.factorial(n - size - 1) if size < n else 0
        for i in set(range(n)) - set(known):
            more = said[tuple(sorted((*known, i)))]
            values[:, i] += weight / math.factorial(n) * (more - value)
    return values


def agreement(name, split, options):
    """Rows of the table of contributions; numbers only."""
    X, others = np.asarray(split.X), np.asarray(split.X_test)
    columns = np.argsort(-RandomForestClassifier(50, random_state=0).fit(
        X, split.y
    ).feature_importances_)[:6]  # fmt: skip
    X, others = X[:2000, columns], others[: options.rows, columns]
    for kind, model in models(options).items():
        model.fit(X, split.y[:2000])
        expected = exact(model.predict_proba, others, X[:30])
        for method in ("tree", "path"):
            found = shap_values(model, others, background=X[:30], method=method).values
            yield {
                "set": name,
                "model": kind,
                "method": method,
                "correlation": np.corrcoef(found.ravel(), expected.ravel())[0, 1],
                "relative error": np.abs(found - expected).sum() / np.abs(expected).sum(),
            }


def noise_ranks(name, split, options):
    """Rows of the table of importances."""
    X, others = (tables.pd.DataFrame(part) for part in (split.X, split.X_test))
    X.columns, others.columns = X.columns.astype(str), others.columns.astype(str)
    random = np.random.default_rng(0)
    X, others = (part.assign(noise=random.normal(size=len(part))) for part in (X, others))
    X, y, others, classes = X[:8000], split.y[:8000], others[:3000], split.y_test[:3000]
    for kind, model in models(options).items():
        model.fit(X, y)
        for way in ("held-out", "permutation", "impurity"):
            found = importances(model, others, classes, kind=way, random_state=0)
            order = np.argsort(-found.importances_mean)
            names = found.feature_names[order]
            yield {
                "set": name,
                "model": kind,
                "kind": way,
                "rank of the noise": names.tolist().index("noise") + 1,
                "features": len(names),
                "first three": ", ".join(map(str, names[:3])),
            }


def main(argv=None):
    options = parse(argv)
    need("shap", "explain")
    found, ranks = [], []
    for name in options.datasets:
        try:
            source = data.Source(name, options.data_home)
            data.load(source, download=False)
        except (OSError, ImportError) as error:
            print(f"{name}: left out: {str(error).splitlines()[0]}")
            continue
        split = data.split(source, 0)
        if name != "adult":  # which has categories
            found += agreement(name, split, options)
        ranks += noise_ranks(name, split, options)
        print(f"{name}: done", flush=True)
    if not ranks:
        raise SystemExit("none of the sets is there")
    index = {"agreement": ["set", "model", "method"], "importances": ["set", "model", "kind"]}
    titles = {
        "agreement": "Contributions against exact Shapley values, six features",
        "importances": "Where importances rank a column of noise",
    }
    shown = []
    for key, rows in (("agreement", found), ("importances", ranks)):
        numbers = tables.pd.DataFrame(rows)
        if not numbers.empty:
            text = numbers.set_index(index[key]).map(
                lambda cell: f"{cell:.3f}" if isinstance(cell, float) else cell
            )
            shown.append(tables.Table(key, titles[key], text, numbers))
    tables.show(options.out, shown)


if __name__ == "__main__":
    main()
