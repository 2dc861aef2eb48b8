"""scikit-learn's estimator checks: all for one model of a class, few for two variants of it."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
# What parameters can break. The other checks are about input, names and attributes.
OF_VARIANTS = {
    *WEIGHT_CHECKS,
    "check_classifiers_train",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_regressors_train",
}


def sklearn_checks(models, failing=lambda model: {}):
    """Run all checks on the first model of a class; on its other ones, those of `OF_VARIANTS`.

    `failing` gives the checks that a model fails, with reasons.
    """
    cases, names = [], set()
    for model in models:
        mark = parametrize_with_checks([model], expected_failed_checks=failing)
        for case in mark.args[1]:
            case = case if hasattr(case, "values") else pytest.param(*case)
            check = case.values[1].func.__name__
            if type(model) not in names or check in OF_VARIANTS:
                cases.append(case)
        names.add(type(model))
    return pytest.mark.parametrize(*mark.args[:1], cases, **mark.kwargs)
