"""What the cascades share as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, _fit_context
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mddf._binning import bin_table, find_bins
from mddf._cascade import (
    Cascade,
    CascadePlan,
    grow_cascade,
    reduce_forests,
    resolve_grains,
    stages,
)
from mddf._fitting import unchanged_on_failure
from mddf._folds import make_folds
from mddf._forest import BaseForest
from mddf._layer import OUT_OF_BAG, Samples, limit_depth, resolve_forests
from mddf._sampling import canonical_order
from mddf._scoring import MARGIN_RATIO, out_of_fold_score
from mddf._table import TableReader, category_mask, check_table
from mddf._targets import check_weights, class_factors, encode_labels


class BaseCascade(ClassifierMixin, TransformerMixin, BaseEstimator):
    """What the cascades share; use one of them."""

    _parameter_constraints: ClassVar[dict] = {
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "forests": ["array-like", None],
        "cv": ["cv_object", StrOptions({OUT_OF_BAG})],
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "scoring": [StrOptions({*get_scorer_names(), MARGIN_RATIO}), callable, None],
        "transform_layers": [StrOptions({"last", "all"}), Integral, "array-like"],
        "transform_forests": [StrOptions({"mean", "each"})],
        "grains": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    # What a subclass decides.

    def _default_forests(self) -> list:
        raise NotImplementedError

    def _shape(self, n_columns: int, n_vectors: int) -> dict:
        """The entries of CascadePlan that say how layers are joined.

        `n_columns` is the least number of features that a layer sees, and `n_vectors` the number
        of columns that all class vectors of a layer have together.
        """
        raise NotImplementedError

    def _depth(self, number: int) -> int | None:
        """Depth limit of the random forests of a layer; the first one is number 0."""
        return None

    def _rule(self, samples: Samples, entropy):
        raise NotImplementedError

    # Fitting.

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Grow the cascade.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            Numbers, NaN where missing, and categories as `categorical_features` says. Infinities
            are refused.
        y : array of shape (n_samples,)
            Classes: numbers, strings or booleans.
        sample_weight : array of shape (n_samples,), default=None
            Not negative.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, keep_vectors=False)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y, sample_weight=None):
        """Grow the cascade and give the layer features of the samples it was grown on.

        The features are out-of-fold: no tree that saw a sample says anything of it, so that
        another model trained on them meets on new samples, after `transform`, nearly what it was
        trained for. This is why they differ from ``fit(X, y).transform(X)``. Only nearly: from
        the second layer on a sample's neighbours hand on class vectors of trees that saw its
        label, so that its own vectors tell a little too much of it.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        with unchanged_on_failure(self):
            cascade = self._fit(X, y, sample_weight, keep_vectors=True)
        return self._features(cascade.vectors)

    def _fit(self, X, y, sample_weight, keep_vectors) -> Cascade:
        X = check_table(self, X, reset=True)
        check_consistent_length(X, y)
        classes, labels = encode_labels(y)
        given = check_weights(sample_weight, X)
        forests = resolve_forests(
            self._default_forests() if self.forests is None else self.forests,
            self.n_estimators,
            out_of_bag=isinstance(self.cv, str),
            weighted=given is not None or self.class_weight is not None,
        )
        self._chosen_layers(self.n_layers)
        reader = TableReader(category_mask(X, self.categorical_features), self.max_bins)
        numbers = reader.fit_read(X, self)
        bins = find_bins(
            numbers,
            categorical=reader.categorical,
            n_categories=reader.n_categories(),
            sample_weight=given,
            max_bins=self.max_bins,
            n_jobs=self.n_jobs,
        )
        grains = resolve_grains(self.grains, bins.n_columns)
        n_vectors = len(forests) * len(classes)
        shape = self._shape(min(map(len, grains)), n_vectors)
        n_augmented = n_vectors if shape["per_forest"] else len(classes)
        table = bin_table(numbers, bins, n_spare=n_augmented, n_jobs=self.n_jobs)
        random = check_random_state(self.random_state)
        entropy = random.randint(0, 2**32, 4, dtype=np.uint64).tolist()
        samples = self._samples(table, classes, labels, given)
        plan = CascadePlan(
            forests=lambda number: [limit_depth(f, self._depth(number)) for f in forests],
            folds=self._folds(numbers, labels, (*entropy, 1)),
            rule=self._rule(samples, entropy),
            score=out_of_fold_score(self.scoring, classes, labels, given),
            n_layers=self.n_layers,
            patience=self.n_iter_no_change if self.early_stopping else None,
            tol=self.tol,
            grains=grains,
            **shape,
        )
        own = all(isinstance(forest, BaseForest) for forest in forests)
        cascade = grow_cascade(
            table,
            None if own else numbers,
            n_augmented,
            samples,
            plan,
            (*entropy, 0),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            keep_vectors=keep_vectors,
        )
        self._store(classes, reader, bins, cascade)
        return cascade

    def _store(self, classes, reader, bins, cascade: Cascade) -> None:
        self.classes_ = classes
        self._reader, self._bins = reader, bins
        self.n_layers_ = len(cascade.layers)
        self.alphas_ = cascade.alphas[-1]
        self.history_ = cascade.history
        self.margins_, self.weights_ = np.stack(cascade.margins), np.stack(cascade.weights)
        self.oof_probabilities_ = cascade.probabilities
        self._cascade = replace(cascade, margins=[], weights=[], vectors=[])

    def _samples(self, table, classes, labels, given) -> Samples:
        weights = given
        factors = class_factors(self.class_weight, classes, labels, given)
        if factors is not None:
            weights = factors[labels] * (1 if given is None else given)
            if not weights.any():
                raise ValueError(
                    "sample_weight and class_weight must leave some sample a weight above zero, "
                    "got none"
                )
        rows = np.arange(len(labels), dtype=np.int32)
        order = canonical_order(table.codes, labels, rows)
        return Samples(labels, len(classes), weights, order)

    def _folds(self, X, labels, seeds):
        """Folds by the number of a layer: drawn anew for each if `cv` is a number."""
        if isinstance(self.cv, str):
            return lambda number: None
        if self.cv is None or isinstance(self.cv, Integral):

            def drawn(number):
                seed = np.random.SeedSequence((*seeds, number)).generate_state(1)
                return make_folds(self.cv, X, labels, int(seed[0]))

            return drawn
        given = make_folds(self.cv, X, labels, 0)
        return lambda number: given

    # Asking.

    def _stages(self, X) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        check_is_fitted(self, "_cascade")
        X = check_table(self, X, reset=False)
        numbers = self._reader.read(X, self) if self._reader.encoders else X
        return stages(
            self._cascade,
            numbers,
            self._bins,
            len(self.classes_),
            n_jobs=self.n_jobs,
        )

    def staged_predict_proba(self, X):
        """What `predict_proba` would say after each layer.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Once for each layer that is kept.
        """
        for _, probabilities in self._stages(X):
            yield probabilities

    def staged_predict(self, X):
        """What `predict` would say after each layer.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
            Once for each layer that is kept.
        """
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X):
        """Class probabilities: the layers' mean class vectors, weighted by their coefficients.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        *_, (_, probabilities) = self._stages(X)
        return probabilities

    def predict_log_proba(self, X):
        """Natural logarithm of `predict_proba`; minus infinity where that is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X):
        """``F(x)``, the sum of the layers' class vectors times their coefficients.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) if there are two classes
            With two classes, what the second has above the first.
        """
        scores = self.predict_proba(X) * self.alphas_.sum()
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X):
        """The class of the largest probability.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    # Layer features.

    def _chosen_layers(self, n_layers: int) -> list[int]:
        """Numbers from 0 of the layers that `transform_layers` means of so many."""
        if isinstance(self.transform_layers, str):
            return [n_layers - 1] if self.transform_layers == "last" else [*range(n_layers)]
        chosen = np.atleast_1d(self.transform_layers)
        if (
            chosen.ndim != 1
            or chosen.dtype.kind not in "iu"
            or len(chosen) == 0
            or chosen.min() < -n_layers
            or chosen.max() >= n_layers
        ):
            few = "" if n_layers == self.n_layers else ", as many as early stopping kept"
            raise ValueError(
                "transform_layers must be 'last', 'all', or numbers of layers, which are below "
                f"{n_layers}{few}; got {self.transform_layers!r}"
            )
        return (chosen % n_layers).tolist()

    def transform(self, X):
        """Layer features of new samples: the class vectors of the layers' forests.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            New samples. For those that the cascade was grown on, see `fit_transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Of the layers that `transform_layers` says, side by side; named by
            `get_feature_names_out`.
        """
        check_is_fitted(self, "_cascade")
        self._chosen_layers(self.n_layers_)
        return self._features([vectors for vectors, _ in self._stages(X)])

    def _features(self, vectors: list) -> np.ndarray:
        per_forest = self.transform_forests == "each"
        chosen = self._chosen_layers(self.n_layers_)
        return np.hstack([reduce_forests(vectors[i], per_forest) for i in chosen])

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array of str, default=None
            Not used.

        Returns
        -------
        ndarray of str
            Such as "layer0_setosa", or "layer0_forest3_setosa" for the vectors of each forest.
        """
        check_is_fitted(self, "_cascade")
        n_forests = len(self._cascade.layers[0].members)
        parts = (
            [f"forest{i}_" for i in range(n_forests)] if self.transform_forests == "each" else [""]
        )
        names = [
            f"layer{layer}_{part}{name}"
            for layer in self._chosen_layers(self.n_layers_)
            for part in parts
            for name in self.classes_
        ]
        return np.array(names, dtype=object)

    @property
    def layer_importances_(self):
        """Importance of the raw features in each layer, shape (n_layers_, n_features).

        A forest's importances are the mean decrease of impurity. What falls to the features of
        the layers before is passed on to the raw features by those layers' own importances.
        """
        check_is_fitted(self, "_cascade")
        n_raw = self._bins.n_columns
        result = np.zeros((self.n_layers_, n_raw))
        for number, layer in enumerate(self._cascade.layers):
            if layer.importances is None:
                raise AttributeError(
                    "importances are only there if all forests are of this package, got "
                    f"forests={self.forests!r}"
                )
            result[number] = layer.importances[:n_raw]
            if number:
                alphas = self._cascade.alphas[number - 1]
                before = alphas @ result[:number] / alphas.sum()
                result[number] += layer.importances[n_raw:].sum() * before
        return result

    @property
    def feature_importances_(self):
        """Importance of the raw features over the kept layers, shape (n_features,), of sum 1.

        The mean of `layer_importances_`, weighted by `alphas_`.
        """
        check_is_fitted(self, "_cascade")
        return self.alphas_ @ self.layer_importances_ / self.alphas_.sum()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_cascade")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
