"""Objects as JSON and arrays, without code to run.

A value becomes JSON and a list of arrays. Estimators of mddf and scikit-learn are stored by their
public name and state. Other objects, such as the compiled trees of scikit-learn, are stored by
skops.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import sklearn

from mddf._base.serialization import set_state

# Packages whose public classes are stored by name and state, and trusted in files.
_PACKAGES = frozenset(
    [
        "mddf",
        "mddf.baselines",
        "mddf.representation",
        "mddf.rules",
        "sklearn.gaussian_process.kernels",
        *(f"sklearn.{name}" for name in sklearn.__all__),
    ]
)
# Types within fitted estimators of scikit-learn that have no public name.
_PRIVATE_TYPES = frozenset(["numpy.dtype"])


def public_name(kind: type) -> str | None:
    """Name of a public class of mddf or scikit-learn; None for other classes."""
    parts = kind.__module__.split(".")
    for n_parts in range(len(parts), 0, -1):
        name = ".".join(parts[:n_parts]) + f".{kind.__qualname__}"
        if public_class(name) is kind:
            return name
    return None


def public_class(name: object) -> type | None:
    """Class that has this public name in mddf or scikit-learn, or None."""
    package, _, short_name = str(name).rpartition(".")
    if package not in _PACKAGES:
        return None
    try:
        module = import_module(package)
    except ImportError:  # a function of scikit-learn, or a library that is not installed
        return None
    kind = getattr(module, short_name, None) if short_name in module.__all__ else None
    return kind if isinstance(kind, type) else None


def _rules() -> set[str]:
    """Names of the functions that users pass to cascades, which a model holds by reference."""
    return {f"mddf.rules.{name}" for name in import_module("mddf.rules").__all__}


class Encoder:
    """Turns values into JSON, and collects their different arrays, with a hash of each.

    Names in `leave_out` are left out of the states of objects.
    """

    def __init__(self, leave_out: Collection[str] = ()) -> None:
        self.arrays: list[np.ndarray] = []
        self.digests: list[str] = []
        self._leave_out = leave_out
        self._places: dict[str, int] = {}

    def encode(self, value: Any) -> Any:
        """Turn a value into JSON; a TypeError refuses what cannot be stored."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.encode(item) for item in value]
        if kind is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if kind is dict:
            return self._encode_dict(value)
        if kind in (np.ndarray, np.memmap):
            return self._encode_array(value)
        if isinstance(value, np.generic) and value.dtype != object:
            return {"scalar": self._place(np.asarray(value))}
        if isinstance(value, np.dtype):
            return {"dtype": np.lib.format.dtype_to_descr(value)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"type": value.__name__}
        return self._encode_object(value)

    def _encode_dict(self, value: dict[Any, Any], *, is_state: bool = False) -> dict[str, Any]:
        if all(type(key) is str for key in value):
            is_state = is_state or "mddf_type" in value
            left_out = self._leave_out if is_state else ()
            kept = {key: item for key, item in value.items() if key not in left_out}
            return {"dict": {key: self.encode(item) for key, item in kept.items()}}
        return {"items": [[self.encode(key), self.encode(item)] for key, item in value.items()]}

    def _encode_array(self, array: np.ndarray) -> dict[str, Any]:
        if array.dtype == object:
            items = [self.encode(item) for item in array.ravel().tolist()]
            return {"objects": items, "shape": list(array.shape)}
        if array.dtype.hasobject:
            raise TypeError(f"arrays of {array.dtype} cannot be saved")
        return {"array": self._place(np.asarray(array))}

    def _place(self, array: np.ndarray) -> int:
        """Number of an array among the arrays of the file; equal arrays are stored once."""
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = np.ascontiguousarray(array)
        digest = blake2b(repr(describe_array(array)).encode(), digest_size=16)
        digest.update(bytes_of(array))
        key = digest.hexdigest()
        if key not in self._places:
            self._places[key] = len(self.arrays)
            self.arrays.append(array)
            self.digests.append(key)
        return self._places[key]

    def _encode_object(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        name = public_name(kind)
        if name is not None and not _reduces_itself(kind):
            state = value.__getstate__()
            if state is None or type(state) is dict:
                return {"object": name, "state": self._encode_dict(state or {}, is_state=True)}
        return {"skops": self._place(np.frombuffer(_skops_bytes(value), np.uint8))}


def _reduces_itself(kind: type) -> bool:
    """Whether a class has its own way of pickling, which may need more than its state."""
    own = ("__reduce__", "__reduce_ex__")
    return any(not vars(base).keys().isdisjoint(own) for base in kind.__mro__[:-1])


class Decoder:
    """Undoes `Encoder`; `trusted` are further names of types that skops may create."""

    def __init__(self, arrays: Sequence[np.ndarray], trusted: Sequence[str] = ()) -> None:
        self._arrays = arrays
        self._trusted = frozenset(trusted)

    def decode(self, value: Any) -> Any:
        """Make the value of which `Encoder.encode` made this JSON."""
        if type(value) is list:
            return [self.decode(item) for item in value]
        if type(value) is not dict:
            return value
        tag = next(iter(value), None)
        if tag not in self._decoders:
            raise ValueError(f"values of type {tag!r} are unknown")
        return self._decoders[tag](self, value)

    def _decode_objects(self, value: dict[str, Any]) -> np.ndarray:
        array = np.empty(len(value["objects"]), dtype=object)
        for place, item in enumerate(value["objects"]):
            array[place] = self.decode(item)
        return array.reshape(value["shape"])

    def _decode_object(self, value: dict[str, Any]) -> Any:
        kind = public_class(value["object"])
        if kind is None:
            raise ValueError(f"{value['object']!r} is no public class of mddf or scikit-learn")
        state = self.decode(value["state"])
        restored: Any = object.__new__(kind)
        set_state(restored, state)
        return restored

    def _decode_skops(self, value: dict[str, Any]) -> Any:
        io_of_skops = _skops()
        data = self._arrays[value["skops"]].tobytes()
        untrusted = io_of_skops.get_untrusted_types(data=data)
        known = [
            name
            for name in untrusted
            if name in self._trusted | _PRIVATE_TYPES
            or public_class(name) is not None
            or name in _rules()
        ]
        if unknown := [name for name in untrusted if name not in known]:
            names = ", ".join(map(repr, unknown))
            raise ValueError(
                f"it holds objects of types that mddf does not know: {names}. If you trust the "
                f"file and these types, pass trusted=[{names}]"
            )
        return io_of_skops.loads(data, trusted=known)

    _decoders: dict[str, Callable[[Decoder, dict[str, Any]], Any]] = {
        "float": lambda self, value: float(value["float"]),
        "tuple": lambda self, value: tuple(map(self.decode, value["tuple"])),
        "dict": lambda self, value: {k: self.decode(item) for k, item in value["dict"].items()},
        "items": lambda self, value: {
            self.decode(key): self.decode(item) for key, item in value["items"]
        },
        "array": lambda self, value: self._arrays[value["array"]],
        "scalar": lambda self, value: self._arrays[value["scalar"]][()],
        "dtype": lambda self, value: dtype_of(value["dtype"]),
        "type": lambda self, value: np.dtype(value["type"]).type,
        "objects": _decode_objects,
        "object": _decode_object,
        "skops": _decode_skops,
    }


def describe_array(array: np.ndarray) -> dict[str, Any]:
    """Type, shape and order of an array, in the types of JSON."""
    return {
        "dtype": np.lib.format.dtype_to_descr(array.dtype),
        "shape": list(array.shape),
        "order": "C" if array.flags.c_contiguous else "F",
    }


def dtype_of(description: Any) -> np.dtype[Any]:
    """Type of an array from its description, whose tuples JSON has turned into lists."""

    def with_tuples(item: Any) -> Any:
        if not isinstance(item, list):
            return item
        return tuple(
            tuple(part) if place == 2 else with_tuples(part) for place, part in enumerate(item)
        )

    if isinstance(description, list):
        description = [with_tuples(field) for field in description]
    dtype = np.lib.format.descr_to_dtype(description)
    if dtype.hasobject:
        raise ValueError(f"arrays of {dtype} are not allowed")
    return dtype


def bytes_of(array: np.ndarray) -> memoryview:
    """Bytes of a contiguous array, without a copy."""
    flat = array.reshape(-1, order="C" if array.flags.c_contiguous else "F")
    return flat.view(np.uint8).data if flat.nbytes else memoryview(b"")


def _skops() -> ModuleType:
    try:
        return import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            'the model has parts that skops stores, which is not installed: pip install "'
            'mddf[skops]"'
        ) from error


