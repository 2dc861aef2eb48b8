"""gcForest: a cascade without sample reweighting."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Self

import numpy.typing as npt
from numpy.random import RandomState

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.validation import resolve_named
from mddf._layers.base_cascade import BaseCascade
from mddf._layers.cascade_plan import CascadeKind
from mddf._layers.coefficients import LastLayer
from mddf._layers.rules import (
    AccuracyScreening,
    BinnedScreening,
    LayerRules,
    OwnClassReweighting,
    trees_by_rows,
)

# The rules of the relatives of gcForest.
RELATIVES: dict[str, dict[str, Any]] = {
    "gcForest": {"rules": None},
    "gcForestCS": {"rules": LayerRules(screening=AccuracyScreening(), n_estimators=trees_by_rows)},
    "DBC-Forest": {"rules": LayerRules(screening=BinnedScreening(), n_estimators=trees_by_rows)},
    "AWDF": {"rules": LayerRules(reweighting=OwnClassReweighting())},
}


@describes_parameters(COMMON)
class GCForestClassifier(BaseCascade):
    """The cascade of gcForest.

    Every layer consists of forests, which are grown on folds. Its input is the features and the
    class vectors of the forests of the layer before. The last layer that is kept predicts [1]_.

    Parameters
    ----------
    n_layers : int, default=20
        Maximum number of layers.
    n_estimators : int, default=500
        Number of trees of each named forest, on each fold.
    forests : list, default=None
        The forests of a layer, as in `mddf.MDDFClassifier`: "random", "completely-random", or
        classifiers, with or without names. None means four random and four completely-random
        forests.
    cv : int, splitter, iterable of (train, test), "oob" or None, default=3
        Folds, or out-of-bag samples. A number means folds that are drawn anew for each layer.
    early_stopping : bool, default=True
        Whether to keep the layers up to the best out-of-fold score, and stop after
        `n_iter_no_change` layers without a better score. Ties are decided by the larger mean
        margin. If False, `n_layers` layers are grown and kept.
    n_iter_no_change : int, default=4
        Number of layers without a better score after which to stop.
    tol : float or "auto", default=0.0
        Minimum difference to the best score so far that counts as an improvement; "auto" as in
        `mddf.MDDFClassifier`.
    keep_layers : {"best", "fewest", "held-out"}, default="best"
        Layers to keep: up to the best score, or the fewest within its error, as in
        `mddf.MDDFClassifier`.
    refit : bool, default=False
        Whether to keep forests that are fitted on all samples instead of the forests of all folds,
        as in `mddf.MDDFClassifier`.
    calibrate : bool, default=False
        Whether to calibrate the probabilities, as in `mddf.MDDFClassifier`.
    scoring : str, callable or None, default=None
        Score of the out-of-fold predictions, as in `mddf.MDDFClassifier`; None for accuracy.
    transform_layers : {"last", "all"}, int or array of int, default="last"
        Layers whose features `transform` returns, by their positions as in a list: 0 is the first
        layer, which has the number 1 in names and in ``history_["layer"]``, and -1 is the last.
    transform_forests : {"mean", "each", "boosted"}, default="mean"
        Whether the features are the mean class vector of a layer's forests or all of them.
        "boosted" is the same as "mean" here, since only the last layer has a coefficient.
    grains : list of slices or arrays of int, default=None
        Groups of features that the layers use in turn, such as ``grains_`` of a
        `MultiGrainedScanner`. With None, every layer uses all features. Early stopping waits until
        each group has been used.
    rules : LayerRules, default=None
        Rules that are called after each layer: which rows leave the cascade, weights of the
        samples, columns and numbers of trees of the next layer, and when to stop. See
        `mddf.rules`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class.
    random_state : int, RandomState or None, default=None
        Seed of folds and trees.
    verbose : int, default=0
        1 prints a line for each layer, 2 shows a progress bar as well.
    checkpoint : str or path, default=None
        Folder to which each layer is saved as soon as it is grown, as in `mddf.MDDFClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_layers_ : int
        Number of layers that are kept.
    alphas_ : ndarray of shape (n_layers_,)
        1 for the last layer, 0 for all others.
    history_, margins_, weights_, member_scores_, oof_probabilities_, stop_reason_
        As in `mddf.MDDFClassifier`; all weights are the sample weights.
    exponent_, label_smoothing_ : float
        Parameters of the calibration.
    layer_importances_ : ndarray of shape (n_layers_, n_features)
    feature_importances_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Z.-H. Zhou and J. Feng, "Deep forest: Towards an alternative to deep neural networks",
       IJCAI 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf.baselines import GCForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = GCForestClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> bool(forest.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(
        self,
        n_layers: int = 20,
        *,
        n_estimators: int = 500,
        forests: list[Any] | None = None,
        cv: Any = 3,
        early_stopping: bool = True,
        n_iter_no_change: int = 4,
        tol: float | str = 0.0,
        keep_layers: str = "best",
        refit: bool = False,
        calibrate: bool = False,
        scoring: str | Callable[..., float] | None = None,
        transform_layers: str | npt.ArrayLike = "last",
        transform_forests: str = "mean",
        grains: list[Any] | None = None,
        rules: LayerRules | None = None,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.n_layers = n_layers
        self.n_estimators = n_estimators
        self.forests = forests
        self.cv = cv
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.keep_layers = keep_layers
        self.refit = refit
        self.calibrate = calibrate
        self.scoring = scoring
        self.transform_layers = transform_layers
        self.transform_forests = transform_forests
        self.grains = grains
        self.rules = rules
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.checkpoint = checkpoint

    @classmethod
    def named(cls, name: str, **params: Any) -> Self:
        """Make a relative of gcForest, which has the same layers and a rule of its own.

        Parameters
        ----------
        name : str
            "gcForest"; "gcForestCS" (confident rows leave the cascade, `mddf.rules.
            AccuracyScreening`); "DBC-Forest" (`mddf.rules.BinnedScreening`); "AWDF" (weights that
            fall with the probability of a sample's own class, `mddf.rules.OwnClassReweighting`).
        **params
            Parameters other than `rules`.

        Returns
        -------
        GCForestClassifier
            Not fitted.

        Raises
        ------
        ValueError
            If there is no such name, or a parameter contradicts it.

        Examples
        --------
        >>> from mddf.baselines import GCForestClassifier
        >>> GCForestClassifier.named("gcForestCS").rules.screening
        AccuracyScreening(error_reduction=3.0)
        """
        return cls(**resolve_named(name, RELATIVES, {}, params))

    def _kind(self) -> CascadeKind:
        forests = ("random",) * 4 + ("completely-random",) * 4
        return CascadeKind(forests, LastLayer())
