"""Files of `mddf.save`: whole, checked, the same bytes for the same model."""

import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import FunctionTransformer
from small_models import labels, says, table
from stored_cases import fit, fitted

import mddf
from mddf import MDDFClassifier, RandomForestClassifier
from mddf.explain import tree_arrays

resource = pytest.importorskip("resource", reason="Windows has no limits of file size")
# Fits without functions among their parameters, which files hold only with the user's trust.
MODELS = [
    "RandomForestClassifier",
    "CompletelyRandomForestClassifier, weighted",
    "RandomForestRegressor, targets kept",
    "CompletelyRandomForestRegressor",
    "MDDFClassifier, frame",
    "MDDFClassifier, out-of-bag",
    "MDDFClassifier, refit",
    "MDDFClassifier, others",
    "MDDFClassifier, rules",
    "GCForestClassifier, numbers",
    "GCForestClassifier, rules",
    "stacking",
    "no-preconc",
    "stagewise",
    "mean-margin",
    "regions",
    "groups",
    "labels, hamming-loss",
    "labels, one-error",
    "deep forest, refit=True",
    "deep forest, refit=False",
    "deep forest, own members",
    "deep forest, network",
    "deep forest, several outputs, named members",
    "deep forest, several outputs, own members",
    "deep regressor, refit=True",
    "deep regressor, refit=False",
    "deep regressor, own members",
    "deep regressor, boosted",
    "AdaBoostClassifier",
    "DeepBoostClassifier",
    "LPBoostClassifier",
    "QuadBoostClassifier",
    "gradient boosting, leaf-wise",
    "gradient boosting, regressor",
    "gradient boosting, several outputs",
    "gradient boosting, linear leaves",
    "scanner",
    "scanner, pooling",
]
pytestmark = pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning")


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(table("numbers"), labels())


@pytest.fixture
def path(forest, tmp_path):
    mddf.save(forest, tmp_path / "forest.mddf")
    return tmp_path / "forest.mddf"


@pytest.mark.parametrize("name", MODELS)
def test_files_hold_the_same_model_for_any_number_of_threads(name, tmp_path):
    model, X, predictions = fitted(name)
    before = mddf.fingerprint(model)
    mddf.save(model, tmp_path / "a.mddf")
    for mapped in (False, True):
        again = mddf.load(tmp_path / "a.mddf", mapped=mapped)
        assert vars(again).keys() == vars(model).keys()
        assert np.array_equal(says(again, X), predictions)
        mddf.save(again, tmp_path / "b.mddf")
        assert (tmp_path / "a.mddf").read_bytes() == (tmp_path / "b.mddf").read_bytes()
        assert mddf.fingerprint(again) == before
    has_threads = "n_jobs" in model.get_params()
    with parallel_config("threading"):  # processes of joblib would have to start for each model
        same = fit(name, **({"n_jobs": 3} if has_threads else {}))
    assert mddf.fingerprint(same) == before
    assert np.array_equal(says(same, X), predictions)
    if not hasattr(model, "history_"):  # which holds times
        mddf.save(same.set_params(n_jobs=None) if has_threads else same, tmp_path / "b.mddf")
        assert (tmp_path / "a.mddf").read_bytes() == (tmp_path / "b.mddf").read_bytes()


def test_fingerprints_tell_models_apart(forest):
    X = table("numbers")
    other = clone(forest).set_params(random_state=1).fit(X, labels())
    assert mddf.fingerprint(other) != mddf.fingerprint(forest)
    assert mddf.fingerprint(clone(forest)) != mddf.fingerprint(forest)


def test_splitters_need_no_trust_and_functions_do(tmp_path):
    pytest.importorskip("skops.io", reason='needs "mddf[skops]"')
    mddf.save(MDDFClassifier(cv=GroupKFold(3)), tmp_path / "a.mddf")
    assert mddf.load(tmp_path / "a.mddf").cv.n_splits == 3
    mddf.save(FunctionTransformer(np.load), tmp_path / "b.mddf")
    with pytest.raises(ValueError, match=r"pass trusted=\['numpy.load'\]"):
        mddf.load(tmp_path / "b.mddf")
    assert mddf.load(tmp_path / "b.mddf", trusted=["numpy.load"]).func is np.load
    with pytest.raises(TypeError, match="function cannot be saved"):
        mddf.save(FunctionTransformer(lambda X: X), tmp_path / "b.mddf")


def test_arrays_of_mapped_files_stay_in_the_file(path):
    model = mddf.load(path, mapped=True)
    assert not model._trees[0].nodes.flags.owndata
    assert not model._trees[0].nodes.flags.writeable
    mddf.save(RandomForestClassifier(), path)  # replaces the file, not its contents
    assert model.predict(table("numbers")).shape == labels().shape
    tree_arrays(model)


