"""Installed files, and files that must not be changed."""

import importlib.metadata
import inspect
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import mddf

ROOT = Path(__file__).parents[2]


def test_version():
    assert importlib.metadata.version("mddf") == mddf.__version__


def test_only_mddf_is_installed_at_the_top_level():
    files = importlib.metadata.files("mddf")
    assert files is not None
    tops = {Path(str(file)).parts[0] for file in files if not str(file).startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info") and "editable" not in top} - {
        "__pycache__"
    } == {"mddf"}


def test_core_dependencies():
    requires = importlib.metadata.requires("mddf") or []
    core = {line.split(">")[0].strip() for line in requires if "extra ==" not in line}
    expected = "numpy scipy scikit-learn joblib tqdm threadpoolctl narwhals"
    assert core == set(expected.split())


def test_one_build_of_xgboost_for_each_platform():
    requirements = pytest.importorskip("packaging.requirements")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(extra, platform):
        for line in project["optional-dependencies"][extra]:
            requirement = requirements.Requirement(line)
            if requirement.name == "mddf":
                for of in requirement.extras:
                    yield from names(of, platform)
            elif requirement.marker is None or requirement.marker.evaluate(
                {"sys_platform": platform}
            ):
                yield requirement.name

    builds = {"linux": "xgboost-cpu", "win32": "xgboost-cpu", "darwin": "xgboost"}
    for extra in ("bench", "league", "docs", "all"):
        for platform, build in builds.items():
            assert {name for name in names(extra, platform) if "xgboost" in name} == {build}


def test_imports_from_the_source_folder_name_the_remedy(tmp_path):
    (tmp_path / "mddf").mkdir()
    shutil.copy(ROOT / "mddf/__init__.py", tmp_path / "mddf")
    command = [sys.executable, "-S", "-c", "import mddf"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "start Python in another one, or install with: pip install -e ." in done.stderr


def test_import_leaves_out_modules_that_few_need():
    code = "import sys, mddf; print(*sys.modules)"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rarely_used = {"tqdm", "sklearn.calibration", "sklearn.impute", "scipy.cluster", "onnx"}
    rarely_used |= {"matplotlib", "catboost", "lightgbm", "xgboost", "shap", "polars", "dask"}
    assert rarely_used.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("first", ["baselines.quadboost", "mddf.baselines", "datasets._load"])
def test_folders_of_a_clone_are_the_installed_packages(first):
    code = f"""
        import importlib, pickle, sys
        sys.path.append({str(ROOT)!r})  # after the installed mddf
        importlib.import_module({first!r})
        import baselines, datasets, datasets.sets, mddf.baselines, mddf.datasets
        from baselines._boosting.losses import LOSSES
        from baselines.quadboost import QuadBoostClassifier
        assert baselines is mddf.baselines and datasets is mddf.datasets
        assert LOSSES is sys.modules["mddf.baselines._boosting.losses"].LOSSES
        assert QuadBoostClassifier is mddf.baselines.QuadBoostClassifier
        model = baselines.AdaBoostClassifier(2).fit([[0], [1]], [0, 1])
        stored = pickle.dumps(model)
        assert b"mddf.baselines" in stored
        assert type(pickle.loads(stored)) is mddf.baselines.AdaBoostClassifier
        assert "datasets.__main__" not in sys.modules
    """
    command = [sys.executable, "-P", "-c", inspect.cleandoc(code)]
    subprocess.run(command, check=True)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_free_threaded_python_is_refused(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sysconfig\nsysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1\n"
    )
    command = ["cmake", "-S", ROOT / "mddf/_kernel", "-B", tmp_path / "build"]
    done = subprocess.run(
        [*command, f"-DPython_EXECUTABLE={sys.executable}"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "mddf needs a Python with the GIL" in " ".join(done.stderr.split())


def write_dummy(folder, name):
    """A wheel of a distribution whose only package is called `name`."""
    path = folder / f"dummy_{name}-1.0-py3-none-any.whl"
    info = f"dummy_{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "answer = 42\n")
        metadata = f"Metadata-Version: 2.1\nName: dummy-{name}\nVersion: 1.0\n"
        wheel.writestr(f"{info}/METADATA", metadata)
        kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", kind)
        record = [f"{name}/__init__.py,,", f"{info}/METADATA,,", f"{info}/WHEEL,,"]
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if "MDDF_WHEEL" in os.environ:
        return Path(os.environ["MDDF_WHEEL"])
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("mddf-*.whl"))


@pytest.mark.slow
def test_other_distributions_named_datasets_or_baselines_are_not_changed(wheel, tmp_path):
    dummies = [write_dummy(tmp_path, name) for name in ("datasets", "baselines")]
    target = tmp_path / "site"
    for package in (*dummies, wheel):
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
        subprocess.run([*command, "--target", target, package], check=True)
    code = (
        "import datasets, baselines, mddf, mddf.datasets, mddf.baselines\n"
        "assert datasets.answer == baselines.answer == 42\n"
        "for module in (mddf, mddf.datasets, mddf.baselines):\n"
        f"    assert module.__file__.startswith({str(target / 'mddf')!r}), module.__file__\n"
        "print(mddf.datasets.load('iris').X.shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": str(target)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "(150, 4)"


@pytest.mark.slow
def test_wheel_holds_no_sources_of_the_kernel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".cpp", ".hpp", "CMakeLists.txt"))]
    assert {"mddf/py.typed", "mddf/_command/templates/report.html"} <= {*names}
    assert {name.split("/")[0] for name in names} == {"mddf", f"mddf-{mddf.__version__}.dist-info"}
