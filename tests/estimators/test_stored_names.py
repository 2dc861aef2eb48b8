"""No stored model names a private module: these may move, and the files still load."""

import functools
import importlib
import inspect
import io
import pickle
import pickletools
import pydoc
import re
import types
import zipfile

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, make_scorer
from small_models import says, table
from stored_cases import CASCADE, DEEP, FITS, NUMBERS, WORDS, fitted

import mddf
from mddf import (
    DeepForestClassifier,
    MDDFClassifier,
)
from mddf._base import serialization
from mddf.export import skops_types

pytestmark = [
    pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning"),
    pytest.mark.filterwarnings("ignore:column 0 looks like an identifier of subjects:UserWarning"),
]

PACKAGES = [
    "mddf",
    "mddf.analysis",
    "mddf.baselines",
    "mddf.datasets",
    "mddf.explain",
    "mddf.export",
    "mddf.representation",
    "mddf.rules",
]
PUBLIC = [
    (package, name) for package in PACKAGES for name in importlib.import_module(package).__all__
]
PRIVATE = re.compile(r"mddf(\.\w+)*\.(_\w+)")


def private_names(data: bytes) -> set[str]:
    return {result.group() for result in PRIVATE.finditer(data.decode("latin-1"))}


def names_of_a_pickle(data: bytes) -> set[str]:
    """All strings of a pickle that could be module names."""
    texts = [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
    return {module for text in texts if (module := text.split(" ")[0]).split(".")[0] == "mddf"}


def archived(data: bytes) -> bytes:
    """The files of a zip archive, one by one."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


class PublicUnpickler(pickle.Unpickler):
    """Finds only public names of mddf."""

    def find_class(self, module, name):
        if module.startswith("mddf"):
            assert (module, name.split(".")[0]) in PUBLIC
        return super().find_class(module, name)


def loaded(data: bytes):
    return PublicUnpickler(io.BytesIO(data)).load()


PLAIN = (dict, list, tuple, np.ndarray, np.generic, str, int, float, type(None))


def foreign(value):
    """All objects within a state that are not plain."""
    if isinstance(value, dict):
        return [result for item in value.values() for result in foreign(item)]
    if isinstance(value, list | tuple):
        return [result for item in value for result in foreign(item)]
    return [] if isinstance(value, PLAIN) else [value]


# The fits in ten parts, so that processes can share them.
parts_of_fits = pytest.mark.parametrize("part", range(10))
# Where the functions, scorers and splitters are from that some fits have as parameters.
OF_USERS = (
    "functools.",
    "stored_cases.",
    "sklearn.calibration.",
    "sklearn.metrics.",
    "sklearn.model_selection.",
)


def assert_same_model(again, model, X, answer):
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(says(again, X), answer)


@parts_of_fits
def test_stored_models_name_public_packages_alone(part, tmp_path):
    for name in list(FITS)[part::10]:
        model, X, answer = fitted(name)
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            data = cloudpickle.dumps(model, protocol=protocol)
            assert names_of_a_pickle(data) <= set(PACKAGES), name
            assert not private_names(data), name
        assert_same_model(loaded(data), model, X, answer)
        file = tmp_path / "model"
        joblib.dump(model, file)
        assert not private_names(file.read_bytes()), name
        assert_same_model(joblib.load(file, mmap_mode="r"), model, X, answer)
        state = model.__getstate__()
        assert "mddf_format" not in state or state["mddf_version"] == mddf.__version__
        modules = {type(value).__module__.split(".")[0] for value in foreign(state)}
        assert modules <= {"builtins", "functools", "mddf", "sklearn"}, name
        names = words(model)
        assert names <= set(serialization._types)
        assert all(re.fullmatch("[a-z ]+", name) for name in names)


@parts_of_fits
def test_skops_names_public_packages_alone(part):
    skops = pytest.importorskip("skops.io", reason='needs "mddf[skops]"')
    for name in list(FITS)[part::10]:
        model, X, answer = fitted(name)
        if hasattr(model, "_metadata_request"):
            continue  # skops 0.16 does not write scikit-learn's metadata requests
        data = skops.dumps(model)
        assert not private_names(archived(data)), name
        trusted = skops.get_untrusted_types(data=data)
        has_histograms = "_hist_gradient_boosting" in " ".join(trusted)
        others = set(trusted) - set(skops_types(boosting=has_histograms))
        assert all(other.startswith(OF_USERS) for other in others), name
        assert not private_names("\n".join(trusted).encode()), name
        assert_same_model(skops.loads(data, trusted=trusted), model, X, answer)
        with pytest.raises(skops.exceptions.UntrustedTypesFoundException):
            skops.loads(data)


def words(value) -> set[str]:
    """The strings within a plain state."""
    if isinstance(value, BaseEstimator):
        return words(value.__getstate__())
    if isinstance(value, list | tuple):
        return set().union(*map(words, value))
    if isinstance(value, dict):
        result = set().union(*map(words, value.values()))
        return result | {value["mddf_type"]} if "mddf_type" in value else result
    return set()


def test_all_parts_and_estimators_are_among_the_fits():
    estimators = {
        getattr(importlib.import_module(package), name)
        for package, name in PUBLIC
        if f"{package}.{name}" in skops_types()
        and package != "mddf.rules"
        and name != "TimeOrder"  # a parameter
    }
    assert estimators == {type(model) for model, *_ in FITS.values()} & estimators
    only_in_checkpoints = {"growth result", "layer of labels"}
    stored = set().union(*(words(fitted(name)[0]) for name in FITS))
    assert stored == set(serialization._types) - only_in_checkpoints


# Single parts, such as values of public attributes.


def test_checkpoints(tmp_path):
    deep = DeepForestClassifier(**DEEP, members=["random", "linear", "boosted"], refit=False)
    for model in (MDDFClassifier(**CASCADE, scoring=make_scorer(accuracy_score)), deep):
        folder = tmp_path / type(model).__name__
        model.set_params(checkpoint=folder).fit(NUMBERS, WORDS)
        files = sorted(folder.iterdir())
        assert files
        for file in files:
            assert not private_names(file.read_bytes())


# Other public things.


def test_public_names():
    for package, name in PUBLIC:
        value = getattr(importlib.import_module(package), name)
        assert value.__module__ == package
        for dumps in (pickle.dumps, cloudpickle.dumps):
            data = dumps(value)
            assert not private_names(data)
            assert loaded(data) is value
        assert loaded(pickle.dumps(functools.partial(value, 1))).func is value
        page = pydoc.plain(pydoc.render_doc(value))
        assert f"{name} in {package}" in page.splitlines()[0].replace(" module", "")
        assert inspect.getdoc(value).splitlines()[0] in page
        functions = [value] if inspect.isfunction(value) else vars(value).values()
        for function in functions:
            own = isinstance(function, types.FunctionType) and function.__module__.startswith(
                "mddf"
            )
            # Methods of dataclasses have no source.
            if own and not inspect.unwrap(function).__code__.co_filename.startswith("<"):
                assert f"def {function.__name__}" in inspect.getsource(function)


def test_tables_on_disk_are_pickled_as_paths(tmp_path):
    pytest.importorskip("pyarrow")
    table("frame").to_parquet(tmp_path / "rows.parquet")
    X = mddf.by_columns(tmp_path / "rows.parquet")
    data = pickle.dumps(X)
    assert not private_names(data)
    again = loaded(data)
    assert (again.shape, again.names) == (X.shape, X.names)
    np.testing.assert_array_equal(again.numbers([0, 1]), X.numbers([0, 1]))
