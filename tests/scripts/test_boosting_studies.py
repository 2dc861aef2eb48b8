"""Results of the DeepBoost and QuadBoost studies."""

import numpy as np
import pytest


def test_grids_and_folds_of_deepboost(script):
    run = script("reproduce.deepboost")
    sizes = {
        number: [len(run.settings_of(number, m)) for m in names]
        for number, names in run.METHODS.items()
    }
    assert sizes == {1: [1, 1, 7, 42], 2: [6, 30, 150], 3: [6, 30, 150]}
    assert len(run.settings_of(1, "DeepBoost", thin=2)) == 4 * 3
    thinned = run.settings_of(2, "DeepBoost", thin=2)
    assert sorted({p["max_depth"] for p in thinned}) == [2, 4, 6]
    X, y = np.arange(105.0)[:, None], np.zeros(105)
    parts = [[set(X[:, 0]) for X, _ in run.parts_of(X, y, i, seed=0)] for i in range(10)]
    assert sorted(len(test) for *_, test in parts) == [10] * 5 + [11] * 5
    for i, (train, validation, test) in enumerate(parts):
        assert validation == parts[(i + 1) % 10][2]
        assert not train & (validation | test)
        assert len(train | validation | test) == 105
    assert parts[0] != [set(X[:, 0]) for X, _ in run.parts_of(X, y, 0, seed=1)]


@pytest.mark.usefixtures("data_home")
def test_published_results_of_deepboost_are_shown_for_comparison(script, tmp_path, capsys):
    arguments = ["--tables", "3", "--datasets", "ionosphere", "--runs", "1", "--thin", "3"]
    arguments += ["--rounds", "2", "--n-jobs", "1", "--out", str(tmp_path)]
    run = script("reproduce.deepboost")
    run.main(arguments)
    assert "4.30 ± 1.88" in (tmp_path / "table3.md").read_text()
    with pytest.raises(
        SystemExit, match=r"no run 0 of Table 2: python scripts/reproduce/deepboost.py"
    ):
        run.main(["--plot", str(tmp_path)])


def test_protocol_of_quadboost(script):
    run = script("reproduce.quadboost")
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 5, size=(1200, 2)), rng.integers(0, 2, 1200)
    train, _, test, _ = run.split(X, y, seed=0)
    assert (len(train), len(test)) == (500, 700)
    np.testing.assert_allclose(np.arctanh(train).mean(axis=0), 0, atol=1e-9)
    assert len(run.split(X[:41], y[:41], seed=0)[0]) == 21
    grids = {name: tuple(map(len, run.algorithm(name, False)[:2])) for name in run.METHODS}
    assert grids["QuadBoost-L2"] == grids["QuadBoost-Linf"] == (10, 10)
    assert grids["AdaBoost"] == grids["QuadBoost"] == (1, 10)
    whole, cut = (run.algorithm("AdaBoost", False, most)[1] for most in (10**6, 50_000))
    np.testing.assert_array_equal(cut, whole[whole <= 50_000])
    assert (whole[0], whole[-1], cut[-1]) == (100, 10**6, 46416)
