"""Dask collections, and a fit whose worker is killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

# Reading of Parquet files by Dask, with pandas 3.1.
DEPRECATED_IN_DASK = "ignore:The inplace keyword in DataFrame.reset_index"


def made_array(n=300, seed=0):
    """Rows with missing numbers, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 6, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X) @ [1, 0.3, -1, 0, 0] + rng.normal(0, 0.3, n)


def chunked(X, y, chunks):
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=(chunks,))


def assert_that_a_killed_worker_ends_the_fit(model, n_workers, **fewer):
    """The fit ends with an error; the next one, with fewer trees, has all workers again."""
    collections = chunked(*made_array(20_000), (10_000, 10_000))
    with distributed.Client(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        pid = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(5, os.kill, (pid, signal.SIGKILL))  # the fit is then at work
        killer.start()
        start = time.monotonic()
        with pytest.raises((RuntimeError, ConnectionError), match="ended"):
            model.fit(*collections)
        killer.join()
        assert time.monotonic() - start < 60
        assert not hasattr(model, "estimator_")
        # The other worker is free at once, and the dead one is replaced.
        client.wait_for_workers(n_workers, timeout=60)
        model.set_params(**fewer).fit(*collections)
