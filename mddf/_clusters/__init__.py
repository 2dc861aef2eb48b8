"""Gradient boosting and forests whose rows are divided among the workers of a Dask cluster.

On the client, `collections` divides Dask collections into parts in the order of their rows, and
`fitting` places the parts and starts a task on each worker. `worker` has these tasks, which send
each other messages by `messages`. `boosting` and `forests` do what `fit` of the estimators does,
for the rows of one worker: with bins from `shard_bins`, and labels and weights from
`shard_inputs`. `forest_growth` grows the trees of forests on rows from `forest_rows`.
"""
