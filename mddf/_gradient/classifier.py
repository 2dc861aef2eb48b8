"""Gradient boosting for classification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from mddf._ensemble.scoring import out_of_fold_score
from mddf._fitted.base_estimators import ProbabilityClassifier
from mddf._fitted.fitted_model import Conversion
from mddf._gradient.base import GradientBoosting
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import CLASSIFICATION, BoostingTarget, Labels, Target
from mddf._gradient.options import SYMMETRIC
from mddf._targets.target_validation import class_factors, encode_labels, known_labels
from mddf._targets.weights import row_weights


class GradientBoostingClassifier(GradientBoosting, ProbabilityClassifier):
    """Gradient-boosted trees for classification.

    Each tree is fitted to the gradients and second derivatives of the loss at the predictions of
    the trees before it [1]_. With two classes, trees add to the score of the second one. With
    more, each leaf has a value for every class [2]_. Trees are symmetric [3]_, which is
    fast and regularises, or grow leaf by leaf.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, default="log_loss"
        "exponential" is for two classes.
    learning_rate : float, default=0.05
        Factor of the leaf values.
    max_iter : int, default=1000
        Largest number of trees.
    grow_policy : {"symmetric", "leaf-wise"}, default="symmetric"
        Whether all leaves of a level are split alike, at the place that improves most in all; or
        the leaf comes next whose split improves most.
    max_leaf_nodes : int or None, default=31
        Largest number of leaves of a leaf-wise tree. Symmetric trees ignore it: values other
        than 31 and None cause a warning.
    max_depth : int or None, default=None
        Largest number of edges from the root to a leaf, at most 16 in symmetric trees. With None,
        leaf-wise trees have no limit, and symmetric trees have 6 or the depth chosen by
        `early_stopping`.
    min_samples_leaf : int, default=1
        Smallest number of samples in a leaf. A leaf of a symmetric tree stays undivided if the
        split of its level would leave fewer on a side.
    l2_regularization : float or "auto", default="auto"
        Added to the sum of second derivatives in a leaf. "auto" stands for 3, or the value
        chosen by `early_stopping`.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Features drawn for each level, or for each node of a leaf-wise tree. A float is a share,
        None means all. "auto" stands for 0.5, or the value chosen by `early_stopping`.
    subsample : float or "auto", default="auto"
        Share of the samples that each tree is grown on. "auto" stands for 0.8, or the value
        chosen by `early_stopping`.
    max_bins : int, default=255
        Largest number of bins of a numeric feature.
    categorical_features : "from_dtype", array of bool, int or str, or None, \
            default="from_dtype"
        Which features are categories, which are split by sets and not by order: a mask, column
        numbers or names. "from_dtype" takes a DataFrame's columns of categories or strings.
        Features of 32 categories or more are coded by target statistics, see the notes. Others'
        categories beyond `max_bins`, the rarest, share a bin; categories unknown to fit count as
        missing.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        1 for features with which the score of the second class must not fall, -1 where it must
        not rise, 0 for others; a dict has the names of features. For two classes only.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None, default=None
        Groups of features; a path from the root to a leaf uses features of one group only.
        Features in no group form a further group.
    early_stopping : "auto" or bool, default="auto"
        Whether some samples are held out, and no more trees grown when their score has not become
        better for a while; the trees after the best score are dropped. "auto" does so above 10000
        samples, and up to 100000 grows as many trees again, on all of them. Up to 10000, the loss
        on three to ten folds chooses their number. Symmetric trees race before, with fewer and
        larger steps, for what is left open: those of depth 4, 6 and 8, and other values of what
        is "auto", see the notes. With fewer than 30 samples, `warm_start` or another `scoring`,
        nothing is chosen that way. If `fit` is given an `X_val`, that is scored, and False only
        keeps the best round.
    scoring : str, callable or None, default="loss"
        Score of held-out samples: the loss, a scorer of scikit-learn, or None for
        accuracy. Other scores than the loss take more time.
    validation_fraction : float, int or None, default=0.1
        Share or number of samples that are held out. Samples with the same features are held out
        together and count as one. None scores the training samples.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds by which the number of trees and the values "auto" are chosen, such as `TimeOrder`.
        Above 10000 samples, and with ``early_stopping=True``, only the first fold is held out; in
        time order, this is the last fold in time. None: folds and share as described above, with
        the groups of `fit` if there are some.
    n_iter_no_change : int, default=50
        Trees without a better score before fit stops.
    tol : float, default=0.0
        Smallest improvement of a score that counts.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same weight.
    warm_start : bool, default=False
        Whether fit keeps the trees of the fit before and adds trees up to `max_iter`.
    n_jobs : int, default=None
        Number of threads: None is one (or what `joblib.parallel_config` says), -1 all cores.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws of samples, features and held-out samples.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.
    n_iter_ : int
        Number of trees that are kept.
    max_depth_ : int or None
        Depth of the deepest symmetric tree; None for leaf-wise trees.
    chosen_ : dict
        `max_features`, `l2_regularization` and `subsample` that trees were grown with.
    n_trees_per_iteration_ : int
        1, whatever the number of classes.
    do_early_stopping_ : bool
        Whether the number of trees was chosen on held-out samples.
    train_score_, validation_score_ : ndarray of shape (n_grown + 1,)
        Minus the loss, or the score of the held-out samples by `scoring`: before the first tree
        and after each one that was grown. The latter is empty if none were held out.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which features are categories; None without any.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of the splits of each feature, scaled to sum 1.

    Notes
    -----
    Missing values go to the side that is better for training; where training saw none, right.
    Leaf values are shortened where the loss of the samples that the tree is grown on would rise.
    Gradients are rounded to whole numbers whose sums are exact, so that the model does not depend
    on the order of samples, but where some are drawn or held out, nor on the number of threads or
    the processor.

    In the race, `max_features` 0.25 and 1.0, `l2_regularization` 0.3 and 0.05 and `subsample` 1.0
    are tried one after the other. Those that regularise less must lower the log-loss of rows held
    out by 1, 5 or 10 %, which they do where classes follow from features. Few rows held out say
    little of the number of trees: to the sum of their losses comes half of the squared logarithm
    of trees times the learning rate over 7.5.

    Each category of a feature with 32 categories or more becomes the mean of its samples' targets,
    with the mean of all as one more sample; of several classes, the share of each one, of the 8
    most frequent at most. So do pairs of such features, of the 10 with the most categories. A
    training sample's mean comes from samples before it in a random order, of which there are four,
    for one tree after the other [3]_. Missing values are a category of their own; one that fit did
    not see gets the mean of all.

    References
    ----------
    .. [1] J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
       Statistics 29, 2001.
    .. [2] L. Iosipoi and A. Vakhrushev, "SketchBoost: fast gradient boosted decision tree for
       multioutput problems", Advances in Neural Information Processing Systems 35, 2022.
    .. [3] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush and A. Gulin, "CatBoost: unbiased
       boosting with categorical features", Advances in Neural Information Processing Systems 31,
       2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(max_iter=50, random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GradientBoosting._parameter_constraints,
        "loss": [StrOptions(set(CLASSIFICATION))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float = 0.05,
        max_iter: int = 1000,
        grow_policy: str = SYMMETRIC,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        l2_regularization: float | str = "auto",
        max_features: float | str | None = "auto",
        subsample: float | str = "auto",
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        interaction_cst: str | Sequence[Iterable[int]] | None = None,
        early_stopping: bool | str = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        validation_fraction: float | None = 0.1,
        cv: Any = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        class_weight: str | dict[Any, float] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.grow_policy = grow_policy
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight

    def _read_target(self, y: npt.ArrayLike, weights: np.ndarray | None) -> BoostingTarget:
        classes, labels = encode_labels(y)
        if self.loss == "exponential" and len(classes) > 2:
            raise ValueError(
                f"loss must be 'log_loss' for {len(classes)} classes, got 'exponential'"
            )
        factors = class_factors(self.class_weight, classes, labels, weights)
        if factors is not None:
            weights = row_weights(weights, factors, labels).row
        return BoostingTarget(Labels(self.loss, classes), labels.astype(float), weights)

    def _read_validation_target(
        self, y: npt.ArrayLike, target: Target, weights: np.ndarray | None
    ) -> np.ndarray:
        assert isinstance(target, Labels)
        return known_labels(y, target.classes, np.shape(y)[0]).astype(float)

    def _check_continues(self, target: Target) -> None:
        assert isinstance(target, Labels)
        if not np.array_equal(target.classes, self.classes_):
            raise ValueError(
                "with warm_start=True, y must have the classes of the fit before, "
                f"{self.classes_.tolist()}, got {target.classes.tolist()}"
            )

    def _target_attributes(self, target: Target) -> dict[str, Any]:
        assert isinstance(target, Labels)
        return {"classes_": target.classes, "n_classes_": target.n_classes}

    def _scorer(self, rows: BoostingRows, target: Target) -> Callable[[np.ndarray], float] | None:
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        assert isinstance(target, Labels)
        labels = rows.y[rows.held_out].astype(int)
        weights = None if rows.weights is None else rows.weights[rows.held_out]
        score = out_of_fold_score(self.scoring, target.classes, labels, weights)
        return lambda raw: score(target.predicted(raw))

    def decision_function(self, X: Any) -> np.ndarray:
        """Raw scores: of the second of two classes, or of each class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) of more than two classes
        """
        return self._convert_raw(X, one_column_of_two)

    def _predict_in_blocks(self, X: Any, convert: Conversion | None = None) -> np.ndarray:
        def predict_raw(raw: np.ndarray) -> np.ndarray:
            probabilities = self._target.predicted(raw)
            return probabilities if convert is None else convert(probabilities)

        return self._convert_raw(X, predict_raw)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `decision_function` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,), or (n_samples, n_classes) of more than two classes
        """
        for raw in self._staged_raw(X):
            yield one_column_of_two(raw).copy()

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `predict_proba` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        for raw in self._staged_raw(X):
            yield self._target.predicted(raw)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `predict` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for probabilities in self.staged_predict_proba(X):
            yield self._most_probable(probabilities)


def one_column_of_two(raw: np.ndarray) -> np.ndarray:
    """Raw scores in the shape of `decision_function`."""
    return raw if raw.shape[1] > 1 else raw[:, 0]
