"""Parquet files, and folders of them, whose columns all files decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import Dataset


def open_parquet(path: Path) -> tuple[Dataset, dict[str, str]]:
    """Open a Parquet file, or a folder in which folders such as key=value add a column.

    A column has a type that holds its values in all files: a file without any value has nulls, and
    integers in one file and doubles in another one are doubles. Also returns the reason for each
    column that cannot be read, since a file lacks it or the types do not go together.
    """
    import pyarrow as pa
    from pyarrow.dataset import dataset

    partitioning = "hive" if path.is_dir() else None
    first = dataset(path, format="parquet", partitioning=partitioning)
    schemas = {fragment.path: fragment.physical_schema for fragment in first.get_fragments()}
    if len(schemas) < 2:
        return first, {}
    fields: dict[str, pa.Field] = {}
    unreadable: dict[str, str] = {}
    for name in dict.fromkeys(name for schema in schemas.values() for name in schema.names):
        lacking = [file for file, schema in schemas.items() if name not in schema.names]
        own = [schema.field(name) for schema in schemas.values() if name in schema.names]
        fields[name] = own[0]
        if lacking:
            unreadable[name] = (
                f"{lacking[0]} must have a column {name!r}, as other files of {path} have"
            )
        try:
            fields[name] = _common_field(own)
        except pa.ArrowException as error:
            unreadable[name] = f"column {name!r} must have one type in {path}: {error}"
    # Keys of folders come last.
    keys = [field for field in first.schema if field.name not in fields]
    schema = pa.schema([*fields.values(), *keys])
    return dataset(path, format="parquet", partitioning=partitioning, schema=schema), unreadable


def refuse_unreadable(columns: Iterable[str], unreadable: Mapping[str, str]) -> None:
    """Refuse columns that a file lacks, as for a single file, or that have several types."""
    for name in columns:
        if name in unreadable:
            raise ValueError(unreadable[name])


def _common_field(fields: Sequence[pa.Field]) -> pa.Field:
    import pyarrow as pa

    if any(field.type != fields[0].type for field in fields):
        # Categories of one file may be text in another one.
        fields = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in fields
        ]
    schemas = [pa.schema([field]) for field in fields]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0)
