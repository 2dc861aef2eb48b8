"""
Images: scanning with windows
=============================

Forests treat pixels as columns, without any order. Multi-grained scanning gives them windows of
neighbouring pixels.
"""

# %%
# scikit-image has pictures of brick, grass and gravel. They are scaled to half their size and cut
# into tiles of 16 x 16 pixels. The class of a tile is its material.

import matplotlib.pyplot as plt
import numpy as np
from mddf.baselines import MultiGrainedScanner
from skimage import data
from skimage.transform import rescale
from skimage.util import view_as_blocks
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mddf import RandomForestClassifier

pictures = {"brick": data.brick(), "grass": data.grass(), "gravel": data.gravel()}
tiles = [
    view_as_blocks(rescale(picture, 0.5, anti_aliasing=True), (16, 16)).reshape(-1, 16, 16)
    for picture in pictures.values()
]
X, y = np.concatenate(tiles), np.repeat(list(pictures), [len(part) for part in tiles])
X, X_test, y, y_test = train_test_split(X, y, train_size=150, stratify=y, random_state=0)

# %%
# Each window is an instance with its image's label. Forests learn to predict the class from a
# window at any place; their predictions for all windows are the features of the next model.
# (Windows of 4 pixels and few trees, so that this page is quick.)

forest = RandomForestClassifier(100, random_state=0)
scanner = MultiGrainedScanner([4], n_estimators=10, cv=3, random_state=0)
pixels = forest.fit(X.reshape(len(X), -1), y).score(X_test.reshape(len(X_test), -1), y_test)
scanned = make_pipeline(scanner, forest).fit(X, y).score(X_test, y_test)
print(f"test accuracy on pixels {pixels:.3f}, on windows {scanned:.3f}")

# %%
# The predictions for each window of a few test images: the probability of the image's class, at
# the place of the window. Bright places show the material most clearly.

height, width = scanner.positions_[0]
vectors = scanner.transform(X_test[:6]).reshape(6, 2, height, width, 3)
true_class = np.searchsorted(list(pictures), y_test[:6])
figure, axes = plt.subplots(2, 6, figsize=(6.4, 2.6), layout="constrained")
for i, (top, below) in enumerate(axes.T):
    top.imshow(X_test[i], cmap="gray")
    image = below.imshow(vectors[i, 0, :, :, true_class[i]], vmin=0, vmax=1, cmap="viridis")
    top.set_title(y_test[i])
    for axis in (top, below):
        axis.set_axis_off()
_ = figure.colorbar(image, ax=axes[1].tolist(), label="true class")
