"""States contain the number of their format; other formats are refused."""

import copyreg
import re
from itertools import product

import pytest
from small_models import labels, table

import mddf
from mddf import RandomForestClassifier

FORMAT = RandomForestClassifier().__getstate__()["mddf_format"]


@pytest.fixture
def forest():
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(table("numbers"), labels())


def states_of(forest):
    """States of an estimator and of a part of it, with the functions that load them."""
    _, (part,) = copyreg.dispatch_table[type(forest._trees[0])](forest._trees[0])
    yield forest.__getstate__(), RandomForestClassifier().__setstate__, "RandomForestClassifier"
    yield part, mddf.from_state, "part of a model"


NUMBERS = [FORMAT + 1, 2**70, FORMAT - 1, 0, -1, "4", 4.0, True, [4], None]


def test_other_formats_are_refused(forest):
    for (state, load, kind), number in product(states_of(forest), NUMBERS):
        old_state = {**state, "mddf_format": number, "mddf_version": "0.1.0"}
        expected = (
            f"this {kind} was saved by mddf 0.1.0 in format {number!r}; mddf {mddf.__version__} "
            f"reads format {FORMAT}: "
            "fit the model again and save it with this version"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
            load(old_state)


def test_states_without_a_number_are_refused(forest):
    for state, load, kind in states_of(forest):
        del state["mddf_format"], state["mddf_version"]
        saved = f"this {kind} was saved by an unknown version of mddf in format None"
        with pytest.raises(ValueError, match=saved):
            load(state)
