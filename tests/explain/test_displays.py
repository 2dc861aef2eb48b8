"""Contents of the plots."""

import numpy as np
import pytest
from made_models import frame_table, labels_of, number_table
from mddf.baselines import GCForestClassifier

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf.explain import ImportancesDisplay, LayersDisplay, importances

matplotlib = pytest.importorskip("matplotlib", reason='needs "mddf[plots]"')
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402


@pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])
def test_layers(Cascade):
    X = number_table()
    model = Cascade(6, n_estimators=2, cv=2, random_state=0)
    model.fit(X, labels_of(X))
    display = LayersDisplay.from_estimator(model)
    scores, margins, alphas = display.axes_
    assert np.array_equal(scores.lines[0].get_ydata(), model.history_["score"])
    assert np.array_equal(scores.lines[1].get_ydata(), model.history_["layer_score"])
    members = [line.get_ydata() for line in scores.lines[2:]]
    assert np.array_equal(np.transpose(members), model.member_scores_)
    assert np.allclose(margins.lines[0].get_ydata(), np.median(model.margins_, axis=1))
    assert [bar.get_height() for bar in alphas.patches] == model.alphas_.tolist()
    dropped = len(model.history_["layer"]) > model.n_layers_
    labels = [text.get_text() for text in scores.get_legend().get_texts()]
    assert ("dropped" in labels) == dropped
    display.figure_.canvas.draw()


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", "roc_auc_ovr"])
def test_layers_of_deep_forests(scoring):
    X = number_table(150)
    members = ["random", "completely-random", "linear"]
    model = DeepForestClassifier(
        2, n_estimators=3, members=members, scoring=scoring, random_state=0
    )
    model.fit(X, labels_of(X))
    display = LayersDisplay.from_estimator(model)
    scores, margins, vote = display.axes_
    assert np.array_equal(scores.lines[0].get_ydata(), model.history_["score"])
    metric = {"neg_log_loss": "log_loss", "accuracy": "accuracy"}.get(scoring)
    leaderboard_rows = {row["member"]: row for row in model.leaderboard_ if row["layer"] == 1}
    for member, line in zip(display.members, scores.lines[1:], strict=True):
        drawn_score = line.get_ydata()[0]
        assert (
            np.isnan(drawn_score)
            if metric is None
            else abs(drawn_score) == leaderboard_rows[member][metric]
        )
    assert np.array_equal(margins.lines[0].get_ydata(), model.history_["margin_mean"])
    weights = [row["weight"] for row in model.leaderboard_ if row["weight"] > 0]
    heights = [bar.get_height() for bar in vote.patches if bar.get_height() > 0]
    assert np.allclose(np.sort(heights), np.sort(weights))
    display.figure_.canvas.draw()


@pytest.mark.parametrize("DeepForest", [DeepForestClassifier, DeepForestRegressor])
def test_a_single_layer_shows_its_members(DeepForest):
    X = number_table(150)
    y = labels_of(X) if DeepForest is DeepForestClassifier else X[:, 0]
    members = ["random", "completely-random", "linear"]
    model = DeepForest(1, n_estimators=3, members=members, random_state=0).fit(X, y)
    display = LayersDisplay.from_estimator(model)
    scores, _, vote = display.axes_
    names = [row["member"] for row in model.leaderboard_]
    assert [text.get_text() for text in scores.get_yticklabels()] == names
    assert [text.get_text() for text in vote.get_yticklabels()] == names
    assert np.array_equal(scores.lines[0].get_xdata(), display.member_scores[0])
    assert list(scores.lines[1].get_xdata()) == [model.history_["score"][0]] * 2
    assert [bar.get_width() for bar in vote.patches] == [
        row["weight"] for row in model.leaderboard_
    ]
    display.figure_.canvas.draw()


def legends_and_axes(display):
    """Pairs of a legend and axes, with the boxes that they occupy in the picture."""
    display.figure_.canvas.draw()
    legends = [axis.get_legend() for axis in display.axes_ if axis.get_legend()]
    assert legends
    return [
        (legend.get_window_extent(), axis) for legend in legends for axis in display.axes_.tolist()
    ]


def test_legends_cover_nothing():
    X = number_table(150)
    members = ["random", "completely-random", "linear"]
    for model in [
        MDDFClassifier(6, n_estimators=2, random_state=0),
        DeepForestClassifier(1, n_estimators=2, members=members, random_state=0),
    ]:
        model.fit(X, labels_of(X))
        _, on_top_of_each_other = pyplot.subplots(3, figsize=(6, 10), layout="constrained")
        for axes in (None, on_top_of_each_other):
            display = LayersDisplay.from_estimator(model, axes=axes)
            picture = display.figure_.bbox
            for legend, axis in legends_and_axes(display):
                assert not legend.overlaps(axis.get_window_extent())
                assert not legend.overlaps(axis.xaxis.get_label().get_window_extent())
                assert picture.x0 <= legend.x0 <= legend.x1 <= picture.x1
                assert picture.y0 <= legend.y0 <= legend.y1 <= picture.y1
            pyplot.close(display.figure_)


@pytest.mark.parametrize("kind", ["held-out", "permutation", "impurity"])
def test_importances(kind):
    X = frame_table()
    y = labels_of(X)
    forest = RandomForestClassifier(10, random_state=0).fit(X[:80], y[:80])
    options = {"kind": kind, "random_state": 0}
    display = ImportancesDisplay.from_estimator(forest, X[80:], y[80:], most=4, **options)
    result = importances(forest, X[80:], y[80:], **options)
    order = np.argsort(-result.importances_mean, kind="stable")[:4]
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths[::-1] == result.importances_mean[order].tolist()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names[::-1] == result.feature_names[order].tolist()
    _, ax = pyplot.subplots()
    assert display.plot(ax=ax).ax_ is ax
    assert len(ax.patches) == 6
    display.figure_.canvas.draw()
