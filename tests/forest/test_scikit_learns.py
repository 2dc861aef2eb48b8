"""scikit-learn's own tests of forests, run on mddf's.

Each passes, or stands in a list with its reason, which docs/forests.md repeats for users.
"""

import pytest
from peers_tests import expected_failures, found_in, global_random_seed  # noqa: F401
from scikit_learns_forests import peers_tests

pytestmark = pytest.mark.slow

PRIVATE = "a private part of scikit-learn's"
CHANCE = "another random stream: close to the bound by chance"
REASONS = {
    "test_forest_classifier_oob.*X2-y2.*-RandomForest": CHANCE,
    r"test_forest_regressor_oob\[True-X0-y0-0.7": CHANCE,
    "test_distribution": "trees that are equally likely are written in another order",
    "test_memory_layout": PRIVATE,  # estimator.splitter
    "test_validate_y_class_weight": PRIVATE,
    "test_class_weights_forest": PRIVATE,  # _sample_weight
    "test_oob_not_computed_twice": PRIVATE,
    "test_max_samples_geq_one": PRIVATE,  # _n_samples_bootstrap
    "test_mse_criterion_object_segfault_smoke_test": PRIVATE,  # a criterion's object
    "test_forest_multioutput_integral_regression_target": PRIVATE,  # how rows are drawn
    "test_estimators_samples": "a clone of a tree is grown by scikit-learn",
    "test_warm_start_oob": "a warm start cannot switch oob_score on",
    "test_classifier_error_oob_score_multiclass_multioutput": "outputs of many classes are scored",
    "test_class_weight_balanced_and_bootstrap_multi_output": "balanced_subsample: of one output",
    "test_class_weight_errors": "a warm start keeps its classes",
    "test_friedman_mse_deprecation": "friedman_mse is the squared error, and not deprecated",
}
# Nothing of mddf's is in them.
UNUSED = {
    "test_random_trees_embedding_raise_error_oob",
    "test_random_trees_dense_type",
    "test_random_trees_dense_equal",
    "test_random_hasher",
    "test_random_hasher_sparse_data",
    "test_random_trees_embedding_feature_names_out",
}

globals().update(found_in([peers_tests()], UNUSED))
expected = expected_failures(REASONS)
