"""What a reader of skops files has to trust."""

from __future__ import annotations

from importlib import import_module

from mddf._base.serialization import Saved

# What fitted histogram gradient boosting holds and skops does not trust by itself.
_OF_BOOSTING = (
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)


def skops_types(*, boosting: bool = False) -> list[str]:
    """Names of types to be passed on to ``skops.io.load(..., trusted=...)``.

    These are the estimators of mddf and the types of arrays.
    Nothing else of mddf stands in a file of skops: what an estimator has learnt is saved as
    arrays, dicts, numbers and strings, and checked when it is loaded or used. Categories are
    saved as what they are; where those of a pandas column are dates, skops cannot read what it
    wrote: turn them into text before the fit, or save the model by joblib.

    Parameters
    ----------
    boosting : bool, default=False
        Whether to add what scikit-learn's histogram gradient boosting holds, as a member of your
        own. It does not check its trees: a file that was made to do harm can crash Python, so do
        so for files whose origin you know. The members "boosted" do not need it.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from mddf.export import skops_types
    >>> "mddf.RandomForestClassifier" in skops_types()
    True
    """
    rooms = [import_module(name) for name in ("mddf", "mddf.baselines")]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, Saved)]
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    return sorted([*names, "numpy.dtype", *(_OF_BOOSTING if boosting else ())])
