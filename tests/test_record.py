"""Small fits of every estimator have the recorded bits."""

import pytest
import recorded

CASES = recorded.cases()


def test_every_case_is_on_record():
    assert recorded.read()["hashes"].keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_same_bits(name):
    assert recorded.hashes(CASES[name]) == recorded.read()["hashes"][name]
