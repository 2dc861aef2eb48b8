"""
Flipped labels
==============

AdaBoost's weights of the examples point to labels that are wrong.
"""

# %%
# The report that compares AdaBoost with DeepBoost names outlier detection as a use of the final
# distribution over examples. Here 30 of 569 labels are flipped. The weights D_t, averaged over the
# rounds, are large where the vote is wrong in round after round.

import matplotlib.pyplot as plt
import numpy as np
from mddf.baselines import AdaBoostClassifier
from sklearn.datasets import load_breast_cancer

X, y = load_breast_cancer(return_X_y=True)
flipped = np.zeros(len(y), dtype=bool)
flipped[np.random.default_rng(0).choice(len(y), 30, replace=False)] = True
noisy = np.where(flipped, 1 - y, y)

model = AdaBoostClassifier(50).fit(X, noisy)
weights = np.mean(list(model.staged_sample_weight(X, noisy)), axis=0)
order = np.argsort(-weights)
print(f"{flipped[order[:30]].sum()} of the 30 rows with the largest weights have a flipped label")

# %%
# The other rows with large weights are hard rows with right labels. A person should look at the
# list from the top.

figure, axis = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
rank = np.arange(1, len(y) + 1)
axis.plot(rank, np.cumsum(flipped[order]), label="by AdaBoost's weights")
axis.plot(rank, rank * 30 / len(y), ":", color="gray", label="in random order")
axis.set(xlabel="rows looked at", ylabel="flipped labels found", ylim=(0, 31))
_ = axis.legend()
