"""Methods on sets: what run_uci.py and run_league.py have in common."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from mddf.datasets import DataFileNotFoundError

from . import cli, counted, data, models, scores, stats, tables


def cell(options, set, seed, method, fraction=None, features="raw"):
    """Fit, predict and score; a search too, with --tuned."""
    method, most = options.methods[method], getattr(options, "max_train", None)
    split = data.split(options.sources[set], seed, most, fraction)
    if features != "raw":
        common = (options.n_estimators, options.n_layers, options.n_jobs)
        split = with_layers(options.sources[set], seed, most, fraction, common)[features == "both"]
    common = {"budget": options.budget, "n_jobs": options.n_jobs, "n_rows": len(split.y)}
    model = models.build(method, seed, task=options.task, **common)
    if options.tuned and method.space:
        by = options.metric[0]
        model = models.tuned(model, method, seed, by, split.y, options.n_iter, options.task)
    try:
        found, model = scores.evaluate(model, split, options.task, options.n_jobs)
    except DataFileNotFoundError as error:  # a file of the method's, and not of the set
        raise RuntimeError(str(error)) from error
    return {**found, "layers": getattr(model, "n_layers_", None), "details": models.details(model)}


@lru_cache(maxsize=1)
def with_layers(source, seed, max_train, share, budget):
    """The split with a cascade's features, out-of-fold for training rows; and with both kinds."""
    split, sizes = data.split(source, seed, max_train, share), models.Budget(*budget[:2])
    model = models.build(models.METHODS["mddf"], seed, budget=sizes, n_jobs=budget[2])
    model.set_params(transform_layers="all")
    numbers = data.to_numbers().fit(split.X)
    layers = model.fit_transform(split.X, split.y), model.transform(split.X_test)
    both = [np.hstack([numbers.transform(X), found])
            for X, found in zip((split.X, split.X_test), layers, strict=True)]  # fmt: skip
    return [replace(split, X=X, X_test=X_test) for X, X_test in (layers, both)]


def settings(options):
    """What results of a method, and of a set, must have in common."""
    search = {"n_iter": options.n_iter, "by": options.metric[0]} if options.tuned else {}
    league = {"task": options.task, "max_train": getattr(options, "max_train", None)}
    return {
        **(vars(options.budget) if options.budget else league),
        "method": {name: {"class": method.path(options.task), **method.fixed,
                          **(search if method.space else {})}
                   for name, method in options.methods.items()},
        "set": {name: source.settings() for name, source in options.sources.items()},
    }  # fmt: skip


def own_settings(options):
    """What results of the user's own methods and tables must have in common."""
    methods = {name: {"class": method.path("classification"), **method.fixed}
               for name, method in options.own_methods.items()}  # fmt: skip
    sets = {name: source.settings() for name, source in options.sources.items() if source.csv}
    return {part: found for part, found in (("method", methods), ("set", sets)) if found}


def announce(options, rules):
    """Say what will be compared, and by which rules."""
    print(cli.fill(f"{counted(len(options.sources), 'set')}: {' '.join(options.sources)}"))
    print(cli.fill(f"methods: {', '.join(map(models.title_of, options.methods))}"))
    print(*rules, sep="\n")


def report(frame, options, published=None):
    """A table for each metric, and of costs."""
    order = [name for m in models.METHODS for name in (m, f"{m}-tuned")]
    frame = tables.labelled(tables.in_order(frame, "method", order))
    metrics = [name for name in options.metric if name in frame]
    for name in options.metric:
        needs = scores.METRICS[name].task == "classification" and scores.METRICS[name].extra
        there = frame.dropna(subset=name)["method"] if name in frame else []
        if needs and (without := sorted({*frame["method"]} - {*there})):
            title = scores.METRICS[name].title
            print(cli.fill(f"no {title} of {', '.join(without)}: that needs predict_proba"))
    found = [tables.score_table(m, frame, m, published=(published or {}).get(m)) for m in metrics]
    return [*found, tables.costs(frame)]


def ranking(frame, metrics):
    """A table of mean ranks over the sets that all methods have, if they are several."""
    found, differences = {}, {}
    for name in metrics:
        values = stats.by_set(frame, name) if name in frame else []
        if len(values) and values.shape[1] > 1:
            title = f"{scores.METRICS[name].title} ({counted(len(values), 'set')})"
            found[title] = stats.ranks(values, scores.greater(name)).mean()
            differences[title] = stats.critical_difference(*values.shape)
    if not found:
        return []
    ranks = tables.pd.DataFrame(found)
    ranks = ranks.sort_values(next(iter(ranks)), kind="stable")
    numbers = ranks.rename_axis("method").reset_index()
    shown = tables.pd.concat([ranks, tables.pd.DataFrame(differences, ["critical difference"])])
    shown = shown.rename(index=models.title_of).rename_axis("method").map("{:.2f}".format)
    return [tables.Table("ranks", "mean ranks; Nemenyi at .05", shown, numbers)]
