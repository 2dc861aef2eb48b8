"""Gradient boosting and forests on Dask collections.

`collections` divides Dask collections into parts in the order of their rows. `fitting` places the
parts on workers and starts a task on each of them (`worker`), which fits the model together with
the tasks on the other workers (`shard_fits`). `waiting` collects results and notices workers that
end. `estimator` has the base classes of the estimators in `mddf.dask`, which publishes the forests
of `forest_classifiers` and `forest_regressors`; both are on `forests`.
"""
