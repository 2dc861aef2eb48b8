"""Types that a reader of skops files has to trust."""

from __future__ import annotations

from importlib import import_module

from mddf import rules
from mddf._base.serialization import Saved
from mddf._resampling.time_order import TimeOrder

# Types within fitted histogram gradient boosting that skops does not trust by default.
_HIST_GRADIENT_BOOSTING = (
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)


# Packages whose estimators are saved.
_PACKAGES = ("mddf", "mddf.baselines", "mddf.representation")


def skops_types(*, boosting: bool = False) -> list[str]:
    """Names of types to be passed on to ``skops.io.load(..., trusted=...)``.

    The list has the estimators of mddf, rules of cascades and the types of arrays. A skops file
    holds nothing else of mddf: the fitted state of an estimator is saved as arrays, dicts, numbers
    and strings, and checked when it is loaded or used. Categories are saved as they are. skops
    cannot read back categories of a pandas column that are dates: turn them into text before the
    fit, or save the model by joblib.

    Parameters
    ----------
    boosting : bool, default=False
        Whether to add the types within scikit-learn's histogram gradient boosting, for models
        that have it as a member. scikit-learn does not check its trees: a malicious file can
        crash Python, so pass True only for files whose origin you know. The members "boosted" do
        not need it.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from mddf.export import skops_types
    >>> "mddf.RandomForestClassifier" in skops_types()
    True
    """
    packages = [import_module(name) for name in _PACKAGES]
    public = [getattr(package, name) for package in packages for name in package.__all__]
    saved = (Saved, TimeOrder)
    estimators = [kind for kind in public if isinstance(kind, type) and issubclass(kind, saved)]
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in estimators]
    names += [f"{rules.__name__}.{name}" for name in rules.__all__]
    return sorted([*names, "numpy.dtype", *(_HIST_GRADIENT_BOOSTING if boosting else ())])
