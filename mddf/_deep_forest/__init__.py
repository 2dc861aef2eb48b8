"""Deep forests for practice: members, layers and leaf sizes chosen by cross-validation.

May import the rooms from `_base` to `_cascade`, in the order of docs/development.md.
"""
