"""Figures of result pages on deep forests and their representations, from measured tables.

Each function lists the quotes of one page. If a table is measured again and a test fails, correct
the sentence on the page. If the sentence is written anew, change its quote here.
"""

from collections.abc import Callable

from quotes import Quote, Table, number, quote, table

CONDITIONS = ("clean", "flipped", "small")


def lead(means: Table, method: str, condition: str) -> float:
    """Accuracy of a method minus accuracy of gcForest, in percentage points."""
    ours, base = (means.at(condition, name, "accuracy") for name in (method, "gcForest"))
    return ours - base


def fit_ratio(means: Table, method: str, condition: str) -> float:
    """Fit time of a method, relative to gcForest."""
    ours, base = (means.at(condition, name, "fit s") for name in (method, "gcForest"))
    return ours / base


def deep_forests() -> list[Quote]:
    means = table("deep-forests.md", "## Means by condition")
    relatives = ("gcForestCS", "DBC-Forest", "AWDF", "mdDF", "mdDF-paper", "mdDF-mean-margin")
    for condition in (*CONDITIONS, "scanned"):
        for column, best in (("accuracy", max), ("log-loss", min)):
            scores = means.numbers(column, condition)
            assert means.at(condition, "deep-forest", column) == best(scores)
    layers = means.numbers("layers", "clean")
    assert means.at("clean", "mdDF", "layers") == max(layers)
    assert means.at("clean", "mdDF", "megabytes") == max(means.numbers("megabytes", "clean"))
    noisy = [lead(means, method, "flipped") for method in ("AWDF", "mdDF")]
    times = [fit_ratio(means, "deep-forest", c) for c in (*CONDITIONS, "scanned")]
    df21 = table("deep-forests.md", "## DF21")
    df21_times = [fit_ratio(df21, "DF21", condition) for condition in CONDITIONS]
    p = "Holm p against gcForest"
    return [
        quote(
            "change accuracy by at most {} points",
            max(
                abs(lead(means, name, condition)) for name in relatives for condition in CONDITIONS
            ),
        ),
        quote(
            "(smallest p {})",
            min(means.at(condition, name, p) for name in relatives for condition in CONDITIONS),
        ),
        quote(
            "takes {} µs a row against {} of gcForest",
            *(means.at("clean", n, "prediction µs a row") for n in ("gcForestCS", "gcForest")),
        ),
        quote("(p of at least {})", min(means.at(c, "deep-forest", p) for c in CONDITIONS)),
        quote(
            "A fit takes {} to {} times as long as one of gcForest, and {} times",
            min(times[:3]),
            max(times[:3]),
            times[3],
        ),
        quote("ahead of gcForest by {} points", sum(noisy) / len(noisy)),
        quote(
            "is {} points behind gcForest on clean labels, {} with wrong ones",
            -lead(means, "random-forest", "clean"),
            -lead(means, "random-forest", "flipped"),
        ),
        quote(
            "by {} points with wrong labels and by {} on 100 rows (p {} and {})",
            -lead(df21, "DF21", "flipped"),
            -lead(df21, "DF21", "small"),
            df21.at("flipped", "DF21", p),
            df21.at("small", "DF21", p),
        ),
        quote("level on clean labels (p {})", df21.at("clean", "DF21", p)),
        quote("A fit took {} to {} times the CPU time", min(df21_times), max(df21_times)),
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
    "docs/results/deep-forests.md": deep_forests,
    "docs/results/eforest.md": eforest,
    "docs/results/representations.md": representations,
    "docs/results/multi-label.md": multi_label,
    "docs/results/thesis.md": thesis,
}
