"""Export of fitted models: ONNX graphs, treelite models, and the types that skops files need."""

from mddf._base.serialization import publish
from mddf.export._inputs import onnx_inputs
from mddf.export._onnx import to_onnx
from mddf.export._skops import skops_types
from mddf.export._treelite import to_treelite, treelite_inputs

__all__ = ["onnx_inputs", "skops_types", "to_onnx", "to_treelite", "treelite_inputs"]

publish(globals())
