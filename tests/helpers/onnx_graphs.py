"""Outputs of ONNX graphs."""

import numpy as np
import onnx
import onnxruntime

from mddf.export import onnx_inputs, to_onnx


def graph_outputs(model, X, dtype=np.float64):
    """Outputs of the graph of a model, whose declared shapes must be those of the operators."""
    graph = to_onnx(model, dtype=dtype)
    onnx.shape_inference.infer_shapes(graph, check_type=True, strict_mode=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    outputs = session.run(None, onnx_inputs(model, X, dtype=dtype))
    for declared, output in zip(graph.graph.output, outputs, strict=True):
        shape = [size.dim_value for size in declared.type.tensor_type.shape.dim]
        assert shape[1:] == list(output.shape[1:])
    return outputs
