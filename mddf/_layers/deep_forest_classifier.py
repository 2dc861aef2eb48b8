"""The deep forest for classification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer_names
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.validation import refuse_class
from mddf._fitted.base_estimators import ProbabilityClassifier, tags_of_outputs
from mddf._fitted.calibration import by_output
from mddf._fitted.scoring import LOG_LOSS
from mddf._layers.base_deep_forest import DEEP_FOREST_PARAMETERS, BaseDeepForest, Target
from mddf._layers.conformal import class_scores, predict_set
from mddf._layers.layered_estimator import (
    LAYERED_PARAMETERS,
    column_names,
    staged_predict,
    staged_predict_proba,
)
from mddf._layers.member_parsing import AUTO, Makers, named_classifiers
from mddf._layers.scores import MARGIN_RATIO, layer_score
from mddf._layers.stack import Stack
from mddf._layers.tasks import ClassificationTask, ClassOutputsTask, Score, Task
from mddf._targets.class_outputs import ClassOutputs, decode_labels, several_outputs
from mddf._targets.target_validation import class_factors, encode_labels
from mddf._targets.weights import row_weights


@describes_parameters(DEEP_FOREST_PARAMETERS, LAYERED_PARAMETERS, COMMON)
class DeepForestClassifier(BaseDeepForest, ProbabilityClassifier):
    """Classifier that averages models of several kinds, weighted by cross-validation.

    The members are forests, boosted trees, kernel models, a logistic regression and small
    networks. They get weights by greedy selection [1]_ on their out-of-fold probabilities, and the
    average is raised to the power of least out-of-fold log-loss [2]_. A second layer is kept only
    if it lowers the loss by more than the error of this gain. The page "How it works" of the
    documentation has the steps and the members, "Choose a model" the cases in which to change a
    parameter.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Trees of each named forest on a fold, 100 by default. With more than two classes, the
        refitted forests have three times as many. Change it to make the model smaller.
    members : "auto" or list, default="auto"
        Members of the first layer: names, classifiers with ``predict_proba``, or pairs of a name
        and a classifier, as in scikit-learn's `VotingClassifier`. "auto" takes one of each name:

        - "random", "random-half", "completely-random" and "completely-random-sqrt": forests, which
          differ in the features that a split looks at;
        - "boosted" and "boosted-leaf-wise": `GradientBoostingClassifier` with symmetric trees, and
          with trees of 8 leaves;
        - "kernel": ridge regression on features of a Laplace or Gaussian kernel [4]_;
        - "linear": logistic regression on scaled and one-hot encoded features;
        - "network": the mean of four networks of dense layers [5]_;
        - "kernel-logistic": logistic regression on features of a Gaussian kernel [4]_.

        In a list, "auto" stands for the automatic members: ``["auto", MyClassifier()]`` adds one.
        Change it if you have a model of your own, or if the model must not hold training rows:
        "kernel" and "kernel-logistic" keep up to 1000 and 300 of them.

        Models of other packages get a data frame of pandas if X is a data frame, else an array
        with categories as codes. Pairs are set by their names: ``lr__C``.
    cv : int, splitter, iterable of (train, test) or "auto", default="auto"
        Folds. "auto" means 5 folds, or 10 with fewer than 50 samples. `TimeOrder` holds out what
        follows its training samples in time; the groups of `fit` are held out together. Change it
        if rows are in an order of time.
    refit : bool, default=True
        Fit the members that are kept once more on all samples, instead of keeping the models of
        all folds. With two classes, the model is a third as large. Boosted trees keep the models
        of the folds, unless the folds follow time. Change it if you need the models of all folds.
    calibrate : bool, default=True
        Fit the exponent of the probabilities (1 / temperature) by out-of-fold log-loss. Change it
        if you need the plain average.
    scoring : str or callable, default="neg_log_loss"
        Score by which members are weighted: "margin-ratio", or a scorer of scikit-learn. The
        default is the mean over the outputs if there are several. Change it if only this score
        matters; the log-loss is then higher.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Factors of the sample weights by class. For several outputs, "balanced" or a list with a
        dict for each output. Change it hardly ever: for a rare class, choose a threshold by
        `mddf.analysis.choose_threshold`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of these if there are several outputs
    n_classes_ : int, or a list of them
    n_outputs_ : int
    exponent_ : float
        Exponent of the calibration; above 1, it makes probabilities more extreme.
    label_smoothing_ : float
        Share of the probabilities that calibration spreads evenly over the classes: half a sample.
    oof_probabilities_ : ndarray of shape (n_samples, n_classes), or a list of these
        Calibrated out-of-fold probabilities of the training samples, by models that have not seen
        their labels. Their log-loss is close to the log-loss of new samples. NaN for samples
        without one, which have no past in time order.
    history_ : dict of str to ndarray of shape (n_grown,)
        Out-of-fold metrics of the average up to each of the n_grown layers that were trained:
        "score", "log_loss", "accuracy", "margin_mean", "margin_std", "margin_ratio"; "time" in
        seconds; and "layer", its number from 1. A last layer that was not kept may have been
        evaluated on a quarter of the samples, as `stop_reason_` says; its "score" is then minus
        the log-loss.
    leaderboard_ : list of dict
        All members of all trained layers: "layer"; "member"; out-of-fold "log_loss" and
        "accuracy"; "weight" in the average; "gain", the decrease of the average's out-of-fold loss
        by the member at its weight, or at 0.05 if it has none (with a score of your own, the
        increase of the score); "error_correlation" with the average of the other members;
        "seconds", which the forests of a layer share; "bytes" in the model, 0 if dropped; and
        "reason", a sentence with these figures. Figures of members that were left out are NaN.
        ``pandas.DataFrame(leaderboard_)`` is a table.
    strength_ : float
        Share of the margins' losses in the weights by which the second layer draws samples, as in
        mdDF [3]_; 0 if there are several outputs.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity in the forests of the first layer, weighted as in the average. If
        no forest is kept, it is the mean over all forests that were trained.

    See Also
    --------
    MDDFClassifier : The cascade of the paper.

    Notes
    -----
    `y` may have a column for each of several outputs. Log-losses are means over the outputs, and a
    sample counts as correct if all its outputs are.

    A `GradientBoostingClassifier` as a member keeps its parameters and shares the binned table,
    unless it has another loss, `max_bins`, categories or class weights than the deep forest,
    constraints by names, a scorer, or ``early_stopping=True``.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from
       libraries of models", ICML 2004.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural
       networks", ICML 2017.
    .. [3] S.-H. Lyu, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest
       representation learning", NeurIPS 2019.
    .. [4] C. Williams and M. Seeger, "Using the Nystroem method to speed up kernel machines",
       NIPS 2000.
    .. [5] D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by default: strong pre-tuned
       MLPs and boosted trees on tabular data", NeurIPS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from mddf import DeepForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"size": rng.normal(size=200), "city": rng.choice(["Oslo", "Rome"], 200)})
    >>> y = np.where(X["size"] + (X["city"] == "Rome") > 0.5, "yes", "no")
    >>> X.loc[::9, "size"] = np.nan  # neither missing cells nor categories need preparation
    >>> forest = DeepForestClassifier(n_estimators=20, random_state=0).fit(X[:150], y[:150])
    >>> bool(forest.score(X[150:], y[150:]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseDeepForest._parameter_constraints,
        "calibrate": ["boolean"],
        "scoring": [StrOptions({*get_scorer_names(), MARGIN_RATIO}), callable],
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
    }

    _auto_members = AUTO
    predict_set = predict_set
    staged_predict = staged_predict
    staged_predict_proba = staged_predict_proba

    def __init__(
        self,
        n_layers: int | str = "auto",
        *,
        preset: str = "default",
        time_limit: float | None = None,
        n_estimators: int | str = "auto",
        members: str | Sequence[Any] = "auto",
        cv: Any = "auto",
        refit: bool = True,
        calibrate: bool = True,
        scoring: str | Callable[..., float] = LOG_LOSS,
        class_weight: dict[Any, float] | list[dict[Any, float]] | str | None = None,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            n_layers,
            preset=preset,
            time_limit=time_limit,
            n_estimators=n_estimators,
            members=members,
            cv=cv,
            refit=refit,
            categorical_features=categorical_features,
            max_bins=max_bins,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        self.calibrate = calibrate
        self.scoring = scoring
        self.class_weight = class_weight

    def _store_outcome(self, stack: Stack) -> None:
        average = stack.average
        self.exponent_ = average.calibration.exponent
        self.label_smoothing_ = average.calibration.label_smoothing
        self.strength_ = stack.strength
        trainer = stack.trainer
        labels = trainer.task.estimator_target
        scored = partial(
            class_scores,
            weights=trainer.weights.sample,
            rows=trainer.evaluated_rows,
        )
        # A weighted mean of ones can exceed 1 by a bit, which metrics of scikit-learn refuse.
        forecast = np.minimum(stack.forecast, 1.0)
        self.oof_probabilities_ = self._by_output(trainer.known_vectors(forecast))
        self._scores: list[Any]
        if self._n_classes_per_output is None:
            self._scores = scored(forecast, labels)
        else:
            self._scores = [
                scored(probabilities, output_labels)
                for probabilities, output_labels in zip(
                    self.oof_probabilities_, labels.T, strict=True
                )
            ]

    def _read_target(self, y: npt.ArrayLike, sample_weight: np.ndarray | None) -> Target:
        refuse_class("scoring", self.scoring)
        y_of_outputs = several_outputs(y)
        if y_of_outputs is not None:
            outputs = ClassOutputs.from_y(y_of_outputs, every_class=True)
            return self._target_of_outputs(outputs, sample_weight)
        if isinstance(self.class_weight, list):
            raise ValueError("class_weight can be a list only for several outputs of y")
        classes, labels = encode_labels(y)
        factors = class_factors(self.class_weight, classes, labels, sample_weight)
        weights = row_weights(sample_weight, factors, labels)
        task = ClassificationTask(
            labels,
            len(classes),
            weights.row,
            calibrate=self.calibrate,
            score=self._score(classes, labels, sample_weight),
            score_name=self._score_name,
        )
        return Target(task, weights, {"classes_": classes}, classes[labels])

    def _target_of_outputs(
        self, outputs: ClassOutputs, sample_weight: np.ndarray | None
    ) -> Target:
        factors = outputs.factors(self.class_weight, sample_weight)
        weights = row_weights(sample_weight, factors, np.arange(len(outputs.labels)))
        task = ClassOutputsTask(
            outputs,
            weights.row,
            calibrate=self.calibrate,
            score=self._score(outputs.classes, outputs.labels, sample_weight),
            score_name=self._score_name,
        )
        y = decode_labels(outputs.classes, outputs.labels.T)
        return Target(task, weights, {"classes_": outputs.classes}, y)

    def _score(
        self, classes: Any, labels: np.ndarray, sample_weight: np.ndarray | None
    ) -> Score | None:
        """Score by which members are weighted; None for the log-loss."""
        if self.scoring == LOG_LOSS:
            return None
        return layer_score(self.scoring, classes, labels, sample_weight)

    @property
    def _score_name(self) -> str:
        if self.scoring == LOG_LOSS:
            return "log-loss"
        return str(getattr(self.scoring, "__name__", self.scoring))

    def _member_makers(self, categorical: np.ndarray, task: Task, n_estimators: int) -> Makers:
        return named_classifiers(n_estimators, categorical, task.n_classes_per_output)

    @property
    def _n_classes_per_output(self) -> list[int] | None:
        """Number of classes of each output; None if there is one output."""
        if not isinstance(self.classes_, list):
            return None
        return [len(classes) for classes in self.classes_]

    @property
    def n_classes_(self) -> Any:
        """Number of classes; a list if there are several outputs."""
        check_is_fitted(self)
        n_classes = self._n_classes_per_output
        return len(self.classes_) if n_classes is None else n_classes

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        check_is_fitted(self)
        return 1 if self._n_classes_per_output is None else len(self._n_classes_per_output)

    @property
    def _n_columns(self) -> int:
        n_classes = self._n_classes_per_output
        return len(self.classes_) if n_classes is None else sum(n_classes)

    @property
    def _column_labels(self) -> list[str]:
        if self._n_classes_per_output is None:
            return column_names(self.classes_)
        return [
            f"output{number}_{name}"
            for number, classes in enumerate(self.classes_)
            for name in column_names(classes)
        ]

    def _by_output(self, probabilities: np.ndarray) -> Any:
        if self._n_classes_per_output is None:
            return probabilities
        return by_output(probabilities, self._n_classes_per_output)

    def __sklearn_tags__(self) -> Tags:
        return tags_of_outputs(super().__sklearn_tags__())

    def _member_score(self, row: dict[str, Any]) -> float:
        if self.scoring == LOG_LOSS:
            return -row["log_loss"]
        return row["accuracy"] if self.scoring == "accuracy" else np.nan
