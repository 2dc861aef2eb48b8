"""The idx files of MNIST: a big-endian header, then bytes."""

from __future__ import annotations

import struct

import numpy as np

from .._errors import DataFileError
from .parsed import Block, Parsed, encode_labels, rows_of
from .spec import Idx, Spec

_UNSIGNED_BYTE = 0x08  # code of the element type in the header


def read_idx(content: bytes, name: str, n_axes: int) -> np.ndarray:
    """Read an idx file of unsigned bytes.

    Parameters
    ----------
    content : bytes
        The whole file.
    name : str
        Name of the file, for messages.
    n_axes : int
        Number of axes that it must have.

    Returns
    -------
    values : ndarray of uint8
        Not writable; shares memory with `content`.

    Raises
    ------
    DataFileError
        If the header belongs to no such file, or the length does not fit the header.
    """
    header = 4 + 4 * n_axes
    magic = bytes((0, 0, _UNSIGNED_BYTE, n_axes))
    if len(content) < header or content[:4] != magic:
        raise DataFileError(
            f"{name}: must begin with the idx magic number {magic.hex()} and {n_axes} sizes,"
            f" got {content[:4].hex() or 'nothing'} in a file of {len(content)} bytes"
        )
    shape = struct.unpack(f">{n_axes}I", content[4:header])
    # The product is of Python's integers, which the sizes of a hostile header cannot overflow.
    size = 1
    for length in shape:
        size *= length
    if len(content) - header != size:
        raise DataFileError(
            f"{name}: must hold {size} bytes after its header, by the sizes in it ({shape}),"
            f" got {len(content) - header}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def parse(spec: Spec, content: dict[str, bytes]) -> Parsed:
    """Read pairs of image and label files, one pair for each part.

    Parameters
    ----------
    spec : Spec
        Its format is `Idx`.
    content : dict of str to bytes
        Files by name.

    Returns
    -------
    parsed : Parsed
        Features are uint8, one column for each pixel, row by row.
    """
    assert isinstance(spec.format, Idx)
    side = round(spec.format.n_features**0.5)
    blocks = []
    for images_file, labels_file in zip(spec.files[::2], spec.files[1::2], strict=True):
        images = read_idx(content[images_file.name], images_file.name, 3)
        labels = read_idx(content[labels_file.name], labels_file.name, 1)
        if images.shape[1:] != (side, side):
            raise DataFileError(
                f"{images_file.name}: images must be {side} x {side} pixels,"
                f" got {images.shape[1]} x {images.shape[2]}"
            )
        if len(images) != len(labels):
            raise DataFileError(
                f"{labels_file.name}: must hold a label for each of the {len(images)} images,"
                f" got {len(labels)}"
            )
        y = encode_labels(labels.tolist(), spec, rows_of(labels_file.name))
        blocks.append(Block(images.reshape(len(images), -1), y))
    names = (f"pixel_{row}_{column}" for row in range(side) for column in range(side))
    return Parsed(blocks, tuple(names))
