"""scikit-learn's own tests of histogram gradient boosting, run on mddf's.

Each passes, or stands in a list with its reason.
"""

import pytest
from hist_gradient_boosting import peers_tests
from peers_tests import expected_failures, found_in, global_random_seed  # noqa: F401

pytestmark = [
    pytest.mark.slow,
    # scikit-learn refuses more categories than bins, or is silent about new ones.
    pytest.mark.filterwarnings("ignore:.*categories:UserWarning"),
    # Numbers of bins look like numbers of subjects.
    pytest.mark.filterwarnings("ignore:.*looks like an identifier of subjects:UserWarning"),
]

MODULES = [
    "test_gradient_boosting",
    "test_warm_start",
    "test_monotonic_constraints",
    "test_compare_lightgbm",
]
# test_binning, test_grower, test_histogram, test_predictor and test_splitting are of private
# parts, which the kernel's tests check against a slow twin.
PRIVATE = "a private part of scikit-learn's"
BEST_ROUND = "trees after the best round are dropped"
ON_FOLDS = "folds of few rows choose the number of trees"
REASONS = {
    r"test_missing_values_resilience\[(0.1.*classification|0.2|0.5)": ON_FOLDS,
    "test_staged_predict.*-X1-": ON_FOLDS,
    "test_warm_start_yields_identical_results": ON_FOLDS,
    "test_early_stopping_regression.*(squared_error|None|loss)-0.1": BEST_ROUND,
    "test_early_stopping_classification.*(accuracy|None)-(0.1|None)-True": BEST_ROUND,
    "test_warm_start_early_stopping": BEST_ROUND,
    "test_should_stop": PRIVATE,
    "test_small_trainset": PRIVATE,
    "test_early_stopping_with_sample_weights": PRIVATE,
    "test_raw_predict_is_called_with_custom_scorer": PRIVATE,
    "test_nodes_values": PRIVATE,
    "test_bounded_value_min_gain_to_split": PRIVATE,
    "test_binning_train_validation_are_separated": "bins are those of all rows, as for folds",
    "test_infinite_values": "infinities are refused, as by forests",
    "test_custom_loss": "losses are in the kernel",
    "test_categorical_spec_errors.*categorical_features2": "columns may be counted from the right",
    "test_categorical_bad_encoding_errors": "the rarest categories share a bin",
    "test_dataframe_categorical_errors": "the rarest categories share a bin",
    "test_dataframe_categorical_results_same_as_ndarray": "columns of text are categories",
    "test_X_val_in_fit": "rows are drawn by other seeds, and bins are those of all rows",
    "test_X_val_raises_with_early_stopping_false": "the best round is kept",
    "test_same_predictions_multiclass_classification.*(-20-|10000)": "a tree has leaves for all",
    "test_unknown_categories_nan.-1-.*Regressor-True": "categories may be negative",
    "test_categorical_encoding_strategies": "categories of the lower mean go left",
}
# Nothing of mddf's is in them.
UNUSED = {
    "test_sum_hessians_are_sample_weight",
    "test_nodes_values",
    "test_bounded_value_min_gain_to_split",
}

globals().update(found_in(map(peers_tests, MODULES), UNUSED))
expected = expected_failures(REASONS)
