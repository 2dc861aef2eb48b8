"""Sparse text of SVMlight and LIBSVM."""

from __future__ import annotations

from io import BytesIO

from .._errors import DataFileError
from .parsed import Block, Parsed, encode_labels, rows_of
from .spec import Spec


def parse(spec: Spec, content: dict[str, bytes]) -> Parsed:
    """Read one file for each part into dense rows; cells that a file leaves out are 0."""
    from sklearn.datasets import load_svmlight_file

    n_features = spec.format.n_features
    blocks = []
    for file in spec.files:
        try:
            # zero_based=False: these files count from one, and guessing could shift columns.
            X, y = load_svmlight_file(
                BytesIO(content[file.name]), n_features=n_features, zero_based=False
            )
        except (ValueError, OverflowError) as error:
            raise DataFileError(
                f"{file.name}: must be svmlight text of {n_features} features, but: {error}"
            ) from error
        labels = [int(value) if value.is_integer() else value for value in y.tolist()]
        blocks.append(Block(X.toarray(), encode_labels(labels, spec, rows_of(file.name))))
    return Parsed(blocks, tuple(f"x{i}" for i in range(1, n_features + 1)))
