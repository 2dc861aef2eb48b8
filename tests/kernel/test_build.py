"""How the kernel is built."""

import subprocess
import sys
from pathlib import Path

import pytest
from compiled import _core


@pytest.mark.skipif(sys.platform != "win32", reason="about Windows")
def test_needs_no_library_of_the_compiler():
    assert b"msvcp140" not in Path(_core.__file__).read_bytes().lower()


def test_import_gives_no_warning_and_loads_no_extra(tmp_path):
    code = (
        "import sys, sklearn.preprocessing\n"  # loads pandas itself, where it is installed
        "before = set(sys.modules)\n"
        "import mddf\n"
        "beside = {'_clusters', '_command', '_quality', 'analysis', 'baselines', 'batch',\n"
        "          'dask', 'datasets', 'explain', 'export', 'representation'}\n"
        "assert not {f'mddf.{room}' for room in beside} & set(sys.modules)\n"
        "assert not hasattr(mddf, 'nonesuch')\n"
        "mddf.baselines.AdaBoostClassifier, mddf.datasets.load, mddf.analysis.margin_report\n"
        "mddf.explain.importances, mddf.export.to_onnx  # imported when first used\n"
        "extras = {'shap', 'onnx', 'onnxruntime', 'skops', 'matplotlib', 'numba', 'pandas',\n"
        "          'pooch', 'xgboost', 'autogluon', 'mddf.autogluon'}\n"
        "print(sorted(extras & (set(sys.modules) - before)))"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_build_options():
    options = _core.build_options()
    assert options["compiler"].split()[0] in ("gcc", "clang", "msvc")
    assert options["stable_abi"] in (True, False)
    assert options["wide_vectors"] != "none" or not options["wide_vectors_in_use"]
