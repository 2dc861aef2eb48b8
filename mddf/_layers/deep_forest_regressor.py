"""The deep forest for regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._binning.new_rows import NewRows
from mddf._fitted.base_estimators import TableRegressor
from mddf._fitted.batching import in_blocks
from mddf._input.reading import read_table
from mddf._layers.base_deep_forest import DEEP_FOREST_PARAMETERS, BaseDeepForest, Target
from mddf._layers.conformal import Scores, check_coverage, counted, warn_of_few
from mddf._layers.error_scale import fit_error_scale
from mddf._layers.layered_estimator import LAYERED_PARAMETERS
from mddf._layers.member_parsing import AUTO_REGRESSORS, Makers, named_regressors
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Stack
from mddf._layers.tasks import RegressionTask, Task
from mddf._targets.kernel_targets import TargetScaling, Values, read_values
from mddf._targets.weights import row_weights


@describes_parameters(DEEP_FOREST_PARAMETERS, LAYERED_PARAMETERS, COMMON)
class DeepForestRegressor(BaseDeepForest, TableRegressor):
    """Regressor that averages models of several kinds, weighted by cross-validation.

    The members are forests, boosted trees, a kernel model, a linear model and small networks. They
    get weights by greedy selection [1]_ on their out-of-fold predictions, and members without a
    weight are dropped. A second layer, which also reads the predictions of the first one, is kept
    only if it lowers the squared error by more than the error of this gain. The page "How it
    works" of the documentation has the steps, "Choose a model" the cases in which to change a
    parameter.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Trees of each named forest, 100 by default. Change it to make the model smaller.
    members : "auto" or list, default="auto"
        Members of the first layer: names, regressors, or pairs of a name and a regressor, as in
        `DeepForestClassifier`. "auto" takes one of each name but "boosted-leaf-wise", which does
        not lower squared errors:

        - "random" and "completely-random" (extra trees: the best of one random threshold for each
          feature): forests;
        - "boosted": `GradientBoostingRegressor` with symmetric trees, of a depth that is chosen by
          comparison;
        - "boosted-leaf-wise": as in `DeepForestClassifier`;
        - "kernel": ridge regression on features of a Laplace or Gaussian kernel [2]_;
        - "linear": ridge regression on scaled and one-hot encoded features;
        - "network": the mean of four networks of dense layers [3]_.

        In a list, "auto" stands for the automatic members: ``["auto", MyRegressor()]`` adds one.
        Change it if you have a model of your own, or if the model must not hold training rows:
        "kernel" keeps up to 1000 of them.

        Models of other packages get the features as in `DeepForestClassifier`, and targets of mean
        0 and variance 1. Several targets are columns of one array; a regressor that can only learn
        one target is fitted to each.
    cv : int, splitter, iterable of (train, test) or "auto", default="auto"
        Folds. "auto" means 5 folds, or 10 with fewer than 2000 samples. `TimeOrder` holds out what
        follows its training samples in time; the groups of `fit` are held out together. Change it
        if rows are in an order of time.
    refit : bool, default=True
        Fit the members that are kept once more on all samples, instead of keeping the models of
        all folds. With k folds, forests are a k-th as large. Boosted trees are fitted three times
        with different seeds, or once above 100 000 samples or if the folds follow time. Change it
        if you need the models of all folds.

    Attributes
    ----------
    n_outputs_ : int
    oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-fold predictions of the training samples, by models that have not seen their
        targets. Their errors are close to the errors of new samples.
    history_ : dict of str to ndarray of shape (n_grown,)
        Metrics of the average up to each of the n_grown layers that were trained, out-of-fold as
        `oof_prediction_` is: "r2", and "rmse" in units of the targets' standard deviation, both
        means over outputs; "score", which is "r2"; "time" in seconds; and "layer", its number
        from 1. A last layer that was not kept may have been evaluated on a quarter of the samples,
        as `stop_reason_` says.
    leaderboard_ : list of dict
        All members of all trained layers: "layer"; "member"; out-of-fold "rmse" and "r2"; "weight"
        in the average; "gain", the decrease of the average's out-of-fold squared error by the
        member at its weight, or at 0.05 if it has none; "error_correlation" with the average of
        the other members; "seconds"; "bytes" in the model, 0 if dropped; and "reason", a sentence
        with these figures, which says why a good member may have weight 0. Figures of members that
        were left out are NaN. ``pandas.DataFrame(leaderboard_)`` is a table.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of variance in the forests of the first layer, weighted as in the average.

    See Also
    --------
    RandomForestRegressor : A forest, which can also predict quantiles.

    Notes
    -----
    All outputs are scaled to variance 1, so that they count alike. Networks predict within the
    range of the targets.

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

    _auto_members = AUTO_REGRESSORS

    def _store_outcome(self, stack: Stack) -> None:
        task = stack.trainer.task
        forecast = stack.forecast
        self.oof_prediction_ = self._in_shape(
            self._units.restore(stack.trainer.known_vectors(forecast))
        )
        errors = np.abs(forecast - task.target)
        self._error_scale, out_of_fold_scales = fit_error_scale(
            stack.trainer, errors, stack.trainer.seeds.entropy_for(Purpose.ERROR_SCALE)
        )
        relative_errors = errors / out_of_fold_scales
        weights = counted(len(errors), task.weight)
        rows = stack.trainer.evaluated_rows
        with_scale = rows[~np.isnan(out_of_fold_scales[rows, 0])]
        self._errors = [Scores.from_values(column[rows], weights[rows]) for column in errors.T]
        self._ratios = [
            Scores.from_values(column[with_scale], weights[with_scale])
            for column in relative_errors.T
        ]

    def _read_target(self, y: npt.ArrayLike, sample_weight: np.ndarray | None) -> Target:
        y = read_values(y)
        Values.from_targets(y, sample_weight).warn_of_underflow(sample_weight)
        units = TargetScaling.from_targets(y, sample_weight)
        task = RegressionTask(units.standardize(y), sample_weight)
        return Target(
            task,
            weights=row_weights(sample_weight, None, task.order_key),
            attributes={"n_outputs_": y.shape[1]},
            y=y[:, 0] if y.shape[1] == 1 else y,
            units=units,
        )

    def _member_makers(self, categorical: np.ndarray, task: Task, n_estimators: int) -> Makers:
        return named_regressors(n_estimators, categorical)

    @property
    def _units(self) -> TargetScaling:
        units = self._fitted.units
        assert units is not None
        return units

    @property
    def _n_columns(self) -> int:
        return self.n_outputs_

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        yield "n_outputs_", self.n_outputs_, len(self._units.mean)
        yield from super()._counts()

    @property
    def _column_labels(self) -> list[str]:
        return [f"output{number}" for number in range(self.n_outputs_)]

    def _in_shape(self, values: np.ndarray) -> np.ndarray:
        """Values as users get them: one-dimensional if there is one output."""
        return values[:, 0] if self.n_outputs_ == 1 else values

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
        yield from map(self._in_shape, self._staged_predictions(X))

    def predict(self, X: Any) -> np.ndarray:
        """Weighted mean of the members' predictions.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) if there are several outputs
        """
        return self._in_shape(self._predict_in_blocks(X))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, adaptive: bool = True
    ) -> np.ndarray:
        """Prediction intervals with a given coverage.

        An interval reaches to both sides of the prediction as far as the out-of-fold error that a
        share `coverage` of the training samples does not exceed, with the finite-sample correction
        of conformal prediction [1]_. Adaptive intervals are wider for kinds of samples with large
        errors: errors are divided by out-of-fold predictions of forests for their size [2]_.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.
        adaptive : bool, default=True
            Whether widths depend on the sample; if not, all are the same.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends.

        Warns
        -----
        UserWarning
            If there were fewer than ``coverage / (1 - coverage)`` training samples. Intervals are
            then infinite.

        Notes
        -----
        The error of a training sample is the error of models that did not see it, and that were
        fitted on one fold less than the model that predicts. The coverage is right if this does
        not matter (predictions are stable when a fold is left out [1]_), and if new samples have
        the same distribution as the training samples. It holds on average over samples, not for
        each kind of sample, and for each output on its own. It is not a bound for a finite number
        of samples. CV+ has one, ``2 * coverage - 1``, for models that are kept for each fold and
        treat all samples alike. Here the weights of the members are chosen without the sample's
        fold, but the model has other weights.

        With few groups, coverage falls short for new groups, as the page on groups and time says.
        With folds in time order, errors come from models that only knew earlier samples.
        The coverage holds as far as the future is like the past.

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
        mean = self._predict_in_blocks(X, finish=False)
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
        rows = NewRows(self._binner, table, n_jobs=self.n_jobs)

        def predict(first: int, end: int) -> list[np.ndarray]:
            return [self._error_scale.predict(rows.block(first, end).codes, self.n_jobs)]

        (scales,) = in_blocks(rows.n_rows, table.shape[1] + 16 * self._n_columns, predict)
        return scales
