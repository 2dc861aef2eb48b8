r"""Deep forests, boosting, random forests and perceptrons: scores on real data.

    python scripts/run_uci.py                   the bundled sets; a minute and a half
    python scripts/run_uci.py --plot            draw their accuracy over layers
    python scripts/run_uci.py --suite paper --ablations    the mdDF paper's sets; days
    python scripts/run_uci.py --suite small-sample         shares of training sets (mdDF, Fig. 6)
    python scripts/run_uci.py --suite small-sample --plot  draw what was computed
    python scripts/run_uci.py --datasets adult yeast --methods rf mddf --seeds 3
    python scripts/run_uci.py --methods mddf gcforest adaboost deepboost quadboost lpboost
    python scripts/run_uci.py --csv table.csv --target kind --drop id
    python scripts/run_uci.py --datasets wine --set mddf.strength=0.7 \
        --method lr=sklearn.linear_model:LogisticRegression C=0.1 max_iter=1000

All methods have the same budget of trees or rounds, which is printed. The boosting algorithms of
the papers keep the weak learners of their defaults, and learn one class against the others if
there are more than two. Methods of --method have only the parameters that are given. Sets without
a standard split are split anew for each seed. With --fractions all methods train on the same
stratified subsets; larger subsets contain the smaller ones.
"""

from _lab import cli, contest, data, models, pictures, scores, tables
from _lab.study import Study

SHARES = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0]
# Options of each suite; the command line overrides them.
SUITES = {
    "bundled": {"datasets": list(data.BUNDLED)},
    "paper": {
        "datasets": list(data.PAPER),
        "methods": ["deepforest", "mddf", "mddf-paper", "gcforest", "xgboost", "rf", "mlp"],
    },
    "small-sample": {
        "datasets": ["satimage", "letter"],
        "methods": ["rf", "xgboost", "xgboost-few", "gcforest", "mddf", "mddf-paper"],
        "fractions": SHARES, "seeds": 10, "n_layers": 4, "rounds": 300,
    },
}  # fmt: skip
# Random splits differ more than fits on one split do; the bundled sets are for a first look.
N_SEEDS = {"yeast": 10, **dict.fromkeys(data.BUNDLED, 2)}


def prepare(options, parser):
    small = {"datasets": ["digits"]} if options.quick and "seeds" in SUITES[options.suite] else {}
    for name, value in (SUITES[options.suite] | small).items():
        setattr(options, name, getattr(options, name, None) or value)
    if options.suite not in ("bundled", "paper") and options.asked_out is None:
        options.out = options.out.with_name(options.out.name.replace("uci", options.suite))
    epochs = 40 if options.quick else 100
    options.task = "classification"
    options.tuned = False
    options.budget = models.Budget(
        options.n_estimators, options.n_layers, rounds=options.rounds, max_epochs=epochs
    )
    options.methods = models.chosen(options, models.EQUAL)
    if options.ablations:
        options.methods |= {name: models.METHODS[name] for name in models.ABLATIONS}
    options.sources = data.sources(options, options.datasets)


def keys(options):
    """Return the keys of all cells; there is no share of the rows without --fractions."""
    all_keys = [
        {"set": name, "seed": seed, "fraction": fraction, "method": method}
        for name in options.sources
        for seed in range(options.seeds or N_SEEDS.get(name, 5))
        for fraction in options.fractions or [None]
        for method in options.methods
    ]
    return [{part: value for part, value in key.items() if value is not None} for key in all_keys]


def notes(options):
    rules = [f"budget: {options.budget}"] + ["--method: as given"] * bool(options.own)
    contest.announce(options, rules)
    return rules


def published():
    """The mdDF paper's test accuracies in %, by set and method."""
    accuracies = {}
    for number in (2, 3):
        table = tables.published(f"mddf_table{number}.tsv").set_index("set").astype(float)
        # The paper chose r, mu and c, as mddf-cv does.
        paper = table.pop("mddf")
        accuracies |= table.assign(**{"mddf-paper": paper, "mddf-cv": paper}).stack().to_dict()
    return accuracies


cell = contest.cell
settings = contest.settings


def ahead(frame):
    """Mean accuracies in %, and the gain of mdDF over each method on the same subsets.

    Without mdDF, the first method takes its place.
    """
    frame = frame.dropna(subset="fraction").assign(accuracy=100 * frame["accuracy"])
    first = "mddf" if "mddf" in set(frame["method"]) else frame["method"].iloc[0]
    ours = frame["method"] == first
    key = ["set", "fraction", "seed"]
    of_first = frame[ours].groupby(key)["accuracy"].mean().rename("ahead")
    gains = frame[key].join(of_first, on=key)["ahead"] - frame["accuracy"]
    frame = frame.assign(ahead=gains.mask(ours))
    by = ["set", "fraction", "method"]
    rows = tables.means(frame, by, ["accuracy", "ahead", "n_train", "fit_seconds"])
    rows["ahead_std"] /= frame.groupby(by, sort=False)["ahead"].count().to_numpy() ** 0.5
    return rows.sort_values(["set", "fraction"], kind="stable")


