"""Names, arguments and types of the package and of the tests are readable.

Each limit is the number of places that are left. Lower it when you remove some, never raise it.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("mddf", "baselines", "datasets", "examples", "scripts")
    for path in (ROOT / folder).rglob("*.py")
    if "_kernel" not in path.parts
)
# Test modules, and the modules and fixtures that they share.
TEST_FILES = sorted((ROOT / "tests").rglob("*.py"))
# Names that do not say what they hold.
VAGUE_NAMES = {
    *("given", "found", "wanted", "shown", "asked", "told", "said", "handed", "seen"),
    *("some", "others", "each", "one", "what", "here", "there", "looks", "named"),
}
MAX_POSITIONAL = 5
LIMITS = {
    "vague names": 0,
    "argument tuples": 0,
    "many positional parameters": 1,
}
# Largest share of the annotations that contain `Any`, in percent.
MAX_ANY_PERCENT = 10.0


def vague_names(tree):
    for node in ast.walk(tree):
        is_assigned = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if is_assigned and node.id in VAGUE_NAMES:
            yield node


def vague_definitions(tree):
    """Functions, classes and parameters with vague names."""
    for node in ast.walk(tree):
        is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_definition and node.name in VAGUE_NAMES:
            yield node
        if isinstance(node, ast.arg) and node.arg in VAGUE_NAMES:
            yield node


def argument_tuples(tree):
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                continue
            value = argument.value
            is_vague = isinstance(value, ast.Name) and value.id in VAGUE_NAMES
            if is_vague or isinstance(value, ast.Tuple):
                yield node


def many_positional_parameters(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            parameters = [*node.args.posonlyargs, *node.args.args]
            n_positional = sum(p.arg not in ("self", "cls") for p in parameters)
            if n_positional > MAX_POSITIONAL:
                yield node


PATTERNS = {
    "vague names": vague_names,
    "vague definitions": vague_definitions,
    "argument tuples": argument_tuples,
    "many positional parameters": many_positional_parameters,
}


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("pattern", LIMITS)
def test_the_package_is_readable(pattern):
    places = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in PATTERNS[pattern](parsed(path))
    ]
    assert len(places) <= LIMITS[pattern], "\n".join(places)


# Tests may have many parameters: fixtures, and in slow twins those of the repeated function.
@pytest.mark.parametrize("pattern", ["vague names", "vague definitions", "argument tuples"])
def test_tests_are_readable(pattern):
    places = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in TEST_FILES
        for node in PATTERNS[pattern](parsed(path))
    ]
    assert not places, "\n".join(places)


def annotations(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for parameter in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                if parameter.annotation is not None:
                    yield parameter.annotation
            if node.returns is not None:
                yield node.returns


def contains_any(annotation):
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def test_few_annotations_contain_any():
    with_any = [contains_any(a) for path in FILES for a in annotations(parsed(path))]
    percent = 100 * sum(with_any) / len(with_any)
    assert percent <= MAX_ANY_PERCENT, f"{sum(with_any)} of {len(with_any)} annotations"


@pytest.mark.parametrize(
    ("code", "pattern", "n_places"),
    [
        ("found = 1\nfor each in x: pass", "vague names", 2),
        ("layer = 1", "vague names", 0),
        ("def told(given): pass\nclass One: pass", "vague definitions", 2),
        ("f(*given)\nf(*(a, b), c)\nf(*rows)", "argument tuples", 2),
        ("def f(self, a, b, c, d, e): pass", "many positional parameters", 0),
        ("def f(a, b, c, d, e, g, *, h): pass", "many positional parameters", 1),
    ],
)
def test_patterns_are_recognised(code, pattern, n_places):
    assert len(list(PATTERNS[pattern](ast.parse(code)))) == n_places