@pytest.mark.parametrize("mapped", [False, True])
def test_flipped_bits_are_refused(path, mapped):
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(8 * len(data), size=500):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"forest.mddf (is damaged|is trunc|must be a file)"):
            mddf.load(path, mapped=mapped)


def test_other_files_are_refused(path):
    data = path.read_bytes()
    cases = [
        (data[:-1], f"truncated: it has {len(data) - 1} bytes instead of {len(data)}"),
        (data[:5], "truncated: it has 5 bytes"),
        (data + b"\0", "damaged: it has"),
        (b"", "must be a file of mddf.save"),
        (b"PK\3\4" + bytes(99), "must be a file of mddf.save, got another kind"),
    ]
    for content, message in cases:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            mddf.load(path)


def test_a_new_file_has_the_mode_of_others(forest, tmp_path, monkeypatch):
    (tmp_path / "other").touch()
    monkeypatch.delattr(os, "umask")  # it is of the whole process
    mddf.save(forest, tmp_path / "model.mddf")
    modes = {path.stat().st_mode for path in tmp_path.iterdir() if path.is_file()}
    assert len(modes) == 1


def test_folders_are_refused(forest, tmp_path):
    with pytest.raises(IsADirectoryError, match="the name of a file, got the folder"):
        mddf.save(forest, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the folder of .*model.mddf does not exist"):
        mddf.save(forest, tmp_path / "none" / "model.mddf")
    assert list(tmp_path.iterdir()) == []


def with_checksum(data):
    """The bytes of a file with the checksum of its contents."""
    from hashlib import blake2b

    digest = blake2b(data[:16] + data[48:], digest_size=32).digest()
    return data[:16] + digest + data[48:]


def test_newer_and_forged_files_are_refused(path):
    data = path.read_bytes()
    newer = data[:48] + struct.pack("<I", 2) + data[52:]
    path.write_bytes(with_checksum(newer))
    with pytest.raises(ValueError, match=r"version 2 of the format .* reads version 1"):
        mddf.load(path)
    name = b'"mddf.RandomForestClassifier"'
    for other in (
        b'"os.system"',
        b'"mddf.__main__.main"',
        b'"sklearn.utils.Bunch"',
        b"[1]",
        b"{}",
    ):
        forged = data.replace(name, other + b" " * (len(name) - len(other)))
        path.write_bytes(with_checksum(forged))
        with pytest.raises(ValueError, match=r"forest\.mddf cannot be loaded"):
            mddf.load(path)


def test_a_full_disk_leaves_the_old_file(path, tmp_path):
    data = path.read_bytes()
    other = RandomForestClassifier(9, random_state=1).fit(table("numbers"), labels())
    mddf.save(other, tmp_path / "other.mddf")
    size = (tmp_path / "other.mddf").stat().st_size
    (tmp_path / "other.mddf").unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 1, 100, size // 2, size - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                mddf.save(other, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert path.read_bytes() == data
        assert list(path.parent.iterdir()) == [path]


KILL = """
import os, signal, sys
import mddf

path, other = sys.argv[1:]
old = open(path, "rb").read()
new = open(other, "rb").read()
model = mddf.load(other)
n_kills = 0
while True:
    child = os.fork()
    if not child:
        calls = 0
        def count(frame, event, argument):
            global calls
            if event == "c_call" and frame.f_code.co_filename.endswith(
                ("model_file.py", "atomic.py")
            ):
                if calls == n_kills:
                    os.kill(os.getpid(), signal.SIGKILL)
                calls += 1
        sys.setprofile(count)
        mddf.save(model, path)
        sys.setprofile(None)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert open(path, "rb").read() in (old, new)
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    n_kills += 1
assert open(path, "rb").read() == new
print(n_kills)
"""


def test_a_kill_at_any_call_leaves_a_whole_file(path):
    other = path.with_name("other.mddf")
    mddf.save(RandomForestClassifier(4, random_state=1).fit(table("numbers"), labels()), other)
    command = [sys.executable, "-W", "ignore", "-c", KILL, str(path), str(other)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=path.parent)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 50


def test_saves_and_loads_at_once(forest, path):
    other = RandomForestClassifier(9, random_state=1).fit(table("numbers"), labels())
    fingerprints = {mddf.fingerprint(forest), mddf.fingerprint(other)}

    def work(number):
        if number % 2:
            mddf.save((forest, other)[number // 2 % 2], path)
        return mddf.fingerprint(mddf.load(path, mapped=number % 3 == 0))

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(work, range(100))) <= fingerprints
    assert list(Path(path.parent).iterdir()) == [path]
