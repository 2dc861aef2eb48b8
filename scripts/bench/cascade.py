"""Compare mdDF with the same cascade of scikit-learn forests: time, memory, accuracy.

    python scripts/bench/cascade.py --quick       the bundled digits, 20 trees; a minute
    python scripts/bench/cascade.py               all data sets; takes about an hour
    python scripts/bench/cascade.py --datasets letter satimage --repeats 5
    python scripts/bench/cascade.py --alone --datasets mnist --rows 60000 --n-layers 4 --repeats 1

The last command measures all rows of MNIST, without the peer and with all cores (targets: 240
seconds of wall time for a layer, 3 GB for the model); otherwise MNIST has 10000 rows. Both sides
get the same numbers (categories as codes), folds and one core. They are measured in turns, each
time in a new process. Ratios are medians of the peer's figure divided by that of mddf; brackets
hold the target ratio. Memory is the peak of a fit above the memory of the data, with the model.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, data, tables
from _lab.study import Study

from mddf import MDDFClassifier
from mddf._layers.margin_loss import class_margins, margin_loss, reweight

AIMS = {
    (name,): {"fit_s_ratio": 8, "predict_s_ratio": 4.5, "MiB_ratio": 5}
    for name in ("adult", "letter", "satimage", "mnist")
}
N_FOLDS = 5


class Peer:
    """The layers of mdDF with forests of scikit-learn; all layers have the same weight.

    Bootstraps of scikit-learn are drawn in proportion to the sample weights, as in mdDF.
    """

    def __init__(self, n_layers, n_trees, cv, seed):
        self.n_layers, self.n_trees, self.cv, self.seed = n_layers, n_trees, cv, seed

    def _forests(self, rng, drawn):
        extra = partial(ExtraTreesClassifier, max_features=1, bootstrap=drawn)
        kinds = (RandomForestClassifier, RandomForestClassifier, extra, extra)
        return [make(self.n_trees, random_state=int(rng.integers(2**31))) for make in kinds]

    def _augmented(self, X, vectors):
        """Return the input of the next layer.

        It has the vector of each forest, or their mean if the vectors outnumber the columns.
        """
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
                forests = self._forests(rng, drawn=weights is not None)
                for forest, vector in zip(forests, vectors, strict=True):
                    train_weights = None if weights is None else weights[train]
                    forest.fit(features[train], labels[train], sample_weight=train_weights)
                    vector[held_out] = forest.predict_proba(features[held_out])
                layer.append(forests)
            self.layers_.append(layer)
            sums = sums + vectors
            z = class_margins(sums.mean(axis=0) / len(self.layers_), labels)
            weights = reweight(margin_loss(z, target_margin=0.9, mu=0.1), 0.25)
            features = self._augmented(X, sums / len(self.layers_))
        return self

    def predict_proba(self, X):
        """Return the mean of the probabilities over the layers."""
        sums, features = 0, X
        for number, layer in enumerate(self.layers_, 1):
            folds = ([forest.predict_proba(features) for forest in forests] for forests in layer)
            sums = sums + sum(map(np.array, folds)) / N_FOLDS
            features = self._augmented(X, sums / number)
        return sums.mean(axis=0) / len(self.layers_)


def measure(side, options, name, seed):
    """Fit and predict in this process."""
    rows = options.rows or {"mnist": 10_000}.get(name)
    split = data.codes(name, options.data_home, rows)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    cv = list(folds.split(split.X, split.y))
    if side == "peer":
        return bench.fit_cost(Peer(options.n_layers, options.n_estimators, cv, seed), split)
    model = MDDFClassifier(
        options.n_layers,
        n_estimators=options.n_estimators,
        cv=cv,
        early_stopping=False,
        random_state=seed,
        n_jobs=options.n_jobs if options.alone else 1,
    )
    costs = bench.fit_cost(model, split)
    seconds = float(np.max(model.history_["time"]))
    return {**costs, "s_a_layer": seconds} if options.alone else costs


def cell(options, set):
    sides = [
        partial(bench.in_new_process, measure, side, options, set)
        for side in (("mddf",) if options.alone else ("mddf", "peer"))
    ]
    n_rows, n_columns = data.codes(set, options.data_home).X.shape
    return {"columns": n_columns, "rows": n_rows} | bench.in_turns(sides, options.repeats)


LAYOUT = """
set columns fit_s:.2f peer's_fit=peer_fit_s:.2f ratio=fit_s_ratio predict_s:.2f
peer's_predict=peer_predict_s:.2f ratio_=predict_s_ratio MiB:.0f peer's_MiB=peer_MiB:.0f
ratio__=MiB_ratio accuracy:.2f peer's_accuracy=peer_accuracy:.2f wall_s:.1f
layer,_at_most=s_a_layer:.1f pickle_bytes:.3g
"""


def report(frame, options):
    title = (
        f"{options.n_layers} layers, 4 x {options.n_estimators} trees in {N_FOLDS} folds, CPU "
        f"seconds, MiB;\nmedians of {options.repeats}; ratio: scikit-learn / mddf (aim)"
    )
    rows = bench.with_aims(frame, ["set"], AIMS)
    return [tables.columns("cascade", title, rows, LAYOUT, numbers=frame)]


study = Study(
    globals(), "bench_cascade", "set=datasets",
    ("n_estimators", "n_layers", "repeats", "rows", "alone"), fresh=True,
    datasets=[name for (name,) in AIMS], n_estimators=100, n_layers=2, repeats=3, rows=None,
    alone=False, quick={"datasets": ["digits"], "n_estimators": 20},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
