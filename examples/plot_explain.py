"""
Explaining a prediction
=======================

Which features a model needs, and why it predicts a probability for a row.
"""

# %%
# Importances on held-out rows: by how much the splits of a feature raise the probability of the
# true class, for rows that were not used in the fit. A column of noise is added. It gets no
# importance on held-out rows, but some by impurity, the kind that most libraries show first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import PartialDependenceDisplay
from sklearn.model_selection import train_test_split

from mddf import MDDFClassifier
from mddf.explain import ImportancesDisplay, shap_values

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean radius", "mean texture", "mean concavity", "worst area", "worst smoothness"]]
X = X.assign(noise=np.random.default_rng(0).normal(size=len(X)))
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = MDDFClassifier(2, n_estimators=10, random_state=0).fit(X, y)

figure, axes = plt.subplots(2, 1, figsize=(5.6, 4.6), layout="constrained")
for axis, kind in zip(axes, ("held-out", "impurity"), strict=True):
    ImportancesDisplay.from_estimator(model, X_test, y_test, kind=kind, ax=axis)
    axis.set_title(kind)

# %%
# Contributions to one prediction. With the base value they add up to the probability. They are
# passed back through both layers of the cascade.

contributions = shap_values(model, X_test[:1], background=X[:100])
values, base = contributions.values[0, :, 1], float(np.ravel(contributions.base_values[0])[-1])
probability = model.predict_proba(X_test[:1])[0, 1]
print(f"base {base:.3f} + contributions {values.sum():.3f} = {base + values.sum():.3f}")
print(f"predicted: {probability:.3f}")
figure, axis = plt.subplots(figsize=(5.8, 2.8), layout="constrained")
labels = [f"{name} = {value:.3g}" for name, value in X_test.iloc[0].items()]
axis.barh(labels, values, color=np.where(values > 0, "tab:green", "tab:red"))
axis.axvline(0, color="black", linewidth=0.8)
_ = axis.set_xlabel("contribution to the probability of a benign tumour")

# %%
# The mean prediction as one feature changes and all others stay.

display = PartialDependenceDisplay.from_estimator(
    model, X_test[:50], ["worst area", "mean texture"], grid_resolution=15
)
display.figure_.set_size_inches(6, 2.8)
