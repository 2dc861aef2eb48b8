"""Margins of classifiers, the bounds that follow from them, and comparisons over data sets.

A ValueError that names the parameter refuses numbers that are out of range or not finite, and
shapes that do not fit.
"""

from mddf._base.serialization import publish
from mddf.analysis._bounds import (
    deepboost_bound,
    drawn_vote_bound,
    empirical_bernstein_deviation,
    finite_class_margin_bound,
    log_n_trees,
    margin_distribution_bound,
    quadboost_bound,
)
from mddf.analysis._capacity_bounds import (
    l1_linf_margin_bound,
    l2_l2_margin_bound,
    massart_complexity,
    rademacher_margin_bound,
    tree_vc_dimension,
    vc_bound,
    vote_complexity,
    vote_vc_dimension,
)
from mddf.analysis._complexity import (
    ComplexityEstimate,
    kernel_rademacher_bounds,
    leaf_rademacher_complexity,
    partition_complexity,
    rademacher_complexity,
    tree_rademacher_complexity,
)
from mddf.analysis._diversity import (
    Diversity,
    ErrorAmbiguity,
    diversity,
    error_ambiguity,
    layer_diversity,
)
from mddf.analysis._losses import BandMarginLoss, odm_objective
from mddf.analysis._margins import MarginReport, classifier_margins, margin_report
from mddf.analysis._seeds import SeedSensitivity, seed_sensitivity
from mddf.analysis._significance import (
    discordant_counts,
    poisson_binomial_test,
    probability_better,
)
from mddf.analysis._thresholds import Threshold, choose_threshold
from mddf.analysis._training_bounds import (
    adaboost_training_bounds,
    margin_error_training_bound,
    quadboost_training_bounds,
)

__all__ = [
    "BandMarginLoss",
    "ComplexityEstimate",
    "Diversity",
    "ErrorAmbiguity",
    "MarginReport",
    "SeedSensitivity",
    "Threshold",
    "adaboost_training_bounds",
    "choose_threshold",
    "classifier_margins",
    "deepboost_bound",
    "discordant_counts",
    "diversity",
    "drawn_vote_bound",
    "empirical_bernstein_deviation",
    "error_ambiguity",
    "finite_class_margin_bound",
    "kernel_rademacher_bounds",
    "l1_linf_margin_bound",
    "l2_l2_margin_bound",
    "layer_diversity",
    "leaf_rademacher_complexity",
    "log_n_trees",
    "margin_distribution_bound",
    "margin_error_training_bound",
    "margin_report",
    "massart_complexity",
    "odm_objective",
    "partition_complexity",
    "poisson_binomial_test",
    "probability_better",
    "quadboost_bound",
    "quadboost_training_bounds",
    "rademacher_complexity",
    "rademacher_margin_bound",
    "seed_sensitivity",
    "tree_rademacher_complexity",
    "tree_vc_dimension",
    "vc_bound",
    "vote_complexity",
    "vote_vc_dimension",
]

publish(globals())
