"""Compare a cascade with the same one made of scikit-learn's forests: time, memory, accuracy.

    python scripts/bench_cascade.py --quick       the bundled digits, 20 trees; a minute
    python scripts/bench_cascade.py               all data sets; takes about an hour
    python scripts/bench_cascade.py --datasets letter satimage --repeats 5
    python scripts/bench_cascade.py --mnist-full  four layers on all of MNIST, without the peer

Both sides grow the layers of mdDF: 2 random and 2 completely-random forests of 100 trees
(scikit-learn: RandomForestClassifier and ExtraTreesClassifier(max_features=1)) in the same folds,
their out-of-fold class vectors beside the features of the next layer (the mean over forests where
they would outnumber the features), and the rows of that layer drawn by the losses of their
margins; a fixed number of layers. Both get the same numbers (categories as ordinal codes) and one
core, and are measured in turns, each time in a new process. Ratios are the peer's CPU seconds or
bytes over mddf's, the median over the repeats. Memory is the peak of a fit beyond the data, the
model included.
A bracket holds the ratio that the project aims at.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median

import numpy as np
from _lab import cli, measure, tables
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split

from mddf import MDDFClassifier
from mddf._margin_loss import class_margins, margin_loss, reweight

# The ratios that the project aims at: fit, predict_proba, memory.
AIMS = {"adult": (6, 3, 5), "letter": (6, 3, 5), "satimage": (6, 3, 5), "mnist": (4, 3, 5)}
MEASURES = {"fit_seconds": ("fit", 1), "predict_seconds": ("predict", 1),
            "peak_bytes": ("MiB", 2**20)}  # fmt: skip
N_FOLDS = 5
MNIST_ROWS = 10_000


class Peer:
    """The layers of mdDF, made of scikit-learn's forests; all layers count alike.

    With weights, scikit-learn's bootstraps are drawn in proportion to them, as mdDF wants it.
    """

    def __init__(self, n_layers, n_trees, cv, seed):
        self.n_layers, self.n_trees, self.cv, self.seed = n_layers, n_trees, cv, seed

    def _forests(self, rng, drawn):
        completely_random = {"max_features": 1, "bootstrap": drawn}
        for make, options in (
            (RandomForestClassifier, {}),
            (RandomForestClassifier, {}),
            (ExtraTreesClassifier, completely_random),
            (ExtraTreesClassifier, completely_random),
        ):
            yield make(self.n_trees, random_state=int(rng.integers(2**31)), **options)

    def _handed_on(self, X, vectors):
        """What the next layer sees: each forest's vector if there is room, else their mean."""
        n_forests, _, n_classes = vectors.shape
        if n_forests * n_classes > X.shape[1]:
            return np.hstack([X, vectors.mean(axis=0)])
        return np.hstack([X, *vectors])

    def fit(self, X, y):
        """Grow the layers."""
        rng = np.random.default_rng(self.seed)
        self.classes_, labels = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        self.layers_, sums, features, weights = [], 0, X, None
        for _ in range(self.n_layers):
            vectors, layer = np.empty((4, len(y), n_classes)), []
            for train, held_out in self.cv:
                forests = list(self._forests(rng, drawn=weights is not None))
                for forest, vector in zip(forests, vectors, strict=True):
                    given = None if weights is None else weights[train]
                    forest.fit(features[train], labels[train], sample_weight=given)
                    vector[held_out] = forest.predict_proba(features[held_out])
                layer.append(forests)
            self.layers_.append(layer)
            sums = sums + vectors
            z = class_margins(sums.mean(axis=0) / len(self.layers_), labels)
            weights = reweight(margin_loss(z, target_margin=0.9, mu=0.1), 0.25)
            features = self._handed_on(X, sums / len(self.layers_))
        return self

    def predict_proba(self, X):
        """Mean over the layers."""
        sums, features = 0, X
        for number, layer in enumerate(self.layers_, 1):
            folds = ([forest.predict_proba(features) for forest in forests] for forests in layer)
            sums = sums + sum(map(np.array, folds)) / N_FOLDS
            features = self._handed_on(X, sums / number)
        return sums.mean(axis=0) / len(self.layers_)


def part(name, data_home, rows=None):
    """A set's training part, or a stratified part of it, and its test part."""
    data = measure.load(name, data_home)
    if data is None or rows is None or rows >= len(data[1]):
        return data
    X, y, X_test, y_test = data
    X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=0)
    return X, y, X_test, y_test


