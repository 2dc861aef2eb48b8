"""The deep forest for practice: it chooses its own complexity and says honest probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, _fit_context, clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mddf import _growing
from mddf._binner import Binner
from mddf._binning import Bins, apply_bins
from mddf._cascade_estimator import _column_names
from mddf._folds import make_folds
from mddf._margin_loss import class_margins, margin_moments, margin_ratio
from mddf._members import (
    Member,
    Training,
    fit_guest,
    grow_forests,
    guest_vectors,
    resolve_members,
    weight_option,
)
from mddf._rules import Emphasis, Evidence
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
from mddf._vote import fit_exponent, greedy_weights, log_losses, sharpened

# What is tried before the first layer, and before the second one.
_LEAVES = (1, 2, 5)
_STRENGTHS = (0.0, 0.25, 1.0)
_PILOT_TREES = 40
# Vectors of more columns than this are handed on as their weighted mean.
_MOST_COLUMNS = 300
_FEW_ROWS = 400
_GRAIN = 2.0**-40
# A classifier that has so many times the log-loss of the best forest on the first fold is
# dropped.
_HOPELESS = 1.5
# So many samples make a member's own exponent count half.
_SHRINKAGE = 500


@dataclass
class _Voter:
    """A fitted member of a layer.

    Attributes
    ----------
    name : str
    weight : float
        In the vote.
    exponent : float
        Of its probabilities in the vote.
    models : list
        Trees, or fitted classifiers; one after a refit, else one for each fold.
    is_forest : bool
    importances : ndarray or None
    """

    name: str
    weight: float
    exponent: float
    models: list
    is_forest: bool
    importances: np.ndarray | None = None

    def vectors(self, codes, numbers, n_classes: int, n_jobs) -> np.ndarray:
        """Class vectors of samples: the mean over trees, or over classifiers."""
        if self.is_forest:
            sums = np.zeros((len(codes), n_classes))
            _growing.add_probabilities(self.models, codes, sums, n_jobs=n_jobs)
            return _rounded(_growing.shares(sums))
        return np.mean([guest_vectors(m, numbers, n_classes) for m in self.models], axis=0)


@dataclass
class _DeepLayer:
    """A fitted layer.

    Attributes
    ----------
    voters : list of _Voter
    inputs : list of int
        Those whose vectors the next layer sees.
    mix : ndarray or None
        Weights of the inputs' mean, where the next layer sees only that.
    bins : Bins
        Of the columns that this layer sees of the one before.
    """

    voters: list[_Voter]
    inputs: list[int]
    mix: np.ndarray | None
    bins: Bins

    def hand_on(self, vectors: np.ndarray) -> np.ndarray:
        """Columns for the next layer, from the vectors of all voters of this one."""
        return _columns(vectors[self.inputs], self.mix)


def _columns(vectors: np.ndarray, mix: np.ndarray | None) -> np.ndarray:
    if mix is not None:
        return np.average(vectors, axis=0, weights=mix)
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(vectors.shape[1], -1)


def _rounded(vectors: np.ndarray) -> np.ndarray:
    """Whole multiples of a power of two, so that equal votes stay equal when they are added."""
    return np.rint(vectors / _GRAIN) * _GRAIN


class DeepForestClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
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
            Samples of one group are in the same fold.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, groups)
        return self

    def _fit(self, X, y, sample_weight, groups):
        table = read_table(self, X, reset=True, categorical_features=self.categorical_features)
        check_consistent_length(X, y, groups)
        classes, labels = encode_labels(y)
        given = check_weights(sample_weight, table.shape[0])
        refuse_class("scoring", self.scoring)
        categorical = category_mask(table, self.categorical_features)
        members = resolve_members(self.members, self.n_estimators, categorical, len(classes))
        binner = Binner(self.categorical_features, self.max_bins, self.n_jobs)
        n_spare = min(len(members) * len(classes), max(_MOST_COLUMNS, len(classes)))
        binned = binner.fit_transform(table, given, n_spare=n_spare)
        random = check_random_state(self.random_state)
        entropy = tuple(random.randint(0, 2**32, 4, dtype=np.uint64).tolist())
        weights = row_weights(
            given, class_factors(self.class_weight, classes, labels, given), labels
        )
        guests = [member for member in members if not member.is_forest]
        if weights.row is not None:
            for guest in guests:
                weight_option(guest.model, weights.row)
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
        growth = _Growth(self, training, members, table.shape[1], score, entropy)
        growth.grow()
        self.classes_, self._binner, self._layers = classes, binner, growth.fitted_layers()
        self._n_raw, self._n_spare = table.shape[1], n_spare
        self.n_layers_ = len(self._layers)
        self.exponent_ = growth.exponent
        self.oof_probabilities_ = growth.probabilities
        self.history_, self.leaderboard_ = growth.history(), growth.leaderboard
        self.min_samples_leaf_, self.strength_ = growth.leaves, growth.strength
        self.stop_reason_ = growth.stop_reason
        if self.verbose:
            print(f"stopped: {self.stop_reason_}")

    def _folds(self, X, labels, entropy, groups):
        cv = self.cv
        if isinstance(cv, str):
            cv = 5 if len(labels) >= _FEW_ROWS else 10
        seed = np.random.SeedSequence((*entropy, 1)).generate_state(1)
        return make_folds(cv, X, labels, int(seed[0]), groups)

    # Asking.

    def _stages(self, X):
        """Yield each layer's vectors: (n_voters, n_samples, n_classes)."""
        check_is_fitted(self, "_layers")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        codes = self._binner.transform(table, n_spare=self._n_spare)
        needs_numbers = any(not voter.is_forest for voter in self._layers[0].voters)
        numbers = self._binner.numbers(table) if needs_numbers else None
        before = None
        for layer in self._layers:
            if before is not None:
                apply_bins(
                    before,
                    layer.bins,
                    out=codes,
                    first_column=self._n_raw,
                    n_jobs=self.n_jobs,
                )
            vectors = np.stack(
                [
                    voter.vectors(codes, numbers, len(self.classes_), self.n_jobs)
                    for voter in layer.voters
                ]
            )
            yield vectors
            before = layer.hand_on(vectors)

    def staged_predict_proba(self, X):
        """Class probabilities by the votes up to each layer, calibrated as the whole is.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Once for each layer that is kept and has a vote so far.
        """
        total, weight = np.zeros(1), 0.0
        for layer, vectors in zip(self._layers_fitted(), self._stages(X), strict=True):
            for voter, of_voter in zip(layer.voters, vectors, strict=True):
                if voter.weight > 0:
                    total = total + voter.weight * sharpened(of_voter, voter.exponent)
                    weight += voter.weight
            if weight > 0:
                yield sharpened(total / weight, self.exponent_)

    def _layers_fitted(self):
        check_is_fitted(self, "_layers")
        return self._layers

    def predict_proba(self, X):
        """Class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        *_, probabilities = self.staged_predict_proba(X)
        return probabilities

    def predict_log_proba(self, X):
        """Natural logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        """The class of the largest probability.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def transform(self, X):
        """Class vectors of all members of the kept layers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Named by `get_feature_names_out`.
        """
        return np.hstack([_columns(vectors, None) for vectors in self._stages(X)])

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


@dataclass
class _Grown:
    """A layer with its out-of-fold vectors."""

    members: list[Member]
    vectors: np.ndarray  # (n_members, n_samples, n_classes)
    votes: np.ndarray  # the same, sharpened
    exponents: list[float]
    columns: np.ndarray
    handed: np.ndarray | None  # columns of the layer before, as they were binned
    emphasis: np.ndarray | None
    models: list
    inputs: list[int]
    mix: np.ndarray | None


class _Growth:
    """The fit of a deep forest, step by step."""

    def __init__(self, model, training: Training, members, n_raw: int, score, entropy):
        self.model, self.training, self.members = model, training, members
        self.n_raw, self.score, self.entropy = n_raw, score, entropy
        self.options = {"n_jobs": model.n_jobs, "verbose": model.verbose > 1}
        self.layers: list[_Grown] = []
        self.records: list[dict] = []
        self.leaderboard: list[dict] = []
        self.leaves: dict[str, int] = {}
        self.strength = 0.0
        self.stop_reason = f"n_layers={model.n_layers} were grown"

    # Steps

    def grow(self) -> None:
        """Grow layers until they no longer help, and decide the vote."""
        self._choose_leaves()
        weights: list[np.ndarray] = []
        losses: list[np.ndarray] = []
        for number in range(self.model.n_layers):
            self._add_layer(number)
            weights.append(self._vote())
            mean = self._mean(weights[-1])
            losses.append(log_losses(self._calibrated(mean)[1], self.training.labels))
            if number and not self._helps(losses[-1], losses[-2], number):
                self.layers.pop()
                weights.pop()
                break
        self.weights = weights[-1]
        for row, weight in zip(self.leaderboard, self.weights, strict=False):
            row["weight"] = float(weight)
        self.exponent, self.probabilities = self._calibrated(self._mean(self.weights))

    def _helps(self, losses, before, number: int) -> bool:
        """Whether a layer's gain is above its error; says why not."""
        row = self.training.weights.row
        if self.score is not None:
            gain, error = self.records[-1]["score"] - self.records[-2]["score"], 0.0
        else:
            gains = before - losses
            gain = float(np.average(gains, weights=row))
            error = float(np.sqrt(np.average((gains - gain) ** 2, weights=row) / len(gains)))
        if gain > error:
            return True
        self.stop_reason = (
            f"layer {number + 1} gained {gain:.4f} in {self.model.scoring}, not above its error "
            f"of {error:.4f}"
        )
        return False

    def _calibrated(self, probabilities):
        if not self.model.calibrate:
            return 1.0, probabilities
        training = self.training
        exponent = fit_exponent(probabilities, training.labels, training.weights.row)
        return exponent, sharpened(probabilities, exponent)

    def _votes(self) -> list[np.ndarray]:
        return [votes for layer in self.layers for votes in layer.votes]

    def _vote(self) -> np.ndarray:
        row = self.training.weights.row
        return greedy_weights(self._votes(), self.training.labels, self.score, row)

    def _mean(self, weights) -> np.ndarray:
        used = [(w, votes) for w, votes in zip(weights, self._votes(), strict=True) if w]
        return sum(weight * votes for weight, votes in used)

    # What is chosen before a layer

    def _out_of_bag(self, forest, columns, emphasis, entropy) -> np.ndarray:
        """Log-losses of all samples, by the trees that did not draw them."""
        n_trees = min(_PILOT_TREES, forest.n_estimators)
        pilot = clone(forest).set_params(bootstrap=True, n_estimators=n_trees)
        parts = [(self.training.everything, _growing.OUT_OF_BAG)]
        ((grown,),) = grow_forests(
            [Member("pilot", pilot, None)],
            self.training,
            columns,
            emphasis,
            entropy,
            parts=parts,
            keep=False,
            **self.options,
        )
        labels = self.training.labels
        vectors = np.full((len(labels), self.training.n_classes), 1 / self.training.n_classes)
        rows = self._drawable(emphasis)
        assert grown.sums is not None
        assert grown.n_trees is not None
        seen = grown.n_trees > 0
        vectors[rows[seen]] = _growing.shares(grown.sums[seen])
        row = self.training.weights.row
        return log_losses(sharpened(vectors, fit_exponent(vectors, labels, row)), labels)

    def _drawable(self, emphasis) -> np.ndarray:
        """Rows in the order in which out-of-bag sums come."""
        weight = self.training.weights.row
        if emphasis is not None:
            weight = emphasis * (1 if weight is None else weight)
        order = self.training.order
        return order if weight is None else order[weight[order] > 0]

    def _better(self, losses, default) -> bool:
        """Whether losses are below those of the default by more than one standard error."""
        row = self.training.weights.row
        gains = default - losses
        gain = np.average(gains, weights=row)
        return bool(gain > np.sqrt(np.average((gains - gain) ** 2, weights=row) / len(gains)))

    def _choose_leaves(self) -> None:
        """Give the named forests the leaf size that out-of-bag log-loss favours."""
        if len(self.training.labels) < 50:
            return
        columns = np.arange(self.n_raw, dtype=np.int32)
        for kind in ("random", "completely-random"):
            named = [member for member in self.members if member.kind == kind]
            if not named:
                continue
            found = [
                self._out_of_bag(
                    clone(named[0].model).set_params(min_samples_leaf=leaf),
                    columns,
                    None,
                    (*self.entropy, 3),
                )
                for leaf in _LEAVES
            ]
            best = int(np.argmin([np.average(losses) for losses in found]))
            self.leaves[kind] = _LEAVES[best] if self._better(found[best], found[0]) else 1
            for member in named:
                member.model.set_params(min_samples_leaf=self.leaves[kind])

    def _choose_emphasis(self, columns) -> np.ndarray | None:
        """Which samples the next layer is to draw more often."""
        training = self.training
        forests = [member for member in self.members if member.is_forest]
        random = next((m for m in forests if not m.model._random_thresholds), forests[0])
        margins = class_margins(self._mean(self._vote()), training.labels)
        evidence = Evidence(
            margins[:, None], np.empty(0), training.weights.row, training.order, ()
        )
        tried = {}
        for strength in _STRENGTHS:
            emphasis = None
            if strength:
                emphasis = Emphasis(0.9, 0.1, strength)(evidence, np.ones(1))
            losses = self._out_of_bag(random.model, columns, emphasis, (*self.entropy, 4))
            tried[strength] = (emphasis, losses)
        best = min(tried, key=lambda strength: np.average(tried[strength][1]))
        if not self._better(tried[best][1], tried[0.0][1]):
            best = 0.0
        self.strength = best
        return tried[best][0]

    # Layers

    def _add_layer(self, number: int) -> None:
        start = perf_counter()
        training = self.training
        columns = np.arange(self.n_raw, dtype=np.int32)
        handed = emphasis = None
        members = self.members
        if number:
            before = self.layers[-1]
            handed = _columns(before.vectors[before.inputs], before.mix)
            training.table.replace_columns(
                self.n_raw, handed, sample_weight=training.weights.row, n_jobs=self.model.n_jobs
            )
            columns = np.arange(self.n_raw + handed.shape[1], dtype=np.int32)
            members = [member for member in members if member.is_forest]
            emphasis = self._choose_emphasis(columns)
        members, vectors, models, seconds = self._out_of_fold(members, columns, emphasis, number)
        exponents = [self._own_exponent(of_member) for of_member in vectors]
        votes = np.stack([sharpened(v, e) for v, e in zip(vectors, exponents, strict=True)])
        inputs, mix = self._inputs(votes)
        self.layers.append(
            _Grown(
                members,
                vectors,
                votes,
                exponents,
                columns,
                handed,
                emphasis,
                models,
                inputs,
                mix,
            )
        )
        self._record(number, members, vectors, seconds, perf_counter() - start)

    def _out_of_fold(self, members, columns, emphasis, number: int):
        training, keep = self.training, not self.model.refit
        vectors = np.zeros((len(members), len(training.labels), training.n_classes))
        models: list = [None] * len(members)
        seconds = np.zeros(len(members))
        dropped: list[int] = []
        times = np.zeros(len(training.labels))
        for _, held_out in training.folds:
            times[held_out] += 1
        forests = [i for i, member in enumerate(members) if member.is_forest]
        start = perf_counter()
        grown = grow_forests(
            [members[i] for i in forests],
            training,
            columns,
            emphasis,
            (*self.entropy, 0, number),
            parts=training.folds,
            keep=keep,
            description=f"layer {number + 1}",
            **self.options,
        )
        for i, of_folds in zip(forests, grown, strict=True):
            for (_, held_out), part in zip(training.folds, of_folds, strict=True):
                vectors[i][held_out] += _rounded(part.held_out_probabilities())
            models[i] = of_folds
            seconds[i] = (perf_counter() - start) / len(forests)
        best = min((self._loss_of_fold(v, training.folds[0]) for v in vectors[forests]), default=9)
        for i, member in enumerate(members):
            if member.is_forest:
                continue
            start = perf_counter()
            seeds = (*self.entropy, 5, i)
            first = fit_guest(member, training, training.folds[:1], seeds, 1)
            of_all = np.zeros(vectors.shape[1:])
            of_all[training.folds[0][1]] = first[0][1]
            if self._loss_of_fold(of_all, training.folds[0]) > _HOPELESS * best:
                dropped.append(i)
                continue
            rest = fit_guest(member, training, training.folds[1:], (*seeds, 1), self.model.n_jobs)
            fitted = first + rest
            for (_, held_out), (_, of_fold) in zip(training.folds, fitted, strict=True):
                vectors[i][held_out] += of_fold
            models[i] = [model for model, _ in fitted] if keep else []
            seconds[i] = perf_counter() - start
        kept = [i for i in range(len(members)) if i not in dropped]
        return (
            [members[i] for i in kept],
            vectors[kept] / times[:, None],
            [models[i] for i in kept],
            seconds[kept],
        )

    def _loss_of_fold(self, vectors, fold) -> float:
        """Log-loss of the rows that a fold held out, the vectors as sharp as is best for them."""
        _, held_out = fold
        own, labels = vectors[held_out], self.training.labels[held_out]
        own = own / own.sum(axis=1, keepdims=True)
        return float(log_losses(sharpened(own, fit_exponent(own, labels)), labels).mean())

    def _own_exponent(self, vectors) -> float:
        """How a member's probabilities are sharpened before the vote: less with few samples."""
        if not self.model.calibrate:
            return 1.0
        labels = self.training.labels
        exponent = fit_exponent(vectors, labels, self.training.weights.row)
        return float(f"{exponent ** (len(labels) / (len(labels) + _SHRINKAGE)):.4g}")

    def _inputs(self, vectors):
        """Members whose vectors the next layer sees, those that a vote of this layer needs."""
        row = self.training.weights.row
        weights = greedy_weights(vectors, self.training.labels, self.score, row)
        inputs = np.flatnonzero(weights).tolist()
        many = len(inputs) * vectors.shape[2] > _MOST_COLUMNS
        return inputs, weights[inputs] if many else None

    def _record(self, number, members, vectors, seconds, elapsed) -> None:
        labels, row = self.training.labels, self.training.weights.row

        def figures(probabilities):
            right = probabilities.argmax(axis=1) == labels
            return {
                "log_loss": float(np.average(log_losses(probabilities, labels), weights=row)),
                "accuracy": float(np.average(right, weights=row)),
            }

        for member, of_member, spent in zip(members, vectors, seconds, strict=True):
            self.leaderboard.append(
                {"layer": number + 1, "member": member.name}
                | figures(of_member)
                | {"weight": 0.0, "seconds": float(spent)}
            )
        probabilities = self._calibrated(self._mean(self._vote()))[1]
        margins = class_margins(probabilities, labels)
        mean, spread = margin_moments(margins, row)
        record = {"layer": number + 1} | figures(probabilities)
        record["score"] = -record["log_loss"] if self.score is None else self.score(probabilities)
        record |= {"margin_mean": mean, "margin_std": spread}
        record |= {"margin_ratio": margin_ratio(margins, row), "time": elapsed}
        self.records.append(record)
        if self.model.verbose:
            print(
                f"layer {number + 1}: log-loss {record['log_loss']:.4f}, accuracy "
                f"{record['accuracy']:.4f}, margin ratio {record['margin_ratio']:.3f}, "
                f"{elapsed:.1f} s"
            )

    def history(self) -> dict[str, np.ndarray]:
        """Figures of all layers by name."""
        return {name: np.array([r[name] for r in self.records]) for name in self.records[0]}

    # The model

    def fitted_layers(self) -> list[_DeepLayer]:
        """Members that vote, or feed a later layer that does, grown on all samples."""
        ends = np.cumsum([len(layer.members) for layer in self.layers])
        weights = np.split(self.weights, ends[:-1])
        while len(weights) > 1 and not weights[-1].any():
            weights.pop()
        fitted = []
        for number, of_layer in enumerate(weights):
            layer = self.layers[number]
            fed = set(layer.inputs) if number + 1 < len(weights) else set()
            kept = [i for i in range(len(layer.members)) if of_layer[i] > 0 or i in fed]
            voters = self._voters(number, layer, kept, of_layer)
            inputs = [kept.index(i) for i in layer.inputs] if fed else []
            n_handed = 0 if layer.handed is None else layer.handed.shape[1]
            bins = self.training.table.bins.columns(self.n_raw, self.n_raw + n_handed)
            fitted.append(_DeepLayer(voters, inputs, layer.mix, bins))
        return fitted

    def _voters(self, number, layer: _Grown, kept, weights) -> list[_Voter]:
        training = self.training
        if number:
            training.table.replace_columns(
                self.n_raw,
                layer.handed,
                sample_weight=training.weights.row,
                n_jobs=self.model.n_jobs,
            )
        forests = [i for i in kept if layer.members[i].is_forest]
        grown = {i: layer.models[i] for i in forests}
        if self.model.refit and forests:
            again = grow_forests(
                [layer.members[i] for i in forests],
                training,
                layer.columns,
                layer.emphasis,
                (*self.entropy, 6, number),
                parts=[(training.everything, None)],
                keep=True,
                description=f"layer {number + 1} on all samples",
                **self.options,
            )
            grown = dict(zip(forests, again, strict=True))
        voters = []
        for i in kept:
            member = layer.members[i]
            if member.is_forest:
                models = [trees for part in grown[i] for trees in part.trees]
                importances = np.sum([part.importances for part in grown[i]], axis=0)
            else:
                models, importances = layer.models[i], None
                if self.model.refit:
                    parts = [(training.everything, None)]
                    again = fit_guest(
                        member, training, parts, (*self.entropy, 7, i), self.model.n_jobs
                    )
                    models = [model for model, _ in again]
            voters.append(
                _Voter(
                    member.name,
                    float(weights[i]),
                    layer.exponents[i],
                    models,
                    member.is_forest,
                    importances,
                )
            )
        return voters
