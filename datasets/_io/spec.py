"""Specifications of data sets.

A `Spec` has the content of a file of the folder ``sets``: files with their sums, the expected
shape and class counts, and the format. The loaders read these records only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Label: TypeAlias = int | str


@dataclass(frozen=True)
class Archive:
    """A zip file that upstream packs its files in."""

    name: str
    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Attributes
    ----------
    name : str
        Path below the folder of the set, uncompressed; ``/`` separates.
    sha256 : str or None
        Sum of the uncompressed bytes, if known.
    url : str or None
        Address of the file, uncompressed, ``.gz`` or ``.bz2``; None if the file is in an archive
        or has no address.
    archive : Archive or None
        The archive that holds the file.
    member : str
        Path inside the archive; `name` when empty.
    upstream_sum : bool
        Whether the sum is known to belong to the upstream file, and not to an independent copy
        with equal content.
    """

    name: str
    sha256: str | None = None
    url: str | None = None
    archive: Archive | None = None
    member: str = ""
    upstream_sum: bool = True


@dataclass(frozen=True)
class Part:
    """Rows that belong together: the training part, the test part, or the whole set.

    Attributes
    ----------
    counts : Mapping of label to int, or None
        Number of rows of each class; None if only the number of rows is known.
    rows : int
        Number of rows; the sum of `counts` if these are known.
    missing : int
        Number of missing cells among the features.
    target : tuple of float, or None
        Smallest and largest target of a set for regression.
    """

    counts: Mapping[Label, int] | None = None
    rows: int = 0
    missing: int = 0
    target: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.counts is not None:
            object.__setattr__(self, "rows", sum(self.counts.values()))


@dataclass(frozen=True)
class Table:
    """Delimited text.

    Attributes
    ----------
    columns : tuple of str
        Names of all fields of a line in file order, label and fields to drop included.
    label : str
        Name of the label column.
    delimiter : str or None
        One character, or None for runs of blanks.
    header : bool
        Whether the first line repeats `columns`.
    drop : tuple of str
        Columns that are not features: row ids, names, and columns that reveal the target.
    categorical : tuple of str
        Columns whose values are categories.
    levels : Mapping of str to tuple of str
        Ordered categories, lowest first, of the columns that have an order.
    missing : str or None
        The word for a missing value.
    zero_missing : tuple of str
        Columns in which zero means a missing value.
    comment : str or None
        Lines that begin with it are skipped.
    label_suffix : str
        Text that may follow a label and is cut off.
    lower : bool
        Whether words are converted to lower case, as their case has no meaning.
    rejoin : bool
        Whether a record may be broken after a delimiter and continue in the next line.
    skip_unlabelled : bool
        Whether rows whose label is missing are left out.
    """

    columns: tuple[str, ...]
    label: str
    delimiter: str | None = ","
    header: bool = False
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str | None = None
    zero_missing: tuple[str, ...] = ()
    comment: str | None = None
    label_suffix: str = ""
    lower: bool = False
    rejoin: bool = False
    skip_unlabelled: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the feature columns in file order."""
        return tuple(c for c in self.columns if c != self.label and c not in self.drop)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def n_categorical(self) -> int:
        """Number of features that are categories."""
        return len(set(self.features) & set(self.categorical))


@dataclass(frozen=True)
class Numeric:
    """Base class of the formats that hold numbers only."""

    n_features: int
    n_categorical: int = field(default=0, init=False)


class Idx(Numeric):
    """The idx files of MNIST: images and labels of each part in turn."""


class SvmLight(Numeric):
    """Sparse text of SVMlight and LIBSVM, one file for each part."""


class Har(Numeric):
    """The folder layout of UCI's Human Activity Recognition Using Smartphones."""


@dataclass(frozen=True)
class Embedded(Numeric):
    """A set that comes with scikit-learn; `loader` is a function of `sklearn.datasets`."""

    loader: str = ""


Format: TypeAlias = Table | Idx | SvmLight | Har | Embedded


@dataclass(frozen=True)
class Spec:
    """One data set.

    Attributes
    ----------
    name : str
        Name for `load`.
    title, description, citation : str
    source : str
        Address of the page of the set.
    hint : str
        Advice for getting the files by hand, if the page does not have it.
    format : Format
        Format of the files.
    parts : tuple of Part
        Training and test part, or one part for a set without a standard split.
    folder : str
        Folder below the data home; `name` when empty.
    files : tuple of File
        Files in the order that the format requires.
    label_names : Mapping of label to str
        Readable names of coded labels.
    labels : tuple of labels
        The classes, if their counts are not known.
    task : str
        "classification" or "regression".
    aliases : tuple of str
        Other names of the set in published tables.
    options : Mapping of str to tuple
        Values of each option, with the default first.
    parent : Spec or None
        The set from which this one takes its rows.
    keep : tuple of labels
        The classes whose rows are taken from the parent.
    """

    name: str
    title: str
    description: str
    citation: str
    source: str
    format: Format
    parts: tuple[Part, ...]
    folder: str = ""
    files: tuple[File, ...] = ()
    label_names: Mapping[Label, str] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()
    hint: str = ""
    task: str = "classification"
    aliases: tuple[str, ...] = ()
    options: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    parent: Spec | None = None
    keep: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        if not self.folder:
            object.__setattr__(self, "folder", self.name)

    @property
    def classes(self) -> tuple[Label, ...]:
        """Labels in the order of their names or numbers."""
        counts = self.parts[0].counts
        return self.labels if counts is None else tuple(sorted(counts))

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.rows for part in self.parts)
