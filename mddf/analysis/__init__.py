"""Margins of classifiers, the bounds that follow from them, and comparisons over data sets."""

from mddf._base.serialization import publish
from mddf.analysis._bounds import (
    adaboost_training_bounds,
    deepboost_bound,
    finite_class_margin_bound,
    log_n_trees,
    margin_distribution_bound,
    quadboost_bound,
)
from mddf.analysis._margins import MarginReport, classifier_margins, margin_report
from mddf.analysis._significance import (
    discordant_counts,
    poisson_binomial_test,
    probability_better,
    sign_test,
)

__all__ = [
    "MarginReport",
    "adaboost_training_bounds",
    "classifier_margins",
    "deepboost_bound",
    "discordant_counts",
    "finite_class_margin_bound",
    "log_n_trees",
    "margin_distribution_bound",
    "margin_report",
    "poisson_binomial_test",
    "probability_better",
    "quadboost_bound",
    "sign_test",
]

publish(globals())
