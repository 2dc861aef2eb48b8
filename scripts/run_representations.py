r"""A benchmark of representations under fixed downstream models.

    python scripts/run_representations.py --quick
    python scripts/run_representations.py --rows 600 --seeds 2

Each representation turns the rows into columns, and two models with fixed settings learn from
the columns: logistic regression, and k-NN with 5 neighbours. Splits, labelled rows, trees and
seeds are the same for all representations.

Unsupervised representations are fitted on all training rows, without labels. Supervised ones and
the downstream models are fitted on the labelled rows. --labelled are shares of the training rows,
and --flipped shares of their labels that are replaced by another class. Test rows have true
labels.

raw                       columns, scaled, with indicator columns for categories
pca                       leading principal components of these columns
random-trees-embedding    scikit-learn's RandomTreesEmbedding
leaves-unsupervised       leaves of completely-random trees of depth 5 that see no labels
leaves-random             leaves of a random forest of depth 5
leaves-random-deep        the same with fully grown trees
leaves-completely-random  leaves of completely-random trees of depth 5, grown on the labels
kernel-unsupervised       ForestKernelEmbedding of trees that see no labels
kernel-random             ForestKernelEmbedding of a random forest
eforest                   codes of EForest: leaves of fully grown trees that see no labels. Codes
                          name leaves and are not numbers, so that they are one-hot encoded
vectors-1, -2, -3         class vectors of the layers of gcForest, out-of-fold for training rows
leaves-layer-1, -2, -3    leaves of the forests of a layer
random-forest-itself      no representation: the vote of the random forest, for comparison
"""

from itertools import chain

import numpy as np
from _lab import data, stats, tables
from _lab.cli import at_least_0, share
from _lab.conditions import flip_labels
from _lab.study import Study
from mddf.baselines import GCForestClassifier
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf.representation import EForest, ForestKernelEmbedding, LeafEmbedding, leaf_indices

# Sets with two to ten classes, numbers and categories, chosen before there were results. Sets
# below 300 rows are left out: 5 % of their training rows are fewer than ten.
DATASETS = [
    "australian", "balance", "breastcancer", "car", "cmc", "german", "ionosphere", "optdigits",
    "pima", "satimage", "tictactoe", "vote", "yeast",
]  # fmt: skip
N_LAYERS = 3
N_FOLDS = 3
# Depth of limited trees and number of dense columns, as in the defaults of the embeddings.
DEPTH = 5
N_COMPONENTS = 10
N_NEIGHBORS = 5
# The representation that all others are compared with.
BASE = "raw"
SIGNIFICANT = 0.05
# Pairs whose difference is a question of its own: do later layers help, does the embedding of a
# forest do better than its vote, and which of two relatives is better?
PAIRS = [
    ("vectors-2", "vectors-1"),
    ("vectors-3", "vectors-1"),
    ("leaves-layer-2", "leaves-layer-1"),
    ("leaves-layer-3", "leaves-layer-1"),
    ("leaves-layer-1", "vectors-1"),
    ("leaves-random-deep", "random-forest-itself"),
    ("kernel-random", "leaves-random-deep"),
    ("leaves-unsupervised", "random-trees-embedding"),
]


def unsupervised(trees, X):
    """Return representations that are fitted on all training rows and see no labels, by name."""
    n_columns = data.to_scaled().fit_transform(X).shape[1]
    pca = PCA(min(N_COMPONENTS, n_columns), random_state=0)
    embedding = RandomTreesEmbedding(max_depth=DEPTH, **trees)
    return {
        "raw": data.to_scaled(),
        "pca": make_pipeline(data.to_scaled(), pca),
        "random-trees-embedding": make_pipeline(data.to_scaled(), embedding),
        "leaves-unsupervised": LeafEmbedding(max_depth=DEPTH, **trees),
        "kernel-unsupervised": ForestKernelEmbedding(
            n_components=N_COMPONENTS, max_depth=DEPTH, **trees
        ),
        "eforest": make_pipeline(data.to_scaled(), EForest(**trees), OneHotEncoder()),
    }


