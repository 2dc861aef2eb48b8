"""The margin distribution deep forest, mdDF."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.validation import resolve_named
from mddf._layers.base_cascade import CASCADE_PARAMETERS, BaseCascade
from mddf._layers.layered_estimator import LAYERED_PARAMETERS
from mddf._layers.margin_rules import MarginRules
from mddf._layers.rules import LayerRules

_PAPER: dict[str, Any] = {
    "rules__strength": 1.0,
    "rules__augmentation": "mean",
    "rules__structure": "preconc",
    "rules__alpha": "simplex",
    "forests": None,
}
# Settings that make an mdDF the named one.
NAMED_MDDF: dict[str, dict[str, Any]] = {
    "paper": _PAPER,
    "paper-stagewise": _PAPER | {"rules__alpha": "stagewise"},
    "paper-mean-margin": _PAPER | {"rules__alpha": "mean-margin"},
    "SF": _PAPER | {"forests": ["random", "random", "random", "random"]},
    "ST": _PAPER | {"rules__structure": "stacking"},
    "NP": _PAPER | {"rules__structure": "no-preconc"},
}
# Choices that the paper leaves to the user. 8 is the middle of its grid of depth steps on a
# logarithmic scale, rounded up; it was not tuned.
NAMED_MDDF_DEFAULTS: dict[str, Any] = {"rules__depth_step": 8, "scoring": None}


@describes_parameters(CASCADE_PARAMETERS, LAYERED_PARAMETERS, COMMON)
class MDDFClassifier(BaseCascade):
    """Margin distribution deep forest, mdDF.

    A cascade of layers of random and completely-random forests. The input of a layer is the
    features and the class vectors (predicted class probabilities) of the layers before, which come
    from cross-validation. The out-of-fold margins of the layers determine their coefficients in
    the weighted average, and the samples' weights in the next layer, so that the margins gather
    near a target value [1]_.

    Parameters
    ----------
    forests : list, default=None
        Members of a layer: "random" (bootstrap, square root of the number of features for each
        node), "completely-random" (one random threshold of one random feature), or classifiers
        with ``predict_proba``, of which each fold fits a clone. None means two random and two
        completely-random forests. Forests of this package share the binned table, and take
        weights, seeds, threads, bins and categories from the cascade. Other classifiers get the
        features as numbers, with categories as codes and missing values as NaN. Names and
        parameters are set as in `DeepForestClassifier`: ``lr`` and ``lr__C`` for
        ``("lr", LogisticRegression())``. Change it if you have a classifier of your own.
    cv : int, splitter, iterable of (train, test), "oob" or None, default=5
        Folds of the class vectors of the training samples. A number means folds that are drawn
        anew for each layer, stratified as far as the sizes of the classes allow; None means 5.
        With "oob", class vectors come from the trees that did not draw a sample. All named forests
        then draw bootstraps, forests that are passed as objects need ``bootstrap=True``, and a
        fifth of the trees is grown. `TimeOrder` holds out what follows its training samples.
        Change it to 10 with few rows, to "oob" with many, or if rows are in an order of time.
    rules : MarginRules or LayerRules, default=None
        The hyperparameters of the paper, such as ``MarginRules(strength=1.0, mu=0.05)``, and rules
        that are called after each layer: which rows leave the cascade, weights of the samples,
        columns, trees and depth of the next layer, and when to stop. None means ``MarginRules()``,
        and `LayerRules` are added to its defaults. See `mddf.rules`. Change it to repeat or vary
        the paper.
    early_stopping : bool, default=True
        Keep the layers up to the best out-of-fold score, and stop after two layers without a
        better score, or without a gain of 0.01 in the margin ratio. The larger mean margin decides
        between equal scores. False grows and keeps `n_layers`. Change it to compare depths.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_layers_,)
        Coefficients of the kept layers.

    See Also
    --------
    mddf.baselines.GCForestClassifier : The cascade without coefficients and weights.

    Notes
    -----
    The features are binned once, in one byte each. Folds, forests and layers share this table.

    Out-of-fold figures are exact for the first layer. Later layers learn from class vectors of a
    sample's neighbours, which come from trees that saw the sample's own label. Their figures may
    be a little too good if labels are noisy, or too low if they are not.

    The defaults are choices of this project. :meth:`named` makes the algorithm of the paper, and
    says what it leaves open.

    References
    ----------
    .. [1] S.-H. Lyu, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest
       representation learning", NeurIPS 2019. Equations, algorithms and tables are numbered as in
       its preprint, "Forest representation learning guided by margin distribution",
       arXiv:1905.03052v1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import MDDFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = MDDFClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> bool(forest.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _default_forests = ("random", "random", "completely-random", "completely-random")
    _rules_class = MarginRules
    _patience = 2

    def __init__(
        self,
        n_layers: int = 10,
        *,
        n_estimators: int = 100,
        forests: list[Any] | None = None,
        cv: Any = 5,
        early_stopping: bool = True,
        refit: bool = False,
        calibrate: bool = False,
        scoring: str | Callable[..., float] | None = "margin-ratio",
        rules: LayerRules | None = None,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
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
        self.rules = rules
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.checkpoint = checkpoint

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of members and rules.

        Parameters
        ----------
        **params : dict
            Values by the names of `get_params`, and by names of rules such as ``rules__mu``,
            also if `rules` is None or has no margins.

        Returns
        -------
        self
        """
        if any(name.startswith("rules__") for name in params):
            rules = params.get("rules", self.rules)
            if rules is None or isinstance(rules, LayerRules):
                # A copy, since the user may use them elsewhere.
                params["rules"] = copy(self._own_rules(rules))
        return super().set_params(**params)

    @classmethod
    def named(cls, name: str, **params: Any) -> Self:
        """Make an mdDF of the paper, or one of its ablations.

        The defaults of this class differ from the paper: only a quarter of a sample's weight
        depends on its loss, forests have no depth limit, and a layer may pass on the vectors of
        each forest. All named cascades undo this; samples are still drawn by each tree, within
        the folds, and not once before the folds. Named cascades have the rules
        ``MarginRules(strength=1, augmentation="mean", depth_step=8)``, and stop by out-of-fold
        accuracy (``scoring=None``).

        The paper leaves three choices open. The literal descent over the last coefficient gives
        later layers coefficients near 0 on most data sets, so that "paper" descends over all
        coefficients, under the constraint of the theory. The paper
        has no values but grids for three parameters, from which cross-validation on training rows
        should choose: ``rules__target_margin`` from 0.7 to 0.95 in steps of 0.05; ``rules__mu`` of
        0.01, 0.05 and 0.1; ``rules__depth_step`` of 2, 4, 8 and 16. It has no stopping rule.

        Parameters
        ----------
        name : str
            "paper" (coefficients on the simplex, as in the theory), "paper-stagewise" (the literal
            line 6 of Algorithm 2), "paper-mean-margin" (AdaBoost's formula, with the mean margin
            in place of the edge), and of Table 3 "SF" (four random forests), "ST" (stacking: later
            layers read only class vectors) and "NP" (no preconc: later layers read only the
            features).
        **params
            Other parameters, also of the rules, such as ``rules__depth_step=4``. They replace
            ``rules__depth_step`` and `scoring`, but not the settings that make a cascade the named
            one. `LayerRules` as `rules` are added.

        Returns
        -------
        MDDFClassifier
            Not fitted.

        Raises
        ------
        ValueError
            If there is no such name, or a parameter contradicts it.

        Examples
        --------
        >>> from mddf import MDDFClassifier
        >>> MDDFClassifier.named("NP", random_state=0).rules.structure
        'no-preconc'
        """
        return cls().set_params(**resolve_named(name, NAMED_MDDF, NAMED_MDDF_DEFAULTS, params))
