"""Figures that README and the pages of docs quote from measured tables.

Each function lists the quotes of one page. If a table is measured again and a test fails, correct
the sentence on the page. If the sentence is written anew, change its quote here.
"""

import re
from collections.abc import Callable

from quotes import (
    Copy,
    Quote,
    Table,
    below_best,
    figures,
    geometric_mean,
    number,
    over_best,
    quote,
    table,
    value,
)


def league_ranks() -> Table:
    return table("league.md", "Mean ranks of the nine")


def regression_ranks() -> Table:
    return table("league-regression.md", "## Mean ranks")


def league_costs() -> Table:
    return table("league.md", "Costs, means over the sets")


def log_losses() -> Table:
    return table("league.md", "Log-loss, mean of three splits")


RMSE = "RMSE (14 sets)"


def alternative_text() -> tuple[str, list[float]]:
    """The text in place of the picture of accuracy against cost, and its figures."""
    ranks, costs = league_ranks(), league_costs()
    methods = {
        "DeepForest (mddf)": "DeepForest",
        "CatBoost": "CatBoost",
        "random forest (scikit-learn)": "sklearn's forest",
        "LightGBM": "LightGBM",
        "XGBoost": "XGBoost",
    }
    parts = ", ".join(f"{name} rank {{}} at {{}} s" for name in methods)
    figures = [
        figure
        for method in methods.values()
        for figure in (ranks.at(method, "log-loss"), costs.at(method, "fit, s"))
    ]
    return f"![Mean rank by log-loss against the time of a fit: {parts}]", figures


def readme() -> list[Quote]:
    speed = table("forest-speed.md")
    ratios = speed.numbers("ratio")
    bundled = table("uci-bundled.md", "accuracy, %").without("mean rank")
    others = [name for name in bundled.columns[1:-1] if name != "DeepForest"]
    best = [
        bundled.at(row[0], "DeepForest") - max(bundled.at(row[0], name) for name in others)
        for row in bundled.rows
    ]
    assert all(ahead >= 0 for ahead in best)
    text, figures_of_text = alternative_text()
    quotes = [
        quote("fit [{} to {} times](docs/results/forest-speed.md)", min(ratios), max(ratios)),
        quote("highest accuracy [on all {}](docs/results/uci-bundled.md)", len(best)),
        quote("shared on {} of them", sum(ahead == 0 for ahead in best)),
        quote("[{} data sets](docs/results/league.md)", len(log_losses().rows)),
        quote(
            "[{} data sets for regression]",
            len(table("league-regression.md", "## RMSE").rows) - 1,
        ),
        quote(text, *figures_of_text),
    ]
    ranks, rmse, costs = league_ranks(), regression_ranks(), league_costs()
    names = {
        "**DeepForest**": "DeepForest",
        "mdDF (in mddf)": "mdDF",
        "random forest (scikit-learn)": "sklearn's forest",
        "extra trees (scikit-learn)": "ExtraTrees",
    }
    shown = table("README.md", "## How good is it?")
    assert [names.get(row[0], row[0]) for row in shown.rows] == [row[0] for row in ranks.rows]
    for row in shown.rows:
        method = names.get(row[0], row[0])
        values = [ranks.at(method, "accuracy, %"), ranks.at(method, "log-loss")]
        values += [rmse.at(method, RMSE)] if row[3] else []
        values += [costs.at(method, "fit, s")] if row[4] else []
        cells = " | ".join("{}" if cell else "" for cell in row[1:])
        quotes.append(quote(f"| {row[0]} | {cells} |", *values))
    return quotes


def index() -> list[Quote]:
    ranks, rmse = league_ranks(), regression_ranks()
    text, figures_of_text = alternative_text()
    return [
        quote(
            "by log-loss](results/league.md) is {} on {} data sets; CatBoost has {}",
            ranks.at("DeepForest", "log-loss"),
            len(log_losses().rows),
            ranks.at("CatBoost", "log-loss"),
        ),
        quote(
            "(results/league-regression.md) is {} on {} data sets; CatBoost has {}",
            rmse.at("DeepForest", RMSE),
            len(table("league-regression.md", "## RMSE").rows) - 1,
            rmse.at("CatBoost", RMSE),
        ),
        quote(text, *figures_of_text),
    ]


