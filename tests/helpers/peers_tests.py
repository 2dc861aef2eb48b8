"""Tests of other packages, run on mddf's estimators."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType, SimpleNamespace

import pytest
import sklearn.ensemble


def adapted(name, Model, defaults, module, **parts):
    """A model of mddf under a name of scikit-learn's, with its defaults.

    `module` is where pickles, and other processes, find it.
    """
    own = inspect.signature(Model.__init__)
    signature = own.replace(
        parameters=[
            p.replace(default=defaults.get(p.name, p.default)) for p in own.parameters.values()
        ]
    )

    def __init__(self, *args, **options):
        bound = signature.bind(self, *args, **options)
        bound.apply_defaults()
        Model.__init__(*bound.args, **bound.kwargs)

    __init__.__signature__ = signature
    return type(name, (Model,), {"__init__": __init__, "__module__": module, **parts})


def of_module(name: str, Models, marks=pytest.mark, package=sklearn.ensemble) -> ModuleType:
    """A test module below a package, with other models under its imported names."""
    spec = importlib.util.find_spec(f"{package.__name__}.{name}")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest, "mark", marks)
        for Model in Models:
            patch.setattr(package, Model.__name__, Model)
        spec.loader.exec_module(module)
    # What is refused or warned of is the same, but not by the same words.
    plain = {"raises": lambda kind, match=None: pytest.raises(kind),
             "warns": lambda kind, match=None: pytest.warns(kind)}  # fmt: skip
    vars(module)["pytest"] = SimpleNamespace(**vars(pytest) | plain)
    return module


def found_in(modules, unused) -> Iterator[tuple[str, FunctionType]]:
    """The tests of some modules by name, without unsuitable ones."""
    for module in modules:
        for name, test in vars(module).items():
            if name.startswith("test_") and name not in unused:
                yield name, test


@pytest.fixture(params=[0])
def global_random_seed(request):
    """The fixture of scikit-learn's pytest configuration."""
    return request.param


def expected_failures(reasons):
    """A fixture that expects tests to fail whose names match, for a reason."""

    @pytest.fixture(autouse=True)
    def expects(request):
        for pattern, reason in reasons.items():
            if re.match(pattern, request.node.name):
                request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))

    return expects
