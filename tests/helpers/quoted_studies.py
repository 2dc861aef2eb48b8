"""Figures of the gallery and of pages that repeat tables of papers, from measured tables.

Each function lists the quotes of one page. If a table is measured again and a test fails, correct
the sentence on the page. If the sentence is written anew, change its quote here.
"""

import re
from collections.abc import Callable

from quotes import Quote, figures, number, quote, table, value


def boosting_tables() -> list[Quote]:
    comparison = table("comparison.md")
    sets = ("bank", "bank-no-duration", "carclaims")
    fits = [
        comparison.at(name, "DeepBoost", "fit s") / comparison.at(name, "AdaBoost", "fit s")
        for name in sets
    ]
    ahead = all(
        comparison.at(name, "DeepBoost", "AUC") > comparison.at(name, "AdaBoost", "AUC")
        for name in sets
    )
    assert ahead
    worse = [
        name
        for name in sets
        if comparison.at(name, "DeepBoost", "error %") > comparison.at(name, "AdaBoost", "error %")
    ]
    assert worse == ["bank-no-duration", "carclaims"]
    published = [
        comparison.at("bank", "DeepBoost", "published s")
        / comparison.at("bank", "AdaBoost", "published s"),
        *(
            value(b) / value(a)
            for a, b in [figures("docs/results/comparison.md", "in {} and {} s")]
        ),
    ]
    quadboost = table("quadboost.md", "Table 1")
    times = {name: quadboost.at("mean_running_time_s", name) for name in quadboost.columns[1:]}
    pairs = table("quadboost.md", "Table 2")
    probabilities = [number(cell) for row in pairs.rows for cell in row[1:]]
    assert max(probabilities) == pairs.at("LPBoost", "AdaBoost")
    return [
        quote(
            "it takes {} to {} times the fit time of AdaBoost instead of {} to {} times",
            min(fits),
            max(fits),
            min(published),
            max(published),
        ),
        quote(
            "the AUC of DeepBoost on bank falls from {} to {}",
            comparison.at("bank", "DeepBoost", "AUC"),
            comparison.at("bank-no-duration", "DeepBoost", "AUC"),
        ),
        quote("The highest probability is {}, for LPBoost", max(probabilities)),
        quote("LPBoost {} times as long as AdaBoost", times["LPBoost"] / times["AdaBoost"]),
        quote(
            "plain QuadBoost a {}th of AdaBoost's time",
            round(times["AdaBoost"] / times["QuadBoost"], -1),
        ),
        quote(
            "which a vote of stumps nearly separates ({})", quadboost.at("tictactoe", "AdaBoost")
        ),
    ]


def cascade_tables() -> list[Quote]:
    scores = table("uci-paper.md")
    leads = [scores.at(row[0], "mdDF") - scores.at(row[0], "gcForest") for row in scores.rows]
    mnist = scores.row("MNIST")[scores.columns.index("mdDF")]
    published = float(re.search(r"\((\d+\.\d+)\)", mnist)[1])
    speed = table("cascade-speed.md")
    fits, predictions = speed.numbers("times (8)"), speed.numbers("times (4.5)")
    assert min(speed.numbers("times (5)")) > 9
    differences = [
        number(row[speed.columns.index("accuracy %")])
        - number(row[speed.columns.index("scikit-learn")])
        for row in speed.rows
    ]
    ratios = table("settings.md", "Margin ratio")
    return [
        quote("its lead over gcForest is {} to {} points", min(leads), max(leads)),
        quote("mdDF stays {} points below the published {}", published - number(mnist), published),
        quote("Fits are {} (MNIST) to {} times (satimage) as fast", min(fits), max(fits)),
        quote("predictions {} to {} times, and", min(predictions), max(predictions)),
        quote("scikit-learn's forests by {} to {} points", min(differences), max(differences)),
        quote(
            "(`strength=1` against the default: MNIST {} against {}, adult {} against {})",
            *(
                ratios.at(setting, name)
                for name in ("MNIST", "adult")
                for setting in ("`strength=1`", "mdDF, defaults")
            ),
        ),
    ]


