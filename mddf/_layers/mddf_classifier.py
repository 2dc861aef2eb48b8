"""The margin distribution deep forest, mdDF."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from mddf._base.messages import short
from mddf._base.validation import Within, refuse_class, resolve_named
from mddf._layers.base_cascade import BaseCascade
from mddf._layers.cascade_plan import CascadeKind
from mddf._layers.coefficients import (
    CoefficientRule,
    MeanMargin,
    OwnReweighting,
    OwnRule,
    Reweighting,
    Simplex,
    Stagewise,
)
from mddf._layers.named_cascades import NAMED_MDDF, NAMED_MDDF_DEFAULTS
from mddf._layers.rules import LayerRules


class MDDFClassifier(BaseCascade):
    """Margin distribution deep forest, mdDF.

    A cascade of layers of random and completely-random forests. The input of a layer is the
    features and the class vectors (predicted class probabilities) of the layers before, which come
    from cross-validation. The out-of-fold margins of the layers determine their coefficients in
    the weighted average, and the samples' weights in the next layer, so that the margins gather
    near a target value [1]_.

    Parameters
    ----------
    n_layers : int, default=10
        Maximum number of layers.
    n_estimators : int, default=100
        Trees of each named forest, on each fold.
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
    augmentation : {"auto", "mean", "per-forest"}, default="auto"
        Class vectors that a layer passes on: their mean over its forests, or one of each forest.
        "auto" passes on one of each if together they have no more columns than the features. In
        both cases, they are averaged over the layers so far, weighted by the coefficients.
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
    reweighting : {"resample", "weights"}, callable, tuple or None, default="resample"
        Whether the samples of the next layer's trees are drawn in proportion to the losses, anew
        for each tree, or weighted by the losses, or neither. Classifiers that are not forests of
        this package are weighted in both cases. If their fit takes no weights, they get drawn
        samples, and cannot be combined with sample and class weights. A callable returns factors
        that replace the losses. It is called after each layer as ``reweighting(margins, alphas,
        sample_weight)``, like `alpha`, but with the coefficients of all layers, and returns
        factors of shape (n_samples,), whose scale does not matter. Samples are drawn by them;
        ``("weights", callable)`` weights the samples.
    strength : float, default=0.25
        Share of the losses in the weights; the rest is the same for all samples. 1 is the value of
        the paper, with which mislabelled samples dominate on noisy data. Not used by a callable.
    depth_step : int, default=None
        c: random forests of layer t, counted from 1, grow to a depth of c (t + 1); None for no
        limit. Completely-random forests, and forests with a `max_depth`, are not limited by it.
    early_stopping : bool, default=True
        Keep the layers up to the best out-of-fold score, and stop after `n_iter_no_change` layers
        without a better score. The larger mean margin decides between equal scores. False grows
        and keeps `n_layers`.
    n_iter_no_change : int, default=2
        Patience, in layers.
    tol : float or "auto", default="auto"
        Gain over the best score so far after which `n_iter_no_change` is counted anew. "auto"
        depends on `scoring`: 0.01 for the margin ratio, and for other scores a hundredth of the
        distance from the best score to 1, or to 0 if it is not between 0 and 1.
    keep_layers : {"best", "fewest", "held-out"}, default="best"
        Layers that early stopping keeps. "best": up to the best score. "fewest": the fewest layers
        whose score is below the best one by no more than the standard error of the difference,
        estimated from twenty blocks of samples or of groups. "held-out": a first cascade is
        trained on three quarters of the samples or groups, and the number of layers that scores
        best on the last quarter is grown on all. This helps if rows are near copies of each other,
        for which out-of-fold scores of later layers are too good; the fit takes nearly twice the
        time.
    refit : bool, default=False
        Keep forests that are grown once on all samples instead of the forests of all folds.
        Coefficients, the next layer, scores and `oof_probabilities_` are still made from the
        folds. With 5 folds, the model has a fifth of the trees, is a quarter as large and predicts
        in about a fifth of the time; a layer takes a quarter longer to grow. With ``cv="oob"``,
        forests are always grown on all samples.
    calibrate : bool, default=False
        Raise the probabilities to the power of `exponent_`, found by out-of-fold log-loss, scale
        them to sum 1, and spread the share `label_smoothing_` of them evenly over the classes, as
        in `DeepForestClassifier`. Predicted classes, coefficients and the choice of layers do not
        depend on it.
    scoring : str, callable or None, default="margin-ratio"
        Score of the out-of-fold predictions: "margin-ratio", minus the standard deviation of the
        margins divided by their mean; a scorer of scikit-learn; None for accuracy. A
        callable is called as ``scoring(estimator, X, y)`` with an estimator that has ``predict``
        and ``predict_proba`` only.
    transform_layers : {"last", "all"}, int or array of int, default="last"
        Layers whose features `transform` returns, by their positions as in a list: 0 is the first
        layer, which has number 1 in names and in ``history_["layer"]``, and -1 the last one.
    transform_forests : {"mean", "each", "boosted"}, default="mean"
        Features of a layer: the mean class vector of its forests, the vectors of all of them, or
        the sum of the mean vectors of all layers up to this one, multiplied by the coefficients
        that they had after it: the boosted features f_t = sum_l alpha_l h_l of the paper.
    grains : list of slices or arrays of int, default=None
        Groups of features that the layers get in turn, such as the ``grains_`` of a multi-grained
        scanner. None: all layers get all features. Early stopping waits until each group had a
        turn.
    rules : LayerRules, default=None
        Rules that are called after each layer: which rows leave the cascade, weights of the
        samples, columns and numbers of trees of the next layer, and when to stop. See
        `mddf.rules`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class.
    n_jobs : int, default=None
        Number of threads: None is one (or the value of `joblib.parallel_config`), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds, trees and the descent.
    verbose : int, default=0
        1 prints a line for each layer, 2 also shows a progress bar.
    max_bins : int, default=255
        Maximum number of bins of a numeric feature, and of categories.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Categorical features, as in `RandomForestClassifier`.
    checkpoint : str or path, default=None
        Folder in which each layer is saved as soon as it is trained. A fit with the same data,
        parameters and seed, which has to be a number, goes on after the last layer in the folder
        and has the same result. A fit with other inputs is refused. All members have to be forests
        of this package.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_layers_ : int
        Number of layers that are kept.
    alphas_ : ndarray of shape (n_layers_,)
        Coefficients of the kept layers.
    history_ : dict of str to ndarray of shape (n_grown,)
        Out-of-fold figures of all layers that were grown: "accuracy", "score", "margin_mean",
        "margin_std" and "margin_ratio" (std / mean) of the layers so far together; "layer_score"
        of the layer alone; "alpha", its coefficient when it was grown; "effective_samples",
        ``1 / sum D^2`` for the sample weights D; "active_samples", the rows on which it was
        trained, all rows unless `rules` let some leave; "time" in seconds; and "layer", its number
        from 1.
    margins_ : ndarray of shape (n_grown, n_samples)
        Out-of-fold margins of the layers so far together, in [-1, 1].
    weights_ : ndarray of shape (n_grown, n_samples)
        Weights of the samples in each layer, of sum 1; sample and class weights included.
    member_scores_ : ndarray of shape (n_grown, n_forests)
        Out-of-fold scores of each layer's forests alone.
    oof_probabilities_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the kept layers, calibrated if `calibrate` is true.
    n_without_oof_ : int
        Number of samples without an out-of-fold prediction, which have no past in time order. They
        are left out of all figures, weights and calibrations; their predictions are NaN.
    exponent_ : float
        Exponent of the calibration; above 1, it makes probabilities more extreme. 1 without.
    label_smoothing_ : float
        Share of the probabilities that calibration spreads evenly over the classes. 0 without.
    stop_reason_ : str
        Why no more layers were grown.
    layer_importances_ : ndarray of shape (n_layers_, n_features)
    feature_importances_ : ndarray of shape (n_features,)

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseCascade._parameter_constraints,
        "structure": [StrOptions({"preconc", "stacking", "no-preconc"})],
        "augmentation": [StrOptions({"auto", "mean", "per-forest"})],
        "alpha": [StrOptions({"simplex", "stagewise", "mean-margin"}), callable],
        "target_margin": [Within(Real, 1e-6, 1 - 1e-6, closed="both")],
        "mu": [Within(Real, 0, 1e9, closed="both")],
        "reweighting": [StrOptions({"weights", "resample"}), callable, tuple, None],
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
        augmentation: str = "auto",
        alpha: str | Callable[..., Any] = "simplex",
        target_margin: float = 0.9,
        mu: float = 0.1,
        reweighting: str | Callable[..., Any] | tuple[str, Callable[..., Any]] | None = "resample",
        strength: float = 0.25,
        depth_step: int | None = None,
        early_stopping: bool = True,
        n_iter_no_change: int = 2,
        tol: float | str = "auto",
        keep_layers: str = "best",
        refit: bool = False,
        calibrate: bool = False,
        scoring: str | Callable[..., float] | None = "margin-ratio",
        transform_layers: str | npt.ArrayLike = "last",
        transform_forests: str = "mean",
        grains: list[Any] | None = None,
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
        self.reweighting = reweighting
        self.strength = strength
        self.depth_step = depth_step
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
        """Make an mdDF of the paper, or one of its ablations.

        The defaults of this class differ from the paper: only a quarter of a sample's weight
        depends on its loss, forests have no depth limit, and a layer may pass on the vectors of
        each forest. All named cascades undo this; samples are still drawn by each tree, within
        the folds, and not once before the folds. Named cascades have ``strength=1``,
        ``augmentation="mean"``, ``reweighting="resample"`` and ``depth_step=8``, and stop by
        out-of-fold accuracy (``scoring=None``, ``tol=0.0``).

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
            Other parameters. They replace `depth_step`, `scoring` and `tol`, but not the settings
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
        rule = OwnRule(self.alpha) if callable(self.alpha) else rules[self.alpha]
        method, function = self._reweighting()
        reweighting: Reweighting | OwnReweighting | None = None
        if function is not None:
            reweighting = OwnReweighting(function)
        elif method is not None:
            normalise = isinstance(rule, OwnRule | MeanMargin)
            reweighting = Reweighting(**loss, strength=self.strength, normalise=normalise)
        return CascadeKind(
            forests=("random", "random", "completely-random", "completely-random"),
            rule=rule,
            reweighting=reweighting,
            redraw=method == "resample",
            sees_raw=self.structure != "stacking",
            sees_augmented=self.structure != "no-preconc",
            augmentation=self.augmentation,
            depth_step=self.depth_step,
        )

    def _reweighting(self) -> tuple[str | None, Callable[..., Any] | None]:
        """Method of reweighting (None: no reweighting), and the user's function, if any."""
        reweighting = self.reweighting
        if callable(reweighting):
            reweighting = "resample", reweighting
        if not isinstance(reweighting, tuple):
            return reweighting, None
        if (
            len(reweighting) != 2
            or reweighting[0] not in ("resample", "weights")
            or not callable(reweighting[1])
        ):
            raise ValueError(
                "reweighting as a tuple must be 'resample' or 'weights' and a callable, got "
                f"{short(reweighting)}"
            )
        refuse_class("reweighting", reweighting[1])
        return reweighting
