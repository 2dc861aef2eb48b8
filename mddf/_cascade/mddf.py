"""The margin distribution deep forest, mdDF."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from mddf._base.messages import short
from mddf._base.validation import Within, refuse_class
from mddf._cascade.estimator import BaseCascade
from mddf._cascade.plan import CascadeKind
from mddf._ensemble.coefficients import (
    CoefficientRule,
    MeanMargin,
    OwnReweighting,
    OwnRule,
    Reweighting,
    Simplex,
    Stagewise,
)


class MDDFClassifier(BaseCascade):
    """The margin distribution deep forest, mdDF.

    A cascade: every layer is a block of random and completely-random forests, grown on folds, that
    sees the features together with the class vectors (predicted class probabilities) of the layers
    before. The layers' out-of-fold margins determine each layer's coefficient in the weighted
    average and the samples' weights in the next layer, so that the margins gather near a target
    [1]_.

    Parameters
    ----------
    n_layers : int, default=10
        Maximum number of layers.
    n_estimators : int, default=100
        Trees of each named forest, on each fold.
    forests : list, default=None
        The forests of a layer: "random" (bootstrap, square root of the number of features for
        each node), "completely-random" (one random threshold of one random feature), or
        classifiers with ``predict_proba``, of which each fold fits a clone. Forests of this
        package share the binned table, and their parameters about weights, seeds, threads, bins
        and categories give way to those of the cascade; others get the features as numbers,
        categories as codes, missing values as NaN. Names and parameters are set as in
        `DeepForestClassifier`: ``lr`` and ``lr__C`` of ``("lr", LogisticRegression())``,
        ``forests__0__max_features`` of a first forest without a name. None means two random and
        two completely-random forests.
    cv : int, splitter, iterable of (train, test), "oob" or None, default=5
        How the class vectors of the training samples are made: by cross-validation, or with "oob"
        by the trees that did not draw a sample. For "oob" the named forests all draw bootstraps
        and a fifth of the trees is grown; forests given as objects need ``bootstrap=True``. A
        number means folds that are drawn anew for each layer, stratified as far as the sizes of
        the classes allow; None means 5.
    structure : {"preconc", "stacking", "no-preconc"}, default="preconc"
        Input of the layers after the first: the features and the class vectors of the layers
        before, or only the class vectors, or only the features.
    augmentation : {"auto", "mean", "per-forest"}, default="auto"
        Class vectors that a layer passes on: their mean over its forests, or one of each forest;
        "auto" passes on one of each if together they have no more columns than the features.
        Either way they are averaged with those of the layers before, weighted by the coefficients.
    alpha : {"simplex", "stagewise", "mean-margin"} or callable, default="simplex"
        How the coefficients are found: by stochastic gradient descent over those of all layers,
        which are not negative and sum to 1; by descent over the last one only, as the paper's
        algorithm reads, which in effect stops after the first layer; or as half the logarithm of
        (1 + g) / (1 - g), g being the layer's mean margin. A callable is called after each layer
        as ``alpha(margins, alphas, sample_weight)``, with the out-of-fold margins of each layer so
        far alone, of shape (n_samples, n_layers), and the coefficients before, of shape
        (n_layers - 1,); it returns those of all layers, which are not negative.
    target_margin : float, default=0.9
        r in the loss, between 0 and 1.
    mu : float, default=0.1
        Factor of squared distances above the target margin.
    reweighting : {"resample", "weights"}, callable, tuple or None, default="resample"
        Whether the samples of the next layer's trees are drawn in proportion to the losses, anew
        for each tree, or weighted by them, or neither. Classifiers that are not forests of this
        package are weighted in both cases, or get drawn samples if their fit takes no weights
        (which sample and class weights are refused with). A callable gives factors in place of
        the losses: it is called after each layer as ``reweighting(margins, alphas,
        sample_weight)``, as `alpha` is, but with the coefficients of all layers, and returns
        factors of shape (n_samples,), whose scale makes no difference. Samples are drawn by them;
        ``("weights", callable)`` weights the samples.
    strength : float, default=0.25
        Share of the losses in the weights; the rest is the same for all samples. 1 is the paper,
        which lets mislabelled samples take over on noisy data. Not used by a callable.
    depth_step : int, default=None
        c: random forests of layer t, counted from 1, grow to a depth of c (t + 1); None for no
        limit. Completely-random forests and those with a depth of their own are not limited.
    early_stopping : bool, default=True
        Keep the layers up to the best out-of-fold score, the larger mean margin deciding between
        equal ones, and stop after `n_iter_no_change` layers without a better score. False grows
        and keeps `n_layers`.
    n_iter_no_change : int, default=2
        Patience, in layers.
    tol : float or "auto", default="auto"
        By how much a score must exceed the best one before for the patience to start anew.
        "auto" goes by the scale of `scoring`: 0.01 for the margin ratio, and of other scores a
        hundredth of what the best one lacks: of 1 if it is between 0 and 1, else of 0.
    keep_layers : {"best", "fewest", "held-out"}, default="best"
        What early stopping keeps: the layers up to the best score, or the fewest whose score is
        below the best one by no more than the standard error of that difference. The error is
        that between twenty blocks of samples, or of groups. "held-out" grows as many layers as
        score best on a quarter of the samples, or of the groups, with a cascade that is grown on
        the others first: out-of-fold scores of later layers are too good where rows are near
        copies of each other. The fit then takes nearly twice the time.
    refit : bool, default=False
        Keep forests that are grown once on all samples instead of those of all folds, whose
        out-of-fold class vectors are what the coefficients, the next layer, the score and
        `oof_probabilities_` go by all the same. With 5 folds the model has a fifth of the trees,
        is a quarter as large and predicts in about a fifth of the time; a layer takes a quarter
        longer to grow. With ``cv="oob"`` the forests are grown on all samples anyway.
    calibrate : bool, default=False
        Raise the probabilities to the power of `exponent_`, found by out-of-fold log-loss, scale
        them to sum 1, and spread the share `label_smoothing_` of them over the classes evenly, as
        in `DeepForestClassifier`.
        Predictions, coefficients and the choice of layers, whatever the score, do not depend on
        it.
    scoring : str, callable or None, default="margin-ratio"
        Score of the out-of-fold predictions: "margin-ratio", the standard deviation of the margins
        over their mean, with a minus sign; a scorer of scikit-learn's; None for accuracy. A
        callable is called as ``scoring(estimator, X, y)`` with an estimator that has ``predict``
        and ``predict_proba`` only.
    transform_layers : {"last", "all"}, int or array of int, default="last"
        Layers whose features `transform` gives, by their positions as in a list: 0 is the first
        layer, which names and ``history_["layer"]`` call 1, and -1 the last one.
    transform_forests : {"mean", "each"}, default="mean"
        Whether the features are the mean class vector of a layer's forests or all of them.
    grains : list of slices or arrays of int, default=None
        Groups of features that the layers see in turn, as a multi-grained scanner's
        ``grains_``; None shows all of them to all layers. Early stopping waits until each group
        had a turn.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds, trees and descent.
    verbose : int, default=0
        1 prints a line for each layer, 2 shows a progress bar as well.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, as in `RandomForestClassifier`.
    checkpoint : str or path, default=None
        Folder in which each layer is kept, as plain arrays, as soon as it is grown. A fit with the
        same data, parameters and seed, which has to be a number, goes on after the last layer
        that is there and ends in the same bits; one with others is refused. All forests have to
        be of this package.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_layers_ : int
        Layers that are kept.
    alphas_ : ndarray of shape (n_layers_,)
        Coefficients of the kept layers.
    history_ : dict of str to ndarray of shape (n_grown,)
        For all layers that were grown: "accuracy", "score", "margin_mean", "margin_std" and
        "margin_ratio" (std over mean) of the layers so far together, all out-of-fold;
        "layer_score" of the layer alone; "alpha" when it was grown; "effective_samples",
        ``1 / sum D^2`` of the weights D it was trained with; "time" in seconds; and "layer", its
        number from 1.
    margins_ : ndarray of shape (n_grown, n_samples)
        Out-of-fold margins of the layers so far together, in [-1, 1].
    weights_ : ndarray of shape (n_grown, n_samples)
        Weights of the samples in each layer, of sum 1; sample and class weights included.
    member_scores_ : ndarray of shape (n_grown, n_forests)
        Out-of-fold scores of each layer's forests alone.
    oof_probabilities_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the kept layers, calibrated if those of `predict_proba` are.
    exponent_ : float
        Of the calibration; above 1 makes probabilities surer. 1 without.
    label_smoothing_ : float
        Share of the probabilities that calibration spreads over the classes evenly. 0 without.
    stop_reason_ : str
        Why no more layers were grown, in one line.
    layer_importances_ : ndarray of shape (n_layers_, n_features)
    feature_importances_ : ndarray of shape (n_features,)

    See Also
    --------
    mddf.baselines.GCForestClassifier : The cascade without coefficients and weights.

    Notes
    -----
    The features are binned once, one byte each; folds, forests and layers share that table.

    Out-of-fold figures are exact for the first layer. Later layers learn from class vectors that
    trees with a sample's own label gave its neighbours, so that theirs may be a little too good
    where labels are noise, or too modest where they are not.

    The margin of a sample is the probability of its own class minus the largest one of another
    class. With g_t the out-of-fold margins of layer t, the loss of ``z = sum_t alpha_t g_t`` is
    ``(z - r)^2 / r^2`` up to r and ``mu (z - r)^2 / (1 - r)^2`` above.

    References
    ----------
    .. [1] S.-H. Lv, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest
       representation learning", NeurIPS 2019.

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
        forests: Any = None,
        cv: Any = 5,
        structure: str = "preconc",
        augmentation: str = "auto",
        alpha: Any = "simplex",
        target_margin: float = 0.9,
        mu: float = 0.1,
        reweighting: Any = "resample",
        strength: float = 0.25,
        depth_step: int | None = None,
        early_stopping: bool = True,
        n_iter_no_change: int = 2,
        tol: Any = "auto",
        keep_layers: str = "best",
        refit: bool = False,
        calibrate: bool = False,
        scoring: Any = "margin-ratio",
        transform_layers: Any = "last",
        transform_forests: str = "mean",
        grains: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        checkpoint: Any = None,
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
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.checkpoint = checkpoint

    def _kind(self) -> CascadeKind:
        loss: Any = {"target_margin": self.target_margin, "mu": self.mu}
        rules: dict[str, CoefficientRule] = {
            "simplex": Simplex(**loss),
            "stagewise": Stagewise(**loss),
            "mean-margin": MeanMargin(),
        }
        is_own = callable(self.alpha)
        refuse_class("alpha", self.alpha)
        method, function = self._reweighting()
        reweighting: Reweighting | OwnReweighting | None = None
        if function is not None:
            reweighting = OwnReweighting(function)
        elif method is not None:
            normalise = is_own or self.alpha == "mean-margin"
            reweighting = Reweighting(**loss, strength=self.strength, normalise=normalise)
        return CascadeKind(
            forests=("random", "random", "completely-random", "completely-random"),
            rule=OwnRule(self.alpha) if is_own else rules[self.alpha],
            reweighting=reweighting,
            redraw=method == "resample",
            sees_raw=self.structure != "stacking",
            sees_augmented=self.structure != "no-preconc",
            augmentation=self.augmentation,
            depth_step=self.depth_step,
        )

    def _reweighting(self) -> tuple[str | None, Callable[..., Any] | None]:
        """How samples are reweighted (None: not at all), and the user's function, if any."""
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