def commands() -> list[Quote]:
    return [quote("same on {} sets, with more methods", len(log_losses().rows))]


def how_good() -> list[Quote]:
    ratings, by_set = table("elo.md"), table("elo.md", "Losses are 1 - AUC")
    fast = [
        row[0]
        for row in by_set.rows
        if by_set.at(row[0], "deep-forest-fast") < by_set.at(row[0], "deep-forest")
    ]
    assert [name.partition("-")[0] for name in fast] == [
        "blood",
        "website_phishing",
        "german",
        "Another",
        "pima",
    ]
    of_best = {row[0]: by_set.at(row[0], "of best") for row in by_set.rows}
    assert [name for name, ratio in of_best.items() if ratio > 1] == list(of_best)[:4]
    blood, phishing, german, fiat = list(of_best.values())[:4]
    losses = over_best(log_losses(), "DeepForest")
    ordered = sorted(losses, key=losses.get, reverse=True)
    assert ordered[:7] == ["wine", "iris", "zoo", "glass", "monks-3", "monks-2", "hepatitis"]
    assert sorted(ordered[7:]) == ["breast-ljubljana", "titanic", "vote"]
    assert max(losses[name] for name in ordered[7:]) < 1.003
    accuracy = below_best(table("league.md", "Accuracy, %, mean"), "DeepForest")
    assert max(accuracy, key=accuracy.get) == "bupa"
    regression = table("league-regression.md", "## RMSE")
    assert set(over_best(regression, "DeepForest")) == {"auto-mpg", "student-mat"}
    auto, student = (
        {
            name: 100 * (regression.at(set_name, "DeepForest") / regression.at(set_name, name) - 1)
            for name in regression.columns[1:]
        }
        for set_name in ("auto-mpg", "student-mat")
    )
    assert [name for name, gain in auto.items() if gain > 0] == ["ExtraTrees", "CatBoost"]
    assert [name for name, gain in student.items() if gain > 0] == ["sklearn's forest"]
    large = table("league.md", "Large sets")
    adult = large.rows[1]
    assert adult[0] == "log-loss"
    stack = table("autogluon-stack.md")
    ranks, rmse = league_ranks(), regression_ranks()
    costs = league_costs()
    assert 5 < costs.at("CatBoost", "fit, s") / costs.at("DeepForest", "fit, s") < 7
    assert 8 < costs.at("DeepForest", "fit, s") / costs.at("LightGBM", "fit, s") < 12
    return [
        quote(
            "lower loss on {} of the {} sets below, and the higher", len(fast), len(by_set.rows)
        ),
        quote("On {} of the eight sets below, gradient boosting", 4),
        quote("is {} times the least one on blood-transfusion", blood),
        quote(
            "{} times on website phishing, {} times on german and {} times on Fiat",
            phishing,
            german,
            fiat,
        ),
        quote("method on {} of {} sets ([league]", len(losses), len(log_losses().rows)),
        quote(
            "wine ({} times the least log-loss), iris ({}), zoo ({}), glass ({}), monks-3 ({}), "
            "monks-2 ({}), hepatitis ({})",
            *(losses[name] for name in ordered[:7]),
        ),
        quote(
            "method on {} of {} sets, by at most {} points (bupa)",
            len(accuracy),
            len(log_losses().rows),
            max(accuracy.values()),
        ),
        quote(
            "CatBoost is {} % and ExtraTrees {} % better on auto-mpg",
            auto["CatBoost"],
            auto["ExtraTrees"],
        ),
        quote("random forest is {} % better on student-mat", student["sklearn's forest"]),
        quote(
            "the log-loss is {}; CatBoost has {} and LightGBM {}",
            *(
                number(adult[large.columns.index(n)])
                for n in ("DeepForest", "CatBoost", "LightGBM")
            ),
        ),
        quote(
            "Its loss is {} % higher in the mean",
            100
            * (
                ratings.at("boosting", "loss/catboost-bag")
                / ratings.at("deep-forest", "loss/catboost-bag")
                - 1
            ),
        ),
        quote(
            "nine methods, log-loss | {} | CatBoost, {} |",
            ranks.at("DeepForest", "log-loss"),
            ranks.at("CatBoost", "log-loss"),
        ),
        quote(
            "the same, accuracy | {} | CatBoost, {} |",
            ranks.at("DeepForest", "accuracy, %"),
            ranks.at("CatBoost", "accuracy, %"),
        ),
        quote(
            "seven methods, RMSE | {} | CatBoost, {} |",
            rmse.at("DeepForest", RMSE),
            rmse.at("CatBoost", RMSE),
        ),
        quote("stack of trees is {} times its own loss", stack.at("with-mddf", "loss/own")),
        quote("alone has {} times the loss", stack.at("deep-forest", "loss/own")),
    ]


