"""The margin distribution deep forest, mdDF."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.validation import Within, refuse_class, resolve_named
from mddf._layers.base_cascade import CASCADE_PARAMETERS, BaseCascade
from mddf._layers.cascade_plan import CascadeKind
from mddf._layers.coefficients import (
    CoefficientRule,
    MeanMargin,
    OwnRule,
    Reweighting,
    Simplex,
    Stagewise,
)
from mddf._layers.layered_estimator import LAYERED_PARAMETERS
from mddf._layers.rules import LayerRules

_PAPER: dict[str, Any] = {
    "strength": 1.0,
    "augmentation": "mean",
    "structure": "preconc",
    "forests": None,
    "alpha": "simplex",
}
_RANDOM_FORESTS = ["random", "random", "random", "random"]
# Settings that make an mdDF the named one.
NAMED_MDDF: dict[str, dict[str, Any]] = {
    "paper": _PAPER,
    "paper-stagewise": _PAPER | {"alpha": "stagewise"},
    "paper-mean-margin": _PAPER | {"alpha": "mean-margin"},
    "SF": _PAPER | {"forests": _RANDOM_FORESTS},
    "ST": _PAPER | {"structure": "stacking"},
    "NP": _PAPER | {"structure": "no-preconc"},
}
# Choices that the paper leaves to the user. 8 is the middle of its grid of depth steps on a
# logarithmic scale, rounded up; it was not tuned.
NAMED_MDDF_DEFAULTS: dict[str, Any] = {"depth_step": 8, "scoring": None}


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
        ``("lr", LogisticRegression())``.
    cv : int, splitter, iterable of (train, test), "oob" or None, default=5
        Folds of the class vectors of the training samples. A number means folds that are drawn
        anew for each layer, stratified as far as the sizes of the classes allow; None means 5.
        With "oob", class vectors come from the trees that did not draw a sample. All named forests
        then draw bootstraps, forests that are passed as objects need ``bootstrap=True``, and a
        fifth of the trees is grown. `TimeOrder` holds out what follows its training samples.
    structure : {"preconc", "stacking", "no-preconc"}, default="preconc"
        Input of the layers after the first: the features and the class vectors of the layers
        before, or only the class vectors, or only the features.
    augmentation : {"auto", "mean", "per-forest"} or callable, default="auto"
        Class vectors that a layer passes on: their mean over its forests, or one of each forest.
        "auto" passes on one of each if together they have no more columns than the features. In
        both cases, they are averaged over the layers so far, weighted by the coefficients. A
        callable makes other columns of the last layer, such as `mddf.rules.mean_regions`: it is
        called as ``augmentation(regions)`` for each forest, and returns an array with a row for
        each sample. ``regions`` is an iterator over the trees, of pairs (lower, upper): bounds of
        each feature in the leaves of the samples, each of shape (n_samples, n_features), infinite
        where there is no bound. It gets the trees of one fold for the samples that these did not
        see, and the trees of all folds for new samples, so that its result should be a mean over
        trees. It needs folds, ``refit=False`` and forests of this package.
    alpha : {"simplex", "stagewise", "mean-margin"} or callable, default="simplex"
        Rule for the coefficients. "simplex": stochastic gradient descent over the coefficients of
        all layers, which are not negative and have sum 1. "stagewise": descent over the last
        coefficient only, as in the algorithm of the paper. On four of five data sets measured,
        later layers then get coefficients near 0. "mean-margin": half the logarithm of
        (1 + g) / (1 - g) for the layer's mean margin g. A callable is called after each layer as
        ``alpha(margins, alphas, sample_weight)``, with the out-of-fold margins of each layer
        alone, of shape (n_samples, n_layers), and the coefficients before, of shape
        (n_layers - 1,). It returns the coefficients of all layers, which are not negative.
    target_margin : float, default=0.9
        r in the loss, between 0 and 1.
    mu : float, default=0.1
        Factor of squared distances above the target margin.
    strength : float, default=0.25
        Trees of the next layer draw samples in proportion to the losses of their margins. This is
        the share of the losses in the proportions; the rest is the same for all samples. 1 is the
        value of the paper, with which mislabelled samples dominate on noisy data; 0 draws all
        samples alike. Classifiers that are not forests of this package are weighted. If their fit
        takes no weights, they get drawn samples, and cannot be combined with sample and class
        weights. Other factors are a rule; see `rules`.
    depth_step : int, default=None
        c: random forests of layer t, counted from 1, grow to a depth of c (t + 1); None for no
        limit. Completely-random forests, and forests with a `max_depth`, are not limited by it.
    early_stopping : bool, default=True
        Keep the layers up to the best out-of-fold score, and stop after two layers without a
        better score, or without a gain of 0.01 in the margin ratio. The larger mean margin decides
        between equal scores. False grows and keeps `n_layers`.

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

    The margin of a sample is the probability of its own class minus the largest one of another
    class. With g_t the out-of-fold margins of layer t, the loss of ``z = sum_t alpha_t g_t`` is
    ``(z - r)^2 / r^2`` up to r and ``mu (z - r)^2 / (1 - r)^2`` above. If `alpha` is "mean-margin"
    or a callable, the weights of the next layer use the loss of ``z / sum_t alpha_t``.

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

    _patience = 2

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseCascade._parameter_constraints,
        "structure": [StrOptions({"preconc", "stacking", "no-preconc"})],
        "augmentation": [StrOptions({"auto", "mean", "per-forest"}), callable],
        "alpha": [StrOptions({"simplex", "stagewise", "mean-margin"}), callable],
        "target_margin": [Within(Real, 1e-6, 1 - 1e-6, closed="both")],
        "mu": [Within(Real, 0, 1e9, closed="both")],
        "strength": [Within(Real, 0, 1, closed="both")],
        "depth_step": [Within(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_layers: int = 10,
        *,
        n_estimators: int = 100,
        forests: list[Any] | None = None,
        cv: Any = 5,
        structure: str = "preconc",
        augmentation: str | Callable[..., Any] = "auto",
        alpha: str | Callable[..., Any] = "simplex",
        target_margin: float = 0.9,
        mu: float = 0.1,
        strength: float = 0.25,
        depth_step: int | None = None,
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
        self.structure = structure
        self.augmentation = augmentation
        self.alpha = alpha
        self.target_margin = target_margin
        self.mu = mu
        self.strength = strength
        self.depth_step = depth_step
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

    @classmethod
    def named(cls, name: str, **params: Any) -> Self:
        """Make an mdDF of the paper, or one of its ablations.

        The defaults of this class differ from the paper: only a quarter of a sample's weight
        depends on its loss, forests have no depth limit, and a layer may pass on the vectors of
        each forest. All named cascades undo this; samples are still drawn by each tree, within
        the folds, and not once before the folds. Named cascades have ``strength=1``,
        ``augmentation="mean"`` and ``depth_step=8``, and stop by out-of-fold accuracy
        (``scoring=None``).

        The paper leaves three choices open. The literal descent over the last coefficient gives
        later layers coefficients near 0 on most data sets, so that "paper" descends over all
        coefficients, under the constraint of the theory. The paper
        has no values but grids for three parameters, from which cross-validation on training rows
        should choose: `target_margin` from 0.7 to 0.95 in steps of 0.05; `mu` of 0.01, 0.05 and
        0.1; `depth_step` of 2, 4, 8 and 16. It has no stopping rule.

        Parameters
        ----------
        name : str
            "paper" (coefficients on the simplex, as in the theory), "paper-stagewise" (the literal
            line 6 of Algorithm 2), "paper-mean-margin" (AdaBoost's formula, with the mean margin
            in place of the edge), and of Table 3 "SF" (four random forests), "ST" (stacking: later
            layers see only class vectors) and "NP" (no preconc: later layers see only the
            features).
        **params
            Other parameters. They replace `depth_step` and `scoring`, but not the settings
            that make a cascade the named one.

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
        >>> MDDFClassifier.named("NP", random_state=0).structure
        'no-preconc'
        """
        return cls(**resolve_named(name, NAMED_MDDF, NAMED_MDDF_DEFAULTS, params))

    def _kind(self) -> CascadeKind:
        loss: Any = {"target_margin": self.target_margin, "mu": self.mu}
        rules: dict[str, CoefficientRule] = {
            "simplex": Simplex(**loss),
            "stagewise": Stagewise(**loss),
            "mean-margin": MeanMargin(),
        }
        refuse_class("alpha", self.alpha)
        refuse_class("augmentation", self.augmentation)
        rule = OwnRule(self.alpha) if callable(self.alpha) else rules[self.alpha]
        reweighting = None
        if self.strength > 0:
            normalise = isinstance(rule, OwnRule | MeanMargin)
            reweighting = Reweighting(**loss, strength=self.strength, normalise=normalise)
        return CascadeKind(
            forests=("random", "random", "completely-random", "completely-random"),
            rule=rule,
            reweighting=reweighting,
            redraw=True,
            sees_raw=self.structure != "stacking",
            sees_augmented=self.structure != "no-preconc",
            augmentation=self.augmentation,
            depth_step=self.depth_step,
        )
