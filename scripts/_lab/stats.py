"""Comparison of methods over many sets: ranks, tests, and intervals."""

import warnings
from types import SimpleNamespace

import numpy as np
from scipy import stats

from . import need

pd = need("pandas", "data")


def by_set(frame, metric) -> pd.DataFrame:
    """Return means over seeds by set and method, for the sets with results of all methods.

    They have five digits, so that equal scores are still equal after they were stored with six.
    """
    means = frame.pivot_table(metric, "set", "method", aggfunc="mean", sort=False).dropna()
    return _rounded(means, 5).mul(_largest(means), axis=0)


def ranks(values, greater=True) -> pd.DataFrame:
    """Rank the methods on each set, 1 for the best; rounding errors do not break ties."""
    return _rounded(values).rank(axis=1, ascending=not greater)


def _largest(values: pd.DataFrame) -> pd.Series:
    """Return the largest absolute value of each row, or 1 if all are 0."""
    largest = values.abs().max(axis=1)
    return largest.where(largest > 0, 1)


def _rounded(values: pd.DataFrame, digits=9) -> pd.DataFrame:
    """Divide each row by its largest absolute value, and round."""
    return values.div(_largest(values), axis=0).round(digits)


def critical_difference(n_sets, n_methods, level=0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks."""
    error = np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))
    return float(stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2) * error)


def compare(values, greater=True, test="nemenyi", level=0.05):
    """Run Friedman's test and a test of each pair on a table of sets by methods without gaps.

    Returns a namespace: `ranks`, the mean ranks, best method first; `friedman_p` (NaN for fewer
    than three methods or two sets, 1 if all methods are equal); Nemenyi's `critical_difference`
    at the level; `p` of each pair by `test`: "nemenyi" on mean ranks, or "wilcoxon" on signed
    ranks with Holm's correction; and `n_sets`.
    """
    posthocs = need("scikit_posthocs", "stats")
    by_set, (n_sets, n_methods) = _rounded(values), values.shape
    order = ranks(values, greater).mean().sort_values(kind="stable")
    friedman = np.nan
    if n_methods > 2 and n_sets > 1:
        same = (by_set.nunique(axis=1) == 1).all()
        friedman = 1.0 if same else float(stats.friedmanchisquare(*by_set.to_numpy().T).pvalue)
    if test == "nemenyi":
        p = posthocs.posthoc_nemenyi_friedman(by_set)
    else:
        values = (values / (np.abs(values.to_numpy()).max() or 1)).round(9)
        long = values.melt(var_name="method")
        with warnings.catch_warnings():  # equal methods cause warnings
            warnings.simplefilter("ignore", RuntimeWarning)
            p = posthocs.posthoc_wilcoxon(long, "value", "method", p_adjust="holm", sort=False)
        p = p.mask(np.array([[values[a].equals(values[b]) for b in values] for a in values]), 1.0)
    return SimpleNamespace(
        ranks=order, friedman_p=friedman, p=p.loc[order.index, order.index], n_sets=n_sets,
        critical_difference=critical_difference(n_sets, n_methods, level),
    )  # fmt: skip


def compare_with(values, base):
    """Compare each column of a table of sets with a base column by Wilcoxon's signed ranks.

    Larger values are better. Holm's correction takes all columns as one family.
    """
    rows = []
    for name in values.columns.drop(base):
        pair = values[[name, base]].dropna()
        change = (pair[name] - pair[base]).round(9)
        p = stats.wilcoxon(change).pvalue if change.any() else 1.0
        rows.append(
            {
                "column": name,
                "sets": len(pair),
                "better": int((change > 0).sum()),
                "worse": int((change < 0).sum()),
                "mean": pair[name].mean(),
                "mean_of_base": pair[base].mean(),
                "median_change": change.median(),
                "p": p,
            }
        )
    frame = pd.DataFrame(rows)
    multipletests = need("statsmodels.stats.multitest", "stats").multipletests
    return frame.assign(holm_p=multipletests(frame["p"], method="holm")[1])


def bayes(first, second, rope=0.01) -> tuple[float, float, float]:
    """Run the Bayesian signed-rank test on scores; larger scores are better.

    Returns the probabilities that the first method is better, that both differ by less than the
    rope, and that the second is better.
    """
    largest = np.abs([first, second]).max() or 1
    if not np.round(np.subtract(first, second) / largest, 9).any():
        return (0.0, 1.0, 0.0) if rope else (0.5, 0.0, 0.5)
    probabilities = need("baycomp", "stats").two_on_multiple(
        np.asarray(first), np.asarray(second), rope=rope, random_state=0
    )
    better, *alike, worse = map(float, probabilities)
    return better, alike[0] if alike else 0.0, worse


def paired_bootstrap(first, second):
    """Return the mean difference of two methods on the same test rows, and its 95 % interval.

    The inputs have a number for each row, such as 1 for a right and 0 for a wrong label.
    """
    gains = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if len(gains) < 2:
        return (float(gains.mean()),) * 3
    interval = stats.bootstrap(
        (gains,), np.mean, n_resamples=10_000, confidence_level=0.95, method="percentile",
        rng=0, batch=100,
    )  # fmt: skip
    return float(gains.mean()), *map(float, interval.confidence_interval)
