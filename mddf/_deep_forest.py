"""The deep forest for practice: it chooses its own complexity and says honest probabilities."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mddf._binner import Binner, fingerprint
from mddf._binning import apply_bins
from mddf._cascade_estimator import _column_names
from mddf._classifier import LayeredClassifier, warn_of_seen
from mddf._deep_growth import MOST_COLUMNS, Growth, columns_of
from mddf._folds import make_folds
from mddf._guests import weight_parameter
from mddf._members import Training, resolve_members
from mddf._sampling import canonical_order, row_weights
from mddf._scoring import MARGIN_RATIO, out_of_fold_score
from mddf._table import category_mask, read_table
from mddf._validation import (
    COUNT,
    JOBS,
    Within,
    check_weights,
    class_factors,
    encode_labels,
    refuse_class,
    unchanged_on_failure,
)
from mddf._vote import sharpened

# Below so many samples there are ten folds.
_FEW_ROWS = 400


class DeepForestClassifier(LayeredClassifier):
    """A deep forest that is accurate, calibrated and small without being tuned.

    Every layer holds forests of four kinds that differ in how many features they look at for a
    split; the first one has gradient boosting and a logistic regression beside them. Class
    vectors (predicted class probabilities) of the training samples are made by cross-validation.
    The next layer sees them beside the features. What earns its place by out-of-fold log-loss is
    weighed in the vote [1]_, the rest is dropped; layers are added only where they help by more
    than the error of that. The members that are left are then grown once more on all samples, and
    the vote's probabilities are calibrated [2]_. Margins of the samples guide which of them the
    second layer draws more often, as in mdDF [3]_.

    Parameters
    ----------
    n_layers : int, default=2
        Maximum number of layers.
    n_estimators : int, default=100
        Trees of each named forest.
    members : "auto" or list, default="auto"
        Of a layer: "random", "random-half" (half of the features for each split),
        "completely-random", "completely-random-sqrt", "boosted" (scikit-learn's
        `HistGradientBoostingClassifier`), "linear" (logistic regression on scaled and one-hot
        features), or classifiers with ``predict_proba``. Forests of this package are members of
        all layers, others of the first one only: they get the features as numbers, categories as
        codes, missing values as NaN. "auto" means one of each name, without boosting above 30
        classes.
    cv : int, splitter, iterable of (train, test) or "auto", default="auto"
        Folds. "auto" means 5, and 10 below 400 samples.
    refit : bool, default=True
        Grow the members that are kept once more on all samples, instead of keeping the models of
        all folds: a model a fifth as large.
    calibrate : bool, default=True
        Fit the exponent of the probabilities (one over a temperature) by out-of-fold log-loss.
    scoring : str or callable, default="log-loss"
        What the vote is chosen by: "log-loss", "margin-ratio", or a scorer of scikit-learn's.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, as in `RandomForestClassifier`.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories.
    n_jobs : int, default=None
        Number of jobs, as joblib understands it; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds, trees and other members.
    verbose : int, default=0
        1 prints lines that say what each layer tried, kept and cost; 2 shows bars as well.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_layers_ : int
        Layers that are kept.
    exponent_ : float
        Of the calibration; above 1 makes probabilities surer.
    oof_probabilities_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the training samples, calibrated.
    history_ : dict of str to ndarray of shape (n_grown,)
        For all layers that were grown, out-of-fold, of the vote up to that layer: "score",
        "log_loss", "accuracy", "margin_mean", "margin_std", "margin_ratio"; "time" in seconds;
        and "layer", its number from 1.
    leaderboard_ : list of dict
        All members of all layers that were grown: "layer", "member", out-of-fold "log_loss" and
        "accuracy" of its own, "weight" in the vote, "seconds".
    min_samples_leaf_ : dict of str to int
        Chosen for the named forests.
    strength_ : float
        Share of the margins' losses in how the second layer draws samples.
    stop_reason_ : str
        Why there are no more layers.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity in the forests of the first layer, weighted by their vote.

    See Also
    --------
    MDDFClassifier : The paper's cascade.

    Notes
    -----
    Out-of-fold figures of the second layer are a little too good: its inputs were made by models
    that saw the labels of a sample's neighbours. A layer therefore has to win by more than one
    standard error.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from
       libraries of models", ICML 2004.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural
       networks", ICML 2017.
    .. [3] S.-H. Lv, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest
       representation learning", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import DeepForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = DeepForestClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> bool(forest.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_layers": [COUNT],
        "n_estimators": [COUNT],
        "members": [StrOptions({"auto"}), "array-like"],
        "cv": ["cv_object", StrOptions({"auto"})],
        "refit": ["boolean"],
        "calibrate": ["boolean"],
        "scoring": [StrOptions({*get_scorer_names(), "log-loss", MARGIN_RATIO}), callable],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "max_bins": [Within(Integral, 2, 255, closed="both")],
        "n_jobs": JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_layers=2,
        *,
        n_estimators=100,
        members="auto",
        cv="auto",
        refit=True,
        calibrate=True,
        scoring="log-loss",
        class_weight=None,
        categorical_features="from_dtype",
        max_bins=255,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_layers = n_layers
        self.n_estimators = n_estimators
        self.members = members
        self.cv = cv
        self.refit = refit
        self.calibrate = calibrate
        self.scoring = scoring
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _seen: str | None = None  # of models of a release that did not keep it

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Grow the deep forest.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,)
            Classes: numbers, strings or booleans.
        sample_weight : array of shape (n_samples,), default=None
            Not negative.
        groups : array of shape (n_samples,), default=None
            Samples of one group are held out together, by a number of folds and by splitters
            that look at groups. With scikit-learn's metadata routing they are asked for if `cv`
            is such a splitter, or after ``set_fit_request(groups=True)``.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, groups)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y, sample_weight=None, groups=None):
        """Grow the deep forest and give the layer features of the samples it was grown on.

        The features are out-of-fold, so that another model can be trained on them; see
        `MDDFClassifier.fit_transform`. This is why they differ from ``fit(X, y).transform(X)``.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        with unchanged_on_failure(self):
            return np.hstack(self._fit(X, y, sample_weight, groups))

    def _fit(self, X, y, sample_weight, groups) -> list[np.ndarray]:
        """Grow, and return the out-of-fold features of the layers."""
        table = read_table(self, X, reset=True, categorical_features=self.categorical_features)
        check_consistent_length(X, y, groups)
        classes, labels = encode_labels(y)
        given = check_weights(sample_weight, table.shape[0])
        refuse_class("scoring", self.scoring)
        categorical = category_mask(table, self.categorical_features)
        members = resolve_members(self.members, self.n_estimators, categorical, len(classes))
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs)
        n_spare = min(len(members) * len(classes), max(MOST_COLUMNS, len(classes)))
        binned = binner.fit_transform(table, given, n_spare=n_spare)
        random = check_random_state(self.random_state)
        entropy = tuple(random.randint(0, 2**32, 4, dtype=np.uint64).tolist())
        weights = row_weights(
            given, class_factors(self.class_weight, classes, labels, given), labels
        )
        guests = [member for member in members if not member.is_forest]
        if weights.row is not None:
            for guest in guests:
                if weight_parameter(guest.model) is None:
                    raise ValueError(
                        "with a sample_weight or a class_weight, members must hold classifiers "
                        f"whose fit takes sample_weight, got {guest.model!r}"
                    )
        numbers = binner.numbers(table) if guests or hasattr(self.cv, "split") else None
        training = Training(
            binned,
            numbers,
            labels,
            len(classes),
            weights,
            canonical_order(binned.codes, labels),
            self._folds(numbers, labels, entropy, groups),
        )
        score = None
        if self.scoring != "log-loss":
            score = out_of_fold_score(self.scoring, classes, labels, given)
        growth = Growth(self, training, members, table.shape[1], score, entropy)
        seen = fingerprint(binned.codes[:, : table.shape[1]])
        growth.grow()
        self.classes_, self._binner, self._layers = classes, binner, growth.fitted_layers()
        self._n_raw, self._n_spare, self._seen = table.shape[1], n_spare, seen
        self.n_layers_ = len(self._layers)
        self.exponent_ = growth.vote.exponent
        self.oof_probabilities_ = growth.vote.probabilities
        self.history_, self.leaderboard_ = growth.history(), growth.leaderboard
        self.min_samples_leaf_, self.strength_ = growth.leaves, growth.strength
        self.stop_reason_ = growth.stop_reason
        if self.verbose:
            print(f"stopped: {self.stop_reason_}")
        return growth.features

    def _folds(self, X, labels, entropy, groups):
        cv = self.cv
        if isinstance(cv, str):
            cv = 5 if len(labels) >= _FEW_ROWS else 10
        seed = np.random.SeedSequence((*entropy, 1)).generate_state(1)
        return make_folds(cv, X, labels, int(seed[0]), groups)

    # Asking.

    def _stages(self, X, *, warn_if_seen=False):
        """Yield each layer's vectors: (n_voters, n_samples, n_classes)."""
        check_is_fitted(self, "_layers")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        codes = self._binner.transform(table, n_spare=self._n_spare)
        if warn_if_seen:
            warn_of_seen(codes[:, : self._n_raw], self._seen)
        needs_numbers = any(not voter.is_forest for voter in self._layers[0].voters)
        numbers = self._binner.numbers(table) if needs_numbers else None
        return self._layer_vectors(codes, numbers, self.n_jobs)

    def _layer_vectors(self, codes, numbers, n_jobs):
        """As `_stages`, from rows whose spare columns are written over for each layer."""
        before = None
        for layer in self._layers:
            if before is not None:
                apply_bins(before, layer.bins, out=codes, first_column=self._n_raw, n_jobs=n_jobs)
            vectors = np.stack(
                [
                    voter.vectors(codes, numbers, len(self.classes_), n_jobs)
                    for voter in layer.voters
                ]
            )
            yield vectors
            before = layer.hand_on(vectors)

    def _staged(self, X):
        return self._votes(self._stages(X))

    def _votes(self, stages):
        """Probabilities by the votes up to each layer that has some, from the layers' vectors."""
        total, weight = np.zeros(1), 0.0
        for layer, vectors in zip(self._layers, stages, strict=True):
            for voter, of_voter in zip(layer.voters, vectors, strict=True):
                if voter.weight > 0:
                    total = total + voter.weight * sharpened(of_voter, voter.exponent)
                    weight += voter.weight
            if weight > 0:
                yield sharpened(total / weight, self.exponent_)

    def _layers_fitted(self):
        check_is_fitted(self, "_layers")
        return self._layers

    def transform(self, X):
        """Class vectors of all members of the kept layers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New samples. For those that it was grown on, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Named by `get_feature_names_out`.
        """
        stages = self._stages(X, warn_if_seen=True)
        return np.hstack([columns_of(vectors, None) for vectors in stages])

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that `transform` gives, such as "layer1_random_setosa".

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
        """
        names = [
            f"layer{number + 1}_{voter.name}_{label}"
            for number, layer in enumerate(self._layers_fitted())
            for voter in layer.voters
            for label in _column_names(self.classes_)
        ]
        return np.array(names, dtype=object)

    @property
    def feature_importances_(self):
        """Mean decrease of impurity in the first layer's forests, weighted by their vote."""
        voters = [v for v in self._layers_fitted()[0].voters if v.importances is not None]
        total = np.zeros(self._n_raw)
        for voter in voters:
            total += max(voter.weight, 1e-9) * voter.importances[: self._n_raw]
        return total / total.sum() if total.sum() > 0 else total

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_layers")
