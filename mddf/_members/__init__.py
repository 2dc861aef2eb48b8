"""What a layer can hold: forests, boosting, kernel and linear models, networks, models of others.

May import the rooms from `_base` to `_gradient`, in the order of docs/development.md.
"""
