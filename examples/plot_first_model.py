"""
A first deep forest
===================

Fit a model with its defaults, look at its members, and check its probabilities on new rows.
"""

# %%
# The table has 30 measurements of cells, and the question is whether they are malignant. Nothing
# has to be scaled or encoded. (Few trees, so that this page is quick.)

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mddf import DeepForestClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
model = DeepForestClassifier(n_estimators=30, random_state=0).fit(X, y)
print(f"accuracy {model.score(X_test, y_test):.3f}")
print(f"log-loss {log_loss(y_test, model.predict_proba(X_test)):.3f}")
print(model.stop_reason_)

# %%
# The first layer has members of several kinds. Their weights minimise the out-of-fold log-loss of
# the weighted average; members without a weight are dropped.

rows = [row for row in model.leaderboard_ if row["layer"] == 1]
figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained", sharey=True)
names = [row["member"] for row in rows]
left.barh(names, [row["log_loss"] for row in rows], color="tab:gray")
left.set(xlabel="out-of-fold log-loss", title="members of the first layer")
right.barh(names, [row["weight"] for row in rows], color="tab:green")
_ = right.set(xlabel="weight in the average", title="their weights")

# %%
# The probabilities are calibrated by out-of-fold predictions. The points for new rows are near the
# diagonal, up to the chance of so few rows.

display = CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=5, strategy="quantile")
_ = display.ax_.set_title("calibration on test rows")
