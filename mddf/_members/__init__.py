"""What a layer can hold: forests, boosting, kernel and linear models, external estimators.

May import the rooms from `_base` to `_gradient`, in the order of docs/development.md.
"""
