"""Compare models in Python and as graphs of ONNX: results, sizes, latency.

    python scripts/bench_export.py --quick    bundled sets, half a minute
    python scripts/bench_export.py            some minutes

Sets that are not there are left out. Both sides have one thread and get the same test rows in
single precision. Times are CPU microseconds per row, medians over calls: of one row, and of many
rows at once (--rows). Sizes are those of the pickle and of the graph.
"""

from __future__ import annotations

import pickle
import time
from statistics import median

import numpy as np
from _lab import cli, data, need, tables

from mddf import MDDFClassifier, RandomForestClassifier
from mddf.export import onnx_inputs, to_onnx

QUICK = ["iris", "digits", "breast_cancer"]


def parse(argv=None):
    return cli.study(
        __doc__,
        "bench_export",
        quick={"datasets": QUICK, "n_estimators": 20},
        datasets=["adult", "letter", "satimage", *QUICK],
        n_estimators=100,
        rows=1000,
    ).read(argv)


def seconds(call, least=0.3):
    """Median CPU seconds of a call."""
    found, start = [], time.perf_counter()
    while len(found) < 5 or time.perf_counter() - start < least:
        before = time.process_time()
        call()
        found.append(time.process_time() - before)
    return median(found)


def compare(model, X, n_rows):
    """One row of the table."""
    onnxruntime = need("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    graph = to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(graph, options)
    cells = onnx_inputs(model, X)
    label, probabilities = session.run(["label", "probabilities"], cells)
    rounded = X.astype(np.float32) if hasattr(X, "dtype") else X
    expected = model.predict_proba(rounded)
    found = {
        "classes equal": float(np.mean(label == model.classes_[expected.argmax(axis=1)])),
        "probabilities differ": float(np.abs(probabilities - expected).max()),
        "pickle MB": len(pickle.dumps(model)) / 1e6,
        "ONNX MB": len(graph) / 1e6,
    }
    for words, n in (("one row", 1), ("many rows", min(n_rows, len(X)))):
        few = {name: values[:n] for name, values in cells.items()}
        rows = rounded[:n]
        in_python = seconds(lambda rows=rows: model.predict_proba(rows))
        found[f"Python us, {words}"] = 1e6 * in_python / n
        found[f"ONNX us, {words}"] = 1e6 * seconds(lambda few=few: session.run(None, few)) / n
    return found


def main(argv=None):
    options = parse(argv)
    rows = []
    for name in options.datasets:
        try:
            source = data.Source(name, options.data_home)
            data.load(source, download=False)
        except (OSError, ImportError) as error:
            print(f"{name}: left out: {str(error).splitlines()[0]}")
            continue
        split = data.split(source, 0)
        models = {
            "forest": RandomForestClassifier(options.n_estimators, random_state=0),
            "mdDF, 2 layers": MDDFClassifier(
                2,
                n_estimators=max(1, options.n_estimators // 5),
                early_stopping=False,
                random_state=0,
            ),
        }
        for kind, model in models.items():
            model.fit(split.X, split.y)
            found = compare(model, split.X_test, options.rows)
            rows.append({"set": name, "model": kind, **found})
            print(f"{name}, {kind}: differ by {found['probabilities differ']:.1g}", flush=True)
    numbers = tables.pd.DataFrame(rows)
    if numbers.empty:
        raise SystemExit("none of the sets is there")
    title = (
        f"forests of {options.n_estimators} trees, cascades of a fifth for each fold and forest; "
        "one thread"
    )
    shown = numbers.set_index(["set", "model"]).map("{:.3g}".format)
    tables.show(options.out, [tables.Table("export", title, shown, numbers)])


if __name__ == "__main__":
    main()
