"""Members of a layer of a deep forest.

`boosted`, `kernel`, `linear` and `network` the models of this package,
and `external` and `external_training` other estimators.
"""
