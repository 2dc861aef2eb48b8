"""Compare losses on held-out rows: deep forests, bags of boosting, AutoGluon.

    python scripts/report/compare.py                     ratings on five sets; 15 minutes
    python scripts/report/compare.py --suite autogluon --time-limit 60
    python scripts/report/compare.py --own-sets mysets.py --methods catboost-bag deep-forest

A third of the rows is held out for testing, drawn by the seed. Losses are those of TabArena: 1 -
AUC for two classes, log-loss for more, RMSE for regression. They are divided by the loss of the
first method. --own-sets is a Python file with a list NAMES, and a function load(name) that returns
X, y and a task ("binary", "multiclass" or "regression"). Fits use one thread.

deep-forest      the default; -fast has this preset
boosting         gradient boosting of mddf
catboost-bag     a model for each of eight folds, with up to 4000 rounds at a learning rate of
                 0.05, stopped early on the held-out fold, as in AutoGluon; also lightgbm-bag
random-forest    300 trees of scikit-learn, with 1000 points of the ratings; also extra-trees
autogluon        bags, a stack level and a weighted ensemble of its tree models (LightGBM,
                 CatBoost, XGBoost, random forests, extra trees) within --time-limit;
                 autogluon-mddf also has the two models of mddf.autogluon
"""

import runpy
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, elo, libraries, models, scores, tables
from _lab.study import Study

ANCHOR, BAG = "random-forest", "catboost-bag"
# Eight folds as in the bags of AutoGluon.
FOLDS = 8
# Folds and levels of the stack of AutoGluon, as in the published table.
AUTOGLUON_FOLDS = 5
AUTOGLUON_LEVELS = 1
# Upper limit of the rounds; early stopping ends the fits before.
ROUNDS = 4000
# Rounds without improvement until a fit stops; not tuned.
PATIENCE = 100


class Bag:
    """Models of CatBoost or LightGBM, one for each of eight folds, stopped early on its fold."""

    def __init__(self, library, task, seed):
        self.library, self.task, self.seed = library, task, seed

    def _model(self):
        return libraries.boosting(
            self.library, self.task, n_estimators=ROUNDS, learning_rate=0.05,
            early_stopping_rounds=PATIENCE, random_state=self.seed,
        )  # fmt: skip

    def _table(self, X):
        categories = X.select_dtypes("category")  # CatBoost requires text
        return X.astype(dict.fromkeys(categories, str)) if self.library == "catboost" else X

    def fit(self, X, y):
        """Fit a model to the rows outside of each fold."""
        self.classes_ = np.unique(y)
        options = {}
        if self.library == "catboost":
            options["cat_features"] = list(X.select_dtypes("category"))
        X = self._table(X)
        Folds = KFold if self.task == "regression" else StratifiedKFold
        self.models_ = []
        for train, watched in Folds(FOLDS, shuffle=True, random_state=self.seed).split(X, y):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # LightGBM 4.7 has renamed eval_set
                model = self._model().fit(
                    X.iloc[train], y[train], eval_set=[(X.iloc[watched], y[watched])], **options
                )
            self.models_.append(model)
        return self

    def predict(self, X):
        """Return the mean prediction."""
        return np.mean([model.predict(self._table(X)) for model in self.models_], axis=0)

    def predict_proba(self, X):
        """Return the mean probabilities."""
        return np.mean([model.predict_proba(self._table(X)) for model in self.models_], axis=0)


class AutoGluon:
    """A stack of AutoGluon on one processor, with or without the models of mddf."""

    TREES = {"GBM": {}, "CAT": {}, "XGB": {}, "RF": {}, "XT": {}}
    METRICS = {
        "binary": "roc_auc", "multiclass": "log_loss", "regression": "root_mean_squared_error",
    }  # fmt: skip

    def __init__(self, task, time_limit, with_mddf):
        self.task, self.time_limit, self.with_mddf = task, time_limit, with_mddf

    def fit(self, X, y):
        """Fit the stack within the limit of time."""
        from autogluon.tabular import TabularPredictor

        from mddf.autogluon import DeepForestModel, GradientBoostingModel

        own = {DeepForestModel: {}, GradientBoostingModel: {}} if self.with_mddf else {}
        self.folder_ = tempfile.mkdtemp()
        target = "the target"
        self.predictor_ = TabularPredictor(
            target, problem_type=self.task, eval_metric=self.METRICS[self.task],
            path=self.folder_, verbosity=0,
        )  # fmt: skip
        self.predictor_.fit(
            X.assign(**{target: y}), hyperparameters=self.TREES | own,
            time_limit=self.time_limit, num_bag_folds=AUTOGLUON_FOLDS,
            num_stack_levels=AUTOGLUON_LEVELS, dynamic_stacking=False, num_cpus=1, num_gpus=0,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )  # fmt: skip
        if self.task != "regression":
            self.classes_ = np.asarray(self.predictor_.class_labels)
        return self

    def predict(self, X):
        """Return predicted numbers, and remove the files of the models."""
        predicted = self.predictor_.predict(X).to_numpy()
        shutil.rmtree(self.folder_)
        return predicted

    def predict_proba(self, X):
        """Return probabilities, and remove the files of the models."""
        predicted = self.predictor_.predict_proba(X).to_numpy()
        shutil.rmtree(self.folder_)
        return predicted


