"""Figures of pages that compare mddf with other libraries, from measured tables.

Each function lists the quotes of one page. If a table is measured again and a test fails, correct
the sentence on the page. If the sentence is written anew, change its quote here.
"""

from collections.abc import Callable

from quotes import (
    Quote,
    Table,
    below_best,
    geometric_mean,
    number,
    over_best,
    percent_above,
    quote,
    table,
)


def league_ranks() -> Table:
    return table("league.md", "Mean ranks of the nine")


def regression_ranks() -> Table:
    return table("league-regression.md", "## Mean ranks")


def league_costs() -> Table:
    return table("league.md", "Costs, means over the sets")


def log_losses() -> Table:
    return table("league.md", "Log-loss, mean of three splits")


def adult_log_loss(method: str) -> float:
    """Log-loss on adult, with 20 000 training rows."""
    large = table("league.md", "Large sets")
    assert large.rows[0][0].startswith("adult")
    label, *log_losses = large.rows[1]
    assert label == "log-loss"
    return number(log_losses[large.columns[1:].index(method)])


RMSE = "RMSE (14 sets)"


def readme() -> list[Quote]:
    speed = table("forest-speed.md")
    ratios = speed.numbers("ratio")
    bundled = table("uci-bundled.md", "accuracy, %").without("mean rank")
    other_methods = [name for name in bundled.columns[1:-1] if name != "DeepForest"]
    best = [
        bundled.at(row[0], "DeepForest") - max(bundled.at(row[0], name) for name in other_methods)
        for row in bundled.rows
    ]
    assert all(ahead >= 0 for ahead in best)
    quotes = [
        quote("fit [{} to {} times](docs/results/forest-speed.md)", min(ratios), max(ratios)),
        quote("highest accuracy [on all {}](docs/results/uci-bundled.md)", len(best)),
        quote("shared on {} of them", sum(ahead == 0 for ahead in best)),
        quote("[{} data sets](docs/results/league.md)", len(log_losses().rows)),
        quote(
            "[{} data sets for regression]",
            len(table("league-regression.md", "## RMSE").rows) - 1,
        ),
    ]
    ranks, rmse, costs = league_ranks(), regression_ranks(), league_costs()
    names = {
        "**DeepForest**": "DeepForest",
        "mdDF (in mddf)": "mdDF",
        "random forest (scikit-learn)": "sklearn's forest",
        "extra trees (scikit-learn)": "ExtraTrees",
    }
    readme_table = table("README.md", "## How good is it?")
    assert [names.get(row[0], row[0]) for row in readme_table.rows] == [
        row[0] for row in ranks.rows
    ]
    for row in readme_table.rows:
        method = names.get(row[0], row[0])
        values = [ranks.at(method, "accuracy, %"), ranks.at(method, "log-loss")]
        values += [rmse.at(method, RMSE)] if row[3] else []
        values += [costs.at(method, "fit, s")] if row[4] else []
        cells = " | ".join("{}" if cell else "" for cell in row[1:])
        quotes.append(quote(f"| {row[0]} | {cells} |", *values))
    return quotes