def supervised(trees, n_labelled):
    """Return representations of forests that are fitted on the labelled rows, by name."""
    shallow = {**trees, "max_depth": DEPTH}
    # Few labelled rows have fewer directions than components.
    n_components = min(N_COMPONENTS, n_labelled - 2)
    return {
        "leaves-random": LeafEmbedding(RandomForestClassifier(**shallow)),
        "leaves-random-deep": LeafEmbedding(RandomForestClassifier(**trees)),
        "leaves-completely-random": LeafEmbedding(CompletelyRandomForestClassifier(**shallow)),
        "kernel-random": ForestKernelEmbedding(
            RandomForestClassifier(**trees), n_components=n_components
        ),
    }


def layers(trees, X, y, X_test):
    """Yield name and columns of class vectors and leaves of each layer of a cascade."""
    # A layer has four forests, and each has its trees on every fold.
    per_forest = max(1, trees["n_estimators"] // (4 * N_FOLDS))
    cascade = GCForestClassifier(
        N_LAYERS,
        cv=N_FOLDS,
        early_stopping=False,
        **{**trees, "n_estimators": per_forest},
    )
    vectors = np.split(cascade.fit_transform(X, y), N_LAYERS, axis=1)
    vectors_test = np.split(cascade.transform(X_test), N_LAYERS, axis=1)
    for layer in range(N_LAYERS):
        yield f"vectors-{layer + 1}", vectors[layer], vectors_test[layer]
        leaves = leaf_indices(cascade, X, layer=layer)
        leaves_test = leaf_indices(cascade, X_test, layer=layer)
        encoder = OneHotEncoder(handle_unknown="ignore").fit(leaves)
        yield (
            f"leaves-layer-{layer + 1}",
            encoder.transform(leaves),
            encoder.transform(leaves_test),
        )


def downstream_models(n_rows):
    """The models that learn from the columns. Their settings are the same everywhere."""
    return {
        # 200 iterations were too few for the ten classes of yeast.
        "logistic": LogisticRegression(max_iter=2000),
        "knn": KNeighborsClassifier(min(N_NEIGHBORS, n_rows)),
    }


def representations(trees, split, X, y):
    """Yield the name of each representation, and its columns of labelled rows and test rows."""
    for name, model in unsupervised(trees, split.X).items():
        model.fit(split.X)
        yield name, model.transform(X), model.transform(split.X_test)
    for name, model in supervised(trees, len(y)).items():
        yield name, model.fit_transform(X, y), model.transform(split.X_test)
    yield from layers(trees, X, y, split.X_test)


def prepare(options, parser):
    options.sources = data.sources(options, options.datasets)


def cell(options, set, labelled, flipped, seed):
    """Accuracy on the test rows of each downstream model on each representation."""
    split = data.split(options.sources[set], seed, options.rows)
    rows = data.nested_subset(split.y, labelled, seed)
    X = _safe_indexing(split.X, rows)
    y = flip_labels(split.y[rows], flipped, seed)
    trees = {"n_estimators": options.n_estimators, "random_state": seed, "n_jobs": options.n_jobs}
    scores = []
    for name, columns, columns_test in representations(trees, split, X, y):
        # Sparse indicator columns stay as they are.
        if not sparse.issparse(columns):
            standardizer = StandardScaler().fit(columns)
            columns, columns_test = map(standardizer.transform, (columns, columns_test))
        for downstream, model in downstream_models(len(y)).items():
            score = model.fit(columns, y).score(columns_test, split.y_test)
            scores.append({"representation": name, "model": downstream, "accuracy": score})
    forest_score = RandomForestClassifier(**trees).fit(X, y).score(split.X_test, split.y_test)
    for downstream in downstream_models(len(y)):
        reference = {"representation": "random-forest-itself", "model": downstream}
        scores.append({**reference, "accuracy": forest_score})
    return {"scores": scores}


BY_SET = """
set labelled flipped model representation accuracy=accuracy:.2%± seeds=n_seeds
"""


def notes(options):
    """Lines that a reader of the tables has to know."""
    return [
        "± is the standard error over sets",
        "* marks p < 0.05 of Wilcoxon's signed ranks over sets, with Holm's correction",
    ]


def differences(values):
    """Return the first representation of each pair minus the second one."""
    pairs = {f"{first} - {second}": values[first] - values[second] for first, second in PAIRS}
    return tables.pd.DataFrame({BASE: 0.0, **pairs})


def compare(long, columns_of=lambda values: values):
    """Compare columns, which are made of accuracies by set, with `BASE` in each condition."""
    parts = []
    for key, rows in long.groupby(["labelled", "flipped", "model"], sort=False):
        values = columns_of(
            rows.pivot_table("accuracy", "set", "representation", aggfunc="mean", sort=False)
        )
        compared = stats.compare_with(values, BASE).set_index("column")
        changes = values.sub(values[BASE], axis=0)
        compared["change"] = changes.mean()
        compared["error"] = changes.sem()
        parts.append(
            compared.reset_index().assign(
                **dict(zip(("labelled", "flipped", "model"), key, strict=True)),
                condition=f"{key[0]} labelled, {key[1]} flipped",
            )
        )
    return tables.pd.concat(parts, ignore_index=True)


def table_of_changes(changes):
    """A row for each compared column, and a column for each condition."""
    cells = [
        f"{100 * change:+.1f} ± {100 * error:.1f}" + "*" * (p < SIGNIFICANT)
        for change, error, p in zip(
            changes["change"], changes["error"], changes["holm_p"], strict=True
        )
    ]
    order = {"index": changes["column"].unique(), "columns": changes["condition"].unique()}
    table = changes.assign(cell=cells).pivot(index="column", columns="condition", values="cell")
    return table.reindex(**order).rename_axis("representation")


def tables_of_model(model, changes, pairs):
    """Changes against the raw columns, with their accuracy in the first row, and of pairs."""
    table = table_of_changes(changes)
    base = changes.groupby("condition")["mean_of_base"].first().map("{:.1%}".format)
    table = tables.pd.concat([base.reindex(table.columns).to_frame(BASE).T, table])
    return [
        tables.Table(
            f"representations-{model}",
            f"accuracy of {model} on the raw columns, and changes against it in points",
            table.rename_axis("representation"),
            changes,
        ),
        tables.Table(
            f"representations-{model}-pairs",
            f"{model}: differences of two representations in points",
            table_of_changes(pairs).rename_axis("pair"),
            pairs,
        ),
    ]


def report(frame, options):
    long = tables.unnest(frame, "scores")
    for name in ("labelled", "flipped"):
        long[name] = long[name].map("{:.0%}".format)
    by_set = tables.means(long, ["set", "labelled", "flipped", "model", "representation"])
    parts = (
        tables_of_model(model, compare(rows), compare(rows, differences))
        for model, rows in long.groupby("model", sort=False)
    )
    return [
        *chain.from_iterable(parts),
        tables.columns("representations-by-set", "mean over seeds", by_set, BY_SET, n_index=5),
    ]


study = Study(
    globals(), "representations", "set=sources labelled=labelled flipped=flipped seed=seeds",
    common=("rows", "n_estimators"), checks={"labelled": share, "flipped": at_least_0},
    datasets=DATASETS, labelled=[0.05, 0.2, 1.0], flipped=[0.0, 0.2], seeds=2, rows=600,
    n_estimators=100,
    quick={"datasets": ["iris"], "labelled": [0.5], "flipped": [0.0], "seeds": 1,
           "n_estimators": 12},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
