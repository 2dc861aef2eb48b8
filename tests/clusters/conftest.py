import pytest


@pytest.fixture(scope="module")
def client():
    """Three workers, threads of this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=3, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client
