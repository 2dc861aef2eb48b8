"""
Your own estimator in a layer
=============================

Any classifier with ``predict_proba`` can be a member of a deep forest.
"""

# %%
# Nearest neighbours and a support vector machine make other errors than trees on images of digits.
# They get the features unscaled, so a pipeline with a scaler is passed where scales matter. The
# weights of the members minimise the out-of-fold log-loss; a member that does not help gets none.

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mddf import DeepForestClassifier, MDDFClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
neighbours = KNeighborsClassifier(5, weights="distance")
machine = make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), cv=3))
trees = ["random", "completely-random"]
options = {"n_estimators": 30, "cv": 3, "random_state": 0}
plain = DeepForestClassifier(members=trees, **options).fit(X, y)
model = DeepForestClassifier(members=[*trees, neighbours, machine], **options).fit(X, y)
print(f"forests alone {plain.score(X_test, y_test):.3f}, all {model.score(X_test, y_test):.3f}")

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
rows = model.leaderboard_
names = [f"layer {row['layer']}: {row['member']}" for row in rows]
bars = axis.barh(names, [row["weight"] for row in rows], color="tab:green")
losses = [row["log_loss"] for row in rows]  # NaN: left out after the first fold
labels = ["left out" if loss != loss else f"log-loss {loss:.3f}" for loss in losses]
axis.bar_label(bars, labels, padding=3)
axis.invert_yaxis()
_ = axis.set(xlabel="weight of the member", xlim=(0, 1.35))

# %%
# In an mdDF, ``forests`` lists the members of every layer. Other classifiers also get the class
# vectors of the layer before as numeric columns.

cascade = MDDFClassifier(2, forests=[*trees, neighbours], **options).fit(X, y)
print(cascade.member_scores_.round(3))  # out-of-fold margin ratios, by layer and member
