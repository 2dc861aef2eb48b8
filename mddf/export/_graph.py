"""Graphs of ONNX, put together operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

OPSET, ML_OPSET, IR_VERSION = 18, 5, 9
ML = "ai.onnx.ml"
# The first that onnxruntime 1.22 refuses: of sets of categories, 1.21 and 1.22 copy what is below
# each for every member, which takes memory and time without end (microsoft/onnxruntime 25400).
IR_VERSION_OF_SETS = 11


class Graph:
    """Operators, constants, inputs and outputs of a graph that grows.

    Parameters
    ----------
    inputs : sequence of str
        Names of all inputs that will be declared: what is inside gets others.

    Attributes
    ----------
    ir_version : int
        Of the format. Runtimes refuse graphs of a later one than they know.
    """

    def __init__(self, inputs: Sequence[str] = ()) -> None:
        import onnx

        self._onnx = onnx
        self._taken = frozenset(inputs)
        self._nodes: list[Any] = []
        self._constants: dict[str, object] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self.ir_version = IR_VERSION

    def input(self, name: str, dtype: Any, shape: Sequence[Any]) -> str:
        """Declare an input; None in a shape is any number of rows."""
        self._inputs.append(self._value(name, dtype, shape))
        return name

    def output(self, value: str, name: str, dtype: Any, shape: Sequence[Any]) -> None:
        """Declare a value as an output, under a name of its own."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value(name, dtype, shape))

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """A constant; its name."""
        name = self._name(f"constant{len(self._constants)}")
        array = np.asarray(value, dtype)
        self._constants[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Append an operator with one output; the output's name."""
        name = self._name(f"value{len(self._nodes)}")
        node = self._onnx.helper.make_node(
            operator, list(inputs), [name], domain=domain, **attributes
        )
        self._nodes.append(node)
        return name

    def repeat(self, row: np.ndarray, X: str) -> str:
        """The same numbers for each row of a table."""
        first = self.add("Gather", X, self.constant([0], np.int64), axis=1)
        numbers = self.constant(np.reshape(row, (1, -1)))
        return self.add("Where", self.add("IsNaN", first), numbers, numbers)

    def tensor(self, array: np.ndarray) -> Any:
        """An array as an attribute."""
        return self._onnx.numpy_helper.from_array(array)

    def cast(self, value: str, dtype: Any) -> str:
        """A value as another type."""
        return self.add("Cast", value, to=self._kind(dtype))

    def model(self, name: str, version: str) -> Any:
        """The finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, list(self._constants.values())
        )
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
            ir_version=self.ir_version,
            producer_name="mddf",
            producer_version=version,
        )
        self._onnx.checker.check_model(made)
        return made

    def _name(self, name: str) -> str:
        """A name for something inside."""
        while name in self._taken:
            name = f"_{name}"
        return name

    def _value(self, name: str, dtype: Any, shape: Sequence[Any]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._kind(dtype), list(shape))

    def _kind(self, dtype: Any) -> int:
        if dtype is str:
            return self._onnx.TensorProto.STRING
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
