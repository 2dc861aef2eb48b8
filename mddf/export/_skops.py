"""What a reader of skops files has to trust."""

from __future__ import annotations

from importlib import import_module

from mddf._state import Saved


def skops_types() -> list[str]:
    """Names of the estimators of mddf, to be passed on to ``skops.io.load(..., trusted=...)``.

    Nothing else of mddf stands in a file of skops: what an estimator has learnt is saved as
    arrays, dicts, numbers and strings, and checked when it is loaded.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from mddf.export import skops_types
    >>> "mddf._forests.RandomForestClassifier" in skops_types()
    True
    """
    rooms = [import_module(name) for name in ("mddf", "mddf.baselines")]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, Saved)]
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
