"""Compare a cascade with the same one made of scikit-learn's forests: time, memory, accuracy.

    python scripts/bench_cascade.py --quick       the bundled digits, 20 trees; a minute
    python scripts/bench_cascade.py               all data sets; takes about an hour
    python scripts/bench_cascade.py --only letter satimage --repeats 5
    python scripts/bench_cascade.py --mnist-full  four layers on all of MNIST, without the peer

Both sides grow the layers of mdDF: 2 random and 2 completely-random forests of --trees trees
(scikit-learn: RandomForestClassifier and ExtraTreesClassifier(max_features=1)) in the same folds,
their out-of-fold class vectors beside the features of the next layer (the mean over forests where
they would outnumber the features), and the rows of that layer drawn by the losses of their
margins; a fixed number of layers. Both get the same numbers (categories as ordinal codes) and one
core, and are measured in turns, each time in a new process. Ratios are the peer's CPU seconds or
bytes over mddf's, the median over the repeats. Memory is the peak of a fit beyond the data, the
model included.
Real sets are looked for in --data-home or MDDF_DATA_HOME.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from _measure import BUNDLED, cpu_seconds, forget_peak, load, resident_bytes
from _results import provenance, write_json
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split

from mddf import MDDFClassifier
from mddf._margin_loss import class_margins, margin_loss, reweight

# The ratios that the project aims at: fit, predict_proba, memory.
AIMS = {
    "adult": (6, 3, 5),
    "letter": (6, 3, 5),
    "satimage": (6, 3, 5),
    "mnist": (4, 3, 5),
}
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
    data = load(name, data_home)
    if data is None or rows is None or rows >= len(data[1]):
        return data
    X, y, X_test, y_test = data
    X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=0)
    return X, y, X_test, y_test


def measure(side, name, data_home, rows, n_layers, n_trees, seed, n_jobs):
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
    forget_peak()
    before, wall = resident_bytes(), time.perf_counter()
    fit, _ = cpu_seconds(model.fit, X, y, least=0)
    wall = time.perf_counter() - wall
    memory = None if before is None else resident_bytes("VmHWM") - before
    predict, probabilities = cpu_seconds(model.predict_proba, X_test)
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
    """What `measure` returns, from a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def compare(name, options, n_trees):
    """Both sides in turns; a dict of what was measured, or None without the data."""
    rows = MNIST_ROWS if name == "mnist" else None
    found = {"mddf": [], "peer": []}
    for seed in range(options.repeats):
        for side, results in found.items():
            arguments = (options.data_home, rows, options.layers, n_trees, seed, 1)
            results.append(in_new_process(side, name, *arguments))
            if results[-1] is None:
                return None
    ratios = {
        key: [b[key] / a[key] for a, b in zip(found["mddf"], found["peer"], strict=True)]
        for key in ("fit_seconds", "predict_seconds", "peak_bytes")
        if found["peer"][0][key] is not None
    }
    return {"set": name, "ratios": ratios, **found}


def show(result):
    """A line for one set."""
    aims = dict(
        zip(
            ("fit_seconds", "predict_seconds", "peak_bytes"),
            AIMS.get(result["set"], ()),
            strict=False,
        )
    )

    def middle(side, key):
        return median(r[key] for r in result[side])

    cells = []
    for key, ratios in result["ratios"].items():
        scale, digits = (2**20, 0) if key == "peak_bytes" else (1, 2)
        ours, theirs = (middle(side, key) / scale for side in ("mddf", "peer"))
        aim = f"/{aims[key]}" if key in aims else "  "
        cells.append(f"{ours:8.{digits}f} {theirs:8.{digits}f} {median(ratios):6.1f}{aim}")
    rows, columns = result["mddf"][0]["shape"]
    accuracy = [100 * float(np.mean([r["accuracy"] for r in result[s]])) for s in ("mddf", "peer")]
    print(
        f"{result['set'] + f' {rows} x {columns}':24s}{'  '.join(cells)}"
        f"   {accuracy[0]:6.2f} {accuracy[1]:6.2f}",
        flush=True,
    )


def run_comparison(options):
    names = options.only or (["digits"] if options.quick else list(AIMS))
    n_trees = options.trees or (20 if options.quick else 100)
    print(
        f"{options.layers} layers, 4 x {n_trees} trees in {N_FOLDS} folds, one core, CPU seconds, "
        f"MiB; medians of {options.repeats}; ratio: scikit-learn / mddf, with its aim\n"
        f"{'':24s}{'fit':>8s} {'peer':>8s} {'ratio':>6s}    {'predict':>8s} {'peer':>8s} "
        f"{'ratio':>6s}    {'memory':>8s} {'peer':>8s} {'ratio':>6s}     {'acc %':>6s} "
        f"{'peer':>6s}"
    )
    results = []
    for name in names:
        result = compare(name, options, n_trees)
        if result is not None:
            results.append(result)
            show(result)
    return results


def run_mnist_full(options):
    """Four layers of the paper's configuration on all of MNIST."""
    result = in_new_process("mddf", "mnist", options.data_home, None, 4, 100, 0, options.n_jobs)
    if result is not None:
        layers = ", ".join(f"{seconds:.0f}" for seconds in result["layer_seconds"])
        print(
            f"MNIST, 60000 x 784, 4 layers of 4 x 100 trees in {N_FOLDS} folds, "
            f"{options.n_jobs} threads:\n"
            f"  wall seconds of the layers: {layers} (aim 240 each); CPU seconds of the fit: "
            f"{result['fit_seconds']:.0f}\n"
            f"  model {result['model_bytes'] / 1e9:.2f} GB (aim 3); peak beyond the data "
            f"{result['peak_bytes'] / 1e9:.2f} GB\n"
            f"  predict_proba of 10000 rows: {result['predict_seconds']:.1f} CPU s; "
            f"test accuracy {100 * result['accuracy']:.2f} %"
        )
    return result


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the bundled digits, 20 trees")
    parser.add_argument("--only", nargs="+", choices=[*BUNDLED, *AIMS], metavar="SET")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--layers", type=int, default=2, help="default: 2")
    parser.add_argument("--trees", type=int, help="of a forest (default: 100)")
    parser.add_argument("--mnist-full", action="store_true", help="only this")
    parser.add_argument("--n-jobs", type=int, default=2, help="of --mnist-full (default: 2)")
    parser.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
    parser.add_argument("--out", default="results", help="folder of bench_cascade.json")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse(argv)
    origin = provenance(options)
    print("  ".join(f"{name} {version}" for name, version in origin["versions"].items()))
    report = {"provenance": origin}
    if options.mnist_full:
        report["mnist_full"] = run_mnist_full(options)
    else:
        report["sets"] = run_comparison(options)
    path = Path(options.out) / f"bench_cascade{'_mnist' if options.mnist_full else ''}.json"
    write_json(path, report)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
