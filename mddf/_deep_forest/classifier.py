"""The deep forest for practice: it chooses its own complexity and says honest probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.validation import refuse_class
from mddf._deep_forest.conformal_sets import PredictsSets, class_scores
from mddf._deep_forest.estimator import BaseDeepForest, Target
from mddf._deep_forest.policy import DeepForestPolicy
from mddf._ensemble.blending import Calibration, by_output
from mddf._ensemble.scoring import MARGIN_RATIO, out_of_fold_score
from mddf._fitted.base_estimators import LayeredClassifier, takes_outputs
from mddf._members.members import AUTO, named_classifiers, resolve_members
from mddf._members.spec import MemberSpec
from mddf._resampling.sampling import row_weights
from mddf._targets.class_outputs import ClassOutputs, named_classes, several_outputs
from mddf._targets.target_validation import class_factors, encode_labels
from mddf._training.class_outputs_task import ClassOutputsTask
from mddf._training.layered_estimator import column_names
from mddf._training.tasks import ClassificationTask, Score, Task


class DeepForestClassifier(PredictsSets, BaseDeepForest, LayeredClassifier):
    """A deep forest that is accurate, calibrated and small without being tuned.

    Every layer holds forests of four kinds that differ in how many features they look at for a
    split; the first one has gradient boosting, a smooth model, a logistic regression and small
    networks beside them. Class vectors (predicted class probabilities) of the training samples are
    made by cross-validation. The next layer sees them beside the features. All members race on the
    first fold, and those without a weight there go no further. Members that lower the out-of-fold
    log-loss get a weight in the average [1]_, at least .05, the others are dropped (with fewer
    than 400 samples, too few to judge by, there is no race, and all have some weight); a layer is
    added only if it helps, by more than the error of that, on samples whose labels nothing in its
    input has seen (nested folds, see Notes). The members that are left are then grown once more on
    all samples, and the averaged probabilities are calibrated [2]_. Margins of the samples guide
    which of them the second layer draws more often, as in mdDF [3]_.

    Parameters
    ----------
    n_layers : int or "auto", default="auto"
        Maximum number of layers. "auto" is what `preset` has, 2 by default.
    preset : {"default", "fast", "best"}, default="default"
        What parameters are that are left at "auto". "fast" takes about a third of the time: one
        layer, 50 trees, fewer rounds of boosting, no kernel, no networks, no leaf-wise trees, half
        of the kinds of forests. "best" takes about twice as long as the default: 300 trees, and
        boosted trees at half the rate in up to 4000 rounds, whose depth may be 8, too, on the
        folds of three splits.
    time_limit : float or None, default=None
        Seconds that fit may take, of which it makes what it can: fewer trees, rounds, members and
        layers than without, and models of the folds where there is no time to fit again;
        `fit_report_` lists what was cut as steps called "time limit". It may take a tenth more.
        Where the limit is too short to read the table and grow a tree for each fold, it takes as
        long as that does, with a warning. The same seed gives the same bits only without a limit.
    n_estimators : int or "auto", default="auto"
        Trees of each named forest in a fold, 100 by default. With more than two classes, the
        forests that are grown on all samples have three times as many.
    members : "auto" or list, default="auto"
        Of a layer: "random", "random-half" (half of the features for each split),
        "completely-random", "completely-random-sqrt", "boosted" (`GradientBoostingClassifier`,
        symmetric trees of the depth that wins a race), "boosted-leaf-wise" (trees of 8 leaves that
        look at .3 of the features for each node, at half the rate), "kernel" (ridge regression on
        features of a Laplace or Gaussian kernel [4]_, which leave-one-out errors choose), "linear"
        (logistic regression on scaled and one-hot features), "network" (the mean of four networks
        of dense layers [5]_ on the numbers' normal scores; see Notes), or classifiers with
        ``predict_proba``, or pairs of a name and one of these. Names and parameters are set as
        those of scikit-learn's `VotingClassifier`: ``lr`` and ``lr__C`` of
        ``("lr", LogisticRegression())``; ``members__0__max_features`` of a first member without a
        name. All are members of the first layer, the two forests of this package with the least
        log-loss those of later ones. "auto" means one of each name. Where columns are more
        than 100 and more than twice the rows, each split of boosting looks at as many of them as
        there are rows, and 50 at least. All models of folds of boosted trees have one number of
        rounds, that of the least out-of-fold loss. With `cv` at "auto" and no groups, the named
        ones have ten folds of their own where a table has up to a million cells, times half the
        number of classes.

        Models of other packages get a data frame of pandas with the columns of X: categories have
        the dtype of categories, and missing values are missing. Where X is no data frame they get
        an array, categories as codes. A `GradientBoostingClassifier` keeps its parameters and
        grows as "boosted" does; it is fitted as models of other packages are if it has another
        loss, `max_bins`, categories or class weights than the deep forest, constraints by names, a
        scorer, or ``early_stopping=True``.
    cv : int, splitter, iterable of (train, test) or "auto", default="auto"
        Folds. "auto" means 5, and 10 below 50 samples.
    refit : bool, default=True
        Grow the members that are kept once more on all samples, instead of keeping the models of
        all folds: with two classes a model a third as large, with more of up to the same size, as
        forests then have three times the trees. Boosted trees keep those of their folds, whose
        mean is better.
    calibrate : bool, default=True
        Fit the exponent of the probabilities (one over a temperature) by out-of-fold log-loss.
    scoring : str or callable, default="log-loss"
        What the members' weights are chosen by: "log-loss", "margin-ratio", or a scorer of
        scikit-learn's.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Factors of the sample weights by class. Of several outputs "balanced", or a list with a
        dict for each; the factors of a sample's classes are multiplied.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, as in `RandomForestClassifier`.
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
    classes_ : ndarray of shape (n_classes,), or a list of these if there are several outputs
    n_classes_ : int, or a list of them
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_layers_ : int
        Layers that are kept.
    exponent_ : float
        Of the calibration; above 1 makes probabilities surer.
    label_smoothing_ : float
        Share of the probabilities that calibration spreads over the classes evenly, half a
        sample's worth, so that none is 0.
    oof_probabilities_ : ndarray of shape (n_samples, n_classes), or a list of these
        Out-of-fold probabilities of the training samples by all layers that are kept, calibrated.
        Their log-loss is about that of new samples: no model that they come from, in any layer,
        has seen the label of its sample, nor has one whose vectors such a model was trained on.
        Only the weights and the calibration, a few numbers, are chosen by them.
    history_ : dict of str to ndarray of shape (n_grown,)
        For all layers that were grown, out-of-fold, of the average up to that layer: "score",
        "log_loss", "accuracy", "margin_mean", "margin_std", "margin_ratio"; "time" in seconds;
        and "layer", its number from 1. In a log-loss, probabilities count as 0.0001 at least. A
        last layer that was not kept may have been judged on a quarter of the samples only, which
        `stop_reason_` then says, and "score" is then minus the log-loss.
    leaderboard_ : list of dict
        All members of all layers that were grown: "layer", "member", out-of-fold "log_loss" and
        "accuracy" of its own, "weight" in the average, "seconds", and "bytes" in the model, 0 if
        dropped. Figures of members that were left out after one fold are NaN; the forests of a
        layer are grown together, and share their seconds evenly.
        ``pandas.DataFrame`` takes it as it is.
    fit_report_ : list of dict
        Decisions in the order in which they were made, a dict for each candidate: "step"; the
        "member" that it is about, or ""; "candidate"; its "loss", NaN if there is none; the number
        of "rows" and "folds" that it comes from, 0 folds of out-of-bag samples; "decision"; and
        "cpu_seconds" since the decision before, of which each candidate has an equal share.
        ``pandas.DataFrame`` takes it as it is; `verbose` prints it.
    min_samples_leaf_ : dict of str to int
        Chosen for the named forests.
    strength_ : float
        Share of the margins' losses in how the second layer draws samples; 0 if there are several
        outputs.
    stop_reason_ : str
        Why there are no more layers.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity in the forests of the first layer, weighted by their vote; if
        none is kept, in all that were tried.

    See Also
    --------
    MDDFClassifier : The paper's cascade.

    Notes
    -----
    Out-of-fold vectors as inputs flatter a layer: the vector of a training sample is made from the
    labels of its neighbours without its own, so that among copies and near copies, vector and
    features together tell its label, and that of a sample that the layer is then judged on. A
    layer is therefore judged on four outer folds. The vectors of the samples that it trains on
    there are made without the fold (the first layer is fitted without each pair of folds), and
    those of the fold by models that saw all other samples, as at prediction time. The first outer
    fold decides whether the others are worth their time: a layer that is not kept costs about a
    tenth of a fit, one that is kept a third to a half. Splits of your own by `cv` are merged to
    four; with fewer than three there is one layer.

    With several labels or outputs, `y` has a column for each, and layers see the class vectors of
    all of them. Forests learn all at once, and so do smooth models; boosted trees, logistic
    regressions, networks and models of other packages are fitted to one at a time. Log-losses are
    means over the outputs, exponents are common to them, and an accuracy is that of all together.

    Each network of "network" has two hidden layers of 64 units, and indicators of categories and
    of missing values beside the normal scores. It is fitted by the log-loss in 40 epochs, with
    dropout and with scales of its inputs that are learned. Training has the same bits on every
    machine. It takes at most 2^24 cells of the encoded table and 1.2e10 products: beyond that a
    network has fewer epochs, and at last fewer rows. Where columns are more than 100 and more than
    twice the rows, networks see those that split best, as many as there are rows, and 50 at least.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from
       libraries of models", ICML 2004.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural
       networks", ICML 2017.
    .. [3] S.-H. Lv, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest
       representation learning", NeurIPS 2019.
    .. [4] C. Williams and M. Seeger, "Using the Nystroem method to speed up kernel machines",
       NIPS 2000.
    .. [5] D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by default: strong pre-tuned
       MLPs and boosted trees on tabular data", NeurIPS 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import DeepForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = DeepForestClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> bool(forest.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseDeepForest._parameter_constraints,
        "calibrate": ["boolean"],
        "scoring": [StrOptions({*get_scorer_names(), "log-loss", MARGIN_RATIO}), callable],
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
    }

    def __init__(
        self,
        n_layers: int | str = "auto",
        *,
        preset: str = "default",
        time_limit: float | None = None,
        n_estimators: int | str = "auto",
        members: Any = "auto",
        cv: Any = "auto",
        refit: bool = True,
        calibrate: bool = True,
        scoring: Any = "log-loss",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: Any = None,
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

    def _store_outcome(self, policy: DeepForestPolicy) -> None:
        average = policy.stack.average
        self.exponent_ = average.calibration.exponent
        self.label_smoothing_ = average.calibration.label_smoothing
        self.strength_ = policy.strength
        self.min_samples_leaf_ = {
            kind: options["min_samples_leaf"] for kind, options in policy.forest_options.items()
        }
        self.oof_probabilities_ = self._by_output(average.forecast)
        labels = policy.trainer.task.estimator_target
        weights = policy.trainer.weights.sample
        self._scores: list[Any]
        if self._n_classes_per_output is None:
            self._scores = class_scores(average.forecast, labels, weights)
        else:
            self._scores = [
                class_scores(probabilities, output_labels, weights)
                for probabilities, output_labels in zip(
                    self.oof_probabilities_, labels.T, strict=True
                )
            ]

    def _read_target(self, y: Any, sample_weight: np.ndarray | None) -> Target:
        refuse_class("scoring", self.scoring)
        y_of_outputs = several_outputs(y)
        if y_of_outputs is not None:
            outputs = ClassOutputs.read(y_of_outputs, every_class=True)
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
        y = named_classes(outputs.classes, outputs.labels.T)
        return Target(task, weights, {"classes_": outputs.classes}, y)

    def _score(
        self, classes: Any, labels: np.ndarray, sample_weight: np.ndarray | None
    ) -> Score | None:
        """Score by which members are weighted; None for the log-loss."""
        if self.scoring == "log-loss":
            return None
        return out_of_fold_score(self.scoring, classes, labels, sample_weight)

    @property
    def _score_name(self) -> str:
        return str(getattr(self.scoring, "__name__", self.scoring))

    def _resolve_members(self, task: Task, categorical: np.ndarray) -> list[MemberSpec]:
        n_classes_per_output = task.n_classes_per_output
        makers = named_classifiers(
            self._resolved_preset().n_estimators, categorical, n_classes_per_output
        )
        members = resolve_members(
            self._member_list_for(AUTO),
            makers,
            AUTO,
            "classifier",
            n_features=len(categorical),
            max_bins=self.max_bins,
            own_parameters=self._own_parameters(),
        )
        if n_classes_per_output is None:
            return members
        for member in members:
            if getattr(member.model, "bootstrap", None) == "balanced":
                raise ValueError(
                    "bootstrap='balanced' is for the classes of one output, got the member "
                    f"{member.name!r} and {len(n_classes_per_output)} outputs"
                )
        return members

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

    def __sklearn_tags__(self) -> Any:
        return takes_outputs(super().__sklearn_tags__())

    def _calibration(self) -> Calibration:
        return Calibration(self.exponent_, self.label_smoothing_, self._n_classes_per_output)

    def _member_score(self, row: dict[str, Any]) -> float:
        if self.scoring in ("log-loss", "neg_log_loss"):
            return -row["log_loss"]
        return row["accuracy"] if self.scoring == "accuracy" else np.nan
