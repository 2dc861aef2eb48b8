"""Names of mddf.analysis, and deprecated names of its parts."""

import importlib
import sys

import pytest

from mddf import analysis

OLD = {
    "bounds": ["adaboost_training_bounds", "deepboost_bound", "finite_class_margin_bound",
               "margin_distribution_bound", "quadboost_bound"],
    "margins": ["MarginReport", "classifier_margins", "margin_report"],
    "significance": ["discordant_counts", "poisson_binomial_test", "probability_better",
                     "sign_test"],
}  # fmt: skip


@pytest.mark.parametrize("name", OLD)
def test_old_names_work_with_a_warning(name, monkeypatch):
    monkeypatch.delitem(sys.modules, f"mddf.baselines.{name}", raising=False)
    with pytest.warns(DeprecationWarning, match=rf"\.{name} has .* removed in version 0\.4"):
        old = importlib.import_module(f"mddf.baselines.{name}")
    assert sorted(old.__all__) == OLD[name]
    for member in OLD[name]:
        assert getattr(old, member) is getattr(analysis, member)
