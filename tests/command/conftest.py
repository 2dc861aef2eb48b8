import limits
import pytest


@pytest.fixture(autouse=True, scope="module")
def few_draws(request):
    """Intervals of reports come from few draws of rows, except in the tests of intervals."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith("test_scores"):
            limits.change(patch, draws_of_intervals=20)
        yield
