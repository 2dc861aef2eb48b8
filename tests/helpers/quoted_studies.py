"""Figures of pages that repeat papers or test their claims, from measured tables.

Each function lists the quotes of one page. If a table is measured again and a test fails, correct
the sentence on the page. If the sentence is written anew, change its quote here.
"""

import re
from collections.abc import Callable

from quotes import Quote, Table, figures, number, quote, table, value


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
        """By how many percent a layer lowers the ratio of the layer before."""
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


def deep_forests() -> list[Quote]:
    means = table("deep-forests.md", "## Means by condition")
    relatives = ("gcForestCS", "DBC-Forest", "AWDF", "mdDF", "mdDF-paper", "mdDF-mean-margin")
    conditions = ("clean", "flipped", "small")

    def lead(method: str, condition: str) -> float:
        ours, base = (means.at(condition, name, "accuracy") for name in (method, "gcForest"))
        return ours - base

    for condition in (*conditions, "scanned"):
        for column, best in (("accuracy", max), ("log-loss", min)):
            scores = means.numbers(column, condition)
            assert means.at(condition, "deep-forest", column) == best(scores)
    layers = means.numbers("layers", "clean")
    assert means.at("clean", "mdDF", "layers") == max(layers)
    assert means.at("clean", "mdDF", "megabytes") == max(means.numbers("megabytes", "clean"))
    noisy = [lead(method, "flipped") for method in ("AWDF", "mdDF")]
    times = [
        means.at(condition, "deep-forest", "fit s") / means.at(condition, "gcForest", "fit s")
        for condition in (*conditions, "scanned")
    ]
    return [
        quote(
            "change accuracy by at most {} points",
            max(abs(lead(name, condition)) for name in relatives for condition in conditions),
        ),
        quote(
            "(smallest p {})",
            min(
                means.at(condition, name, "Holm p against gcForest")
                for name in relatives
                for condition in conditions
            ),
        ),
        quote(
            "takes {} µs a row against {} of gcForest",
            *(means.at("clean", n, "prediction µs a row") for n in ("gcForestCS", "gcForest")),
        ),
        quote(
            "(p {} on clean labels)", means.at("clean", "deep-forest", "Holm p against gcForest")
        ),
        quote(
            "A fit takes {} to {} times as long as one of gcForest, and {} times",
            min(times[:3]),
            max(times[:3]),
            times[3],
        ),
        quote("ahead of gcForest by {} points", sum(noisy) / len(noisy)),
        quote(
            "is {} points behind gcForest on clean labels, {} with wrong ones",
            -lead("random-forest", "clean"),
            -lead("random-forest", "flipped"),
        ),
        *_df21(),
        quote(
            "keeps most layers ({} against {})",
            *(means.at("clean", name, "layers") for name in ("mdDF", "gcForest")),
        ),
    ]


