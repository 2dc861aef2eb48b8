"""Errors and interrupts end parallel work cleanly; joblib's backends change no bit."""

import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from forest_cases import FORESTS, three_classes
from joblib import parallel_config
from mddf.baselines import AdaBoostClassifier, GCForestClassifier, MultiGrainedScanner
from tqdm import tqdm

from mddf import MDDFClassifier, RandomForestClassifier

# What is interrupted after a while, and how long it had to go on otherwise: for minutes.
PREPARED = """
    import os, signal, sys, threading, time
    import numpy as np
    from mddf import RandomForestClassifier, CompletelyRandomForestClassifier
    from mddf import GradientBoostingClassifier, GradientBoostingRegressor
    from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier
    # Background processes may ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40000, 20)), rng.integers(0, 2, 40000)
"""
WORK = {
    "one job": "f = RandomForestClassifier(2000).fit",
    "two jobs": "f = RandomForestClassifier(2000, n_jobs=2).fit",
    "all columns": "f = RandomForestClassifier(2000, max_features=None, n_jobs=2).fit",
    "completely random": "f = CompletelyRandomForestClassifier(9000, n_jobs=2).fit",
    "many draws": "f = RandomForestClassifier(9, max_samples=2**31 - 2, n_jobs=2).fit",
    "prediction": """
        model = RandomForestClassifier(20, n_jobs=2).fit(X, y)
        many = np.tile(X, (100, 1))
        f = lambda X, y: [model.predict_proba(many) for _ in range(99)]
    """,
    "leaves": """
        model = RandomForestClassifier(20).fit(X, y)
        many = np.tile(X, (40, 1))
        f = lambda X, y: [model.apply(many) for _ in range(99)]
    """,
    "binning": """
        many = rng.normal(size=(1_000_000, 40))
        model = GradientBoostingRegressor(max_iter=1, early_stopping=False, n_jobs=2)
        f = lambda X, y: [model.fit(many, many[:, 0]) for _ in range(99)]
    """,
    "gradient boosting": """
        f = GradientBoostingRegressor(max_iter=30_000, n_iter_no_change=30_000).fit
    """,
    "gradient boosting, two jobs": """
        options = {"max_iter": 30_000, "early_stopping": False}
        f = GradientBoostingRegressor(grow_policy="leaf-wise", n_jobs=2, **options).fit
    """,
    "gradient boosting, scoring": """
        options = {"max_iter": 30_000, "n_iter_no_change": 30_000}
        f = GradientBoostingClassifier(scoring="roc_auc", **options).fit
    """,
    "gradient boosting, prediction": """
        model = GradientBoostingRegressor(max_iter=500, n_jobs=2).fit(X[:2000], y[:2000])
        many = np.tile(X, (100, 1))
        f = lambda X, y: [model.predict(many) for _ in range(99)]
    """,
    "AdaBoost": "f = AdaBoostClassifier(100_000, max_depth=6).fit",
    "DeepBoost": "f = DeepBoostClassifier(100_000, max_depth=6).fit",
    "QuadBoost": """
        from mddf import _core
        values, signs = rng.choice(np.array([-1, 1], "i1"), (1000, 40000)), 2.0 * y - 1
        arguments = values, signs, np.full(40000, 1 / 40000), "l2", 1e-3, 1.0, 10**6, 0.0, abs
        f = lambda X, y: [_core.quadboost_path(*arguments) for _ in range(999)]
    """,
    "networks": """
        from mddf import _core
        few, many = X.astype("f4"), y.astype("f4")[:, None]
        arguments = few, many, None, 64, 2, 1000, 128, 0.01, 0.1, 0.0, False, 0
        f = lambda X, y: _core.train_network(*arguments)
    """,
    "layers of networks": """
        from mddf import _core
        weights = np.ones((20, 512), "f4")
        f = lambda X, y: [_core.dense_layer(X, weights, weights[0], True) for _ in range(999)]
    """,
}
INTERRUPTED = """
    sent = []
    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer({delay}, interrupt).start()
    try:
        f(X, y)
    finally:
        print(time.process_time() - sent[0])
"""


def run(*parts):
    script = "".join(textwrap.dedent(part) + "\n" for part in parts)
    return subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=600
    )


def interrupted(work, delay=0.7):
    """CPU seconds until a process ends after a signal; it must end like Python does."""
    done = run(PREPARED, work, INTERRUPTED.format(delay=delay))
    assert done.returncode == -signal.SIGINT, done.stderr
    assert done.stderr.strip().endswith("KeyboardInterrupt")
    return float(done.stdout)


# In the second fit, by the second signal, the process ends.
TWICE = """
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        RandomForestClassifier(2000).fit(X, y)
    except KeyboardInterrupt:
        f = RandomForestClassifier(2000, n_jobs=2).fit
"""


# Of two threads that boost, the main one may be the one that helps.
@pytest.mark.parametrize("work", [TWICE, WORK["gradient boosting, two jobs"]])
def test_interrupt(work):
    # 0.03 s are usual; the rest of the work takes more than a minute
    assert interrupted(work, delay=0.5) < 10


@pytest.mark.slow
@pytest.mark.parametrize("work", WORK)
def test_interrupt_anything_several_times(work):
    assert np.median([interrupted(WORK[work], delay) for delay in (0.8, 1.1, 1.5)]) < 0.3


