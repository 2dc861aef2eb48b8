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
    Factor by which the leaf values are multiplied. "auto" stands for 0.05. Above 100 000
    samples, it stands for 0.1 with symmetric trees and for 0.15 with leaf-wise trees. After
    the tree number 1000 it rises linearly, by twice its value for every 1000 trees, to at
    most 0.4.
max_iter : int or "auto"
    Largest number of trees. "auto" stands for 1000 without held-out samples. With held-out
    samples it stands for 5000, which are rarely reached: growth ends when their score no
    longer improves.
grow_policy : {"symmetric", "leaf-wise"}
    "symmetric": all nodes of a level have the same split, the one with the largest total gain.
    "leaf-wise": the leaf whose split has the largest gain is split next.
max_leaf_nodes : int or None
    Largest number of leaves of a leaf-wise tree. Symmetric trees ignore it; values other
    than 31 and None then cause a warning.
max_depth : int or None
    Largest number of edges from the root to a leaf, at most 16 for symmetric trees. None means
    no limit for leaf-wise trees. For symmetric trees, it means the depth chosen by
    `early_stopping`, or 6, or 8 above 100 000 samples.
min_samples_leaf : int
    Smallest number of samples in a leaf. A node of a symmetric tree stays undivided if the
    split of its level would leave fewer samples on one side.
subsample : float or "auto"
    Share of the samples drawn for each tree. "auto" stands for 0.8, or the value chosen by
    `early_stopping`.
max_bins : int
    Largest number of bins of a numeric feature.
categorical_features : "from_dtype", array of bool, int or str, or None
    Categorical features, which are split by sets of categories: a mask, column numbers or
    names. "from_dtype" takes the columns of a data frame that hold categories or strings.
    Features with 32 categories or more are encoded by target statistics, unless
    `early_stopping` chose sets (see Notes). In features that are split by sets, the
    rarest categories beyond `max_bins` share a bin, and categories that fit did not see
    count as missing.
linear_leaves : bool or "auto"
    Whether the value of a leaf is a linear function of the numeric features that are split on
    the path to it, instead of a constant (see Notes). "auto" lets held-out samples choose;
    without any, leaves are constants. True does not go with `monotonic_cst`, and not with the
    losses "absolute_error" and "quantile".
split_score : {"newton", "gradient", "auto"}
    Whether the gain of a split divides squared gradients by second derivatives, or by the
    number of samples as in CatBoost. Leaf values use second derivatives in both cases. "auto"
    lets the trials of `early_stopping` choose, and stands for "newton" without them. The
    squared error has the same gain in both cases. "gradient" does not go with `monotonic_cst`.
interaction_cst : {"pairwise", "no_interactions"}, list of lists of int or None
    Groups of features that may interact: the splits on a path from the root to a leaf use
    features of one group. Features in no group form a further group.
early_stopping : "auto" or bool
    How the number of trees is chosen.

    - True holds out samples, stops when their score has not improved for `n_iter_no_change`
      trees, and drops the trees after the best score.
    - False grows `max_iter` trees.
    - "auto" chooses the number of trees on held-out samples, and then grows this number of
      trees on all samples. Up to 10000 samples, three folds are held out in turn, and up to ten
      for small classification data sets; above, a share of the samples is held out. With fewer
      than 30 samples, more than 100000 samples, `warm_start` or another `scoring` than the
      loss, "auto" is the same as True above 10000 samples and False below.
      A custom loss without a function for its values never holds out samples with "auto",
      unless `scoring` is a scorer.

    With "auto", symmetric trees also choose their depth (4, 6 or 8) if `max_depth` is None,
    and the values of parameters that are "auto". If `fit` gets `X_val`, this set is scored
    instead; False then keeps the trees up to the best round.
scoring : str, callable or None
    Score of held-out samples: the loss, a scorer of scikit-learn, or None for accuracy (classes)
    or R2 (numbers). Other scores take more time than the loss.
validation_fraction : float, int or None
    Share or number of samples to hold out. Copies of a sample are held out together and count
    as one. None scores the training samples.
cv : int, splitter, iterable of (train, test) or None
    Folds by which the number of trees and the values "auto" are chosen, such as `TimeOrder`.
    Above 10000 samples, and with ``early_stopping=True``, only the first fold is held out; in
    time order, this is the last fold in time. None: folds and share as described above, with
    the groups of `fit` if there are some.
n_iter_no_change : int
    Number of trees without a better score after which fit stops.
tol : float
    Smallest improvement of the score that counts as better.
warm_start : bool
    Whether fit keeps the trees of the previous fit and adds trees up to `max_iter`.
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
    Minus the training loss, and the held-out score by `scoring` (minus the loss by default),
    before the first tree and after each tree that was grown. If "auto" chose the number of
    trees in trials, `validation_score_` is of the trials, which may have grown more trees.
    It is empty if no samples were held out.
is_categorical_ : ndarray of bool of shape (n_features,) or None
    Mask of the categorical features; None if there are none.
feature_importances_ : ndarray of shape (n_features,)
    Gain of the splits of each feature, scaled to sum 1.

Notes
-----
Each split sends missing values to the side with the larger gain, or to the right if its
training samples have none. Leaf values are reduced if they would increase the loss of the
samples that the tree is grown on.

Gradients are rounded to whole numbers, whose sums are exact. The model therefore does not
depend on the number of threads or the processor. Nor does it depend on the order of the
samples, unless some are drawn or held out.

Linear leaves suit targets that are smooth in their features [4]_. A linear function reads at
most seven features, the first ones that are split on the path, by the ranks of their bins; a
missing value counts as the middle one. Slopes are ridge regressions on the gradients and
second derivatives of the loss. Shapley values by trees and exports refuse such models, and
`feature_importances_` does not count slopes.

Target statistics replace a feature with 32 categories or more by numbers [2]_. A category gets a
statistic of the targets of its samples, where the mean of all samples counts as one more sample.
Pairs of such features, among the 10 with the most categories, are encoded in the same way. The
statistics of a training sample come from the samples before it in a random order. There are four
orders, which trees use in turn. Missing values are a category of their own. A category that fit
did not see gets the mean of all samples. Held-out samples that choose the depth first choose
whether features with 32 to `max_bins` categories are split by sets instead.

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
