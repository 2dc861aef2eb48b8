"""Parameters of gradient boosting: allowed values and descriptions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import RealNotInt, StrOptions

from mddf._base.validation import COUNT, JOBS, Within, finite, max_features_among
from mddf._gradient.options import AUTO, GRADIENT, LEAF_WISE, MOST_LEAVES, NEWTON, SYMMETRIC

CONSTRAINTS: dict[str, Any] = {
    "learning_rate": [finite(closed="right"), StrOptions({AUTO})],
    "max_iter": [COUNT, StrOptions({AUTO})],
    "grow_policy": [StrOptions({SYMMETRIC, LEAF_WISE})],
    "max_leaf_nodes": [Within(Integral, 2, MOST_LEAVES, closed="both"), None],
    "max_depth": [Within(Integral, 1, None, closed="left"), None],
    "min_samples_leaf": [Within(Integral, 1, None, closed="left")],
    "l2_regularization": [finite(), StrOptions({AUTO})],
    "max_features": max_features_among("sqrt", "log2", AUTO),
    "subsample": [Within(Real, 0, 1, closed="right"), StrOptions({AUTO})],
    "max_bins": [Within(Integral, 2, 255, closed="both")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "linear_leaves": ["boolean", StrOptions({AUTO})],
    "split_score": [StrOptions({NEWTON, GRADIENT, AUTO})],
    "monotonic_cst": ["array-like", dict, None],
    "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
    "early_stopping": [StrOptions({"auto"}), "boolean"],
    "scoring": [StrOptions({"loss", *get_scorer_names()}), callable, None],
    "validation_fraction": [
        Within(RealNotInt, 0, 1, closed="neither"),
        Within(Integral, 1, None, closed="left"),
        None,
    ],
    "cv": ["cv_object"],
    "n_iter_no_change": [COUNT],
    "tol": [finite()],
    "warm_start": ["boolean"],
    "n_jobs": JOBS,
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# Parameters that a warm start must not change: they decide how cells are coded, which models
# the trees can be, and what the user was promised of them.
FIXED_PARAMETERS = (
    "grow_policy",
    "max_bins",
    "categorical_features",
    "monotonic_cst",
    "interaction_cst",
)

# Descriptions that both estimators share, for their docstrings; see `describes_parameters`.
BOOSTING_PARAMETERS = """
learning_rate : float or "auto"
    Factor by which the leaf values are multiplied. "auto" stands for 0.05, and above 100 000
    samples for 0.1 (symmetric trees) or 0.15 (leaf-wise trees). After 1000 trees it rises
    linearly, by twice its value for every 1000 trees, to at most 0.4. Change it to a larger value
    for a smaller and faster model.
max_iter : int or "auto"
    Largest number of trees. "auto" stands for 1000 without held-out samples, and with them for
    5000, which are rarely reached. Change it if the size of the model is limited.
grow_policy : {"symmetric", "leaf-wise"}
    "symmetric": all nodes of a level have the same split, the one with the largest total gain.
    "leaf-wise": the leaf whose split has the largest gain is split next. Change it to compare
    both: which one is better depends on the table.
max_leaf_nodes : int or None
    Largest number of leaves of a leaf-wise tree. Symmetric trees ignore it; values other
    than 31 and None then cause a warning. Change it together with `grow_policy`.
max_depth : int or None
    Largest number of edges from the root to a leaf, at most 16 for symmetric trees. None means
    no limit for leaf-wise trees. For symmetric trees, it means the depth chosen by
    `early_stopping`, or 6, or 8 above 100 000 samples. Change it to 1 for a sum of functions of
    single features.
min_samples_leaf : int
    Smallest number of samples in a leaf. A node of a symmetric tree stays undivided if the
    split of its level would leave fewer samples on one side. Change it if the target is noisy.
subsample : float or "auto"
    Share of the samples drawn for each tree. "auto" stands for 0.8, or the value chosen by
    `early_stopping`. Change it if you search for parameters yourself.
max_bins : int
    Largest number of bins of a numeric feature. Change it only to save time or memory.
categorical_features : "from_dtype", array of bool, int or str, or None
    Categorical features: a mask, column numbers or names. "from_dtype" takes the columns of a
    data frame that hold categories or strings. Features with 32 categories or more are encoded
    by target statistics [2]_, unless `early_stopping` chose sets; others are split by sets, where
    the rarest categories beyond `max_bins` share a bin and unknown ones count as missing. Change
    it if X is an array with codes of categories.
linear_leaves : bool or "auto"
    Whether the value of a leaf is a linear function of the numeric features that are split on
    the path to it [4]_, at most seven, instead of a constant. "auto" lets held-out samples
    choose. True does not go with `monotonic_cst`, with "absolute_error" and "quantile", with
    Shapley values by trees, and with exports. Change it if the target is smooth.
