"""Plots of fitted models, in the style of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.validation import check_whole

from ._importances import importances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TICKS = 12  # labels of layers that fit side by side on the axis of a narrow plot
_INCHES_TO_LEGEND = -0.5  # from the axes: ticks, their labels, and the label of the axis


def _pyplot() -> ModuleType:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('displays need matplotlib: pip install "mddf[plots]"') from error
    return pyplot


def _legend_below(axis: Axes) -> None:
    """Draw the legend below the label of the horizontal axis, where it covers nothing."""
    from matplotlib.transforms import ScaledTranslation

    inches = ScaledTranslation(0, _INCHES_TO_LEGEND, axis.figure.dpi_scale_trans)
    axis.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=axis.transAxes + inches,
        borderaxespad=0, frameon=False,
    )  # fmt: skip


def _check_axes(name: str, axis: object) -> None:
    if not hasattr(axis, "barh"):
        raise TypeError(f"{name} must be matplotlib Axes, got {short(axis)}")


class LayersDisplay:
    """Plot of scores, margins and weights by layer, of a cascade or a deep forest.

    Create it by :meth:`from_estimator`. All numbers are out-of-fold. For a regressor, errors take
    the place of margins. If a single layer was grown, members take the place of layers: the score
    and the weight of each member, and a line for the score of all together.

    Parameters
    ----------
    history : dict of str to ndarray
        ``history_`` of the model.
    margins : ndarray of shape (n_grown, n_samples) or None
        ``margins_`` of a cascade. None draws the margins or errors in `history`.
    member_scores : ndarray of shape (n_grown, n_members)
        Scores of single members, NaN for absent members.
    alphas : ndarray of shape (n_kept,) or (n_kept, n_members)
        ``alphas_`` of a cascade, or the weights of the members in the average.
    members : list of str, default=None
        Names of the members, if they have weights.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of three matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import MDDFClassifier
    >>> from mddf.explain import LayersDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MDDFClassifier(3, n_estimators=5, random_state=0).fit(X, y)
    >>> display = LayersDisplay.from_estimator(model)
    >>> len(display.axes_)
    3
    """

    def __init__(
        self,
        *,
        history: dict[str, np.ndarray],
        margins: np.ndarray | None,
        member_scores: np.ndarray,
        alphas: np.ndarray,
        members: list[str] | None = None,
    ) -> None:
        self.history = history
        self.margins = margins
        self.member_scores = member_scores
        self.alphas = alphas
        self.members = members

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, axes: Sequence[Axes] | None = None
    ) -> LayersDisplay:
        """Plot a fitted cascade or deep forest.

        Parameters
        ----------
        estimator : MDDFClassifier, GCForestClassifier, DeepForestClassifier or DeepForestRegressor
        axes : sequence of three matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        LayersDisplay
        """
        if not hasattr(type(estimator), "_layer_figures"):
            raise TypeError(
                "estimator must be a cascade or a deep forest of mddf, got " + short(estimator)
            )
        check_is_fitted(estimator)
        return cls(**estimator._layer_figures()).plot(axes=axes)

    def plot(self, *, axes: Sequence[Axes] | None = None) -> LayersDisplay:
        """Draw the plots.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        LayersDisplay
        """
        if axes is None:
            _, axes = _pyplot().subplots(1, 3, figsize=(11, 4), layout="constrained")
        self.axes_ = np.asarray(axes, dtype=object).ravel()
        if len(self.axes_) != 3:
            raise ValueError(f"axes must be three, got {len(self.axes_)}")
        for axis in self.axes_:
            _check_axes("axes", axis)
        self.figure_ = self.axes_[0].figure
        layer = self.history["layer"]
        if len(layer) == 1:
            self._draw_members()
            return self
        self._draw_scores(self.axes_[0], layer)
        self._draw_margins(self.axes_[1], layer)
        self._draw_weights(self.axes_[2], layer[: len(self.alphas)])
        for axis in self.axes_:
            axis.set_xlabel("layer")
            axis.set_xticks(layer[:: -(-len(layer) // _MOST_TICKS)])
            axis.set_xlim(layer[0] - 0.6, layer[-1] + 0.6)
        return self

    def _draw_members(self) -> None:
        """Draw a single layer, with its members on the vertical axis."""
        scores, margins, weights = self.axes_
        member_scores = self.member_scores[0]
        names = self.members or [f"member {i}" for i in range(1, len(member_scores) + 1)]
        places = np.arange(len(names))
        scores.plot(member_scores, places, "o", color="0.4", label="a member alone")
        scores.axvline(self.history["score"][0], label="all members")
        scores.set_yticks(places, names)
        scores.set(title="out-of-fold score", xlabel="score", ylim=(len(names) - 0.5, -0.5))
        _legend_below(scores)
        if self.margins is None:
            self._draw_margins(margins, self.history["layer"])
            margins.set_xticks([])
        else:
            margins.hist(self.margins[0], bins=30)
            margins.axvline(0, color="0.5", linewidth=0.8)
            margins.set(title="out-of-fold margins", xlabel="margin", ylabel="samples")
        if self.members is None:  # the layer of a cascade has one coefficient
            self._draw_weights(weights, self.history["layer"])
            weights.set(xlabel="layer", xticks=[1])
            return
        weights.barh(places, self.alphas[0], color="tab:blue")
        weights.set_yticks(places, names)
        weights.set(title="weights of the members", xlabel="weight", ylim=(len(names) - 0.5, -0.5))

    def _draw_scores(self, axis: Axes, layer: np.ndarray) -> None:
        n_kept = len(self.alphas)
        axis.plot(layer, self.history["score"], "o-", label="layers so far")
        if "layer_score" in self.history:
            axis.plot(layer, self.history["layer_score"], "s--", label="layer alone")
        members = axis.plot(layer, self.member_scores, ".:", color="0.6", linewidth=1, zorder=1)
        if np.isfinite(self.member_scores).any():
            members[0].set_label("its members alone")
        if n_kept < len(layer):
            axis.axvspan(n_kept + 0.5, layer[-1] + 0.6, color="0.9", label="dropped", zorder=0)
        axis.set(title="out-of-fold score", ylabel="score")
        _legend_below(axis)

    def _draw_margins(self, axis: Axes, layer: np.ndarray) -> None:
        if self.margins is None and "rmse" in self.history:
            axis.plot(layer, self.history["rmse"], "o-")
            axis.set(title="out-of-fold error", ylabel="standard deviations of the target")
            return
        if self.margins is None:
            mean = self.history["margin_mean"]
            axis.errorbar(layer, mean, self.history["margin_std"], fmt="o-", capsize=4)
            axis.set(title="out-of-fold margins", ylabel="mean and standard deviation")
            return
        low, median, high = np.quantile(self.margins, [0.1, 0.5, 0.9], axis=1)
        axis.fill_between(layer, low, high, alpha=0.25, label="10 % to 90 % of the samples")
        axis.plot(layer, median, "o-", label="median")
        axis.plot(layer, (self.margins <= 0).mean(axis=1), "^:", label="share not above 0")
        axis.axhline(0, color="0.5", linewidth=0.8)
        axis.set(title="out-of-fold margins", ylabel="margin")
        _legend_below(axis)

    def _draw_weights(self, axis: Axes, layer: np.ndarray) -> None:
        if self.members is None:
            axis.bar(layer, self.alphas, color="tab:blue", width=0.6)
            axis.set(title="coefficients of the kept layers", ylabel="alpha")
            return
        below = np.zeros(len(layer))
        for name, weight in zip(self.members, self.alphas.T, strict=True):
            if weight.any():  # bars of members on top of each other
                axis.bar(layer, weight, 0.6, below, label=name)
                below = below + weight
        axis.set(title="weights of the members", ylabel="weight")
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))  # bars fill the axes


class ImportancesDisplay:
    """Bar plot of feature importances, the largest at the top.

    Create it by :meth:`from_estimator`.

    Parameters
    ----------
    found : sklearn.utils.Bunch
        Result of `mddf.explain.importances`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import ImportancesDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2])
    >>> display = ImportancesDisplay.from_estimator(forest, X[1::2], y[1::2])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][-1]  # the bar at the top
    'petal width (cm)'
    """

    def __init__(self, *, found: Bunch) -> None:
        if not hasattr(found, "importances_mean"):
            raise TypeError(
                f"found must be a result of mddf.explain.importances, got {short(found)}"
            )
        self.found = found

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: npt.ArrayLike | None = None,
        y: npt.ArrayLike | None = None,
        *,
        kind: str = "auto",
        most: int = 20,
        ax: Axes | None = None,
        **options: Any,
    ) -> ImportancesDisplay:
        """Compute importances and plot them.

        Parameters
        ----------
        estimator : forest, gradient boosting, deep forest or cascade of mddf
        X : array or DataFrame of shape (n_samples, n_features), default=None
            Rows that the model was not fitted on.
        y : array of shape (n_samples,), default=None
            Targets of the rows.
        kind : {"auto", "held-out", "permutation", "impurity"}, default="auto"
            As for `mddf.explain.importances`.
        most : int, default=20
            Number of features in the plot.
        ax : matplotlib Axes, default=None
            None makes a new figure.
        **options
            Passed on to `mddf.explain.importances`.

        Returns
        -------
        ImportancesDisplay
        """
        result = importances(estimator, X, y, kind=kind, **options)
        return cls(found=result).plot(most=most, ax=ax)

    def plot(self, *, most: int = 20, ax: Axes | None = None) -> ImportancesDisplay:
        """Draw the plot.

        Parameters
        ----------
        most : int, default=20
            Number of features in the plot.
        ax : matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        ImportancesDisplay
        """
        check_whole("most", most, 1)
        mean = self.found.importances_mean
        spread = self.found.importances_std
        features = np.argsort(-mean, kind="stable")[:most][::-1]
        if ax is None:
            height = 1 + 0.25 * len(features)
            _, ax = _pyplot().subplots(figsize=(6, height), layout="constrained")
        _check_axes("ax", ax)
        names = [str(self.found.feature_names[feature]) for feature in features]
        error = None if spread is None else spread[features]
        places = np.arange(len(features))
        ax.barh(places, mean[features], xerr=error, color="tab:blue", ecolor="0.3")
        ax.set_yticks(places, names)
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set(xlabel=self.found.measure)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
