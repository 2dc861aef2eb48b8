"""Members of a layer: forests, boosted trees, kernels, linear models, networks, others."""
