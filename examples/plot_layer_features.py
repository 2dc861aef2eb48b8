"""
Layer features for XGBoost
==========================

A cascade is also a transformer: another model can use the class vectors of its forests in addition
to the raw columns.
"""

# %%
# ``fit_transform`` returns out-of-fold features of the training rows: they come from trees that
# were trained without these rows. ``transform`` returns the features of new rows. With
# ``set_output`` both are data frames, with names that XGBoost and LightGBM accept.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from mddf import MDDFClassifier

X, y = load_digits(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=400, stratify=y, random_state=0)
cascade = MDDFClassifier(2, n_estimators=30, random_state=0)
cascade.set_output(transform="pandas")
train, test = cascade.fit_transform(X, y), cascade.transform(X_test)
print(train.iloc[:3, :4].round(2))

# %%
# The same booster on three tables.

tables = {
    "raw": (X, X_test),
    "layer features": (train, test),
    "both": (pd.concat([X, train], axis=1), pd.concat([X_test, test], axis=1)),
}
accuracy = {}
for name, (of_train, of_test) in tables.items():
    booster = XGBClassifier(n_estimators=50, max_depth=4, n_jobs=1, random_state=0)
    accuracy[name] = booster.fit(of_train, y).score(of_test, y_test)
accuracy["(the cascade alone)"] = cascade.score(X_test, y_test)

figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
bars = axis.barh(list(accuracy), [100 * value for value in accuracy.values()], color="tab:green")
axis.bar_label(bars, fmt="%.1f", padding=3)
axis.invert_yaxis()
_ = axis.set(xlabel="test accuracy of XGBoost in %", xlim=(80, 100))

# %%
# With 400 images of digits, a booster gains much from forests. On other tables it may gain
# nothing: try it by cross-validation, with the cascade inside the pipeline.
