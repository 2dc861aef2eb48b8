"""
Few rows
========

How accuracy and log-loss grow with the number of rows, for four models with their defaults.
"""

# %%
# The training rows are drawn in proportion to the classes. Out-of-fold layers need rows: with very
# few of them, a random forest or a linear model may be ahead. (Few trees and one draw, so that
# this page is quick; a study repeats it.)

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import DeepForestClassifier, MDDFClassifier, RandomForestClassifier

X, y = load_wine(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=108, stratify=y, random_state=1)
members = ["random", "completely-random", "linear"]
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "random forest": RandomForestClassifier(30, random_state=0),
    "mdDF": MDDFClassifier(2, n_estimators=15, random_state=0),
    "deep forest": DeepForestClassifier(n_estimators=15, members=members, random_state=0),
}
sizes = (18, 36, 72, 108)
figure, axes = plt.subplots(2, 1, figsize=(5.6, 5.6), layout="constrained", sharex=True)
for name, model in models.items():
    scores = []
    for size in sizes:
        rows = slice(None)
        if size < len(y):
            rows, _ = train_test_split(range(len(y)), train_size=size, stratify=y, random_state=0)
        probabilities = model.fit(X[rows], y[rows]).predict_proba(X_test)
        scores.append(
            (
                100 * accuracy_score(y_test, probabilities.argmax(axis=1)),
                log_loss(y_test, probabilities),
            )
        )
    for axis, values in zip(axes, zip(*scores, strict=True), strict=True):
        axis.plot(sizes, values, "o-", label=name)
axes[0].set(ylabel="test accuracy in %")
axes[1].set(xlabel="training rows", ylabel="test log-loss", yscale="log")
_ = axes[0].legend()

# %%
# There are also few test rows: a difference of 1.5 points is one row. Calibration by a few dozen
# rows can make probabilities too extreme, which the log-loss punishes; ``calibrate=False`` leaves
# it out.
