"""Deep forests and cascades: members, their training, layers, weights, and the public classes.

A deep forest grows in `deep_forest.grow_deep_forest`, a cascade in `cascade.grow_cascade`. Members
are made in `member_parsing`, and train in `member`. The number of folds is chosen in
`base_deep_forest`, the weights of members in `tasks` and `blending`, and mdDF's coefficients and
reweighting in `coefficients`.
"""