def index() -> list[Quote]:
    ranks, rmse = league_ranks(), regression_ranks()
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
        "website_phishing",
        "blood",
        "german",
        "Another",
        "pima",
    ]
    of_best = {row[0]: by_set.at(row[0], "of best") for row in by_set.rows}
    behind_best = [name for name, ratio in of_best.items() if ratio > 1]
    assert behind_best == list(of_best)[:4]
    phishing, blood, german, fiat = list(of_best.values())[:4]
    losses = over_best(log_losses(), "DeepForest")
    ordered = sorted(losses, key=losses.get, reverse=True)
    assert ordered[:6] == ["wine", "zoo", "iris", "glass", "monks-3", "hepatitis"]
    assert sorted(ordered[6:]) == ["breast-ljubljana", "titanic", "vote"]
    assert max(losses[name] for name in ordered[6:]) < 1.003
    accuracy = below_best(table("league.md", "Accuracy, %, mean"), "DeepForest")
    assert max(accuracy, key=accuracy.get) == "bupa"
    regression = table("league-regression.md", "## RMSE")
    assert set(over_best(regression, "DeepForest")) == {"auto-mpg", "student-mat"}
    auto, student = (
        {
            name: percent_above(
                regression.at(set_name, "DeepForest"), regression.at(set_name, name)
            )
            for name in regression.columns[1:]
        }
        for set_name in ("auto-mpg", "student-mat")
    )
    assert [name for name, gain in auto.items() if gain > 0] == ["ExtraTrees", "CatBoost"]
    assert [name for name, gain in student.items() if gain > 0] == ["sklearn's forest"]
    stack = table("autogluon-stack.md")
    ranks, rmse = league_ranks(), regression_ranks()
    costs = league_costs()
    assert 5 < costs.at("CatBoost", "fit, s") / costs.at("DeepForest", "fit, s") < 7
    assert 8 < costs.at("DeepForest", "fit, s") / costs.at("LightGBM", "fit, s") < 12
    return [
        quote(
            "lower loss on {} of the {} sets below, and the higher", len(fast), len(by_set.rows)
        ),
        quote("On {} of the eight sets below, gradient boosting", len(behind_best)),
        quote(
            "is {} times the least one on website phishing, {} times on blood-transfusion",
            phishing,
            blood,
        ),
        quote("{} times on german and {} times on Fiat", german, fiat),
        quote("method on {} of {} sets ([league]", len(losses), len(log_losses().rows)),
        quote(
            "wine ({} times the least log-loss), zoo ({}), iris ({}), glass ({}), monks-3 ({}), "
            "hepatitis ({})",
            *(losses[name] for name in ordered[:6]),
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
            *map(adult_log_loss, ("DeepForest", "CatBoost", "LightGBM")),
        ),
        quote(
            "Its loss is {} % higher in the mean",
            percent_above(
                ratings.at("boosting", "loss/catboost-bag"),
                ratings.at("deep-forest", "loss/catboost-bag"),
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
    libraries = ("HistGradientBoosting", "LightGBM", "XGBoost")
    by_rmse = [ranks.at(name, RMSE) for name in libraries]
    by_loss = [classes.at(name, "log-loss (20 sets)") for name in libraries]
    accuracy = classes.numbers("accuracy, % (20 sets)")[:-1]
    assert classes.at("CatBoost", "accuracy, % (20 sets)") == min(accuracy)
    seconds = [costs.at(name, "fit, s") for name in libraries]
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
            percent_above(max(rmse.values()), 1),
        ),
        quote(
            "the mean rank by log-loss is {}; CatBoost has {}, and the others have {} to {}",
            classes.at("GradientBoosting", "log-loss (20 sets)"),
            classes.at("CatBoost", "log-loss (20 sets)"),
            min(by_loss),
            max(by_loss),
        ),
    ]


def faq() -> list[Quote]:
    seconds = league_costs().at("DeepForest", "fit, s")
    return [quote("{} s in the mean over the {} data sets", seconds, len(log_losses().rows))]


def pretrained_networks() -> list[Quote]:
    losses = table("pretrained-networks.md")
    measured_loss = losses.at("random forest (scikit-learn), measured here", "loss/CatBoost")
    published_loss = losses.at("random forest (scikit-learn)", "loss/CatBoost")
    rows = {
        "TabPFN-3": "TabPFN-3, pre-trained",
        "TabICLv2": "TabICLv2, pre-trained",
        "AutoGluon 1.4, best quality, up to 4 h": "AutoGluon 1.4, best quality, up to 4 h",
        "CatBoost, tuned and ensembled": "CatBoost, tuned and ensembled",
        "DeepForest": "DeepForest",
    }
    return [
        quote("has {} here and {} there", measured_loss, published_loss),
        *(
            quote(f"\n| {row_name} | {{}} |", losses.at(name, "loss/CatBoost"))
            for row_name, name in rows.items()
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
            "balance: without it the log-loss is {} instead of {}",
            losses.at("balance", "no-kernel-logistic"),
            losses.at("balance", "DeepForest"),
        ),
        quote(
            "cmc: without them the log-loss is {} instead of {}",
            losses.at("cmc", "no-network"),
            losses.at("cmc", "DeepForest"),
        ),
        quote(
            "the log-loss of car is {} instead of {}",
            losses.at("car", "uncalibrated"),
            losses.at("car", "DeepForest"),
        ),
        quote(
            "and models {} times as large",
            costs.at("folds-kept", size) / costs.at("DeepForest", size),
        ),
    ]


def league() -> list[Quote]:
    above = percent_above(adult_log_loss("DeepForest"), adult_log_loss("CatBoost"))
    return [quote("log-loss is {} % above CatBoost's", above)]


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
    least_loss = losses.at("wine-uci", "HistGradientBoosting")
    first, glass, hepatitis, heart = (by_loss[name] for name in names)
    return [
        quote(
            "auto-mpg, concrete, california, by {}, {} and {} %",
            *(percent_above(behind[name], 1) for name in ("auto-mpg", "concrete", "california")),
        ),
        quote("has {} of the RMSE of CatBoost in the geometric mean", against(rmse, "CatBoost")),
        quote(
            "is {} times CatBoost's in the geometric mean of the table's ratios, {} times "
            "HistGradientBoosting's, {} times LightGBM's and {} times XGBoost's",
            *(against(losses, peer) for peer in peers),
        ),
        quote("wine-uci ({} times {}, since HistGradientBoosting", first, least_loss),
        quote(
            "{} times CatBoost's), glass ({}), hepatitis ({}) and heart ({})",
            wine,
            glass,
            hepatitis,
            heart,
        ),
    ]


PAGES: dict[str, Callable[[], list[Quote]]] = {
    "README.md": readme,
    "docs/index.md": index,
    "docs/commands.md": commands,
    "docs/how-good.md": how_good,
    "docs/boosted-trees.md": boosted_trees,
    "docs/faq.md": faq,
    "docs/pretrained-networks.md": pretrained_networks,
    "docs/results/deep-forest-ablations.md": ablations,
    "docs/results/league.md": league,
    "docs/results/boosted-trees.md": boosted_trees_results,
}
