"""What it costs in accuracy to grow forests on parts of the rows instead of on all of them.

    python scripts/bench_parts.py --quick    bundled digits
    python scripts/bench_parts.py            letter and adult

The rows are dealt out at random to parts, as to machines that each hold some; every part grows its
share of the trees on its rows, and the probabilities are averaged. All have the same number of
trees in total and no other setting differs from a forest on all rows.
"""

import numpy as np
from _lab import cli, data, tables

from mddf import RandomForestClassifier

PARTS = (1, 2, 4, 8)


def parse(argv=None):
    return cli.study(
        __doc__,
        "bench_parts",
        quick={"datasets": ["digits"], "n_estimators": 40, "repeats": 1},
        datasets=["letter", "adult"],
        n_estimators=200,
        repeats=3,
    ).read(argv)


def error(split, n_parts, n_estimators, seed):
    """Test error in percent, and log-loss, of a forest on so many parts."""
    deal = np.random.default_rng(seed).permutation(len(split.y)) % n_parts
    classes = np.unique(split.y)
    total = np.zeros((len(split.y_test), len(classes)))
    for part in range(n_parts):
        forest = RandomForestClassifier(
            n_estimators // n_parts, random_state=seed * max(PARTS) + part
        )
        mine = deal == part
        forest.fit(split.X[mine], split.y[mine])
        total[:, np.searchsorted(classes, forest.classes_)] += forest.predict_proba(split.X_test)
    true = np.searchsorted(classes, split.y_test)
    wrong = 100 * np.mean(total.argmax(axis=1) != true)
    loss = -np.log(np.clip(total[np.arange(len(true)), true] / n_parts, 1e-6, 1)).mean()
    return {"error": wrong, "log-loss": loss}


def main(argv=None):
    options = parse(argv)
    rows = []
    for name in options.datasets:
        try:
            source = data.Source(name, options.data_home)
            data.load(source, download=False)
        except (OSError, ImportError) as failure:
            print(f"{name}: left out: {str(failure).splitlines()[0]}")
            continue
        split = data.split(source, 0)
        for n_parts in PARTS:
            for seed in range(options.repeats):
                found = error(split, n_parts, options.n_estimators, seed)
                rows.append({"set": name, "parts": n_parts, "seed": seed, **found})
    numbers = tables.pd.DataFrame(rows)
    if numbers.empty:
        raise SystemExit("none of the sets is there")
    shown = numbers.groupby(["set", "parts"])[["error", "log-loss"]].mean().map("{:.4g}".format)
    title = (
        f"random forests of {options.n_estimators} trees on parts of the rows: test error in %, "
        f"log-loss; means of {options.repeats} seeds"
    )
    tables.show(options.out, [tables.Table("parts", title, shown, numbers)])


if __name__ == "__main__":
    main()
