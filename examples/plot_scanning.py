"""
Images: scanning with windows
=============================

Forests treat pixels as columns, without any order. Multi-grained scanning gives them windows of
neighbouring pixels.
"""

# %%
# Each window is an instance with its image's label. Forests learn to predict the class from a
# window at any place; their predictions for all windows are the features of the next model.
# (Windows of 4 pixels and few trees, so that this page is quick.)

import matplotlib.pyplot as plt
from mddf.baselines import MultiGrainedScanner
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mddf import RandomForestClassifier

digits = load_digits()
X, X_test, y, y_test = train_test_split(
    digits.images, digits.target, train_size=300, stratify=digits.target, random_state=0
)
forest = RandomForestClassifier(100, random_state=0)
scanner = MultiGrainedScanner([4], n_estimators=10, cv=3, random_state=0)
pixels = forest.fit(X.reshape(len(X), -1), y).score(X_test.reshape(len(X_test), -1), y_test)
scanned = make_pipeline(scanner, forest).fit(X, y).score(X_test, y_test)
print(f"test accuracy on pixels {pixels:.3f}, on windows {scanned:.3f}")

# %%
# The predictions for each window of a few test images: the probability of the image's class, at
# the place of the window. Bright places show the digit most clearly.

height, width = scanner.positions_[0]
vectors = scanner.transform(X_test[:6]).reshape(6, 2, height, width, 10)
figure, axes = plt.subplots(2, 6, figsize=(6.4, 2.6), layout="constrained")
for i, (top, below) in enumerate(axes.T):
    top.imshow(X_test[i], cmap="gray_r")
    image = below.imshow(vectors[i, 0, :, :, y_test[i]], vmin=0, vmax=1, cmap="viridis")
    top.set_title(f"a {y_test[i]}")
    for axis in (top, below):
        axis.set_axis_off()
_ = figure.colorbar(image, ax=axes[1].tolist(), label="true class")
