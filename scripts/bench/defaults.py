"""Compare boosted trees at their defaults with LightGBM, XGBoost and CatBoost at theirs.

    python scripts/bench/defaults.py             made and real tables, some minutes
    python scripts/bench/defaults.py --quick     a few made tables with fewer rows
    python scripts/bench/defaults.py --tables hours letter --peers catboost

Peers that are not installed, and real tables that are not present, are left out. All libraries
use one thread. The excess loss of a made table is the loss above that of its known truth: the
squared error of the mean (divided by the variance), the Kullback-Leibler divergence of the
probabilities, or half of the Poisson deviance of the mean. Real tables have no known truth and
show the whole loss on test rows. The ratio divides our excess loss by that of the best peer. The
second table names every table with a ratio above 1.1. Made tables of less than 1000 rows are drawn
five times, because the ratio of one draw is mostly chance; their losses are means.

Several targets: XGBoost and CatBoost (MultiRMSE) take them in one fit, as mddf does; LightGBM has
a model for each target. In "targets apart", all libraries have a model for each target.
"""

import sys
import warnings
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import _safe_indexing

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, data, libraries, tables
from _lab.study import Study

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

# Ratio above which a table is named: the aim of the defaults.
AIM = 1.1
# Made tables with fewer rows than this are drawn so many times.
FEW_ROWS = 1000
N_DRAWS = 5
N_TEST = 4000


@dataclass
class Made:
    """Rows with a target, and its truth: means, or class probabilities."""

    X: object
    y: np.ndarray
    truth: np.ndarray
    loss: str = "squared_error"
    offset: np.ndarray | None = None
    apart: bool = False  # whether each target has a model of its own


def numeric(rng, n, n_columns=8):
    return rng.normal(size=(n, n_columns))


def smooth(X):
    """A function of six columns with interactions."""
    return np.sin(3 * X[:, 0]) * X[:, 1] + np.cos(2 * X[:, 2] * X[:, 3]) + abs(X[:, 4] - X[:, 5])


def with_noise(X, f, noise):
    return Made(X, f + noise, f)


def classes(rng, X, scores):
    """Draw classes from the softmax of scores; a single column is the score of two classes."""
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    p = softmax(scores, axis=1)
    y = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return Made(X, y, p, "log_loss")


def hours(rng, n, sd=0.5):
    h, w = rng.integers(0, 24, n), rng.integers(0, 7, n)
    f = 2 * np.random.default_rng(7).normal(size=(24, 7))[h, w]
    return with_noise(np.c_[h, w], f, sd * rng.normal(size=n))


def parity(rng, n, n_bits=4):
    bits = rng.integers(0, 2, (n, n_bits))
    return classes(rng, bits, np.where(bits.sum(axis=1) % 2, 1, -1) * np.log(9))


def text_column(codes, n_levels):
    """Return words for codes; training and test rows have the same levels, seen or not."""
    names = [f"level {v}" for v in range(n_levels)]
    return pd.Categorical([names[v] for v in codes], categories=sorted(names))


def levels(rng, n, counts, sd=0.5):
    """Text columns with a mean for each level, and a number."""
    effects = [np.random.default_rng(k).normal(size=k) for k in counts]
    codes = [rng.integers(0, k, n) for k in counts]
    pairs = zip(codes, counts, strict=True)
    X = pd.DataFrame({f"c{i}": text_column(*pair) for i, pair in enumerate(pairs)})
    X["x"] = rng.normal(size=n)
    f = sum(effect[column] for effect, column in zip(effects, codes, strict=True)) + X["x"]
    return with_noise(X, f.to_numpy(), sd * rng.normal(size=n))


def crossed_levels(rng, n):
    """A text column of 40 levels and one of 5 levels, with a mean for each combination."""
    codes = rng.integers(0, 40, n), rng.integers(0, 5, n)
    f = np.random.default_rng(40).normal(size=(40, 5))[codes]
    X = pd.DataFrame({"a": text_column(codes[0], 40), "b": text_column(codes[1], 5)})
    return with_noise(X, f, 0.3 * rng.normal(size=n))


def one_text(rng, n, n_levels):
    made = levels(rng, n, [n_levels])
    made.truth = made.truth - made.X["x"].to_numpy()
    made.y = made.y - made.X["x"].to_numpy()
    made.X = made.X[["c0"]]
    return made