def thesis() -> list[Quote]:
    ratios = table("thesis.md", "## Margin ratios")
    reweighted = table("thesis.md", "## Accuracy of the reweighting")
    cascades = table("thesis.md", "## Accuracy against gcForest")
    layers = table("thesis.md", "## Layer by layer")
    conditions, noiseless = ("clean", "flipped", "small"), ("clean", "small")
    combinations = ("simplex", "mean-margin", "equal", "last-layer")
    optimised = ("simplex", "mean-margin")

    def counts(
        column: str, rows: str, conditions: tuple[str, ...], combinations: tuple[str, ...]
    ) -> list[float]:
        """Sets on which the full reweighting moves the ratio in one direction."""
        return [
            ratios.at(condition, combination, rows, "1", column)
            for condition in conditions
            for combination in combinations
        ]

    train = counts("lower", "train", conditions, optimised)
    out_of_fold = counts("higher", "oof", noiseless, combinations)
    test = counts("higher", "test", conditions, combinations)
    near_zero = [("flipped", combination, "test", "near-zero") for combination in combinations]
    n_lower = [ratios.at(*row, "lower") for row in near_zero]
    last_layer = [
        cascades.at(condition, "1", "last-layer", "all-layers", "gcForest")
        - cascades.at(condition, "1", "last-layer", "all-layers", "mean")
        for condition in noiseless
    ]
    combined = ("flipped", "none", "mean-margin", "all-layers")
    changes = [
        abs(number(row[reweighted.columns.index("median change")]))
        for row in reweighted.rows
        if row[2] == "near-zero"
    ]
    return [
        quote("own training rows falls on {} to {} of 21 sets", min(train), max(train)),
        quote("rises out-of-fold on {} to {} of 21 sets", min(out_of_fold), max(out_of_fold)),
        quote("On test rows it rises on {} to {} of 21 sets", min(test), max(test)),
        quote(
            "(median {} to {} on the simplex)",
            ratios.at("flipped", "simplex", "train", "1", "without"),
            ratios.at("flipped", "simplex", "train", "1", "median ratio"),
        ),
        quote(
            "falls from {} after one layer to {} after five",
            *(layers.at("clean", "simplex", "none", n, "test ratio") for n in ("1", "5")),
        ),
        quote(
            "(smallest p {}, for the worse",
            min(
                number(row[reweighted.columns.index("Holm p")])
                for row in reweighted.rows
                if row[2] != "near-zero"
            ),
        ),
        quote("loses {} points on clean labels and {} on 100 rows", *last_layer),
        quote(
            "have {} % against {} % of gcForest (better on {} sets, worse on {}, Holm p {})",
            *(
                cascades.at(*combined, c)
                for c in ("mean", "gcForest", "better", "worse", "Holm p")
            ),
        ),
        quote("test rows on {} to {} of 21 sets", min(n_lower), max(n_lower)),
        quote("(at most {} points in the median)", max(changes)),
    ]


def representations() -> list[Quote]:
    page = "representations.md"
    logistic, logistic_pairs = table(page, "## Logistic"), table(page, "## Logistic", 1)
    knn, knn_pairs = table(page, "## Nearest"), table(page, "## Nearest", 1)
    clean = "100% labelled, 0% flipped"
    wrong = "100% labelled, 20% flipped"
    fifth = "20% labelled, 0% flipped"
    some_wrong = "20% labelled, 20% flipped"
    few_wrong = "5% labelled, 20% flipped"

    def change(scores: Table, name: str, condition: str) -> float:
        return abs(float(scores.row(name)[scores.columns.index(condition)].split(" ±")[0]))

    later = [
        f"{part}-{layer} - {part}-1" for part in ("vectors", "leaves-layer") for layer in "23"
    ]
    is_significant = [
        cell.endswith("*")
        for scores in (logistic_pairs, knn_pairs)
        for name in later
        for cell in scores.row(name)[1:]
    ]
    gains = [row[0] for row in logistic.rows if any(c.startswith("+") and "*" in c for c in row)]
    assert gains == []
    vote = "leaves-random-deep - random-forest-itself"
    own_leaves = "leaves-layer-1 - vectors-1"
    relatives = "leaves-unsupervised - random-trees-embedding"
    for scores in (logistic_pairs, knn_pairs):
        assert max(change(scores, relatives, column) for column in scores.columns[1:]) < 1
    return [
        quote("leaves of a random forest add {} points", change(knn, "leaves-random-deep", clean)),
        quote(
            "its kernel {}; with one label in five wrong, they add {} and {}",
            change(knn, "kernel-random", clean),
            change(knn, "leaves-random-deep", wrong),
            change(knn, "kernel-random", wrong),
        ),
        quote(
            "is {} to {} points below the forest's own vote",
            change(logistic_pairs, vote, some_wrong),
            change(logistic_pairs, vote, wrong),
        ),
        quote(
            "They add {} points to logistic regression with all labels and {} to k-NN",
            change(logistic, "vectors-1", clean),
            change(knn, "vectors-1", clean),
        ),
        quote(
            "one in five wrong they lose {} and {}",
            change(logistic, "vectors-1", few_wrong),
            change(knn, "vectors-1", few_wrong),
        ),
        quote(
            "are then {} and {} points ahead of them",
            change(logistic_pairs, own_leaves, few_wrong),
            change(knn_pairs, own_leaves, few_wrong),
        ),
        quote("One of {} comparisons", len(is_significant) if sum(is_significant) == 1 else 0),
        quote("logistic regression loses {} points", change(logistic, "eforest", fifth)),
    ]


