"""Compare models in Python and as graphs of ONNX: results, sizes, latency.

    python scripts/bench/export.py --quick    bundled sets, half a minute
    python scripts/bench/export.py            some minutes

Predictions of graphs in single and in double precision are compared with predictions in Python on
the test rows. Times are for one row and for many rows at once (--rows), on one thread and in
single precision. mdDF has two layers of forests with a fifth of the trees; forests of deep forests
have all of them.
"""

import pickle
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, data, need, tables
from _lab.study import Study

from mddf import DeepForestClassifier, MDDFClassifier, RandomForestClassifier
from mddf.export import onnx_inputs, to_onnx

MODELS = {
    "forest": lambda n: RandomForestClassifier(n, random_state=0),
    "mdDF": lambda n: MDDFClassifier(
        2, n_estimators=max(1, n // 5), early_stopping=False, random_state=0
    ),
    "deep forest": lambda n: DeepForestClassifier(n_estimators=n, random_state=0),
}


def cell(options, set, model):
    onnxruntime = need("onnxruntime", "onnx")
    split = data.split(data.Source(set, options.data_home), 0)
    model = MODELS[model](options.n_estimators).fit(split.X, split.y)
    rows = split.X_test
    expected = model.predict_proba(rows)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = session_options.inter_op_num_threads = 1
    result = {"pickle_mb": len(pickle.dumps(model)) / 1e6}
    for dtype in ("float64", "float32"):  # times and sizes below are for float32
        graph = to_onnx(model, dtype=dtype).SerializeToString()
        session = onnxruntime.InferenceSession(graph, session_options)
        cells = onnx_inputs(model, rows, dtype=dtype)
        label, probabilities = session.run(["label", "probabilities"], cells)
        equal = label == model.classes_[expected.argmax(axis=1)]
        result[f"equal_{dtype}"] = float(np.mean(equal))
        result[f"differ_{dtype}"] = float(np.abs(probabilities - expected).max())
    result["onnx_mb"] = len(graph) / 1e6
    for words, n in (("one", 1), ("many", min(options.rows, len(rows)))):
        few, cells = rows[:n], onnx_inputs(model, rows[:n], dtype=dtype)
        sides = [
            lambda _, few=few: {
                "us": 1e6 * bench.cost(model.predict_proba, few, min_seconds=0.05)[0]
            },
            lambda _, c=cells: {"us": 1e6 * bench.cost(session.run, None, c, min_seconds=0.05)[0]},
        ]
        times = bench.in_turns(sides, 5)
        result |= {f"python_{words}": times["us"] / n, f"onnx_{words}": times["peer_us"] / n}
    return result


LAYOUT = """
set model classes_equal,_float32=equal_float32:.3g probabilities_differ,_float32=differ_float32:.3g
classes_equal,_float64=equal_float64:.3g probabilities_differ,_float64=differ_float64:.3g
pickle_MB=pickle_mb:.3g ONNX_MB=onnx_mb:.3g Python_us,_one=python_one:.3g ONNX_us,_one=onnx_one:.3g
Python_us,_many=python_many:.3g ONNX_us,_many=onnx_many:.3g
"""


def report(frame, options):
    title = f"{options.n_estimators} trees; one thread; microseconds per row"
    return [tables.columns("export", title, frame, LAYOUT, n_index=2)]


QUICK = ["iris", "digits", "breast_cancer"]
study = Study(
    globals(), "bench_export", "set=datasets model=models", ("n_estimators", "rows"), fresh=True,
    datasets=["adult", "letter", "satimage", *QUICK], models=MODELS, n_estimators=100,
    rows=1000, quick={"datasets": QUICK, "n_estimators": 20},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
