"""gcForest: a cascade without sample reweighting."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, ClassVar, Self

import numpy.typing as npt
from numpy.random import RandomState

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.validation import resolve_named
from mddf._forest.classifiers import RandomForestClassifier
from mddf._layers.base_cascade import CASCADE_PARAMETERS, BaseCascade
from mddf._layers.layered_estimator import LAYERED_PARAMETERS
from mddf.rules import (
    AccuracyScreening,
    BinnedScreening,
    LayerRules,
    OwnClassReweighting,
    single_split,
    trees_by_rows,
)

# What makes a cascade a relative of gcForest.
RELATIVES: dict[str, dict[str, Any]] = {
    "gcForest": {"rules": None},
    "gcForestCS": {"rules": LayerRules(screening=AccuracyScreening(), n_estimators=trees_by_rows)},
    "DBC-Forest": {"rules": LayerRules(screening=BinnedScreening(), n_estimators=trees_by_rows)},
    "AWDF": {"rules": LayerRules(reweighting=OwnClassReweighting())},
    "tree-network": {
        "rules": LayerRules(max_depth=single_split),
        "n_layers": 2,
        "early_stopping": False,
    },
}


@describes_parameters(CASCADE_PARAMETERS, LAYERED_PARAMETERS, COMMON)
class GCForestClassifier(BaseCascade):
    """The cascade of gcForest.

    Every layer consists of forests, which are grown on folds. Its input is the features and the
    class vectors of the forests of the layer before. The last layer that is kept predicts [1]_.

    Parameters
    ----------
    forests : list, default=None
        The forests of a layer, as in `mddf.MDDFClassifier`: "random", "completely-random", or
        classifiers, with or without names. None means four random and four completely-random
        forests.
    cv : int, splitter, iterable of (train, test), "oob" or None, default=3
        Folds, or out-of-bag samples. A number means folds that are drawn anew for each layer.
    early_stopping : bool, default=True
        Whether to keep the layers up to the best out-of-fold score, and stop after four layers
        without a better score. Ties are decided by the larger mean margin. If False, `n_layers`
        layers are grown and kept.
    grains : list of slices or arrays of int, default=None
        Groups of features that the layers use in turn, such as ``grains_`` of a
        `MultiGrainedScanner`. With None, every layer uses all features. Early stopping waits until
        each group has been used.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_layers_,)
        1 for the last layer, 0 for all others.

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

    _default_forests = ("random",) * 4 + ("completely-random",) * 4
    _rules_class = LayerRules
    _patience = 4

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseCascade._parameter_constraints,
        "grains": ["array-like", None],
    }

    def __init__(
        self,
        n_layers: int = 20,
        *,
        n_estimators: int = 500,
        forests: list[Any] | None = None,
        cv: Any = 3,
        early_stopping: bool = True,
        refit: bool = False,
        calibrate: bool = False,
        scoring: str | Callable[..., float] | None = None,
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
        self.refit = refit
        self.calibrate = calibrate
        self.scoring = scoring
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
        """Make a relative of gcForest, which has a rule of its own.

        Parameters
        ----------
        name : str
            "gcForest"; "gcForestCS" (confident rows leave the cascade, `mddf.rules.
            AccuracyScreening`); "DBC-Forest" (`mddf.rules.BinnedScreening`); "AWDF" (weights that
            fall with the probability of a sample's own class, `mddf.rules.OwnClassReweighting`);
            "tree-network" (a shallow tree network: two layers of one tree. Two folds make the
            class vectors of the first layer, and the tree of the second layer has one split,
            `mddf.rules.single_split`. For another first tree, pass `forests` with one forest of
            one tree).
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
        defaults: dict[str, Any] = {}
        if name == "tree-network":
            tree = RandomForestClassifier(1, bootstrap=False, max_features=None)
            defaults = {"forests": [tree], "cv": 2, "refit": True}
        return cls(**resolve_named(name, RELATIVES, defaults, params))