def boosted_trees() -> list[Quote]:
    ranks = table("boosted-trees.md", "Mean ranks of the five")
    costs = table("boosted-trees.md", "Seconds, mean")
    rmse = over_best(table("boosted-trees.md", "RMSE, mean"), "GradientBoosting")
    classes = table("boosted-trees.md", "Mean ranks of the five", place=3)
    assert "accuracy, % (20 sets)" in classes.columns
    speed = table("boosted-trees.md", "## Speed")
    assert min(speed.numbers("ratio")) > 1  # of fits
    assert min(float(row[-1]) for row in speed.rows) > 1  # of predictions
    others = ("HistGradientBoosting", "LightGBM", "XGBoost")
    by_rmse = [ranks.at(name, RMSE) for name in others]
    by_loss = [classes.at(name, "log-loss (20 sets)") for name in others]
    accuracy = classes.numbers("accuracy, % (20 sets)")[:-1]
    assert classes.at("CatBoost", "accuracy, % (20 sets)") == min(accuracy)
    seconds = [costs.at(name, "fit, s") for name in others]
    return [
        quote(
            "the mean rank by RMSE is {}; CatBoost has {}, and HistGradientBoosting, LightGBM and "
            "XGBoost have {} to {}",
            ranks.at("GradientBoosting", RMSE),
            ranks.at("CatBoost", RMSE),
            min(by_rmse),
            max(by_rmse),
        ),
        quote(
            "A fit takes {} s; CatBoost takes {} s, and the others take {} to {} s",
            costs.at("GradientBoosting", "fit, s"),
            costs.at("CatBoost", "fit, s"),
            min(seconds),
            max(seconds),
        ),
        quote(
            "CatBoost is better on {} sets, by at most {} %",
            len(rmse),
            100 * (max(rmse.values()) - 1),
        ),
        quote(
            "the mean rank by log-loss is {}; CatBoost has {}, and the others have {} to {}",
            classes.at("GradientBoosting", "log-loss (20 sets)"),
            classes.at("CatBoost", "log-loss (20 sets)"),
            min(by_loss),
            max(by_loss),
        ),
    ]


def guide() -> list[Quote]:
    ratings = table("elo.md", "## The best preset")
    by_set = table("elo.md", "## The best preset", place=1)
    ratios = [
        by_set.at(row[0], "deep-forest-best") / by_set.at(row[0], "deep-forest")
        for row in by_set.rows
    ]
    cost = ratings.at("deep-forest-best", "CPU, s") / ratings.at("deep-forest", "CPU, s")
    return [
        quote('`preset="best"` takes {} times the CPU time', cost),
        quote(
            "On {} sets its loss is lower on {} and higher on {}, and {} % higher in the mean",
            len(ratios),
            sum(r < 1 for r in ratios),
            sum(r > 1 for r in ratios),
            100 * (geometric_mean(ratios) - 1),
        ),
    ]


def forest_pages() -> list[Quote]:
    ratios = table("forest-speed.md").numbers("ratio")
    return [quote("fit [{} to {} times as fast](results/", min(ratios), max(ratios))]


def forests() -> list[Quote]:
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


