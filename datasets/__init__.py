"""Loaders of public data sets: `load` reads a set by name, `names` lists all sets.

>>> from mddf.datasets import load
>>> data = load("iris")
>>> data.X.shape
(150, 4)
"""

from mddf._base.serialization import publish, share_modules

if __name__ != "mddf.datasets":  # the folder of a clone, imported by its own name
    share_modules(__name__, "mddf.datasets")

from ._dataset import Dataset
from ._errors import DataFileError, DataFileNotFoundError
from ._load import load
from ._registry import names

__all__ = ["DataFileError", "DataFileNotFoundError", "Dataset", "load", "names"]

publish(globals())
