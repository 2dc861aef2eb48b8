"""Memory of fits in addition to the table."""

import subprocess
import sys
import textwrap

import pytest

MEASURE = """
    import resource, sys
    import numpy as np
    from mddf import GradientBoostingClassifier, GradientBoostingRegressor

    def megabytes():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    policy, n_classes = sys.argv[1], int(sys.argv[2])
    X = np.random.default_rng(0).normal(size=(200_000, 50))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    Model = GradientBoostingRegressor
    if n_classes:
        Model = GradientBoostingClassifier
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    model = Model(max_iter=3, grow_policy=policy, early_stopping=False)
    before = megabytes()
    model.fit(X, y)
    fitted = megabytes()
    model.predict(X)
    print(fitted - before, megabytes() - fitted)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="units of ru_maxrss differ")
@pytest.mark.parametrize(
    ("policy", "n_classes", "most"),
    [("symmetric", 0, 75), ("leaf-wise", 0, 75), ("symmetric", 10, 180)],
)
def test_a_fit_takes_less_than_the_table(policy, n_classes, most):
    """Ten million cells (76 MB as doubles) need codes by row and column, and row numbers."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(MEASURE), policy, str(n_classes)],
        capture_output=True,
        text=True,
        check=True,
    )
    fit, predict = map(float, done.stdout.split())
    assert fit < most
    assert predict < 40