def boosting() -> list[Quote]:
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


def few_rows() -> list[Quote]:
    coverage = table("few-rows-coverage.md")
    groups, regression = "20 groups of 4 rows", "regression, 20 groups of 4 rows"
    low = [coverage.at(design, "0.90", "5 % quantile") for design in (groups, regression)]
    assert max(low) < 0.78
    return [
        quote("at most about {} % of the rows are covered", 100 * sum(low) / len(low)),
        quote(
            "its mean with 20 groups is {} in classification and {} in regression",
            coverage.at(groups, "0.98", "mean"),
            coverage.at(regression, "0.98", "mean"),
        ),
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


def cascade_pages() -> list[Quote]:
    fits = table("cascade-speed.md").numbers("times (8)")
    return [quote("fits {} to {} times as fast as the same layers built", min(fits), max(fits))]


def cascades() -> list[Quote]:
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


def explaining() -> list[Quote]:
    noise = table("explain.md", "Where importances rank")
    return [
        quote(
            "which have it {}th of {}",
            noise.at("breast_cancer", "forest", "permutation", "rank of the noise"),
            noise.at("breast_cancer", "forest", "permutation", "features"),
        )
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
    trained = {
        method: min(min(layers.numbers("train", name, method)) for name in ("satimage", "letter"))
        for method in ("mdDF", "gcForest")
    }
    planes = table("tsne.md")

    def less(name: str, part: str, layer: int) -> float:
        """By how many percent a layer lowers the ratio of the layer before."""
        before, after = (planes.at(name, part, f"layer {i}") for i in (layer - 1, layer))
        return 100 * (1 - after / before)

    second = [less("satimage", f"{part}, features", 2) for part in ("train", "test")]
    third = [less(name, "test, features", 3) for name in ("satimage", "letter", "optdigits")]
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
        quote("(satimage: {} to {} % less)", min(second), max(second)),
        quote("takes off another {} to {} % on test rows", min(third), max(third)),
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
        quote(
            "The linear model gains {} points on satimage, {} on yeast, {} on optdigits and {} on "
            "digits",
            *(gains[name, "linear"] for name in ("satimage", "yeast", "optdigits", "digits")),
        ),
        quote(
            "the kNN gains {} to {} points on all sets except breast_cancer", min(knn), max(knn)
        ),
    ]


def ablations() -> list[Quote]:
    losses = table("deep-forest-ablations.md", "Log-loss")
    accuracy = table("deep-forest-ablations.md", "Accuracy")
    costs = table("deep-forest-ablations.md", "Costs")
    for scores in (losses, accuracy):
        ranks = scores.rows[-1]
        assert max(map(number, ranks[1:])) == number(ranks[scores.columns.index("forests-only")])
    size = "pickle, bytes"
    return [
        quote(
            "car: without them the log-loss is {} instead of {}",
            losses.at("car", "no-boosting"),
            losses.at("car", "DeepForest"),
        ),
        quote(
            "balance: without them the log-loss is {} instead of {}",
            losses.at("balance", "no-network"),
            losses.at("balance", "DeepForest"),
        ),
        quote(
            "the log-loss of car is {} instead of {}",
            losses.at("car", "uncalibrated"),
            losses.at("car", "DeepForest"),
        ),
        quote(
            "makes models {} times as large",
            costs.at("folds-kept", size) / costs.at("DeepForest", size),
        ),
    ]


def league() -> list[Quote]:
    large = table("league.md", "Large sets")
    row = large.rows[1]
    ours, best = (number(row[large.columns.index(n)]) for n in ("DeepForest", "CatBoost"))
    return [quote("log-loss is {} % above CatBoost's", 100 * (ours / best - 1))]


def boosted_trees_results() -> list[Quote]:
    rmse = table("boosted-trees.md", "RMSE, mean").without("mean rank")
    behind = over_best(rmse, "GradientBoosting")
    losses = table("boosted-trees.md", "Log-loss, mean").without("mean rank")
    by_loss = over_best(losses, "GradientBoosting")

    def against(scores: Table, peer: str) -> float:
        rows = [row[0] for row in scores.rows]
        ratios = [scores.at(n, "GradientBoosting") / scores.at(n, peer) for n in rows]
        return geometric_mean(ratios)

    peers = ("CatBoost", "HistGradientBoosting", "LightGBM", "XGBoost")
    names = ("wine-uci", "glass", "hepatitis", "heart")
    assert sum(ratio >= 1.05 for ratio in by_loss.values()) == len(names)
    wine = losses.at("wine-uci", "GradientBoosting") / losses.at("wine-uci", "CatBoost")
    first, glass, hepatitis, heart = (by_loss[name] for name in names)
    return [
        quote(
            "auto-mpg, concrete, california, by {}, {} and {} %",
            *(100 * (behind[name] - 1) for name in ("auto-mpg", "concrete", "california")),
        ),
        quote("has {} of the RMSE of CatBoost in the geometric mean", against(rmse, "CatBoost")),
        quote(
            "is {} times CatBoost's in the geometric mean of the table's ratios, {} times "
            "HistGradientBoosting's, {} times LightGBM's and {} times XGBoost's",
            *(against(losses, peer) for peer in peers),
        ),
        quote("wine-uci ({} times {}, since HistGradientBoosting", first, 0.0103),
        quote(
            "{} times CatBoost's), glass ({}), hepatitis ({}) and heart ({})",
            wine,
            glass,
            hepatitis,
            heart,
        ),
    ]


def pretrained_networks() -> list[Quote]:
    losses = table("pretrained-networks.md")
    here = losses.at("random forest (scikit-learn), measured here", "loss/CatBoost")
    there = losses.at("random forest (scikit-learn)", "loss/CatBoost")
    rows = {
        "TabPFN-3": "TabPFN-3, pre-trained",
        "TabICLv2": "TabICLv2, pre-trained",
        "AutoGluon 1.4, best quality, up to 4 h": "AutoGluon 1.4, best quality, up to 4 h",
        "CatBoost, tuned and ensembled": "CatBoost, tuned and ensembled",
        "DeepForest": "DeepForest",
    }
    return [
        quote("has {} here and {} there", here, there),
        *(
            quote(f"\n| {shown} | {{}} |", losses.at(name, "loss/CatBoost"))
            for shown, name in rows.items()
        ),
    ]


def faq() -> list[Quote]:
    seconds = league_costs().at("DeepForest", "fit, s")
    return [quote("{} s in the mean over the {} data sets", seconds, len(log_losses().rows))]


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
    "README.md": readme,
    "docs/index.md": index,
    "docs/commands.md": commands,
    "docs/how-good.md": how_good,
    "docs/boosted-trees.md": boosted_trees,
    "docs/guide.md": guide,
    "docs/target-leakage.md": target_leakage,
    "docs/forests.md": forest_pages,
    "docs/forest-engine.md": forests,
    "docs/boosting-tables.md": boosting,
    "docs/few-rows.md": few_rows,
    "docs/cascades.md": cascade_pages,
    "docs/cascade-tables.md": cascades,
    "docs/explaining.md": explaining,
    "docs/faq.md": faq,
    "docs/onnx.md": onnx,
    "docs/pretrained-networks.md": pretrained_networks,
    "docs/gallery.md": gallery,
    "docs/results/deep-forest-ablations.md": ablations,
    "docs/results/league.md": league,
    "docs/results/boosted-trees.md": boosted_trees_results,
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
        page="docs/few-rows.md",
        after="## How far the coverage spreads",
        source=lambda: [table("few-rows-coverage.md")],
        columns={name: name for name in ("mean", "standard deviation", "5 % quantile")},
        labels=2,
    ),
    Copy(
        page="docs/how-good.md",
        after="## Ratings",
        source=lambda: [table("elo.md")],
        columns={c: c for c in table("elo.md").columns[1:]},
    ),
    Copy(
        page="docs/in-practice.md",
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
        page="docs/onnx.md",
        after="The following figures are of sets",
        source=export_tables,
        columns={name: name for name in EXPORTED},
        labels=2,
    ),
]