def registered(name, task, seed, options, **parameters):
    """Return a method of _lab/methods.toml with these parameters."""
    method = replace(models.METHODS[name], fixed=parameters)
    kind = "regression" if task == "regression" else "classification"
    return models.build(method, seed, task=kind)


METHODS = {
    BAG: lambda task, seed, options: Bag("catboost", task, seed),
    "deep-forest": partial(registered, "deepforest"),
    "deep-forest-fast": partial(registered, "deepforest", preset="fast"),
    "boosting": partial(registered, "gradient"),
    "lightgbm-bag": lambda task, seed, options: Bag("lightgbm", task, seed),
    ANCHOR: partial(registered, "sklearn-rf", n_estimators=300),
    "extra-trees": partial(registered, "extratrees", n_estimators=300),
    "autogluon": lambda task, seed, options: AutoGluon(task, options.time_limit, False),
    "autogluon-mddf": lambda task, seed, options: AutoGluon(
        task, options.time_limit, with_mddf=True
    ),
}
# Default sets and methods of each suite.
SUITES = {
    "ratings": (
        ["airfoil", "concrete", "insurance", "german", "pima"],
        [name for name in METHODS if not name.startswith("autogluon")],
    ),
    "autogluon": (data.BUNDLED, ["autogluon", "autogluon-mddf", "deep-forest"]),
}
# Names of TabArena's methods in the table of published losses.
TABARENA = {
    "TA-TABPFN-3 (default)": "TabPFN-3, pre-trained",
    "TABICLV2 (default)": "TabICLv2, pre-trained",
    "REALTABPFN-V2.5 (default)": "TabPFN-2.5, pre-trained",
    "TABPFN-V2.6 (default)": "TabPFN-2.6, pre-trained",
    "TABPFNV2_GPU (default)": "TabPFN-2, pre-trained",
    "REALMLP_GPU (tuned + ensemble)": "RealMLP, tuned and ensembled",
    "AutoGluon 1.4 (best, 4h)": "AutoGluon 1.4, best quality, up to 4 h",
    "CAT (tuned + ensemble)": "CatBoost, tuned and ensembled",
    "GBM (tuned + ensemble)": "LightGBM, tuned and ensembled",
    "CAT (default)": "CatBoost",
    "RF (default)": "random forest (scikit-learn)",
}


def prepare(options, parser):
    sets, methods = SUITES[options.suite]
    small = options.quick and not options.datasets
    options.datasets = ["wine"] if small else options.datasets or list(sets)
    options.methods = options.methods or methods


@cache
def own_sets(path):
    """Return the globals of a Python file with the user's sets."""
    return runpy.run_path(path)


def keys(options):
    """Return a key for each set, seed and method."""
    sets = [*options.datasets, *(own_sets(options.own_sets)["NAMES"] if options.own_sets else ())]
    return [
        {"set": name, "seed": seed, "method": method}
        for name in dict.fromkeys(sets)
        for seed in range(options.seeds)
        for method in options.methods
    ]


def table(options, name):
    """Return X, y and the task of a set: regression, binary or multiclass."""
    if options.own_sets and name in own_sets(options.own_sets)["NAMES"]:
        X, y, task, *_ = own_sets(options.own_sets)["load"](name)
        return X, np.asarray(y), task
    dataset = data.load(data.Source(name, options.data_home))
    if dataset.task == "regression":
        return dataset.X, dataset.y, "regression"
    n_classes = len(np.unique(dataset.y))
    return dataset.X, np.asarray(dataset.y), "binary" if n_classes == 2 else "multiclass"


def loss(model, X, y, task):
    """Return 1 - AUC for two classes, log-loss for more, and RMSE for regression."""
    if task == "regression":
        return float(np.sqrt(np.mean((np.ravel(model.predict(X)) - y) ** 2)))
    probabilities = model.predict_proba(X)
    if task == "binary":
        return 1 - roc_auc_score(y == model.classes_[1], probabilities[:, 1])
    return log_loss(y, probabilities, labels=model.classes_)


