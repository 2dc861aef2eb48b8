"""What it costs in accuracy to grow forests on parts of the rows instead of on all of them.

    python scripts/bench_parts.py --quick    bundled digits
    python scripts/bench_parts.py            letter and adult

The rows are dealt out at random to parts, as to machines that each hold some; every part grows its
share of the trees on its rows, and the probabilities are averaged. All have the same number of
trees in total and no other setting differs from a forest on all rows.
"""

import numpy as np
from _lab import data, tables
from _lab.study import Study
from sklearn.metrics import log_loss

from mddf import RandomForestClassifier

PARTS = [1, 2, 4, 8]


def cell(options, set, parts, seed):
    """Test error in percent, and log-loss, of a forest on so many parts."""
    split = data.split(data.Source(set, options.data_home), 0)
    deal = np.random.default_rng(seed).permutation(len(split.y)) % parts
    classes = np.unique(split.y)
    total = np.zeros((len(split.y_test), len(classes)))
    for part in range(parts):
        forest = RandomForestClassifier(
            options.n_estimators // parts, random_state=seed * max(PARTS) + part
        )
        mine = deal == part
        forest.fit(split.X[mine], split.y[mine])
        total[:, np.searchsorted(classes, forest.classes_)] += forest.predict_proba(split.X_test)
    total = np.clip(total / parts, 1e-6, 1)
    wrong = classes[total.argmax(axis=1)] != split.y_test
    total /= total.sum(axis=1, keepdims=True)
    return {"error": 100 * wrong.mean(), "log_loss": log_loss(split.y_test, total, labels=classes)}


def report(frame, options):
    """Means over seeds."""
    title = f"Random forests of {options.n_estimators} trees in all; test error in %, log-loss"
    rows = tables.means(frame, ["set", "parts"], ["error", "log_loss"])
    return [tables.columns("parts", title, rows, "set parts error:.2f log_loss:.4f", 2)]


study = Study(
    globals(), "bench_parts", "set=datasets parts=n_parts seed=seeds", ("n_estimators",),
    datasets=["letter", "adult"], n_parts=PARTS, n_estimators=200, seeds=3,
    quick={"datasets": ["digits"], "n_estimators": 40, "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
