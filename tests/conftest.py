import gc
import importlib
import importlib.util
import os
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import limits
import pytest
from threadpoolctl import ThreadpoolController

HOME = os.environ.get("MDDF_DATA_HOME")
# Packages that "mddf[test]" has in addition to "mddf[test-core]". Tests that need one are skipped
# where it is not installed.
FURTHER_PACKAGES = [
    "baycomp",
    "catboost",
    "dask",
    "distributed",
    "fastapi",
    "jinja2",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "playwright",
    "pooch",
    "ray",
    "scikit_posthocs",
    "shap",
    "skimage",
    "skops",
    "statsmodels",
    "treelite",
    "xgboost",
]
MISSING = {name for name in FURTHER_PACKAGES if importlib.util.find_spec(name) is None}


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Collect no doctests of tests: they hide a file that cannot be imported."""
    collectors = yield
    return [one for one in collectors if type(one).__name__ != "DoctestModule"]


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="also run tests marked slow")


def pytest_configure(config):
    if importlib.util.find_spec("hypothesis"):
        from hypothesis import settings

        # A busy machine takes longer than the 200 ms that hypothesis allows for an example. The
        # examples are the same in every run, except with --run-slow, which looks for new ones.
        is_fixed = not config.getoption("--run-slow")
        settings.register_profile("mddf", deadline=None, derandomize=is_fixed)
        settings.load_profile("mddf")
    # Background jobs of a shell ignore Ctrl-C; processes started by the tests would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # shap's few loops take less time than to compile them.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    # Threads of BLAS and OpenMP burn time while they wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each process consecutive tests, which share fixtures and imports."""
    if config.option.dist != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("--run-slow"):
        return
    slow = [item for item in items if "slow" in item.keywords]
    if slow and len(slow) < len(items):
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]
    for item in slow:  # of a run of slow tests alone, which says why it runs none
        item.add_marker(pytest.mark.skip(reason="slow: needs --run-slow"))


def pytest_report_header(config):
    if not config.getoption("--run-slow"):
        return "slow tests are left out: --run-slow runs them"


def missing_package(error):
    """Return the name of a missing package that caused an error, or None."""
    text = str(error)
    if 'pip install "mddf[' in text:
        return next((name for name in MISSING if name in text), None)
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in MISSING:
            return package
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except (ImportError, SystemExit) as error:
        if package := missing_package(error):
            pytest.skip(f'needs {package}: pip install "mddf[test]"')
        raise


@pytest.fixture(scope="session")
def data_home():
    """Folder with the real data sets from MDDF_DATA_HOME; skips the test without it."""
    if not HOME or not Path(HOME).is_dir():
        pytest.skip("real data: set MDDF_DATA_HOME to a folder with the data sets")
    return Path(HOME)


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Close figures: matplotlib warns when more than twenty are open."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(autouse=True)
def only_data_that_is_asked_for(request, monkeypatch, tmp_path_factory):
    """Tests that use real data without the fixture `data_home` fail everywhere."""
    if "data_home" not in request.fixturenames:
        monkeypatch.setenv("MDDF_DATA_HOME", str(tmp_path_factory.getbasetemp() / "no data"))


@pytest.fixture
def script(monkeypatch):
    """Import a script by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scripts"))
    return importlib.import_module


@pytest.fixture
def every_layer_helps(monkeypatch):
    """Let deep forests keep all grown layers, whatever their scores."""
    limits.change(monkeypatch, a_layer_helps=lambda gain, error: True)


@pytest.fixture
def every_layer_is_grown(every_layer_helps, monkeypatch):
    """Let deep forests grow and keep all layers, even without forests in the vote."""
    limits.change(monkeypatch, forests_have_weight=lambda _: True)


@pytest.fixture
def few_rounds(monkeypatch):
    """Let the boosting of deep forests end after 40 rounds."""
    limits.limit_rounds_of_members(monkeypatch, 40)


@pytest.fixture
def two_threads():
    """Let BLAS, and OpenMP in this thread, use two threads, whatever the environment says."""
    # The thread that limits BLAS owns this limit, and others cannot change it while it lives.
    libraries = ThreadpoolController()
    blas, openmp = (libraries.select(user_api=api) for api in ("blas", "openmp"))
    with ThreadPoolExecutor() as pool:
        limiter = pool.submit(blas.limit, limits=2).result()
    with openmp.limit(limits=2):
        yield
    with ThreadPoolExecutor() as pool:
        pool.submit(limiter.restore_original_limits).result()


@pytest.fixture
def without_collections():
    """Ctrl-C would be lost in a callback of the garbage collector, such as hypothesis sets."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def time_limit():
    """Stop tests that hang."""

    def stop(*_):
        raise TimeoutError("the test took more than a quarter of an hour")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(900)  # against waiting for ever; beside other work five minutes are too short
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def dask():
    """A client of two worker processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    import dask as dask_itself

    with (
        # Or a worker's place is given up that is empty this long after its loss, by a second one.
        dask_itself.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patch:
        # Workers import from where Ray was started, which must not be the sources.
        patch.chdir(tmp_path_factory.mktemp("ray"))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # else it writes a token into the home folder
        ray.init(
            num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2**27
        )
        register_ray()
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def spark():
    """A Spark session on two local cores."""
    joblibspark = pytest.importorskip("joblibspark", reason='needs "mddf[spark]"')
    pyspark = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    builder = pyspark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with pytest.MonkeyPatch.context() as patch:
        # By default workers run the first `python3` of the path, which may lack joblib.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        with builder.config("spark.driver.host", "127.0.0.1").getOrCreate() as session:
            joblibspark.register_spark()
            yield session
