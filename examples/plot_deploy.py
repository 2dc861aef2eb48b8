"""
Deploying with onnxruntime
==========================

A graph with the predictions of a model, for programs without Python, and the time of both.
"""

# %%
# The graph has one input, the table, and two outputs. ``onnx_inputs`` converts rows to its inputs;
# a program in another language has to do the same.

from functools import partial
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mddf import MDDFClassifier, RandomForestClassifier, cost
from mddf.export import onnx_inputs, to_onnx

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
models = {
    "forest": RandomForestClassifier(50, n_jobs=1, random_state=0).fit(X, y),
    "mdDF": MDDFClassifier(2, n_estimators=10, n_jobs=1, random_state=0).fit(X, y),
}
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
sessions = {}
for name, model in models.items():
    graph = to_onnx(model).SerializeToString()
    sessions[name] = onnxruntime.InferenceSession(graph, options)
    label, probabilities = sessions[name].run(None, onnx_inputs(model, X_test))
    gap = np.abs(probabilities - model.predict_proba(X_test)).max()
    equal = (label == model.predict(X_test)).all()
    print(f"{name}: {len(graph) / 1e6:.1f} MB, classes equal: {equal}, gap {gap:.1e}")
print(cost(models["mdDF"]))

# %%
# The graph is faster for single rows, for which Python spends its time on checks. For many rows at
# once, mddf itself is faster. (Times vary with the machine.)


def microseconds(function, n_rows, repeats=5):
    """The least time per row of a few runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return 1e6 * min(times) / n_rows


figure, axes = plt.subplots(2, 1, figsize=(5.6, 4.4), layout="constrained")
for axis, rows, title in ((axes[0], X_test[:1], "one row"), (axes[1], X_test, "450 rows at once")):
    microseconds_by_name = {}
    for name, model in models.items():
        microseconds_by_name[f"{name}, Python"] = microseconds(
            partial(model.predict_proba, rows), len(rows)
        )
        run = partial(sessions[name].run, None, onnx_inputs(model, rows))
        microseconds_by_name[f"{name}, graph"] = microseconds(run, len(rows))
    bars = axis.barh(
        list(microseconds_by_name),
        list(microseconds_by_name.values()),
        color=["tab:gray", "tab:green"] * 2,
    )
    axis.bar_label(bars, fmt="%.0f", padding=3)
    axis.invert_yaxis()
    axis.set(
        title=title,
        xlabel="microseconds per row",
        xlim=(0, 1.2 * max(microseconds_by_name.values())),
    )
