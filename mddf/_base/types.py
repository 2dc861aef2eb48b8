"""Types of users' arguments."""

from __future__ import annotations

from typing import TypeAlias

import numpy.typing as npt
from narwhals.stable.v1.typing import IntoDataFrame
from scipy import sparse

# A table as users pass it: anything like an array, a sparse matrix, or a data frame.
TableLike: TypeAlias = npt.ArrayLike | sparse.sparray | sparse.spmatrix | IntoDataFrame
