"""Error-ambiguity decomposition and diversity measures of ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples

from mddf._base.messages import short
from mddf._fitted.batching import in_blocks
from mddf._targets.target_validation import all_weights, known_labels
from mddf.analysis._checks import finite_numbers, finite_vector

# Rounding errors of sums of shares are far below this.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ErrorAmbiguity:
    """Error of an ensemble, split into the error of its members and their ambiguity.

    Attributes
    ----------
    error : float
        Mean squared error of the ensemble, E.
    mean_error : float
        Weighted mean of the members' squared errors.
    ambiguity : float
        Weighted mean of the members' squared distances from the ensemble.
    member_error, member_ambiguity : array of shape (n_members,)
        Both parts by member.

    Examples
    --------
    >>> from mddf.analysis import error_ambiguity
    >>> parts = error_ambiguity([[0.0, 1.0], [1.0, 1.0]], targets=[0.0, 1.0])
    >>> parts.error == parts.mean_error - parts.ambiguity
    True
    """

    error: float
    mean_error: float
    ambiguity: float
    member_error: NDArray[np.float64]
    member_ambiguity: NDArray[np.float64]


def error_ambiguity(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ErrorAmbiguity:
    """Split the squared error of an ensemble by Krogh and Vedelsby, equation 4 of mdDF's preprint.

    For the ensemble f = sum_k w_k f_k with sum_k w_k = 1, E = mean error - ambiguity holds exactly
    for squared errors::

        mean |f - y|^2 = sum_k w_k mean |f_k - y|^2 - sum_k w_k mean |f_k - f|^2.

    Parameters
    ----------
    predictions : array-like of shape (n_members, n_samples) or (n_members, n_samples, n_outputs)
        Predictions of every member: numbers, or class probabilities.
    targets : array-like of shape (n_samples,) or (n_samples, n_outputs)
        True numbers, or indicators of the classes; the error is then the Brier score.
    weights : array-like of shape (n_members,) or None, default=None
        Non-negative weights of the members, which are divided by their sum; None means equal
        weights.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights of the samples; None means equal weights.

    Returns
    -------
    ErrorAmbiguity
        The three terms, and both parts by member.

    See Also
    --------
    layer_diversity : The decomposition for every layer of a fitted model.

    Examples
    --------
    >>> from mddf.analysis import error_ambiguity
    >>> parts = error_ambiguity([[0.0, 1.0], [1.0, 1.0]], targets=[0.0, 1.0])
    >>> parts.error, parts.mean_error, parts.ambiguity
    (0.125, 0.25, 0.125)
    """
    members = finite_numbers("predictions", predictions)
    truth = finite_numbers("targets", targets)
    if members.ndim not in (2, 3) or members.size == 0:
        raise ValueError(
            "predictions must have shape (n_members, n_samples) or (n_members, n_samples, "
            f"n_outputs) with at least one entry; got {members.shape}"
        )
    if members.shape[1:] != truth.shape:
        raise ValueError(
            f"targets must have the shape of a member's predictions, {members.shape[1:]}; "
            f"got {truth.shape}"
        )
    member_weight = _scaled_weights("weights", weights, len(members))
    row_weight = _scaled_weights("sample_weight", sample_weight, len(truth))
    ensemble = np.tensordot(member_weight, members, axes=1)
    member_error = _mean_squares(members - truth, row_weight)
    member_ambiguity = _mean_squares(members - ensemble, row_weight)
    return ErrorAmbiguity(
        error=float(_mean_squares((ensemble - truth)[None], row_weight)[0]),
        mean_error=float(member_weight @ member_error),
        ambiguity=float(member_weight @ member_ambiguity),
        member_error=member_error,
        member_ambiguity=member_ambiguity,
    )


@dataclass(frozen=True)
class Diversity:
    """Diversity of the members of an ensemble of classifiers.

    All measures but the decomposition and `disagreement` look at which members are right about
    which samples. Measures that a single member does not have are NaN.

    Attributes
    ----------
    decomposition : ErrorAmbiguity
        Split of the Brier score of the equally weighted mean of the members.
    accuracy : float
        Accuracy of this mean.
    member_accuracy : array of shape (n_members,)
        Accuracy of each member.
    disagreement : float
        Mean over pairs of the share of samples for which two members predict different classes.
    oracle_disagreement : float
        Mean over pairs of the share of samples about which exactly one of two members is right.
    double_fault : float
        Mean over pairs of the share of samples about which both are wrong.
    q_statistic : float
        Mean over pairs of Yule's Q; pairs for which it is 0 / 0 are left out.
    correlation : float
        Mean over pairs of the correlation of being right; pairs with a constant are left out.
    kappa : float
        Interrater agreement of all members beyond chance; 1 if they are right about the same
        samples.
    kohavi_wolpert_variance : float
        Mean over samples of p (1 - p) for the share p of members that are right.
    entropy : float
        Mean over samples of min(l, L - l) / (L - ceil(L / 2)) if l of L members are right; 1 for
        the largest diversity.

    Examples
    --------
    >>> from mddf.analysis import diversity
    >>> members = [[[0.8, 0.2], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]]
    >>> measures = diversity(members, labels=[0, 1])
    >>> measures.double_fault, measures.oracle_disagreement
    (0.0, 0.5)
    """

    decomposition: ErrorAmbiguity
    accuracy: float
    member_accuracy: NDArray[np.float64]
    disagreement: float
    oracle_disagreement: float
    double_fault: float
    q_statistic: float
    correlation: float
    kappa: float
    kohavi_wolpert_variance: float
    entropy: float

    def summary(self) -> dict[str, float]:
        """Collect all measures of the whole ensemble in a dict."""
        return {
            "accuracy": self.accuracy,
            "mean_member_accuracy": float(self.member_accuracy.mean()),
            "error": self.decomposition.error,
            "mean_error": self.decomposition.mean_error,
            "ambiguity": self.decomposition.ambiguity,
            "disagreement": self.disagreement,
            "oracle_disagreement": self.oracle_disagreement,
            "double_fault": self.double_fault,
            "q_statistic": self.q_statistic,
            "correlation": self.correlation,
            "kappa": self.kappa,
            "kohavi_wolpert_variance": self.kohavi_wolpert_variance,
            "entropy": self.entropy,
        }


def diversity(
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> Diversity:
    """Measure the diversity of classifiers from their class probabilities.

    Parameters
    ----------
    probabilities : array-like of shape (n_members, n_samples, n_classes)
        Class probabilities of every member; the class with the largest one counts as its
        prediction.
    labels : array-like of int of shape (n_samples,)
        Index of the true class of each sample.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights of the samples; None means equal weights.

    Returns
    -------
    Diversity
        Error-ambiguity decomposition and diversity measures.

    Notes
    -----
    With L members and mean accuracy p, the Kohavi-Wolpert variance is (L - 1) / (2 L) times the
    oracle disagreement, and kappa = 1 - L / (L - 1) times this variance divided by p (1 - p).

    Source: L. Kuncheva and C. Whitaker, "Measures of diversity in classifier ensembles and their
    relationship with the ensemble accuracy", Machine Learning 51, 2003.

    Examples
    --------
    >>> from mddf.analysis import diversity
    >>> members = [[[0.8, 0.2], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]]
    >>> measures = diversity(members, labels=[0, 1])
    >>> measures.disagreement, measures.member_accuracy.tolist()
    (0.5, [0.5, 1.0])
    """
    members = finite_numbers("probabilities", probabilities)
    if members.ndim != 3 or members.size == 0:
        raise ValueError(
            "probabilities must have shape (n_members, n_samples, n_classes) with at least one "
            f"entry; got {members.shape}"
        )
    _, n_samples, n_classes = members.shape
    codes = np.asarray(labels)
    if codes.shape != (n_samples,) or codes.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integers of shape ({n_samples},); got shape {codes.shape} of "
            f"{codes.dtype}"
        )
    wrong_codes = codes[(codes < 0) | (codes >= n_classes)]
    if len(wrong_codes):
        raise ValueError(
            f"labels must lie between 0 and {n_classes - 1}; got {int(wrong_codes[0])}"
        )
    weight = _scaled_weights("sample_weight", sample_weight, n_samples)
    predicted = members.argmax(axis=2)
    is_right = (predicted == codes).astype(np.float64)
    return Diversity(
        decomposition=error_ambiguity(members, np.eye(n_classes)[codes], sample_weight=weight),
        accuracy=float(weight @ (members.mean(axis=0).argmax(axis=1) == codes)),
        member_accuracy=is_right @ weight,
        disagreement=_mean_disagreement(predicted, weight),
        **_pair_measures(is_right, weight),
        kappa=_kappa(is_right, weight),
        kohavi_wolpert_variance=_kohavi_wolpert_variance(is_right, weight),
        entropy=_entropy(is_right, weight),
    )


def layer_diversity(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> list[Diversity]:
    """Measure the diversity of the members of every layer of a fitted classifier.

    The members of a cascade's layer are its forests and other classifiers, each with the mean of
    its folds. A forest counts as a single layer, whose members are its trees.

    Parameters
    ----------
    model : fitted classifier
        A cascade or a deep forest of this package, or an ensemble with `estimators_` that have
        `predict_proba`, such as a forest of this package or of scikit-learn.
    X : array-like of shape (n_samples, n_features)
        Rows that were not used in fit; members are more accurate on training rows.
    y : array-like of shape (n_samples,)
        Their labels, all among ``model.classes_``.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights of the rows; None means equal weights.
    n_jobs : int or None, default=None
        Threads for the predictions of layers.

    Returns
    -------
    list of Diversity
        One entry for each layer; see :func:`diversity`.

    Raises
    ------
    NotFittedError
        If the model has no `classes_`.
    TypeError
        If the model has neither layers nor `estimators_`.
    ValueError
        If the model has several outputs, or y has an unknown label or another length than X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import MDDFClassifier
    >>> from mddf.analysis import layer_diversity
    >>> X, y = load_iris(return_X_y=True)
    >>> cascade = MDDFClassifier(n_estimators=5, n_layers=2, early_stopping=False, random_state=0)
    >>> cascade = cascade.fit(X[::2], y[::2])
    >>> for layer in layer_diversity(cascade, X[1::2], y[1::2]):
    ...     parts = layer.decomposition
    ...     print(abs(parts.error - (parts.mean_error - parts.ambiguity)) < 1e-12)
    True
    True
    """
    kind = type(model).__name__
    has_stages = hasattr(model, "_fitted_stages")
    if not has_stages and not hasattr(model, "estimators_") and hasattr(model, "classes_"):
        raise TypeError(f"model must have layers or estimators_; got {kind}")
    if not hasattr(model, "classes_"):
        raise NotFittedError(f"model must be a fitted classifier, with classes_; got a {kind}")
    classes = model.classes_
    if any(np.ndim(label) for label in classes):
        raise ValueError(f"model must have one output; got a {kind} with {len(classes)}")
    codes = known_labels(y, classes, _num_samples(X))
    weight = all_weights(sample_weight, len(codes))
    if has_stages and any(len(stage.members) > 1 for stage in model._fitted_stages().stages):
        layers = _layer_vectors(model, X, n_jobs)
    elif hasattr(model, "estimators_"):
        members = list(model.estimators_)
        if not all(hasattr(member, "predict_proba") for member in members):
            raise TypeError(f"model must have estimators_ with predict_proba; got {kind}")
        layers = [np.stack([member.predict_proba(X) for member in members])]
    else:
        raise TypeError(f"model must have layers with several members; got {kind}")
    return [diversity(vectors, codes, sample_weight=weight) for vectors in layers]


def _layer_vectors(model: Any, X: Any, n_jobs: int | None) -> list[NDArray[np.float64]]:
    """Class vectors of all members, by layer: shape (n_members, n_samples, n_classes)."""
    stages = model._fitted_stages()
    rows = model._encode(X)

    def predict(first: int, end: int) -> list[NDArray[np.float64]]:
        outputs = stages.run(rows.block(first, end), n_jobs)
        # Copied, so that the layout in memory, and with it the bits of sums, is the same for one
        # block and for several.
        return [np.ascontiguousarray(output.vectors.transpose(1, 0, 2)) for output in outputs]

    by_row = in_blocks(rows.n_rows, stages.row_bytes, predict)
    return [vectors.transpose(1, 0, 2) for vectors in by_row]


def _pair_measures(is_right: NDArray[np.float64], weight: NDArray[np.float64]) -> dict[str, float]:
    """Measures that are means over pairs of members, by their names in `Diversity`."""
    # Shares of samples about which the members of each pair are right.
    first, second = np.triu_indices(len(is_right), k=1)
    both = ((is_right * weight) @ is_right.T)[first, second]
    accuracy = is_right @ weight
    first_only = accuracy[first] - both
    second_only = accuracy[second] - both
    neither = 1 - both - first_only - second_only
    # Differences of shares that are equal are rounding errors, which ratios would magnify.
    both, first_only, second_only, neither = (
        np.where(share > _ROUNDING, share, 0.0)
        for share in (both, first_only, second_only, neither)
    )
    same = both * neither
    different = first_only * second_only
    scale = np.sqrt(
        (both + first_only) * (second_only + neither)
        * (both + second_only) * (first_only + neither)
    )  # fmt: skip
    return {
        "oracle_disagreement": _mean_of_defined(first_only + second_only),
        "double_fault": _mean_of_defined(neither),
        "q_statistic": _mean_of_defined(_ratio(same - different, same + different)),
        "correlation": _mean_of_defined(_ratio(same - different, scale)),
    }


def _mean_disagreement(predicted: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
    """Mean share of samples with different predictions, over all pairs of members."""
    n_members = len(predicted)
    if n_members < 2:
        return float("nan")
    # Pairs that agree are counted by class: a class with l votes has l (l - 1) / 2 of them.
    n_agreeing = np.zeros(predicted.shape[1])
    for code in np.unique(predicted):
        votes = (predicted == code).sum(axis=0)
        n_agreeing += votes * (votes - 1) / 2
    return float(1 - weight @ n_agreeing / (n_members * (n_members - 1) / 2))


def _kohavi_wolpert_variance(is_right: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    share = is_right.mean(axis=0)
    return float(weight @ (share * (1 - share)))


def _kappa(is_right: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    n_members = len(is_right)
    accuracy = float((is_right @ weight).mean())
    chance = accuracy * (1 - accuracy) * (n_members - 1) / n_members
    variance = _kohavi_wolpert_variance(is_right, weight)
    return 1 - variance / chance if chance > 0 else float("nan")


def _entropy(is_right: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    n_members = len(is_right)
    if n_members < 2:
        return float("nan")
    n_right = is_right.sum(axis=0)
    largest = n_members - np.ceil(n_members / 2)
    return float(weight @ (np.minimum(n_right, n_members - n_right) / largest))


def _mean_of_defined(values: NDArray[np.float64]) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _ratio(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    undefined = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def _mean_squares(
    differences: NDArray[np.float64], row_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean of squared lengths over the samples, shape (n_members,)."""
    squares = differences**2
    if squares.ndim == 3:
        squares = squares.sum(axis=2)
    return squares @ row_weight


def _scaled_weights(name: str, weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """Weights divided by their sum."""
    if weights is None:
        return np.full(size, 1 / size)
    vector = finite_vector(name, weights, 0)
    if vector.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},); got {vector.shape}")
    if not vector.any():
        raise ValueError(f"{name} must have an entry above 0; got {short(weights)}")
    # Scaled, so that the sum of large weights is finite.
    vector = vector / vector.max()
    return vector / vector.sum()
