"""Ranks, tests and intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats


@pytest.fixture
def stats(script):
    pytest.importorskip("scikit_posthocs", reason='needs "mddf[stats]"')
    return script("_lab.stats")


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    best = rng.random(20)
    return pd.DataFrame({"c": best - 0.2, "a": best, "b": best - 0.1 * rng.random(20)})


def test_only_sets_that_all_methods_have_are_ranked(stats):
    rows = [("x", "a", 0, 1.0), ("x", "a", 1, 3.0), ("x", "b", 0, 1.0), ("y", "a", 0, 9.0)]
    frame = pd.DataFrame(rows, columns=["set", "method", "seed", "score"])
    wide = stats.by_set(frame, "score")
    assert wide.to_dict() == {"a": {"x": 2.0}, "b": {"x": 1.0}}
    assert stats.ranks(wide).loc["x"].to_dict() == {"a": 1, "b": 2}
    assert stats.ranks(wide, greater=False).loc["x"].to_dict() == {"a": 2, "b": 1}


def test_differences_by_rounding_are_ties(stats):
    wide = pd.DataFrame({"a": [0.3], "b": [0.1 + 0.2], "c": [0.2]})
    assert stats.ranks(wide).loc[0].tolist() == [1.5, 1.5, 3]


def test_comparison(stats, values):
    result = stats.compare(values)
    assert result.ranks.to_dict() == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert list(result.ranks.index) == ["a", "b", "c"]
    assert result.friedman_p == pytest.approx(np.exp(-20))  # chi-squared 40 with 2 degrees
    # Demsar 2006, Table 5: q of three methods at .05 is 2.343
    assert result.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 20)), abs=1e-3)
    assert (result.p.loc["a", "b"] < 0.05) == (result.critical_difference < 1)
    assert result.p.loc["a", "c"] < result.p.loc["a", "b"] == result.p.loc["b", "a"]
    worst = stats.compare(values, greater=False)
    assert worst.ranks.to_dict() == {"c": 1.0, "b": 2.0, "a": 3.0}


def test_wilcoxon_with_holm(stats, values):
    result = stats.compare(values, test="wilcoxon").p
    plain = scipy_stats.wilcoxon(values["a"] - values["b"]).pvalue
    assert plain <= result.loc["a", "b"] <= 3 * plain
    same = stats.compare(values.assign(d=values["a"]), test="wilcoxon").p
    assert same.loc["a", "d"] == 1


def test_bayes(stats, values):
    pytest.importorskip("baycomp")
    better, alike, worse = stats.bayes(values["a"], values["c"], rope=0.01)
    assert better > 0.99
    assert better + alike + worse == pytest.approx(1)
    assert stats.bayes(values["a"], values["c"], rope=0.5)[1] > 0.99
    assert len(stats.bayes(values["a"], values["c"], rope=0)) == 3
    assert stats.bayes(values["a"], values["a"] + 1e-12) == (0, 1, 0)
    assert stats.bayes(values["a"], values["a"], rope=0) == (0.5, 0, 0.5)


def test_paired_bootstrap(stats):
    rng = np.random.default_rng(0)
    first, second = rng.random(400) < 0.9, rng.random(400) < 0.8
    difference, low, high = stats.paired_bootstrap(first, second)
    assert difference == pytest.approx(first.mean() - second.mean())
    assert low < difference < high
    deviation = (first.astype(float) - second).std() / 20
    assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
    assert (difference, low, high) == stats.paired_bootstrap(first, second)
    assert stats.paired_bootstrap([1, 1], [0, 0]) == (1, 1, 1)
