"""The data set that `load` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import optional_import

if TYPE_CHECKING:
    from ._io.parsed import Parsed
    from ._io.spec import Label, Spec


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set for classification or regression.

    Attributes
    ----------
    name : str
        Name of the set.
    X : ndarray or DataFrame of shape (n_rows, n_features)
        Features of all rows, with the rows of the training part first. In an array, categories
        are codes, positions in `categories`, and missing values are NaN.
    y : ndarray of shape (n_rows,)
        Labels as in the upstream files, integers or text; numbers (float64) for regression.
    task : {"classification", "regression"}
        Kind of the target.
    n_train : int or None
        Number of training rows; None for a set without a standard split.
    feature_names : tuple of str
        Names of the columns of `X`.
    categories : Mapping of str to tuple
        Categories of each categorical column.
    label_names : Mapping of label to str
        Readable names of coded labels; empty where labels speak for themselves.
    groups : ndarray of shape (n_rows,) or None
        Rows with equal values belong together, such as the rows of one person, and should not be
        split between training and test.
    options : Mapping of str to object
        The options of this set with their values.
    title, description : str
    source : str
        Address of the page of the set.
    citation : str

    Examples
    --------
    >>> from mddf.datasets import load
    >>> data = load("iris")
    >>> data
    Dataset('iris': 150 rows, 4 features, 3 classes, no standard split)
    >>> data.X.shape, data.y.shape, data.has_standard_split
    ((150, 4), (150,), False)
    """

    name: str
    X: Any
    y: np.ndarray
    task: str
    n_train: int | None
    feature_names: tuple[str, ...]
    categories: Mapping[str, tuple[Any, ...]]
    label_names: Mapping[Label, str]
    groups: np.ndarray | None
    options: Mapping[str, object]
    title: str
    description: str
    source: str
    citation: str

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        split = "no standard split"
        if self.n_train is not None:
            split = f"{self.n_train} for training and {rows - self.n_train} for testing"
        y = "a numeric target" if self.task == "regression" else f"{len(self.classes)} classes"
        return f"Dataset({self.name!r}: {rows} rows, {columns} features, {y}, {split})"

    @property
    def classes(self) -> np.ndarray:
        """Distinct labels, sorted; empty for regression."""
        return np.unique(self.y if self.task == "classification" else self.y[:0])

    @property
    def target_names(self) -> tuple[str, ...]:
        """Readable names of `classes`, in their order."""
        return tuple(self.label_names.get(c, str(c)) for c in self.classes.tolist())

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the columns that hold categories."""
        return tuple(self.categories)

    @property
    def has_standard_split(self) -> bool:
        """Whether upstream defines which rows are for training and which for testing."""
        return self.n_train is not None

    @property
    def X_train(self) -> Any:
        """Features of the training part."""
        return _rows(self.X, slice(self._cut("X_train")))

    @property
    def y_train(self) -> np.ndarray:
        """Labels of the training part."""
        return self.y[: self._cut("y_train")]

    @property
    def X_test(self) -> Any:
        """Features of the test part."""
        return _rows(self.X, slice(self._cut("X_test"), None))

    @property
    def y_test(self) -> np.ndarray:
        """Labels of the test part."""
        return self.y[self._cut("y_test") :]

    def _cut(self, attribute: str) -> int:
        # AttributeError, so that hasattr(data, "X_train") is False without a standard split.
        if self.n_train is None:
            raise AttributeError(
                f"data set {self.name!r} has no standard split, so no {attribute}: split X and y, "
                "for example with sklearn.model_selection.train_test_split"
            )
        return self.n_train


def assemble(
    spec: Spec, parsed: Parsed, options: Mapping[str, object], as_frame: bool | str
) -> Dataset:
    """Join the checked rows of all files to a data set.

    With "auto", features become a DataFrame if there are categories.
    """
    blocks = parsed.blocks
    X = np.concatenate([block.X for block in blocks]) if len(blocks) > 1 else blocks[0].X
    y = np.concatenate([block.y for block in blocks])
    if spec.task == "regression":
        y = y.astype(np.float64)
    groups = [block.groups for block in blocks if block.groups is not None]
    n_train = spec.parts[0].rows if len(spec.parts) > 1 else None
    if as_frame is True or (as_frame == "auto" and parsed.categories):
        X = _frame(X, parsed)
    return Dataset(
        name=spec.name,
        X=X,
        y=y,
        task=spec.task,
        n_train=n_train,
        feature_names=parsed.feature_names,
        categories=dict(parsed.categories),
        label_names=dict(spec.label_names),
        groups=np.concatenate(groups) if groups else None,
        options=dict(options),
        title=spec.title,
        description=spec.description,
        source=spec.source,
        citation=spec.citation,
    )


def _frame(X: np.ndarray, parsed: Parsed) -> Any:
    """Make a DataFrame with category columns; all rows share the categories."""
    pd = optional_import("pandas", "a DataFrame (as_frame=False gives an array instead)")
    if not parsed.categories:
        return pd.DataFrame(X, columns=list(parsed.feature_names))
    data = {}
    for j, name in enumerate(parsed.feature_names):
        data[name] = X[:, j]
        if name in parsed.categories:
            codes = np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(int)
            data[name] = pd.Categorical.from_codes(
                codes, categories=parsed.categories[name], ordered=name in parsed.ordered
            )
    return pd.DataFrame(data)


def _rows(X: Any, rows: slice) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
