"""Graphs of ONNX, put together operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import onnx

# An operand is the name of a value of the graph, or numbers, which become a constant.
Operand: TypeAlias = str | float | np.ndarray
Attribute: TypeAlias = "int | float | str | Sequence[int | float | str] | onnx.TensorProto"

OPSET = 18
ML_OPSET = 5  # the first with TreeEnsemble, whose thresholds may be doubles
IR_VERSION = 9
ML = "ai.onnx.ml"
# The lowest version that onnxruntime 1.22 refuses. For a set of categories, onnxruntime 1.21 and
# 1.22 copy the subtree below it once for each member, which takes memory and time without end
# (microsoft/onnxruntime 25400).
IR_VERSION_OF_SETS = 11


class Graph:
    """Operators, constants, inputs and outputs of a graph that grows.

    `inputs` are the names of all inputs that will be declared: values inside the graph get other
    names.
    """

    def __init__(self, inputs: Sequence[str] = ()) -> None:
        import onnx

        self._onnx = onnx
        self._taken = frozenset(inputs)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        # Version of the file format. A runtime refuses graphs of a later version than it supports.
        self.ir_version = IR_VERSION

    def input(self, name: str, dtype: npt.DTypeLike, shape: Sequence[int | None]) -> str:
        """Declare an input; None in a shape is any number of rows."""
        self._inputs.append(self._value_info(name, dtype, shape))
        return name

    def output(
        self, value: str, name: str, dtype: npt.DTypeLike, shape: Sequence[int | None]
    ) -> None:
        """Declare a value as an output with the given name."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value_info(name, dtype, shape))

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> str:
        """Add a constant and return its name."""
        name = self._free_name(f"constant{len(self._constants)}")
        array = np.asarray(value, dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(
        self, operator: str, *operands: Operand, domain: str = "", **attributes: Attribute
    ) -> str:
        """Append an operator with one output and return the name of that output.

        Operands that are numbers or arrays become constants in double precision.
        """
        inputs = [
            operand if isinstance(operand, str) else self.constant(operand) for operand in operands
        ]
        name = self._free_name(f"value{len(self._nodes)}")
        node = self._onnx.helper.make_node(operator, inputs, [name], domain=domain)
        node.attribute.extend(
            self._onnx.helper.make_attribute(key, value) for key, value in attributes.items()
        )
        self._nodes.append(node)
        return name

    def columns(self, X: str, places: npt.ArrayLike) -> str:
        """Append the selection of columns of a table."""
        return self.add("Gather", X, self.constant(places, np.int64), axis=1)

    def concat(self, tables: Sequence[str]) -> str:
        """Append the table with the columns of several tables, side by side."""
        return self.add("Concat", *tables, axis=1)

    def reduce(self, operator: str, value: str, axis: int, *, keepdims: bool = False) -> str:
        """Append an operator such as ReduceSum, along one axis."""
        return self.add(operator, value, self.constant([axis], np.int64), keepdims=int(keepdims))

    def clip(self, value: str, low: Operand, high: Operand) -> str:
        """Append bounds of a value."""
        return self.add("Max", self.add("Min", value, high), low)

    def repeat(self, row: npt.ArrayLike, X: str) -> str:
        """Append the same numbers for each row of a table."""
        numbers = self.constant(np.reshape(row, (1, -1)))
        return self.add("Where", self.add("IsNaN", self.columns(X, [0])), numbers, numbers)

    def tensor(self, array: np.ndarray) -> onnx.TensorProto:
        """Convert an array to an attribute."""
        return self._onnx.numpy_helper.from_array(array)

    def cast(self, value: str, dtype: npt.DTypeLike) -> str:
        """Append the conversion of a value to another type."""
        return self.add("Cast", value, to=self._element_type(dtype))

    def model(self, name: str, version: str) -> onnx.ModelProto:
        """Return the finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
            ir_version=self.ir_version,
            producer_name="mddf",
            producer_version=version,
        )
        self._onnx.checker.check_model(model)
        return model

    def _free_name(self, name: str) -> str:
        while name in self._taken:
            name = f"_{name}"
        return name

    def _value_info(
        self, name: str, dtype: npt.DTypeLike, shape: Sequence[int | None]
    ) -> onnx.ValueInfoProto:
        element_type = self._element_type(dtype)
        return self._onnx.helper.make_tensor_value_info(name, element_type, list(shape))

    def _element_type(self, dtype: npt.DTypeLike) -> int:
        if dtype is str:
            return self._onnx.TensorProto.STRING
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