def gallery() -> list[Quote]:
    layers = table("layers.md")

    def at(name: str, method: str, layer: int, column: str) -> float:
        return layers.at(name, method, str(layer), column)

    def through(name: str, *columns: str) -> list[float]:
        return [at(name, "mdDF", layer, column) for column in columns for layer in (1, 6)]

    def largest(name: str, column: str) -> float:
        return max(at(name, "gcForest", layer, column) for layer in range(2, 7))

    def later(name: str, method: str) -> list[float]:
        return [at(name, method, layer, "test") for layer in range(2, 7)]

    trained = {
        method: min(min(layers.numbers("train", name, method)) for name in ("satimage", "letter"))
        for method in ("mdDF", "gcForest")
    }
    return [
        quote(
            "mdDF's mean margin goes from {} to {}, its standard deviation from {} to {}, the "
            "ratio from {} to {}, and test accuracy from {} to {} %",
            *through("letter", "margin mean", "std", "ratio", "test"),
        ),
        quote(
            "mean {} to {}, standard deviation {} to {}, ratio {} to {}, test accuracy {} to {} %",
            *through("satimage", "margin mean", "std", "ratio", "test"),
        ),
        quote(
            "training rows is {} % or more for mdDF, and {} % or more for gcForest",
            trained["mdDF"],
            trained["gcForest"],
        ),
        quote(
            "larger mean margins (up to {} and {})",
            largest("satimage", "margin mean"),
            largest("letter", "margin mean"),
        ),
        quote(
            "their spread grows (to {} and {})",
            largest("satimage", "std"),
            largest("letter", "std"),
        ),
        quote(
            "difference on letter ({} against {} to {} %)",
            at("letter", "mdDF", 6, "test"),
            min(later("letter", "gcForest")),
            max(later("letter", "gcForest")),
        ),
        quote(
            "none on satimage ({} against {} to {} %)",
            at("satimage", "mdDF", 6, "test"),
            min(later("satimage", "gcForest")),
            max(later("satimage", "gcForest")),
        ),
        quote(
            "is behind on both sets ({} and {} %)",
            at("letter", "mdDF NP", 6, "test"),
            at("satimage", "mdDF NP", 6, "test"),
        ),
        quote(
            "behind at the last layer ({} and {} %)",
            at("letter", "mdDF SF", 6, "test"),
            at("satimage", "mdDF SF", 6, "test"),
        ),
        quote(
            "are behind on satimage ({} %) and nearly as good on letter ({} %)",
            at("satimage", "mdDF ST", 6, "test"),
            at("letter", "mdDF ST", 6, "test"),
        ),
        quote(
            "falls from {} % at two layers to {} at six",
            at("letter", "mdDF", 2, "out-of-fold"),
            at("letter", "mdDF", 6, "out-of-fold"),
        ),
    ]


def gallery_small_samples() -> list[Quote]:
    samples = table("small-sample.md")
    names = [row[0] for row in samples.rows]
    sets = {"satimage": range(7), "letter": range(7, 14), "mnist": range(14, 21)}
    assert all(names[rows[0]] == name for name, rows in sets.items())

    def lead(name: str, column: str, place: int) -> float:
        return number(samples.rows[sets[name][place]][samples.columns.index(column)])

    forest, xgboost, gcforest = ("mdDF minus RandomForest", "minus XGBoost", "minus gcForest")
    satimage = [lead("satimage", forest, place) for place in range(7)]
    letter = [lead("letter", forest, place) for place in range(3, 7)]
    against_gcforest = samples.numbers(gcforest)
    assert sum(gain < 0 for gain in against_gcforest) == 1
    return [
        quote(
            "about {}, 4.5 and {} points on the smallest subsets",
            lead("satimage", xgboost, 0),
            lead("mnist", xgboost, 0),
        ),
        quote(
            "to 1 % of them ({} to {} points)", lead("mnist", forest, 6), lead("mnist", forest, 0)
        ),
        quote("the lead is {} to {} points at every size", min(satimage), max(satimage)),
        quote("mdDF leads by {} to {} points from 1600 rows on", min(letter), max(letter)),
        quote(
            "is behind by {} and {} points on 322 and 156 rows",
            -lead("letter", forest, 1),
            -lead("letter", forest, 0),
        ),
        quote(
            "(10 % of satimage), by {} to {} points",
            min(g for g in against_gcforest if g > 0),
            max(against_gcforest),
        ),
    ]


def gallery_layer_features() -> list[Quote]:
    features = table("layer-features.md")
    gains = {
        (row[0], model): features.at(row[0], f"{model}, layer")
        - features.at(row[0], f"{model}, raw")
        for row in features.rows
        for model in ("linear", "kNN")
    }
    knn = [
        gain for (name, model), gain in gains.items() if model == "kNN" and name != "breast_cancer"
    ]
    planes = table("tsne.md")

    def less(name: str, part: str, layer: int) -> float:
        """Percentage by which a layer decreases the ratio of the previous layer."""
        before, after = (planes.at(name, part, f"layer {i}") for i in (layer - 1, layer))
        return 100 * (1 - after / before)

    second = [less("satimage", f"{part}, features", 2) for part in ("train", "test")]
    third = [less(name, "test, features", 3) for name in ("satimage", "letter", "optdigits")]
    return [
        quote("(satimage: {} to {} % less)", min(second), max(second)),
        quote("takes off another {} to {} % on test rows", min(third), max(third)),
        quote(
            "The linear model gains {} points on satimage, {} on yeast, {} on optdigits and {} on "
            "digits",
            *(gains[name, "linear"] for name in ("satimage", "yeast", "optdigits", "digits")),
        ),
        quote(
            "the kNN gains {} to {} points on all sets except breast_cancer", min(knn), max(knn)
        ),
    ]


PAGES: dict[str, Callable[[], list[Quote]]] = {
    "docs/boosting-tables.md": boosting_tables,
    "docs/cascade-tables.md": cascade_tables,
    "docs/gallery.md": gallery,
    "docs/gallery-small-samples.md": gallery_small_samples,
    "docs/gallery-layer-features.md": gallery_layer_features,
}