def eforest() -> list[Quote]:
    errors = table("eforest.md", "## Errors")
    more = table("eforest.md", "## With 20 000")

    def error(set_name: str, method: str, n_numbers: int, damage: str = "0%") -> float:
        return errors.at(set_name, method, str(n_numbers), damage, "mean squared error")

    for set_name in ("digits", "mnist"):
        for n_numbers in (10, 50, 100, 200, 500):
            codes = error(set_name, "unsupervised", n_numbers)
            assert error(set_name, "pca", n_numbers) < codes
            assert codes < error(set_name, "supervised", n_numbers)
    mnist = error("mnist", "unsupervised", 500)
    return [
        quote(
            "errors are {} and {} on MNIST, and {} and {} on digits",
            mnist,
            error("mnist", "supervised", 500),
            error("digits", "unsupervised", 500),
            error("digits", "supervised", 500),
        ),
        quote(
            "{} against {} with 500 numbers on MNIST, and {} against {} with 100",
            error("mnist", "pca", 500),
            mnist,
            error("mnist", "pca", 100),
            error("mnist", "unsupervised", 100),
        ),
        quote(
            "on digits rises from {} to {}, and on MNIST from {} to {}",
            error("digits", "unsupervised", 500),
            error("digits", "unsupervised", 500, "50%"),
            mnist,
            error("mnist", "unsupervised", 500, "50%"),
        ),
        quote(
            "error of {} on MNIST instead of {}",
            more.at("mnist", "unsupervised", "500", "0%", "mean squared error"),
            mnist,
        ),
    ]


def _df21() -> list[Quote]:
    """Sentences about DF21 on the page of deep forests."""
    means = table("deep-forests.md", "## DF21")
    conditions = ("clean", "flipped", "small")

    def behind(condition: str) -> float:
        ours, base = (means.at(condition, name, "accuracy") for name in ("DF21", "gcForest"))
        return base - ours

    def p(condition: str) -> float:
        return means.at(condition, "DF21", "Holm p against gcForest")

    times = [
        means.at(condition, "DF21", "fit s") / means.at(condition, "gcForest", "fit s")
        for condition in conditions
    ]
    return [
        quote(
            "by {} points with wrong labels and by {} on 100 rows (p {} and {})",
            behind("flipped"),
            behind("small"),
            p("flipped"),
            p("small"),
        ),
        quote("level on clean labels (p {})", p("clean")),
        quote("A fit took {} to {} times the CPU time", min(times), max(times)),
    ]


def multi_label() -> list[Quote]:
    ranks = table("multi-label.md", "## Mean ranks")
    measures = ("hamming-loss", "one-error", "coverage", "ranking-loss", "average-precision")
    published = [ranks.at("MLDF", name) for name in measures]
    for name, rank in zip(measures, published, strict=True):
        assert rank == max(ranks.numbers(name))
        assert ranks.at("MLDF-no-reuse", name) < rank
        assert ranks.at("binary-relevance", name) == min(ranks.numbers(name))
    for name in measures[:4]:
        assert ranks.at("MLDF-deep", name) < ranks.at("random-forest", name)
    assert ranks.at("MLDF-deep", "macro-AUC") == min(ranks.numbers("macro-AUC"))
    return [
        quote("Its mean rank is {} to {} of six methods", min(published), max(published)),
        quote(
            "(mean rank {} against {} without it)",
            *(ranks.at(name, "macro-AUC") for name in ("MLDF", "MLDF-no-reuse")),
        ),
        quote("is first by macro-AUC (mean rank {})", ranks.at("MLDF-deep", "macro-AUC")),
        quote(
            "A fit of MLDF takes {} s on the average of these sets, one forest {} s",
            *(ranks.at(name, "fit s") for name in ("MLDF", "random-forest")),
        ),
    ]


PAGES: dict[str, Callable[[], list[Quote]]] = {
    "docs/boosting-tables.md": boosting_tables,
    "docs/cascade-tables.md": cascade_tables,
    "docs/gallery.md": gallery,
    "docs/gallery-small-samples.md": gallery_small_samples,
    "docs/gallery-layer-features.md": gallery_layer_features,
    "docs/results/deep-forests.md": deep_forests,
    "docs/results/eforest.md": eforest,
    "docs/results/representations.md": representations,
    "docs/results/multi-label.md": multi_label,
    "docs/results/thesis.md": thesis,
}
