"""Limits of library threads, set by several Python threads at once."""

from threading import Barrier, Thread

import numpy as np
import pytest
from mddf.baselines import GCForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController

# Made once: whoever looks for libraries changes their limits for a moment, as other threads see.
LIBRARIES = ThreadpoolController()
OPENMP = LIBRARIES.select(user_api="openmp")


def limits(user_api="blas") -> set:
    """Limits of BLAS (for the process) or of OpenMP (for this thread)."""
    result = LIBRARIES.select(user_api=user_api).lib_controllers
    assert result
    return {library.num_threads for library in result}


def inside() -> set:
    return limits("blas") | limits("openmp")


@pytest.fixture(autouse=True)
def limits_stay(two_threads):
    assert (limits(), limits("openmp")) == ({2}, {2})
    yield
    assert (limits(), limits("openmp")) == ({2}, {2})


def in_threads(*functions):
    result = [None] * len(functions)

    def work(i):
        with OPENMP.limit(limits=2):  # a new thread has the environment's
            result[i] = functions[i]()

    threads = [Thread(target=work, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return result


class Meeting(LogisticRegression):
    """Waits for another fit, and records the limits at that time."""

    met = Barrier(2, timeout=60)
    thread_counts: list = []

    def fit(self, X, y, sample_weight=None):
        self.met.wait()
        super().fit(X, y, sample_weight)
        self.met.wait()
        self.thread_counts.append(inside())
        return self


def test_two_fits_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2

    def fit():
        GCForestClassifier(1, forests=[Meeting()], cv=2, n_jobs=1).fit(X, y)

    in_threads(fit, fit)
    assert Meeting.thread_counts == [{1}] * len(Meeting.thread_counts)
    assert len(Meeting.thread_counts) >= 4