def as_frame(X):
    """Return a data frame with categorical columns in place of non-numeric ones."""
    frame = pd.DataFrame(X).rename(columns=str)
    categorical = frame.select_dtypes(exclude=["number", "bool"]).columns
    return frame.astype(dict.fromkeys(categorical, "category"))


def cell(options, set, seed, method):
    """Fit a method to two thirds of the rows, and measure its losses and costs."""
    X, y, task = table(options, set)
    strata = None if task == "regression" else data.strata_of(y)
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed, stratify=strata)
    X = as_frame(X)
    if task != "regression":
        y = np.unique(y, return_inverse=True)[1]
    model = METHODS[method](task, seed, options)
    start, cpu_start = time.perf_counter(), time.process_time()
    model.fit(X.iloc[train], y[train])
    return {
        "rows": len(train),
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu_start,
        "loss": loss(model, X.iloc[test], y[test], task),
        "bytes": None if isinstance(model, AutoGluon) else scores.size_of(model),
    }


def summary(means, losses, base):
    """Return a row for each method: ratings, losses relative to the first method, and costs."""
    relative = losses.div(losses[base], axis=0)
    rows = pd.DataFrame(
        {
            "ratio": np.exp(np.log(relative).mean()),
            "error": np.log(relative).sem() * np.exp(np.log(relative).mean()),
            "better": (relative < 1).sum(),
            "worse": (relative > 1).sum(),
            "rank": losses.rank(axis=1).mean(),
            **{
                name: means[name].unstack("method").median() for name in ("seconds", "cpu_seconds")
            },
            "megabytes": means["bytes"].astype(float).unstack("method").median() / 1e6,
        }
    )
    anchor = ANCHOR if ANCHOR in losses else base
    rows["elo"] = elo.elo(losses, anchor)
    rows[["low", "high"]] = elo.intervals(losses, anchor)
    return rows.reindex(losses.columns).reset_index()


def published(losses):
    """Return losses relative to CatBoost's bag next to those that TabArena published.

    Each loss is divided by that of CatBoost from the same source, because the splits differ.
    """
    theirs = tables.published("tabarena.tsv").astype({"loss": float, "train_seconds": float})
    seconds = theirs.groupby("method")["train_seconds"].median()
    theirs = theirs.pivot_table(index="set", columns="method", values="loss")
    common = losses.index.intersection(theirs.index)
    parts = []
    for source, values, reference, names in (
        ("measured here", losses, BAG, {name: name for name in losses if name != BAG}),
        ("TabArena", theirs, "CAT (default)", TABARENA),
    ):
        relative = values.loc[common].div(values.loc[common, reference], axis=0)[list(names)]
        rows = {"ratio": np.exp(np.log(relative).mean()), "better": (relative < 1).sum()}
        rows["seconds"] = seconds.reindex(names)
        parts.append(pd.DataFrame(rows).rename(index=names).assign(source=source))
    table = pd.concat(parts).rename_axis("method").sort_values("ratio").reset_index()
    title = f"Losses relative to CatBoost on {len(common)} sets, with those of TabArena"
    layout = """method loss/CatBoost=ratio:.3f better_on=better:.0f training,_s=seconds:.1f
    source"""
    return tables.columns("published", title, table, layout)


def report(frame, options):
    frame = frame.astype({"bytes": float})
    means = frame.groupby(["set", "method"], sort=False).mean(numeric_only=True)
    losses = means["loss"].unstack("method").reindex(columns=frame["method"].unique()).dropna()
    if losses.empty:
        return []
    base = losses.columns[0]
    layout = f"""method loss/{base}=ratio:.4f ±=error:.4f better:.0f worse:.0f mean_rank=rank:.2f
    Elo=elo:.0f 5_%=low:.0f 95_%=high:.0f
    s,_median=seconds:.1f CPU,_s,_median=cpu_seconds:.1f MB,_median=megabytes:.2f"""
    title = f"Losses on new rows, geometric means over {len(losses)} sets"
    words = " ".join(f"{name}={name}:.4g" for name in losses)
    report_tables = [
        tables.columns("compare", title, summary(means, losses, base), layout),
        tables.columns("losses", "Losses", losses.reset_index(), f"set {words}"),
    ]
    known = tables.published("tabarena.tsv")["set"]
    if BAG in losses and losses.index.isin(known).any():
        report_tables.append(published(losses))
    return report_tables


study = Study(
    globals(), "compare", keys, ("time_limit",),
    suite="ratings", datasets=[], own_sets="", methods=[], seeds=1, time_limit=60.0,
    checks={"suite": tuple(SUITES), "methods": tuple(METHODS)},
    texts={"time_limit": "seconds of each fit of AutoGluon"},
    quick={"methods": ["deep-forest", "deep-forest-fast", "random-forest"], "time_limit": 20.0},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