split_score : {"newton", "gradient", "auto"}
    Whether the gain of a split divides squared gradients by second derivatives, or by the
    number of samples as in CatBoost. "auto" lets the trials of `early_stopping` choose, and stands
    for "newton" without them. "gradient" does not go with `monotonic_cst`. Change it
    to "auto" if a few percent of the loss are worth more trials.
interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None
    Groups of features that may interact: the splits on a path from the root to a leaf use
    features of one group. Features in no group form a further group. Change it if the model must
    be a sum of parts.
early_stopping : "auto" or bool
    How the number of trees is chosen.

    - True holds out samples, stops when their score has not improved for `n_iter_no_change`
      trees, and drops the trees after the best score.
    - False grows `max_iter` trees.
    - "auto" chooses the number of trees on held-out samples, and then grows this number of
      trees on all samples. Up to 10000 samples, three folds are held out in turn, and up to ten
      for small classification data sets; above, a share of the samples is held out. With fewer
      than 30 samples, more than 100000 samples, `warm_start` or another `scoring` than the
      loss, "auto" is the same as True above 10000 samples and False below. A custom loss without
      its values needs a scorer.

    With "auto", symmetric trees also choose their depth (4, 6 or 8) if `max_depth` is None,
    and the values of parameters that are "auto". If `fit` gets `X_val`, this set is scored
    instead; False then keeps the trees up to the best round. Change it to False if you know the
    number of trees.
scoring : str, callable or None
    Score of held-out samples: the loss, a scorer of scikit-learn, or None for accuracy (classes)
    or R2 (regression). Change it if only this score matters; it takes more time than the loss.
validation_fraction : float, int or None
    Share or number of samples to hold out. Copies of a sample are held out together and count
    as one. None scores the training samples. Change it if a tenth is too few or too many.
cv : int, splitter, iterable of (train, test) or None
    Folds by which the number of trees and the values "auto" are chosen, such as `TimeOrder`.
    Above 10000 samples, and with ``early_stopping=True``, only the first fold is held out; in
    time order, this is the last fold in time. None: folds and share as described above, with
    the groups of `fit` if there are some. Change it if rows are in an order of time.
n_iter_no_change : int
    Number of trees without a better score after which fit stops. Change it to a smaller number to
    save time.
tol : float
    Smallest improvement of the score that counts as better. Change it to save trees.
warm_start : bool
    Whether fit keeps the trees of the previous fit and adds trees up to `max_iter`. Change it to
    add trees to a fitted model.
random_state : int, RandomState or None
    Seed of the random draws of samples, features and held-out samples.

Attributes
----------
n_iter_ : int
    Number of trees. If it reaches the limit of ``max_iter="auto"`` while the score of held-out
    samples still improves, fit warns.
max_depth_ : int or None
    Depth of the deepest symmetric tree; None for leaf-wise trees.
chosen_ : dict
    Values of `max_features`, `l2_regularization` and `subsample` that fit used.
split_score_ : str
    Score of the splits: "newton" or "gradient".
linear_leaves_ : bool
    Whether the leaves are linear functions.
n_trees_per_iteration_ : int
    Always 1, because a tree has values for all classes or targets.
do_early_stopping_ : bool
    Whether the number of trees was chosen on held-out samples.
train_score_, validation_score_ : ndarray of shape (n_grown + 1,)
    Minus the training loss, and the held-out score by `scoring`, before the first tree and after
    each tree that was grown, also in trials. `validation_score_` is empty if no samples were held
    out.
is_categorical_ : ndarray of bool of shape (n_features,) or None
    Mask of the categorical features; None if there are none.
feature_importances_ : ndarray of shape (n_features,)
    Gain of the splits of each feature, scaled to sum 1.

Notes
-----
Each split sends missing values to the side with the larger gain, or to the right if its
training samples have none. Leaf values are reduced if they would increase the loss of the
samples that the tree is grown on. The model does not depend on the number of threads or the
processor. Nor does it depend on the order of the samples, unless some are drawn or held out.
The pages "Boosted trees" and "Inputs and losses" of the documentation have more.

References
----------
.. [1] J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
   Statistics 29, 2001.
.. [2] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush and A. Gulin, "CatBoost: unbiased
   boosting with categorical features", Advances in Neural Information Processing Systems 31,
   2018.
.. [3] L. Iosipoi and A. Vakhrushev, "SketchBoost: fast gradient boosted decision tree for
   multioutput problems", Advances in Neural Information Processing Systems 35, 2022.
.. [4] Y. Shi, J. Li and Z. Li, "Gradient boosting with piece-wise linear regression trees",
   International Joint Conference on Artificial Intelligence, 2019.
"""
