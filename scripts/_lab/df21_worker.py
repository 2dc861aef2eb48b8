"""Fit and measure a cascade of the package deep-forest; runs on Python 3.6 to 3.9, without mddf.

Arguments: a file with the arrays X, y and X_test, a file for the results, and parameters as JSON.
"""

import json
import pickle
import sys
import time

import numpy as np
from deepforest import CascadeForestClassifier


def main(rows, results, params):
    """Fit, predict, and write probabilities and costs."""
    with np.load(rows) as stored:
        X, y, X_test = stored["X"], stored["y"], stored["X_test"]
    model = CascadeForestClassifier(**json.loads(params))
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    probabilities = model.predict_proba(X_test)
    predicted = time.process_time()
    np.savez(
        results,
        probabilities=probabilities,
        layers=len(model),
        fit_s=fitted - start,
        predict_us=1e6 * (predicted - fitted) / len(X_test),
        megabytes=len(pickle.dumps(model, protocol=4)) / 1e6,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