# Predictions that take seconds are interrupted; later predictions are unchanged.
USABLE = """
    import joblib, tempfile
    from mddf import MDDFClassifier
    from mddf.baselines import MultiGrainedScanner
    X, y = X[:2000], y[:2000]
    many = np.tile(X, (300, 1))
    forest = RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(forest, folder + "/forest")
        mapped = joblib.load(folder + "/forest", mmap_mode="r")
    cascade = MDDFClassifier(2, n_estimators=5, cv=2, n_jobs=2, random_state=0).fit(X, y)
    scanner = MultiGrainedScanner([3], n_estimators=5, cv=2, n_jobs=2, random_state=0).fit(X, y)
    boosted = AdaBoostClassifier(20, max_depth=3).fit(X, y)
    gradient = GradientBoostingClassifier(max_iter=50, n_jobs=2).fit(X, y)
    for model, ask in (
        (forest, forest.predict_proba),
        (mapped, mapped.predict_proba),
        (cascade, cascade.predict_proba),
        (scanner, scanner.transform),
        (boosted, boosted.predict_proba),
        (gradient, gradient.predict_proba),
    ):
        before = None if model is mapped else ask(X[:99])
        threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                ask(many)
        except KeyboardInterrupt:
            pass
        expected = forest.predict_proba(X[:99]) if before is None else before
        assert np.array_equal(ask(X[:99]), expected), model
    print("usable")
"""


def test_an_interrupted_prediction_leaves_the_model_usable():
    done = run(PREPARED, USABLE)
    assert done.stdout == "usable\n", done.stderr


# One piece fails while others run; then everything goes on.
FAILING = """
    from mddf._trees import grower
    whole = grower._grow_piece
    X, y = X[:2000], y[:2000]
    for Error in (ValueError, MemoryError):
        calls = []
        def grow_piece(*arguments, **options):
            calls.append(1)
            if len(calls) == 3:
                raise Error("on purpose")
            return whole(*arguments, **options)
        grower._grow_piece = grow_piece
        try:
            RandomForestClassifier(400, n_jobs=2).fit(X, y)
        except Error as error:
            print(error)
        model = RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, y)
        print((model.predict(X) == y).mean())
"""


def test_an_error_in_one_worker():
    done = run(PREPARED, FAILING)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split()
    assert lines[:2] == lines[3:5] == ["on", "purpose"]
    assert min(float(lines[2]), float(lines[5])) > 0.9


@pytest.mark.slow
def test_threads_that_still_grow_when_python_ends():
    work = """
        for _ in range(3):
            fit = RandomForestClassifier(2000).fit
            threading.Thread(target=fit, args=(X, y), daemon=True).start()
        time.sleep(1)
        print("ends")
    """
    done = run(PREPARED, work)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ends\n"


# Backends


def grown_bits(backend):
    X, y = three_classes()
    bits = []
    with parallel_config(backend, n_jobs=2):
        for Forest in FORESTS:
            forest = Forest(25, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
            bits += [forest.predict_proba(X), forest.oob_decision_function_]
            bits += [forest.feature_importances_, forest.apply(X)]
    return bits


def cascade_bits(backend):
    X, y = three_classes()
    bits = []
    with parallel_config(backend, n_jobs=2):
        for Cascade in (MDDFClassifier, GCForestClassifier):
            model = Cascade(n_estimators=5, n_layers=2, random_state=0).fit(X, y)
            bits += [model.predict_proba(X), model.feature_importances_]
    return bits


def scanner_bits(backend):
    X, y = three_classes()
    with parallel_config(backend, n_jobs=2):
        scanner = MultiGrainedScanner(n_estimators=5, random_state=0)
        return [scanner.fit_transform(X, y), scanner.transform(X[1:])]


@pytest.mark.parametrize(
    ("backend", "bits"),
    [
        ("multiprocessing", grown_bits),
        ("loky", grown_bits),
        pytest.param("multiprocessing", cascade_bits, marks=pytest.mark.slow),
        pytest.param("loky", cascade_bits, marks=pytest.mark.slow),
        pytest.param("multiprocessing", scanner_bits, marks=pytest.mark.slow),
        pytest.param("loky", scanner_bits, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_backends_give_the_same_bits(backend, bits):
    for other, threads in zip(bits(backend), bits("threading"), strict=True):
        assert np.array_equal(other, threads)


def test_a_large_table_is_sent_to_processes():
    """Processes receive large arrays as read-only memory-mapped files."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 20)), rng.integers(0, 2, 60_000)
    forest = RandomForestClassifier(4, max_depth=5, random_state=0)
    expected = forest.fit(X, y).predict_proba(X[:100])
    with parallel_config("loky", n_jobs=2):
        assert np.array_equal(forest.fit(X, y).predict_proba(X[:100]), expected)


@pytest.mark.parametrize("has_bar", [False, True])
def test_a_lock_that_a_killed_process_held_stops_no_work_without_a_bar(has_bar):
    X, y = three_classes()
    held, fitted = threading.Event(), threading.Event()

    def hold():
        with tqdm.get_lock():
            held.set()
            fitted.wait(300)

    def fit():
        MDDFClassifier(1, n_estimators=2, verbose=2 * has_bar).fit(X, y)
        AdaBoostClassifier(n_estimators=2, verbose=has_bar).fit(np.nan_to_num(X), y)
        fitted.set()

    threads = [threading.Thread(target=work, daemon=True) for work in (hold, fit)]
    threads[0].start()
    held.wait()
    threads[1].start()
    assert fitted.wait(1 if has_bar else 300) != has_bar
    fitted.set()
    for thread in threads:
        thread.join()