AHEAD = """set share_%=share:g method rows=n_train:.0f seeds=n_seeds:.0f
accuracy_%=accuracy:.2f± FIRST_ahead_by=ahead:+.2f±"""


def compared(rows):
    """The title of the method that others are compared with: it is not ahead of itself."""
    alone = rows.groupby("method", sort=False)["ahead"].count() == 0
    return models.title_of(str(alone.idxmax()) if alone.any() else "mddf")


def report(frame, options):
    """The paper's accuracies stand below ours; of shares, there is a row for each."""
    sections = contest.report(frame, options, {"accuracy": published()})
    if "fraction" in frame:
        rows = ahead(frame)
        first = compared(rows)
        title = f"accuracy: mean ± standard deviation; {first} minus the method: ± standard error"
        in_percent = rows.assign(share=100 * rows["fraction"])
        words = AHEAD.replace("FIRST", first if first.isidentifier() else "first")
        sections.append(tables.columns("ahead", title, in_percent, words, n_index=3, numbers=rows))
    return sections


def draw(frame, options):
    """Draw accuracy over shares of the training rows if there are any, or else over layers."""
    if "fraction" in frame:
        draw_shares(frame, options)
    else:
        draw_layers(frame, options)


def draw_layers(frame, options):
    """Draw the accuracy of the first layers together; lines without layers are level.

    A cascade that kept fewer layers than another keeps its last accuracy.
    """
    stages = [
        stages if isinstance(stages, list) else [accuracy]
        for stages, accuracy in zip(frame["accuracy_by_layer"], frame["accuracy"], strict=True)
    ]
    n_layers = max(map(len, stages))
    long = [
        {"set": row.set, "method": row.method, "seed": row.seed, "layer": layer + 1,
         "accuracy": 100 * accuracies[min(layer, len(accuracies) - 1)]}
        for row, accuracies in zip(tables.labelled(frame).itertuples(), stages, strict=True)
        for layer in range(n_layers)
    ]  # fmt: skip
    rows = tables.means(tables.pd.DataFrame(long), ["set", "method", "layer"], ["accuracy"])
    # Methods without layers get no band: it would cover the whole panel.
    spread = rows.groupby(["set", "method"])["accuracy"].transform("nunique") > 1
    rows["accuracy_std"] = rows["accuracy_std"].where(spread)
    quantities = {"accuracy": "test accuracy (%)"}
    figure, axes = pictures.curves(rows, "layer", quantities, heights=[2.8], width=2.5)
    for axis in axes[-1]:
        axis.set(xlabel="layers", xticks=range(1, n_layers + 1))
    caption = (
        "Test accuracy of the first layers of each model together; models without layers are "
        f"level; {pictures.seeds_of(rows)}."
    )
    pictures.save(figure, options, "accuracy-over-layers", caption)


def draw_shares(frame, options):
    """Draw accuracies on shares of the training rows, and below by how much one is ahead."""
    rows = frame if "ahead" in frame else ahead(frame)
    rows = rows[rows.groupby("set")["method"].transform("nunique") > 1]
    if rows.empty:
        raise SystemExit("no set with shares of two methods, of which one may be ahead")
    rows = rows.assign(share=100 * rows["fraction"])
    quantities = {"accuracy": "test accuracy (%)", "ahead": f"{compared(rows)} ahead by\n(points)"}
    figure, axes = pictures.curves(rows, "share", quantities, heights=[3.0, 2.2], width=3.0)
    for above, below in axes.T:
        shares = rows["share"].unique()
        above.set_xscale("log")
        below.set_xticks(shares, [f"{share:g}" for share in shares])
        below.minorticks_off()
        below.set_xlabel("share of the training set (%)")
    caption = (
        f"For each seed the same stratified subsets for all methods; {pictures.seeds_of(rows)}; "
        "below of one standard error of the paired difference."
    )
    pictures.save(figure, options, "small-sample", caption)


study = Study(
    globals(), "uci", keys, own=True, suite="bundled", datasets=[], methods=[],
    known={"methods": list(models.METHODS)},
    ablations=False, seeds=None, n_estimators=100, n_layers=None, rounds=None, fractions=[],
    metric=["accuracy"],
    checks={"suite": list(SUITES), "metric": scores.of_task("classification"),
            "fractions": cli.share},
    quick={"n_estimators": 20, "rounds": 50, "seeds": 1},
)  # fmt: skip
parse = study.parse
main = study.main

if __name__ == "__main__":
    raise SystemExit(main())
