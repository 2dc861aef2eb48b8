"""
Shallow tree networks
=====================

When does a second layer lower the variance of a single tree?
"""

# %%
# Arnould, Boyer and Scornet ("Analyzing the tree-layer structure of deep forests", ICML 2021,
# PMLR 139, 342-350) reduce a deep forest to two layers of one tree each. They prove that such a
# network can be better than a tree on well-structured data, if the first tree is deep enough to
# encode the structure. Here the data are a chessboard: the probability of a class is 0.8 on black
# cells and 0.2 on white ones. ``GCForestClassifier.named("tree-network")`` is such a network: a
# tree, and a second tree with a single split. The class vectors from which the second tree learns
# are out of fold: trees of half of the rows predict the other half.

import matplotlib.pyplot as plt
import numpy as np
from mddf.baselines import GCForestClassifier

from mddf import RandomForestClassifier


def chessboard(n_rows, seed):
    """Draw rows of a board of 4 x 4 cells, their labels, and the probability of class 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    probability = np.where(np.floor(4 * X).sum(axis=1) % 2 == 1, 0.8, 0.2)
    return X, (rng.random(n_rows) < probability).astype(int), probability


X, y, _ = chessboard(4000, seed=0)
X_new, _, probability = chessboard(4000, seed=1)
depths = (2, 4, 6, 8, 10, 12, None)
errors = {"the first tree": [], "with a second layer": []}
for depth in depths:
    tree = RandomForestClassifier(1, bootstrap=False, max_features=None, max_depth=depth)
    network = GCForestClassifier.named("tree-network", forests=[tree], random_state=0).fit(X, y)
    for name, predicted in zip(errors, network.staged_predict_proba(X_new), strict=True):
        errors[name].append(np.mean((predicted[:, 1] - probability) ** 2))
for name, values in errors.items():
    print(f"{name}, fully grown: squared error {values[-1]:.3f}")

# %%
# The theorem shows at the right: behind a fully grown tree, a single split removes most of the
# variance. With a limit of 6 or less it does not help, since the first tree does not see the whole
# board yet. The network needs the depth less exactly than the tree alone.

figure, axis = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
for name, values in errors.items():
    axis.plot(range(len(depths)), values, "o-", label=name)
axis.set_xticks(range(len(depths)), [*map(str, depths[:-1]), "none"])
axis.set(xlabel="depth limit of the first layer", ylabel="mean squared error", ylim=(0, None))
_ = axis.legend()
