"""The idx files of MNIST: a big-endian header, then bytes."""

from __future__ import annotations

import math

import numpy as np

from .._errors import DataFileError
from .parsed import Block, Parsed, encode_labels, rows_of
from .spec import Idx, Spec

_UNSIGNED_BYTE = 0x08  # code of the element type in the header


def read_idx(content: bytes, name: str, n_axes: int) -> np.ndarray:
    """Read a whole idx file of unsigned bytes with a number of axes."""
    start = 4 + 4 * n_axes
    shape = np.frombuffer(content[4:start].ljust(4 * n_axes, b"\0"), ">u4").tolist()
    # The product is of Python's integers, which the sizes of a damaged header cannot overflow.
    expected = bytes((0, 0, _UNSIGNED_BYTE, n_axes)), start + math.prod(shape)
    if (content[:4], len(content)) != expected:
        raise DataFileError(
            f"{name}: must be an idx file that begins with {expected[0].hex()} and has "
            f"{expected[1]} bytes by its sizes {shape}, got {content[:4].hex() or 'nothing'} and "
            f"{len(content)} bytes"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def parse(spec: Spec, content: dict[str, bytes]) -> Parsed:
    """Read pairs of image and label files, one pair for each part.

    Features are uint8, one column for each pixel, row by row.
    """
    assert isinstance(spec.format, Idx)
    side = round(spec.format.n_features**0.5)
    blocks = []
    for images_file, labels_file in zip(spec.files[::2], spec.files[1::2], strict=True):
        images = read_idx(content[images_file.name], images_file.name, 3)
        labels = read_idx(content[labels_file.name], labels_file.name, 1)
        if images.shape != (len(labels), side, side):
            raise DataFileError(
                f"{images_file.name}: must hold {len(labels)} images of {side} x {side} pixels, "
                f"as many as {labels_file.name} has labels, got shape {images.shape}"
            )
        y = encode_labels(labels.tolist(), spec, rows_of(labels_file.name))
        blocks.append(Block(images.reshape(len(images), -1), y))
    names = (f"pixel_{row}_{column}" for row in range(side) for column in range(side))
    return Parsed(blocks, tuple(names))
