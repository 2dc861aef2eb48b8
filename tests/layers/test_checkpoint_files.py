"""Damaged, forged, missing and misplaced layer files."""

import json

import numpy as np
import pytest
from checkpoint_cases import (
    DAMAGED,
    assert_equal,
    cascade,
    deep,
    layers,
    parts,
    small_file,
)
from forest_cases import three_classes

from mddf._layers import checkpoints


def test_a_damaged_file_is_named(tmp_path):
    X, y = three_classes()
    cascade(tmp_path).fit(X, y)
    (tmp_path / "layer-002.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=rf"{DAMAGED.format(2)}its checksum is wrong"):
        cascade(tmp_path).fit(X, y)


@pytest.mark.parametrize("make", [cascade, deep])
def test_a_layer_under_the_name_of_another_is_refused(make, tmp_path, every_layer_helps):
    """Also if both layers have the same shape, and if they are swapped."""
    X, y = three_classes()
    make(tmp_path).set_params(n_layers=2).fit(X, y)
    first, second = (tmp_path / f"layer-00{number}.npz" for number in (1, 2))
    whole = first.read_bytes(), second.read_bytes()
    for contents, number, held in (
        ((whole[0], whole[0]), 2, 1),
        ((whole[1], whole[1]), 1, 2),
        (whole[::-1], 1, 2),
    ):
        first.write_bytes(contents[0])
        second.write_bytes(contents[1])
        with pytest.raises(ValueError, match=rf"{DAMAGED.format(number)}it is layer {held} under"):
            make(tmp_path).set_params(n_layers=2).fit(X, y)


def test_a_layer_that_is_missing_between_others_is_grown_again(tmp_path):
    X, y = three_classes()
    expected = cascade(tmp_path).fit(X, y)
    whole = {path.name: path.read_bytes() for path in tmp_path.glob("*.npz")}
    (tmp_path / "layer-002.npz").unlink()
    assert_equal(cascade(tmp_path).fit(X, y), expected)
    assert layers(tmp_path) == sorted(whole)


def test_unfinished_files_are_ignored(tmp_path):
    X, y = three_classes()
    (tmp_path / "layer-001.part").write_bytes(b"half a lay")
    model = cascade(tmp_path, n_layers=1).fit(X, y)
    assert_equal(model, cascade(None, n_layers=1).fit(X, y))
    assert [path.name for path in tmp_path.glob("*.part")] == ["layer-001.part"]  # not ours


@pytest.mark.parametrize("every", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_changes_of_any_bit_are_detected(every, tmp_path):
    checkpoint, whole = small_file(tmp_path)
    for position in range(0, len(whole), every):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        (tmp_path / "layer-001.npz").write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{DAMAGED.format(1)}its checksum is wrong"):
            checkpoint.load(0, parts)


def test_files_that_end_early_or_late_are_refused(tmp_path):
    checkpoint, whole = small_file(tmp_path)
    for contents in (
        b"",
        whole[:20],
        whole[:-1],
        whole[:-32],
        whole[1:],
        whole + b"\n",
        2 * whole,
    ):
        (tmp_path / "layer-001.npz").write_bytes(contents)
        with pytest.raises(ValueError, match=rf"{DAMAGED.format(1)}its checksum is wrong"):
            checkpoint.load(0, parts)
    (tmp_path / "layer-001.npz").write_bytes(whole)
    assert checkpoint.load(0, parts)[1] == 0.5
    (tmp_path / "layer-001.npz").unlink()
    (tmp_path / "layer-001.npz").mkdir()
    with pytest.raises(OSError, match=r"checkpoint cannot be read: Is a directory: '.*layer-001"):
        checkpoint.load(0, parts)


def forge(path, outline=None, changed=()):
    """Write other arrays into a file with a valid checksum."""
    with np.load(path) as stored:
        arrays = dict(stored) | dict(changed)
    if outline is not None:
        arrays["outline"] = np.frombuffer(json.dumps(outline).encode(), np.uint8)
    with path.open("w+b") as file:
        np.savez(file, **arrays)
        file.write(checkpoints._checksum(file, file.tell()))


@pytest.mark.parametrize("make", [cascade, deep])
def test_forged_layers_are_named(make, tmp_path):
    X, y = three_classes()
    make(tmp_path).fit(X, y)
    path = tmp_path / "layer-001.npz"
    with np.load(path) as stored:
        n_rows, number = len(y), json.loads(stored["outline"].tobytes())
        vectors = {
            name: array[..., :1]
            for name, array in stored.items()
            if array.ndim > 1 and n_rows in array.shape
        }
    whole = path.read_bytes()
    for layer in ([], [1, 2, 3], [[], [], 0.0], ["layer", {"array": 0}, None], [None] * 5):
        forge(path, [*number[:2], layer])
        with pytest.raises(ValueError, match=DAMAGED.format(1)):
            make(tmp_path).fit(X, y)
        path.write_bytes(whole)
    forge(path, changed=vectors)
    with pytest.raises(ValueError, match=rf"{DAMAGED.format(1)}its vectors must have shape"):
        make(tmp_path).fit(X, y)