def weekdays(rng, n):
    day = rng.integers(0, 7, n)
    return with_noise(day[:, None], np.cos(2.5 * day), rng.normal(size=n))


def grades(rng, n):
    X = rng.integers(1, 6, (n, 3))
    f = X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 3)
    return Made(X, np.round(f + rng.normal(size=n)), f)


def ids(rng, n):
    X = np.c_[np.arange(n), rng.normal(size=n)]
    return with_noise(X, np.sin(X[:, 1]), rng.normal(size=n))


def noise_free(rng, n):
    X = numeric(rng, n)
    return Made(X, smooth(X), smooth(X))


def noisy(rng, n, draw):
    X = numeric(rng, n)
    return with_noise(X, smooth(X), draw(rng, n))


def outliers(rng, n):
    return rng.normal(size=n) * np.where(rng.random(n) < 0.02, 30, 0.3)


def counts(rng, n, exposure=False):
    X = numeric(rng, n)
    offset = rng.normal(size=n) if exposure else None
    mean = np.exp(0.5 * smooth(X) - 0.5 + (0 if offset is None else offset))
    return Made(X, rng.poisson(mean), mean, "poisson", offset)


def many_zeros(rng, n):
    X = numeric(rng, n)
    share = 1 / (1 + np.exp(2 - smooth(X)))
    return Made(X, (rng.random(n) < share) * np.exp(rng.normal(size=n)), share * np.exp(0.5))


def several_targets(rng, n):
    X = numeric(rng, n)
    f = np.c_[smooth(X), X[:, 0] * X[:, 6], np.sin(2 * X[:, 7])]
    return with_noise(X, f, 0.3 * rng.normal(size=f.shape))


def shared_steps(rng, n):
    """Ten targets with a mean for each of eight regions."""
    X = numeric(rng, n)
    region = 4 * (X[:, 0] > 0) + 2 * (X[:, 1] > 0.5) + (X[:, 2] * X[:, 3] > 0)
    f = np.random.default_rng(8).normal(size=(8, 10))[region]
    return with_noise(X, f, rng.normal(size=f.shape))


def targets_apart(rng, n):
    made = several_targets(rng, n)
    made.apart = True
    return made


def made_classes(rng, n, scores):
    X = numeric(rng, n)
    return classes(rng, X, scores(X))


def five_classes(X):
    return 2 * np.c_[X[:, 0] * X[:, 1], X[:, 2], np.sin(2 * X[:, 3]), X[:, 4] * X[:, 5], X[:, 6]]


def fifteen_classes(X):
    return 3 * np.sin(X @ np.random.default_rng(3).normal(size=(X.shape[1], 15)))


def linear(rng, n):
    X = numeric(rng, n, 10)
    f = X @ np.linspace(1, 0.1, 10)
    return with_noise(X, f, rng.normal(size=n))


