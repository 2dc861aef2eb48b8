"""Going through the cells of run_uci.py: sets, seeds and methods."""

from __future__ import annotations

import time
import traceback

import numpy as np
from _uci_data import splits
from _uci_methods import ALL_METHODS, details
from threadpoolctl import threadpool_limits

from mddf import datasets


def key(name, seed, method) -> str:
    """What a result is kept under."""
    return f"{name}/{method}/{seed}"


def run_cell(name, method, seed, split, budget) -> dict:
    """Fit, predict and score."""
    model = ALL_METHODS[method].make(budget, split.X, seed)
    with threadpool_limits(budget.library_threads(len(split.y)), user_api="blas"):
        start = time.perf_counter()
        model.fit(split.X, split.y)
        fitted = time.perf_counter()
        predicted = model.predict(split.X_test)
        done = time.perf_counter()
    return {
        "dataset": name,
        "method": method,
        "seed": seed,
        "accuracy": float(np.mean(predicted == split.y_test)),
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "n_train": len(split.y),
        "n_test": len(split.y_test),
        "layers": getattr(model, "n_layers_", None),
        "details": details(model),
    }


class Run:
    """Goes through sets, seeds and methods; keeps what is done and notes what is not."""

    def __init__(self, record, budget, methods, data_home, revision, bar):
        self.record = record
        self.budget = budget
        self.methods = methods
        self.data_home = data_home
        self.revision = revision
        self.bar = bar
        self.n_found = 0
        self.left_out: dict[str, str] = {}
        self.failures: list[dict] = []

    def dataset(self, name, seeds):
        """All cells of a set that are not there yet."""
        wanted = [(seed, method) for seed in seeds for method in self.methods]
        todo = [cell for cell in wanted if key(name, *cell) not in self.record.results]
        self.n_found += len(wanted) - len(todo)
        self.bar.update(len(wanted) - len(todo))
        if not todo:
            return
        try:
            for seed, split in splits(name, sorted({seed for seed, _ in todo}), self.data_home):
                for method in (method for s, method in todo if s == seed):
                    self._cell(name, method, seed, split)
        except (datasets.DataFileNotFoundError, ImportError) as error:
            self.left_out[name] = str(error)
            self.bar.total -= len(todo)
            self.bar.write(f"{name}: left out: {str(error).splitlines()[0]}")
        except datasets.DataFileError as error:
            self.bar.total -= len(todo)
            self._failed(name, error)

    def _cell(self, name, method, seed, split):
        title = f"{name}, {ALL_METHODS[method].title}, seed {seed}"
        self.bar.set_description(title)

        def compute():
            result = run_cell(name, method, seed, split, self.budget)
            return {**result, "revision": self.revision}

        try:
            self.record.get(key(name, seed, method), compute)
        except Exception as error:  # one failure must not cost the hours of the others
            self._failed(title, error)
        self.bar.update()

    def _failed(self, title, error):
        trace = "".join(traceback.format_exception(error))
        self.failures.append({"cell": title, "error": f"{error!r}", "traceback": trace})
        self.bar.write(f"FAILED: {title}: {type(error).__name__}: {error!s}")
