"""Descriptions of parameters and attributes that boosting classifiers share.

They complete the docstrings of the classes; see `mddf._base.docstrings.describes_parameters`.
"""

BOOSTING = """
n_estimators : int
    Number of rounds.
categorical_features : "from_dtype", array of bool, int or str, or None
    Which features are categories: a mask, column numbers or names. "from_dtype" takes a
    DataFrame's columns of categories or strings. A split separates one category from
    all others. Categories that are not in the training rows count as missing.
early_stopping : bool
    Whether to hold back a share of the rows, and keep the number of rounds with the lowest
    mean loss on them.
validation_fraction : float
    The share, in (0, 1).
n_iter_no_change : int
    Rounds without a new least validation loss after which to stop.
random_state : int, RandomState instance or None
    Draws the validation share; nothing else is random.
n_jobs : int or None
    Processes for the classes when there are more than two.
verbose : int
    Show a progress bar when positive.

Attributes
----------
classes_ : array of shape (n_classes,)
    The labels.
n_features_in_ : int
    Number of features.
ensembles_ : list of Ensemble
    The vote: one entry with two classes, else one per class against the rest.
estimator_weights_ : array of shape (n_learners,), or list of them
    alpha, summed over the rounds that chose the same learner.
feature_importances_ : array of shape (n_features,)
    Shares of the features in the vote. Callables have none.
n_iter_ : int
    Rounds made (the most over the classes).
"""
WEAK_LEARNERS = """
max_depth : int
    Depth of the trees. Stumps, of depth 1, are searched exhaustively over all features and
    all thresholds half-way between neighbouring values. Deeper trees grow by layers: each
    layer splits every leaf at its best threshold, if that lowers the weighted error; the trees
    in the vote compete with them in every round. Ignored with `weak_learners`.
weak_learners : None, "stumps", callable or list of callables
    None searches trees. "stumps" is a finite set with `n_thresholds` evenly spaced thresholds
    per feature. Callables map X to values in {-1, +1} of shape (n_samples,); a single callable
    may return shape (n_samples, n_learners).
n_thresholds : int
    Thresholds per feature of ``weak_learners="stumps"``, at most 65535.
"""