def wide(rng, n):
    X = numeric(rng, n // 4, 200)
    return with_noise(X, X[:, 0] + X[:, 1] * X[:, 2], rng.normal(size=len(X)))


def few_rows(rng, n):
    X = numeric(rng, n if n == N_TEST else n // 10, 5)
    return with_noise(X, X[:, 0] + np.sin(2 * X[:, 1]), 0.5 * rng.normal(size=len(X)))


def steps(rng, n):
    X = rng.uniform(size=(n, 4))
    f = np.floor(5 * X[:, 0]) + 2 * (X[:, 1] > 0.3) * (X[:, 2] > 0.6)
    return with_noise(X, f, 0.5 * rng.normal(size=n))


def one_column(rng, n):
    x = rng.uniform(-3, 3, n)
    return with_noise(x[:, None], np.sin(3 * x), 0.3 * rng.normal(size=n))


def gaps(rng, n):
    made = noisy(rng, n, lambda rng, n: 0.3 * rng.normal(size=n))
    made.X[rng.random(made.X.shape) < 0.1] = np.nan
    made.X[:, 6] = np.where(rng.random(n) < 0.5, np.nan, made.X[:, 6])
    made.truth = made.truth + np.isnan(made.X[:, 6])
    made.y = made.y + np.isnan(made.X[:, 6])
    return made


# Functions of a random generator and a number of rows.
MADE = {
    "hours": hours,
    "hours exact": partial(hours, sd=0.0),
    "parity": parity,
    "parity of 8": partial(parity, n_bits=8),
    "31 levels": partial(one_text, n_levels=31),
    "60 levels": partial(one_text, n_levels=60),
    "crossed levels": crossed_levels,
    "weekdays": weekdays,
    "grades": grades,
    "ids": ids,
    "levels": partial(levels, counts=[12, 50, 300]),
    "much signal": noise_free,
    "some noise": partial(noisy, draw=lambda rng, n: 0.3 * rng.normal(size=n)),
    "much noise": partial(noisy, draw=lambda rng, n: 2 * rng.normal(size=n)),
    "heavy tails": partial(noisy, draw=lambda rng, n: 0.5 * rng.standard_t(2.5, size=n)),
    "outliers": partial(noisy, draw=outliers),
    "skewed": partial(noisy, draw=lambda rng, n: np.exp(rng.normal(size=n)) - np.exp(0.5)),
    "many zeros": many_zeros,
    "counts": counts,
    "exposures": partial(counts, exposure=True),
    "several targets": several_targets,
    "targets apart": targets_apart,
    "shared targets": shared_steps,
    "two classes": partial(made_classes, scores=lambda X: 3 * (smooth(X) - 1.3)),
    "sure classes": partial(made_classes, scores=lambda X: 30 * (smooth(X) - 1.3)),
    "rare class": partial(made_classes, scores=lambda X: 2 * smooth(X) - 6),
    "noise classes": partial(made_classes, scores=lambda X: 0 * X[:, 0]),
    "five classes": partial(made_classes, scores=five_classes),
    "fifteen classes": partial(made_classes, scores=fifteen_classes),
    "linear": linear,
    "wide": wide,
    "few rows": few_rows,
    "steps": steps,
    "one column": one_column,
    "gaps": gaps,
}  # fmt: skip
REAL = ["letter", "satimage", "car", "yeast", "airfoil", "kin8nm", "abalone", "california"]
# Real tables have at most so many training rows, so that the benchmark takes minutes.
MAX_ROWS = 5000


@dataclass
class Table:
    """Training rows, and test rows with their truth."""

    train: Made
    test: Made

    @property
    def task(self):
        """Classification or regression."""
        return "classification" if self.train.loss == "log_loss" else "regression"


def tables_of(name, n_rows):
    """Make a table, several ones if they have few rows, or load a real one."""
    if name not in MADE:
        return [real_table(name)]

    def draw(seed):
        rng = np.random.default_rng(seed)
        return Table(MADE[name](rng, n_rows), MADE[name](rng, N_TEST))

    first = draw(0)
    n_draws = N_DRAWS if len(first.train.y) < FEW_ROWS else 1
    return [first, *map(draw, range(1, n_draws))]


def real_table(name):
    dataset = data.load(data.Source(name))
    X, y = dataset.X, dataset.y
    if dataset.task == "classification":
        y = np.unique(y, return_inverse=True)[1]
    if isinstance(X, pd.DataFrame):
        words = X.select_dtypes(["object", "string", "category"]).columns
        X = X.astype(dict.fromkeys(words, "category"))
    train, test = np.split(np.random.default_rng(0).permutation(len(y)), [2 * len(y) // 3])
    loss = "squared_error" if dataset.task == "regression" else "log_loss"
    parts = (train[:MAX_ROWS], test)
    return Table(*(Made(_safe_indexing(X, rows), y[rows], y[rows], loss) for rows in parts))


def excess(made, predicted):
    """Loss above the loss of the truth."""
    truth = made.truth
    if made.loss == "log_loss":
        if truth.ndim == 1:  # real classes
            truth = np.eye(predicted.shape[1])[truth]
        predicted = np.clip(predicted, 1e-15, None)
        positive = np.where(truth > 0, truth, 1.0)
        return float(np.sum(truth * (np.log(positive) - np.log(predicted)), axis=1).mean())
    if made.loss == "poisson":
        return float(np.mean(predicted - truth - truth * np.log(predicted / truth)))
    return float(np.mean((predicted - truth) ** 2) / max(np.var(truth), 1e-12))


def ours(table):
    train, test = table.train, table.test
    if table.task == "classification":
        return fitted(GradientBoostingClassifier(random_state=0, n_jobs=1), table)
    model = GradientBoostingRegressor(loss=train.loss, random_state=0, n_jobs=1)
    if train.offset is None:
        return fitted(model, table)
    return model.fit(train.X, train.y, offset=train.offset).predict(test.X, offset=test.offset)


def fitted(model, table, *, one_target=False):
    """Predictions of the test rows by a scikit-learn interface."""
    if table.train.apart or (one_target and table.train.y.ndim == 2):
        model = MultiOutputRegressor(model)
    model.fit(table.train.X, table.train.y)
    predict = model.predict_proba if table.task == "classification" else model.predict
    return predict(table.test.X)


def log_rate(made):
    """Return the logarithm of the mean rate; initial scores of the peers need it."""
    return np.log(made.y.sum() / np.exp(made.offset).sum())


def lightgbm(table):
    if table.train.loss != "poisson":
        return fitted(libraries.boosting("lightgbm", table.task), table, one_target=True)
    model = libraries.boosting("lightgbm", table.task, objective="poisson")
    if table.train.offset is None:
        return fitted(model, table)
    start = log_rate(table.train)
    model.fit(table.train.X, table.train.y, init_score=table.train.offset + start)
    return np.exp(model.predict(table.test.X, raw_score=True) + table.test.offset + start)


def xgboost(table):
    objective = {"objective": "count:poisson"} if table.train.loss == "poisson" else {}
    model = libraries.boosting("xgboost", table.task, enable_categorical=True, **objective)
    if table.train.offset is None:
        return fitted(model, table)
    start = log_rate(table.train)
    model.fit(table.train.X, table.train.y, base_margin=table.train.offset + start)
    return model.predict(table.test.X, base_margin=table.test.offset + start)


def catboost(table):
    X, parameters = table.train.X, {}
    if isinstance(X, pd.DataFrame):
        parameters["cat_features"] = list(X.select_dtypes("category"))
    if table.train.loss == "poisson":
        parameters["loss_function"] = "Poisson"
    elif table.train.y.ndim == 2 and not table.train.apart:
        parameters["loss_function"] = "MultiRMSE"
    model = libraries.boosting("catboost", table.task, **parameters)
    if table.train.loss != "poisson":
        return fitted(model, table)
    import catboost

    train = catboost.Pool(X, table.train.y, baseline=table.train.offset)
    test = catboost.Pool(table.test.X, baseline=table.test.offset)
    return model.fit(train).predict(test, prediction_type="Exponent")


PEERS = {"lightgbm": lightgbm, "xgboost": xgboost, "catboost": catboost}


def cell(options, set, peers):
    drawn = tables_of(set, options.rows)
    train = drawn[0].train
    row = {"shape": f"{len(train.y)} x {train.X.shape[1]}"}
    sides = {"mddf": ours} | {peer: PEERS[peer] for peer in peers.split()}
    for name, side in sides.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the peers
            costs = [bench.cost(side, table) for table in drawn]
        losses = [excess(t.test, cost[2]) for t, cost in zip(drawn, costs, strict=True)]
        row |= {name: np.mean(losses), f"{name}_s": np.mean([cost[0] for cost in costs])}
    best = min(peers.split(), key=row.get)
    # Excess losses of exact predictions are 0; below 1e-6 they count as equal.
    return row | {"best": best, "ratio": max(row["mddf"], 1e-6) / max(row[best], 1e-6)}


def report(frame, options):
    layout = """table=set shape mddf:.4g lightgbm:.4g xgboost:.4g catboost:.4g best ratio:.2f
    mddf_s:.2f lightgbm_s:.2f xgboost_s:.2f catboost_s:.2f"""
    title = f"Excess losses and CPU seconds at defaults, one core, {options.rows} rows"
    report_tables = [tables.columns("defaults", title, frame, layout)]
    above = frame[frame.ratio > AIM]
    if len(above):
        title = f"Tables above {AIM} times the excess loss of the best peer"
        report_tables.append(
            tables.columns("above", title, above, "table=set mddf:.4g best ratio:.2f")
        )
    return report_tables


def keys(options):
    """Return a key for each table, with the installed peers."""
    peers = " ".join(peer for peer in options.peers if find_spec(peer))
    if not peers:
        raise SystemExit("install lightgbm, xgboost or catboost")
    return [{"set": table, "peers": peers} for table in options.tables]


study = Study(
    globals(), "bench_defaults", keys, ("rows",), fresh=True,
    tables=[*MADE, *REAL], peers=list(PEERS), rows=2000,
    quick={"tables": ["hours", "parity", "31 levels", "crossed levels", "much signal",
                      "some noise", "five classes"],
           "rows": 500},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
