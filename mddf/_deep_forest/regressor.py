"""The deep forest that regresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import Renamed
from mddf._binning.binner import NewRows
from mddf._deep_forest.error_scale import fit_error_scale
from mddf._deep_forest.estimator import BaseDeepForest, Target
from mddf._deep_forest.policy import DeepForestPolicy
from mddf._ensemble.conformal import Scores, check_coverage, counted, warn_of_few
from mddf._fitted.base_estimators import TableRegressor
from mddf._fitted.batching import BlockResults, row_blocks
from mddf._input.reading import read_table
from mddf._members.members import AUTO_REGRESSORS, named_regressors, resolve_members
from mddf._members.spec import MemberSpec
from mddf._resampling.sampling import row_weights
from mddf._targets.kernel_targets import Units, Values, read_values
from mddf._training.seeds import Purpose
from mddf._training.tasks import RegressionTask, Task


class DeepForestRegressor(BaseDeepForest, TableRegressor):
    """A deep forest that regresses, accurate without being tuned.

    Every layer holds forests; the first one has gradient boosting, a smooth model, a linear one
    and small networks beside them. What they predict of training samples is found by
    cross-validation, and the next layer sees it beside the features. All members race on the first
    fold, from 400 samples on, and those without a weight there go no further. The members' weights
    are those of the least out-of-fold squared error [1]_, and what has none is dropped; a layer is
    added only if it helps, by more than the error of that, on samples whose targets nothing in its
    input has seen, as in `DeepForestClassifier`. The members that are left are then grown once
    more on all samples.

    Parameters
    ----------
    n_layers : int or "auto", default="auto"
        Maximum number of layers. "auto" is what `preset` has, 2 by default.
    preset : {"default", "fast", "best"}, default="default"
        What parameters are that are left at "auto". "fast" takes about a third of the time: one
        layer, 50 trees, fewer rounds of boosting and no depth of 8, no kernel, no networks, half
        of the kinds of forests. "best" takes about twice as long as the default: 300 trees, and
        boosted trees at half the rate in up to 4000 rounds, on the folds of three splits of ten.
    time_limit : float or None, default=None
        Seconds that fit may take, of which it makes what it can: fewer trees, rounds, members and
        layers than without, and models of the folds where there is no time to fit again;
        `fit_report_` lists what was cut as steps called "time limit". It may take a tenth more.
        Where the limit is too short to read the table and grow a tree for each fold, it takes as
        long as that does, with a warning. The same seed gives the same bits only without a limit.
    n_estimators : int or "auto", default="auto"
        Trees of each named forest, 100 by default.
    members : "auto" or list, default="auto"
        Of a layer: "random", "completely-random" (one random threshold of every feature, the best
        of which is taken: extra trees), "boosted" (`GradientBoostingRegressor`, symmetric trees of
        the depth that wins a race), "kernel" (ridge regression on features of a Laplace kernel
        [2]_ of the numbers' normal scores, or of a Gaussian one; leave-one-out errors choose),
        "linear" (ridge regression on scaled and one-hot features), "network" (the mean of four
        networks of dense layers [3]_ on normal scores; see Notes), or regressors, or pairs of a
        name and one of these, as in `DeepForestClassifier`. Of the forests of this package the two
        best are members of later layers, too. The others are of the first one only: they get the
        features as those of classifiers do, and targets of mean 0 and variance 1, those of several
        outputs as columns. "auto" means one of each of these names; "boosted-leaf-wise" is as in
        `DeepForestClassifier`, and left out of "auto", since it does not lower squared errors.
    cv : int, splitter, iterable of (train, test) or "auto", default="auto"
        Folds. "auto" means 5, and 10 below 2000 samples.
    refit : bool, default=True
        Grow the members that are kept once more on all samples, instead of keeping the models of
        all folds: of forests, a k-th of the size with k folds. Boosted trees keep those
        of their folds, whose mean is better.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, as in `RandomForestRegressor`.
    max_bins : int, default=255
        Most bins of a numeric feature, and most categories.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds, trees and other members.
    verbose : int, default=0
        1 prints lines that say what each layer tried, kept and cost; 2 shows bars as well.
    checkpoint : str or path, default=None
        Folder in which what each layer's members say out-of-fold is kept, as plain arrays, as soon
        as they are trained. A fit with the same data, parameters and seed, which has to be a
        number, goes on after the last layer that is there and ends in the same bits; one with
        others is refused. With ``refit=False``, members that are kept as objects of other
        packages are, too.

    Attributes
    ----------
    n_features_in_ : int
    n_outputs_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_layers_ : int
        Layers that are kept.
    oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-fold predictions of the training samples by all layers that are kept; their errors
        are about those of new samples, as `DeepForestClassifier` has them.
    history_ : dict of str to ndarray of shape (n_grown,)
        For all layers that were grown, out-of-fold, of the average up to that layer: "r2", "rmse"
        in units of the targets' standard deviation, both means over outputs; "score", which is
        "r2"; "time" in seconds; and "layer", its number from 1. A last layer that was not kept may
        have been judged on a quarter of the samples only, which `stop_reason_` then says.
    leaderboard_ : list of dict
        All members of all layers that were grown: "layer", "member", out-of-fold "rmse" and "r2"
        of its own, "weight" in the average, "seconds", and "bytes" in the model, 0 if dropped.
        Figures of members that were left out after one fold are NaN. ``pandas.DataFrame`` takes
        it as it is.
    fit_report_ : list of dict
        Decisions in the order in which they were made, a dict for each candidate: "step"; the
        "member" that it is about, or ""; "candidate"; its "loss", NaN if there is none; the number
        of "rows" and "folds" that it comes from, 0 folds of out-of-bag samples; "decision"; and
        "cpu_seconds" since the decision before, of which each candidate has an equal share.
        ``pandas.DataFrame`` takes it as it is; `verbose` prints it.
    min_samples_leaf_ : dict of str to int
        Chosen for the named forests.
    stop_reason_ : str
        Why there are no more layers.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of variance in the forests of the first layer, weighted as in the average.

    See Also
    --------
    RandomForestRegressor : With quantiles of the targets in leaves.

    Notes
    -----
    All outputs are scaled to variance 1, so that they count alike.

    Later layers are judged on nested folds, as `DeepForestClassifier` notes, and have to win by
    more than one standard error.

    Networks are those of `DeepForestClassifier`, but with 32 units and without dropout, and are
    fitted to all outputs at once by squared errors, in 200 epochs at most. What they predict is
    within the range of the targets.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from
       libraries of models", ICML 2004.
    .. [2] C. Williams and M. Seeger, "Using the Nystroem method to speed up kernel machines",
       NIPS 2000.
    .. [3] D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by default: strong pre-tuned
       MLPs and boosted trees on tabular data", NeurIPS 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import DeepForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = DeepForestRegressor(n_estimators=20, cv=3, random_state=0).fit(X[::2], y[::2])
    >>> bool(forest.score(X[1::2], y[1::2]) > 0.4)
    True
    """

    options_ = Renamed(
        "min_samples_leaf_", lambda leaves: {k: {"min_samples_leaf": n} for k, n in leaves.items()}
    )

    _units: Units

    def _store_outcome(self, policy: DeepForestPolicy) -> None:
        task, forecast = policy.trainer.task, policy.stack.average.forecast
        self.min_samples_leaf_ = {
            kind: options["min_samples_leaf"] for kind, options in policy.forest_options.items()
        }
        self.oof_prediction_ = self._in_shape(self._units.restore(forecast))
        errors = np.abs(forecast - task.target)
        fit = fit_error_scale(
            policy.trainer, errors, policy.seeds.entropy_for(Purpose.ERROR_SCALE)
        )
        self._error_scale = fit.error_scale
        relative_errors = errors / fit.out_of_fold_scales
        weights = counted(len(errors), task.weight)
        self._errors = [Scores.from_values(column, weights) for column in errors.T]
        self._ratios = [Scores.from_values(column, weights) for column in relative_errors.T]

    def _read_target(self, y: Any, sample_weight: np.ndarray | None) -> Target:
        y = read_values(y)
        Values.of(y, sample_weight).warn_of_lost(sample_weight)
        units = Units.of(y, sample_weight)
        task = RegressionTask(units.standard(y), sample_weight)
        return Target(
            task,
            weights=row_weights(sample_weight, None, task.order_key),
            attributes={"n_outputs_": y.shape[1], "_units": units},
            y=y[:, 0] if y.shape[1] == 1 else y,
        )

    def _resolve_members(self, task: Task, categorical: np.ndarray) -> list[MemberSpec]:
        makers = named_regressors(self._resolved_preset().n_estimators, categorical)
        return resolve_members(
            self._member_list_for(AUTO_REGRESSORS),
            makers,
            AUTO_REGRESSORS,
            "regressor",
            n_features=len(categorical),
            max_bins=self.max_bins,
            own_parameters=self._own_parameters(),
        )

    @property
    def _n_columns(self) -> int:
        return len(self._units.mean)

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield "n_outputs_", self.n_outputs_, self._n_columns
        yield from super()._counts()

    @property
    def _column_labels(self) -> list[str]:
        return [f"output{number}" for number in range(self.n_outputs_)]

    def _in_shape(self, values: np.ndarray) -> np.ndarray:
        """Values as users get them: one-dimensional if there is one output."""
        return values[:, 0] if self.n_outputs_ == 1 else values

    def _target_units(self) -> Units:
        return self._units

    def _member_score(self, row: dict[str, Any]) -> float:
        return row["r2"]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions after each layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Once for each layer that is kept, as soon as a member has a weight.
        """
        staged = self._fitted_stages().staged_predictions(self._encode(X), self.n_jobs)
        yield from map(self._in_shape, staged)

    def predict(self, X: Any) -> np.ndarray:
        """Weighted mean of the members' predictions.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        """
        predictions = self._fitted_stages().predict_in_blocks(self._encode(X), self.n_jobs)
        return self._in_shape(predictions)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, adaptive: bool = True
    ) -> np.ndarray:
        """Intervals that hold the targets of new samples in a given share of cases.

        An interval reaches as far to both sides of the prediction as the out-of-fold error that
        so large a share of the training samples does not exceed, with the correction for a finite
        number of them that conformal prediction makes [1]_. Adaptive ones reach further for kinds
        of samples whose errors are large: errors are divided by what forests of the features
        predict of them, out-of-fold, too [2]_.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.
        adaptive : bool, default=True
            Whether widths depend on the sample; else all are the same.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends.

        Warns
        -----
        UserWarning
            If there were fewer than ``coverage / (1 - coverage)`` training samples to learn from:
            intervals are then infinite.

        Notes
        -----
        Every sample's error is one of models that did not see it, and were grown on one fold less
        than the model that predicts. The coverage is right as far as that does not matter
        (predictions are stable when a fold is left out [1]_) and new samples come from where the
        training samples came from; it holds on average over samples, not for each kind of them,
        and for each output on its own. It is no bound for a finite number of samples: CV+ has one,
        ``2 * coverage - 1``, for models that are kept for each fold and treat all samples alike,
        whereas here the weights of the members were chosen by all out-of-fold errors.

        References
        ----------
        .. [1] R. Barber, E. Candes, A. Ramdas and R. Tibshirani, "Predictive inference with the
           jackknife+", Annals of Statistics 49, 2021.
        .. [2] J. Lei, M. G'Sell, A. Rinaldo, R. Tibshirani and L. Wasserman, "Distribution-free
           predictive inference for regression", Journal of the American Statistical Association
           113, 2018.
        """
        coverage = check_coverage(coverage)
        check_is_fitted(self)
        scores = self._ratios if adaptive else self._errors
        thresholds = np.array([output_scores.threshold(coverage) for output_scores in scores])
        if np.isinf(thresholds).any():
            fewest_samples = min(output_scores.n for output_scores in scores)
            warn_of_few(coverage, fewest_samples, "intervals are infinite")
        mean = self._average(X)
        reach = np.broadcast_to(thresholds, mean.shape)
        if adaptive:
            reach = reach * self._error_scales(X)
        is_infinite = np.isinf(reach)
        finite_reach = np.where(is_infinite, 0, reach)
        lower = np.where(is_infinite, -np.inf, self._units.restore(mean - finite_reach))
        upper = np.where(is_infinite, np.inf, self._units.restore(mean + finite_reach))
        intervals = np.stack([lower, upper], axis=-1)
        return intervals[:, 0] if self.n_outputs_ == 1 else intervals

    def _error_scales(self, X: Any) -> np.ndarray:
        """Predicted size of the errors, in units of the targets' standard deviation."""
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        rows = NewRows(self._binner, table)
        results = BlockResults(rows.n_rows)
        for first, end in row_blocks(rows.n_rows, table.shape[1] + 16 * self._n_columns):
            codes = rows.block(first, end).codes
            results.put(first, end, [self._error_scale.predict(codes, self.n_jobs)])
        (scales,) = results.arrays
        return scales