def _skops_bytes(value: object) -> bytes:
    """Archive of skops, which is the same for equal objects; TypeError if it cannot be read back.

    skops names objects and files by addresses in memory, and writes the time.
    """
    io_of_skops = _skops()
    try:
        data = io_of_skops.dumps(value)
        io_of_skops.loads(data, trusted=io_of_skops.get_untrusted_types(data=data))
    except Exception as error:  # whatever the object raises
        kind = type(value)
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise TypeError(
            f"objects of type {kind.__module__}.{kind.__qualname__} cannot be saved: {reason}"
        ) from error
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files.pop("schema.json"))
    numbers: dict[int, int] = {}
    new_names: dict[str, str] = {}
    _renumber(schema, numbers, new_names)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("schema.json"), json.dumps(schema))
        for name, new_name in new_names.items():
            archive.writestr(zipfile.ZipInfo(new_name), files[name])
    return buffer.getvalue()


def _renumber(node: Any, numbers: dict[int, int], new_names: dict[str, str]) -> None:
    """Name the objects and files of a schema of skops by the order in which they appear."""
    if isinstance(node, list):
        for item in node:
            _renumber(item, numbers, new_names)
    elif isinstance(node, dict):
        if "__id__" in node:
            # Equal constants may or may not be one object: each gets its own number.
            is_constant = node.get("__loader__") in ("JsonNode", "TypeNode")
            key = -len(numbers) - 1 if is_constant else node["__id__"]
            node["__id__"] = numbers.setdefault(key, len(numbers) + 1)
        if isinstance(node.get("file"), str):
            suffix = node["file"].rpartition(".")[2]
            new_name = f"{len(new_names)}.{suffix}"
            node["file"] = new_names.setdefault(node["file"], new_name)
        for item in node.values():
            _renumber(item, numbers, new_names)
