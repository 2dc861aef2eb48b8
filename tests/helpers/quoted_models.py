"""Figures of pages on single models, from measured tables.

Each function lists the quotes of one page. If a table is measured again and a test fails, correct
the sentence on the page. If the sentence is written anew, change its quote here.
"""

from collections.abc import Callable

from quotes import Copy, Quote, Table, figures, number, quote, table, value

KINDS_OF_ROWS = ("groups", "time")


def forests() -> list[Quote]:
    ratios = table("forest-speed.md").numbers("ratio")
    return [quote("fit [{} to {} times as fast](results/", min(ratios), max(ratios))]


def forest_engine() -> list[Quote]:
    page = "docs/results/forest-speed.md"
    text = (
        "One row of adult or letter takes {} to {} microseconds, of which scikit-learn's "
        "validation alone takes {}"
    )
    low, high, validation = map(value, figures(page, text))
    text = "two threads are {} times as fast as one on adult and letter, and {} times on MNIST"
    adult, mnist = map(value, figures(page, text))
    return [
        quote(
            "takes {} to {} microseconds, of which scikit-learn's validation takes {}: {} to {} "
            "microseconds remain",
            low,
            high,
            validation,
            low - validation,
            high - validation,
        ),
        quote(
            "Two threads are {} times as fast as one on adult and letter, and {} times on MNIST",
            adult,
            mnist,
        ),
    ]


def groups_and_time() -> list[Quote]:
    summary = table("dependent-rows.md")

    def claimed(kind: str, method: str) -> float:
        return summary.at(kind, method, "claimed / true")

    peers = [100 * (summary.at(kind, "CatBoost", "loss / honest") - 1) for kind in KINDS_OF_ROWS]
    return [
        quote(
            "the out-of-fold loss with `groups` is {} of the loss on new groups; without `groups` "
            "it is {}",
            claimed("groups", "honest folds"),
            claimed("groups", "random folds"),
        ),
        quote(
            "the shares are {} with `TimeOrder` and {} without",
            claimed("time", "honest folds"),
            claimed("time", "random folds"),
        ),
        quote("CatBoost has {} % and {} % more loss than the deep forest", *peers),
    ]


def target_leakage() -> list[Quote]:
    comparison = table("comparison.md")
    return [
        quote(
            "The AUC of DeepBoost then falls from {} to {}",
            comparison.at("bank", "DeepBoost", "AUC"),
            comparison.at("bank-no-duration", "DeepBoost", "AUC"),
        )
    ]


def cascades() -> list[Quote]:
    fits = table("cascade-speed.md").numbers("times (8)")
    return [quote("fits {} to {} times as fast as the same layers built", min(fits), max(fits))]


def explaining() -> list[Quote]:
    noise = table("explain.md", "Where importances rank")
    return [
        quote(
            "which have it {}th of {}",
            noise.at("breast_cancer", "forest", "permutation", "rank of the noise"),
            noise.at("breast_cancer", "forest", "permutation", "features"),
        )
    ]


def onnx() -> list[Quote]:
    forest = table("export.md").row("digits", "forest")
    columns = table("export.md").columns
    return [
        quote(
            "a single row of digits takes a forest {} µs instead of {} µs",
            number(forest[columns.index("ONNX us, one row")]),
            number(forest[columns.index("Python us, one row")]),
        )
    ]


PAGES: dict[str, Callable[[], list[Quote]]] = {
    "docs/forests.md": forests,
    "docs/forest-engine.md": forest_engine,
    "docs/groups-and-time.md": groups_and_time,
    "docs/target-leakage.md": target_leakage,
    "docs/cascades.md": cascades,
    "docs/explaining.md": explaining,
    "docs/onnx.md": onnx,
}


def export_tables() -> list[Table]:
    return [table("export.md"), table("export.md", "The same of deep forests")]


EXPORTED = [
    "pickle MB",
    "ONNX MB",
    *("Python us, one row", "ONNX us, one row"),
    *("Python us, many rows", "ONNX us, many rows"),
]
COPIES = [
    Copy(
        page="docs/how-good.md",
        after="## Ratings",
        source=lambda: [table("elo.md")],
        columns={c: c for c in table("elo.md").columns[1:]},
    ),
    Copy(
        page="docs/rare-classes.md",
        after="[all figures]",
        source=lambda: [table("imbalance.md")],
        columns={
            "AUC": "AUC",
            "log-loss": "log-loss",
            "F1 at 0.5": "F1 at 0.5",
            "F1 at the threshold chosen": "F1",
        },
        prefix=("carclaims",),
    ),
    Copy(
        page="docs/explaining-rows.md",
        after="## Through the layers of a cascade",
        source=lambda: [table("explain.md")],
        columns={"correlation": "correlation", "relative error": "relative error"},
        labels=3,
    ),
    Copy(
        page="docs/explaining.md",
        after="A column of noise was added",
        source=lambda: [table("explain.md", "Where importances rank")],
        columns={"rank of the noise of 15": "rank of the noise", "first three": "first three"},
        labels=2,
        prefix=("adult",),
    ),
    Copy(
        page="docs/onnx-measured.md",
        after="The following figures are of sets",
        source=export_tables,
        columns={name: name for name in EXPORTED},
        labels=2,
    ),
]