def measure_side(side, name, data_home, rows, n_layers, n_trees, seed, n_jobs):
    """Fit and predict in this process; returns what it took, or None without the data."""
    data = part(name, data_home, rows)
    if data is None:
        return None
    X, y, X_test, y_test = data
    cv = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y))
    if side == "mddf":
        model = MDDFClassifier(
            n_layers,
            n_estimators=n_trees,
            cv=cv,
            early_stopping=False,
            random_state=seed,
            n_jobs=n_jobs,
        )
    else:
        model = Peer(n_layers, n_trees, cv, seed)
    measure.forget_peak()
    before, wall = measure.resident_bytes(), time.perf_counter()
    fit, _ = measure.cpu_seconds(model.fit, X, y, least=0)
    wall = time.perf_counter() - wall
    memory = None if before is None else measure.peak_bytes() - before
    predict, probabilities = measure.cpu_seconds(model.predict_proba, X_test)
    result = {
        "shape": list(X.shape),
        "fit_seconds": fit,
        "fit_wall_seconds": wall,
        "predict_seconds": predict,
        "peak_bytes": memory,
        "accuracy": float(np.mean(model.classes_[probabilities.argmax(axis=1)] == y_test)),
    }
    if side == "mddf":
        result["layer_seconds"] = model.history_["time"].tolist()
        result["model_bytes"] = len(pickle.dumps(model, protocol=5))
    return result


def in_new_process(*arguments):
    """What `measure_side` returns, from a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure_side, *arguments).result()


def compare(name, options):
    """Both sides in turns; a row of the table, or None without the data."""
    rows = MNIST_ROWS if name == "mnist" else None
    found = {"mddf": [], "peer": []}
    for seed in range(options.repeats):
        for side, results in found.items():
            arguments = (options.data_home, rows, options.n_layers, options.n_estimators, seed, 1)
            results.append(in_new_process(side, name, *arguments))
            if results[-1] is None:
                return None
    row = {"set": f"{name} {' x '.join(map(str, found['mddf'][0]['shape']))}"}
    for (key, (title, scale)), aim in zip(
        MEASURES.items(), AIMS.get(name, (None,) * 3), strict=True
    ):
        if found["peer"][0][key] is None:
            continue
        ours, theirs = ([result[key] / scale for result in found[side]] for side in found)
        row[title], row[f"peer's {title}"] = median(ours), median(theirs)
        row[f"{title} ratio"] = median(b / a for a, b in zip(ours, theirs, strict=True))
        row[f"{title} aim"] = aim
    for side, title in (("mddf", "accuracy %"), ("peer", "peer's accuracy %")):
        row[title] = 100 * float(np.mean([result["accuracy"] for result in found[side]]))
    return row


def run_comparison(options):
    """A table of all sets that are there."""
    rows = [compare(name, options) for name in options.datasets]
    numbers = tables.pd.DataFrame([row for row in rows if row is not None])
    if numbers.empty:
        raise SystemExit("none of the sets is there")
    shown = numbers.drop(columns=[c for c in numbers if c.endswith(" aim")]).set_index("set")
    shown = shown.map("{:.2f}".format)
    for name in [c for c in shown if c.endswith(" ratio")]:
        aims = numbers[name.replace(" ratio", " aim")]
        shown[name] += ["" if aim != aim or aim is None else f" ({aim:g})" for aim in aims]
    title = (
        f"{options.n_layers} layers, 4 x {options.n_estimators} trees in {N_FOLDS} folds, one "
        f"core, CPU seconds,\nMiB; medians of {options.repeats}; ratio: scikit-learn / mddf (aim)"
    )
    return tables.Table("cascade", title, shown, numbers)


def run_mnist_full(options):
    """Four layers of the paper's configuration on all of MNIST."""
    result = in_new_process("mddf", "mnist", options.data_home, None, 4, 100, 0, options.n_jobs)
    if result is None:
        raise SystemExit("MNIST is not there")
    layers = [f"{seconds:.0f}" for seconds in result["layer_seconds"]]
    values = {
        "wall seconds of the layers (aim 240 each)": ", ".join(layers),
        "CPU seconds of the fit": f"{result['fit_seconds']:.0f}",
        "model, GB (aim 3)": f"{result['model_bytes'] / 1e9:.2f}",
        "peak beyond the data, GB": f"{result['peak_bytes'] / 1e9:.2f}",
        "predict_proba of 10000 rows, CPU s": f"{result['predict_seconds']:.1f}",
        "test accuracy %": f"{100 * result['accuracy']:.2f}",
    }
    title = f"MNIST, 60000 x 784, 4 layers of 4 x 100 trees, {options.n_jobs} threads"
    shown = tables.pd.DataFrame(values.items(), columns=["what", "measured"]).set_index("what")
    return tables.Table("mnist", title, shown)


def parse(argv=None):
    return cli.study(
        __doc__,
        "bench_cascade",
        quick={"datasets": ["digits"], "n_estimators": 20},
        **{"datasets": list(AIMS), "n_estimators": 100, "n_layers": 2, "repeats": 3},
        mnist_full=False,
    ).read(argv)


def main(argv=None):
    options = parse(argv)
    make = run_mnist_full if options.mnist_full else run_comparison
    tables.show(options.out, [make(options)])


if __name__ == "__main__":
    main()
