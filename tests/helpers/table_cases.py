"""Tables as estimators read them."""

from mddf import RandomForestClassifier
from mddf._data.reading import read_table


def read(X, **options):
    """The table of what is passed as X, of a new estimator."""
    return read_table(RandomForestClassifier(), X, reset=True, **options)
