"""
Your own estimator in a layer
=============================

Any classifier with ``predict_proba`` can be a member beside the forests.
"""

# %%
# Nearest neighbours and a support vector machine see images of digits in another way than trees
# do. They get the features as they are: where scales matter, a scaler belongs into the pipeline.
# The vote decides by out-of-fold log-loss how much each member counts; what does not help, counts
# nothing.

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
axis.bar_label(bars, [f"log-loss {row['log_loss']:.3f}" for row in rows], padding=3)
axis.invert_yaxis()
_ = axis.set(xlabel="weight in the vote", xlim=(0, 1.35))

# %%
# In an mdDF, ``forests`` lists the members of every layer. Those that are not forests of this
# package see the class vectors of the layer before as numbers too.

cascade = MDDFClassifier(2, forests=[*trees, neighbours], **options).fit(X, y)
print(cascade.member_scores_.round(3))  # out-of-fold margin ratios, by layer and member
