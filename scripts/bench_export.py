"""Compare models in Python and as graphs of ONNX: results, sizes, latency.

    python scripts/bench_export.py --quick    sets of scikit-learn, half a minute
    python scripts/bench_export.py            adult, letter, satimage too; some minutes
    python scripts/bench_export.py --only adult --trees 50

Real sets are looked for in --data-home or MDDF_DATA_HOME, and left out if they are not there. Both
sides have one thread and get the same test rows in single precision. Times are medians over
the calls, by the wall clock; sizes are those of the pickle and of the graph.
"""

from __future__ import annotations

import argparse
import pickle
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
from _results import aligned, provenance, write_json

from mddf import MDDFClassifier, RandomForestClassifier
from mddf.export import onnx_inputs, to_onnx

QUICK = ("iris", "digits", "breast_cancer")
REAL = ("adult", "letter", "satimage")


def parse(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", default=None)
    parser.add_argument("--trees", type=int, default=100, help="of the forest (cascade: a fifth)")
    parser.add_argument("--rows", type=int, default=1000, help="of a call with many rows")
    parser.add_argument("--data-home", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    return parser.parse_args(argv)


def load(name, data_home):
    """Training and test part of a set, or None."""
    from mddf.datasets import DataFileNotFoundError
    from mddf.datasets import load as load_set
    from sklearn.model_selection import train_test_split

    try:
        data = load_set(name, data_home=data_home, download=False)
    except (DataFileNotFoundError, ImportError) as error:
        print(f"{name}: left out: {str(error).splitlines()[0]}")
        return None
    if hasattr(data, "X_train"):
        return data.X_train, data.y_train, data.X_test, data.y_test
    X, X_test, y, y_test = train_test_split(data.X, data.y, stratify=data.y, random_state=0)
    return X, y, X_test, y_test


def seconds(call, least=0.3):
    """Median duration of a call."""
    found, start = [], time.perf_counter()
    while len(found) < 5 or time.perf_counter() - start < least:
        before = time.perf_counter()
        call()
        found.append(time.perf_counter() - before)
    return median(found)


def compare(model, X, n_rows):
    """One row of the table."""
    import onnxruntime

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
    for n in (1, min(n_rows, len(X))):
        few = {name: values[:n] for name, values in cells.items()}
        rows = rounded[:n]
        found[f"Python us, {n} row(s)"] = 1e6 * seconds(
            lambda rows=rows: model.predict_proba(rows)
        )
        found[f"ONNX us, {n} row(s)"] = 1e6 * seconds(lambda few=few: session.run(None, few))
    return found


def main(argv=None):
    arguments = parse(argv)
    rows = []
    for name in arguments.only or (QUICK if arguments.quick else (*REAL, *QUICK)):
        parts = load(name, arguments.data_home)
        if parts is None:
            continue
        X, y, others, _ = parts
        models = {
            "forest": RandomForestClassifier(arguments.trees, random_state=0),
            "mdDF, 2 layers": MDDFClassifier(
                2, n_estimators=max(1, arguments.trees // 5), early_stopping=False, random_state=0
            ),
        }
        for kind, model in models.items():
            found = compare(model.fit(X, y), others, arguments.rows)
            rows.append({"set": name, "model": kind, **found})
            print(rows[-1], flush=True)
    if not rows:
        raise SystemExit("no set is there; give --data-home, or --quick for bundled ones")
    shown = [
        [f"{cell:.3g}" if isinstance(cell, float) else cell for cell in row.values()]
        for row in rows
    ]
    print(aligned([list(rows[0]), *shown]))
    origin = provenance(arguments)
    origin["versions"] |= {package: version(package) for package in ("onnx", "onnxruntime")}
    write_json(arguments.out / "export.json", {"origin": origin, "rows": rows})


if __name__ == "__main__":
    main()
