"""Every purpose has a random stream of its own."""

import numpy as np

from mddf._training.seeds import Purpose, Seeds

# It shares its number with another purpose, which `Purpose` explains.
SHARED = {"HELD_OUT_LAYERS": Purpose.COEFFICIENTS}


def test_purposes_have_different_numbers():
    aliases = {
        name: purpose for name, purpose in Purpose.__members__.items() if name != purpose.name
    }
    assert aliases == SHARED
    values = [purpose.value for purpose in Purpose]
    for value in values:
        other_values = [other for other in values if other is not value]
        assert not [other for other in other_values if other[: len(value)] == value]


def test_entropy_ends_with_purpose_and_numbers():
    seeds = Seeds((1, 2))
    assert seeds.entropy_for(Purpose.FORESTS, 3) == (1, 2, 0, 3)
    assert seeds.entropy_for(Purpose.NESTED_LAYER, 1, 2) == (1, 2, 9, 4, 1, 2)
    expected = np.random.SeedSequence((1, 2, 1)).generate_state(2).tolist()
    assert seeds.integers(Purpose.FOLDS, size=2) == expected
    assert seeds.integer(Purpose.FOLDS) == expected[0]


def test_seeds_follow_the_random_state():
    assert Seeds.from_random_state(3) == Seeds.from_random_state(np.random.RandomState(3))
    assert Seeds.from_random_state(3) != Seeds.from_random_state(4)
