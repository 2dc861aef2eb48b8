"""Deep forests and cascades: members, their training, layers, weights, and the public classes.

Where to find it:

- A fit from its inputs to the stored model: `_fit` of `base_deep_forest` and `base_cascade`.
- The layers of a deep forest, one after the other: `deep_forest.grow_deep_forest`; of a cascade:
  `cascade.grow_cascade`.
- `member_parsing` makes a member from the user's argument, and `member` trains it.
- A deep forest accepts a later layer in `later_layers.try_later_layer`. A cascade keeps layers by
  `cascade_stopping`.
- The weights of members are chosen in `tasks` (`member_weights`) and `blending`; the coefficients
  of a cascade's layers and the weights of its samples in `margin_rules`.
"""
