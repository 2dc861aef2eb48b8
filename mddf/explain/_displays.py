"""Pictures of fitted models, in the style of scikit-learn's displays."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mddf._cascade_estimator import BaseCascade

from ._importances import importances


def _pyplot():
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('displays need matplotlib: pip install "mddf[plots]"') from error
    return pyplot


class LayersDisplay:
    """How a cascade grew: scores, margins and coefficients by layer.

    Make one by :meth:`from_estimator`. All figures are out-of-fold.

    Parameters
    ----------
    history : dict of str to ndarray
        ``history_`` of a cascade.
    margins : ndarray of shape (n_grown, n_samples)
        ``margins_`` of a cascade.
    member_scores : ndarray of shape (n_grown, n_forests)
        ``member_scores_`` of a cascade.
    alphas : ndarray of shape (n_kept,)
        ``alphas_`` of a cascade.

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

    def __init__(self, *, history, margins, member_scores, alphas):
        self.history = history
        self.margins = margins
        self.member_scores = member_scores
        self.alphas = alphas

    @classmethod
    def from_estimator(cls, estimator, *, axes=None) -> LayersDisplay:
        """Draw a fitted cascade.

        Parameters
        ----------
        estimator : MDDFClassifier or GCForestClassifier
        axes : sequence of three matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        LayersDisplay
        """
        if not isinstance(estimator, BaseCascade):
            raise TypeError(f"estimator must be a cascade of mddf, got {estimator!r}")
        check_is_fitted(estimator)
        found = cls(
            history=estimator.history_,
            margins=estimator.margins_,
            member_scores=estimator.member_scores_,
            alphas=estimator.alphas_,
        )
        return found.plot(axes=axes)

    def plot(self, *, axes=None) -> LayersDisplay:
        """Draw it.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        LayersDisplay
        """
        if axes is None:
            _, axes = _pyplot().subplots(1, 3, figsize=(11, 3.4), layout="constrained")
        self.axes_ = np.asarray(axes, dtype=object).ravel()
        if len(self.axes_) != 3:
            raise ValueError(f"axes must be three, got {len(self.axes_)}")
        self.figure_ = self.axes_[0].figure
        layer, n_kept = self.history["layer"], len(self.alphas)
        self._draw_scores(self.axes_[0], layer)
        self._draw_margins(self.axes_[1], layer)
        self.axes_[2].bar(layer[:n_kept], self.alphas, color="tab:blue", width=0.6)
        self.axes_[2].set(title="coefficients of the kept layers", ylabel="alpha")
        for axis in self.axes_:
            axis.set_xlabel("layer")
            axis.set_xticks(layer[:: -(-len(layer) // 12)])
            axis.set_xlim(layer[0] - 0.6, layer[-1] + 0.6)
        return self

    def _draw_scores(self, axis, layer) -> None:
        n_kept = len(self.alphas)
        axis.plot(layer, self.history["score"], "o-", label="layers so far")
        axis.plot(layer, self.history["layer_score"], "s--", label="layer alone")
        members = axis.plot(layer, self.member_scores, ":", color="0.6", linewidth=1, zorder=1)
        members[0].set_label("its members alone")
        if n_kept < len(layer):
            axis.axvspan(n_kept + 0.5, layer[-1] + 0.6, color="0.9", label="dropped", zorder=0)
        axis.set(title="out-of-fold score", ylabel="score")
        axis.legend()

    def _draw_margins(self, axis, layer) -> None:
        low, median, high = np.quantile(self.margins, [0.1, 0.5, 0.9], axis=1)
        axis.fill_between(layer, low, high, alpha=0.25, label="10 % to 90 % of the samples")
        axis.plot(layer, median, "o-", label="median")
        axis.plot(layer, (self.margins <= 0).mean(axis=1), "^:", label="share not above 0")
        axis.axhline(0, color="0.5", linewidth=0.8)
        axis.set(title="out-of-fold margins", ylabel="margin")
        axis.legend()


class ImportancesDisplay:
    """Importances of features as bars, the largest at the top.

    Make one by :meth:`from_estimator`.

    Parameters
    ----------
    found : sklearn.utils.Bunch
        What `mddf.explain.importances` returns.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    """

    def __init__(self, *, found):
        self.found = found

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, kind="held-out", most=20, ax=None, **options
    ) -> ImportancesDisplay:
        """Work out importances and draw them.

        Parameters
        ----------
        estimator : forest, deep forest or cascade of mddf
        X : array or DataFrame of shape (n_samples, n_features), default=None
            Rows that the model was not fitted on.
        y : array of shape (n_samples,), default=None
            Their classes.
        kind : {"held-out", "permutation", "impurity"}, default="held-out"
            As for `mddf.explain.importances`.
        most : int, default=20
            Features that are shown.
        ax : matplotlib Axes, default=None
            None makes a new figure.
        **options
            Passed on to `mddf.explain.importances`.

        Returns
        -------
        ImportancesDisplay
        """
        found = importances(estimator, X, y, kind=kind, **options)
        return cls(found=found).plot(most=most, ax=ax)

    def plot(self, *, most=20, ax=None) -> ImportancesDisplay:
        """Draw them.

        Parameters
        ----------
        most : int, default=20
            Features that are shown.
        ax : matplotlib Axes, default=None
            None makes a new figure.

        Returns
        -------
        ImportancesDisplay
        """
        mean, spread = self.found.importances_mean, self.found.importances_std
        shown = np.argsort(-mean, kind="stable")[:most][::-1]
        if ax is None:
            height = 1 + 0.25 * len(shown)
            _, ax = _pyplot().subplots(figsize=(6, height), layout="constrained")
        names = [str(self.found.feature_names[i]) for i in shown]
        error = None if spread is None else spread[shown]
        ax.barh(np.arange(len(shown)), mean[shown], xerr=error, color="tab:blue", ecolor="0.3")
        ax.set_yticks(np.arange(len(shown)), names)
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set(
            xlabel={
                "held-out": "mean gain of the right class's probability",
                "permutation": "fall of the score if shuffled",
                "impurity": "mean decrease of impurity in training (biased)",
            }[self.found.kind]
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
