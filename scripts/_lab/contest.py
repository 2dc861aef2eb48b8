"""Comparisons of methods on sets, shared by run_uci.py and run_league.py."""

import numpy as np
from mddf.datasets import DataFileNotFoundError
from sklearn.base import is_regressor

from . import cli, counted, data, models, scores, stats, tables


def cell(options, *, set, seed, method, fraction=None):
    """Fit, predict and score one method on one split; with --tuned after a random search."""
    method = options.methods[method]
    source = options.sources[set]
    split = data.split(source, seed, getattr(options, "max_train", None), fraction)
    model = models.build(
        method, seed, task=options.task, budget=options.budget, n_jobs=options.n_jobs,
        n_rows=len(split.y),
    )  # fmt: skip
    if options.tuned and method.space:
        model = models.tuned(
            model, method, seed, options.metric[0], split.y, n_iter=options.n_iter,
            task=options.task,
        )  # fmt: skip
    try:
        result, model = scores.evaluate(model, split, options.task, options.n_jobs)
    except DataFileNotFoundError as error:
        # The method misses a file, not the set: the cell fails, and the set is not left out.
        raise RuntimeError(str(error)) from error
    return {
        **result,
        "layers": getattr(model, "n_layers_", None),
        "accuracy_by_layer": accuracy_by_layer(model, split),
        "details": models.details(model),
    }


def accuracy_by_layer(model, split):
    """Return the test accuracy of the first layers together; None for other models."""
    if not (hasattr(model, "n_layers_") and hasattr(model, "staged_predict")):
        return None
    if is_regressor(model) or np.ndim(split.y_test) > 1:
        return None
    return [float(np.mean(y == split.y_test)) for y in model.staged_predict(split.X_test)]


def settings(options):
    """Return the settings that all results of a method and of a set must share."""
    search = {"n_iter": options.n_iter, "by": options.metric[0]} if options.tuned else {}
    league = {"task": options.task, "max_train": getattr(options, "max_train", None)}
    return {
        **(vars(options.budget) if options.budget else league),
        "method": {name: {"class": method.path(options.task), **method.fixed,
                          **(search if method.space else {})}
                   for name, method in options.methods.items()},
        "set": {name: source.settings() for name, source in options.sources.items()},
    }  # fmt: skip


def announce(options, rules):
    """Print the sets, the methods and the rules of the comparison."""
    print(cli.fill(f"{counted(len(options.sources), 'set')}: {' '.join(options.sources)}"))
    print(cli.fill(f"methods: {', '.join(map(models.title_of, options.methods))}"))
    print(*rules, sep="\n")


def report(frame, options, published=None):
    """Return a table of scores for each metric, and a table of costs."""
    order = [name for m in models.METHODS for name in (m, f"{m}-tuned")]
    frame = tables.labelled(tables.in_order(frame, "method", order))
    metrics = [name for name in options.metric if name in frame]
    for name in options.metric:
        needs = scores.METRICS[name].task == "classification" and scores.METRICS[name].extra
        methods_with_metric = frame.dropna(subset=name)["method"] if name in frame else []
        if needs and (without := sorted({*frame["method"]} - {*methods_with_metric})):
            title = scores.METRICS[name].title
            print(cli.fill(f"no {title} of {', '.join(without)}: that needs predict_proba"))
    score_tables = [
        tables.score_table(m, frame, m, published=(published or {}).get(m)) for m in metrics
    ]
    return [*score_tables, tables.costs(frame)]


def ranking(frame, metrics):
    """Return a table of mean ranks over the sets with results of all methods.

    The list is empty if there is only one method, or no such set.
    """
    rank_columns, differences = {}, {}
    for name in metrics:
        values = stats.by_set(frame, name) if name in frame else []
        if len(values) and values.shape[1] > 1:
            title = f"{scores.METRICS[name].title} ({counted(len(values), 'set')})"
            rank_columns[title] = stats.ranks(values, scores.greater(name)).mean()
            differences[title] = stats.critical_difference(*values.shape)
    if not rank_columns:
        return []
    ranks = tables.pd.DataFrame(rank_columns)
    ranks = ranks.sort_values(next(iter(ranks)), kind="stable")
    numbers = ranks.rename_axis("method").reset_index()
    rank_table = tables.pd.concat(
        [ranks, tables.pd.DataFrame(differences, ["critical difference"])]
    )
    rank_table = (
        rank_table.rename(index=models.title_of).rename_axis("method").map("{:.2f}".format)
    )
    return [tables.Table("ranks", "mean ranks; Nemenyi at .05", rank_table, numbers)]
