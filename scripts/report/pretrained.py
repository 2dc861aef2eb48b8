"""Compare losses of mddf with published losses of TabArena, such as of pre-trained networks.

    python scripts/report/pretrained.py

The losses of mddf come from the table of ratings on docs/results/elo.md, and the others from
scripts/published/tabarena.tsv. Both sources have CatBoost as an eight-fold bag that is stopped
early. Each loss is divided by that of CatBoost from the same source, because the splits differ.
The command prints the geometric means of these ratios over the eight sets that both sources have.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from _lab import cli, tables

ROOT = Path(__file__).resolve().parents[2]
RATINGS = ROOT / "docs" / "results" / "elo.md"
PUBLISHED = ROOT / "scripts" / "published" / "tabarena.tsv"
# Names of the methods in the table that is printed.
MEASURED = {
    "deep-forest": "DeepForest",
    "deep-forest-fast": "DeepForest, preset fast",
    "boosting": "GradientBoosting of mddf",
    "random-forest": "random forest (scikit-learn), measured here",
}
FROM_TABARENA = {
    "TA-TABPFN-3 (default)": "TabPFN-3, pre-trained",
    "TABICLV2 (default)": "TabICLv2, pre-trained",
    "REALTABPFN-V2.5 (default)": "TabPFN-2.5, pre-trained",
    "TABPFN-V2.6 (default)": "TabPFN-2.6, pre-trained",
    "TABPFNV2_GPU (default)": "TabPFN-2, pre-trained",
    "REALMLP_GPU (tuned + ensemble)": "RealMLP, tuned and ensembled",
    "AutoGluon 1.4 (best, 4h)": "AutoGluon 1.4, best quality, up to 4 h",
    "CAT (tuned + ensemble)": "CatBoost, tuned and ensembled",
    "GBM (tuned + ensemble)": "LightGBM, tuned and ensembled",
    "CAT (default)": "CatBoost",
    "RF (default)": "random forest (scikit-learn)",
}


def measured_losses(text):
    """Read losses by set and method from the second table of the page of ratings."""
    return tables.read_markdown(text, "Losses are 1 - AUC").astype(float)


def ratios(losses, reference):
    """Return the geometric mean of the loss ratio to the reference, and the number of wins."""
    relative = losses.div(losses[reference], axis=0)
    means = np.exp(np.log(relative).mean())
    return pd.DataFrame({"ratio": means, "better": (relative < 1).sum()})


def summary():
    """Return a row for each method: name, ratio, number of better sets, seconds, source."""
    measured = measured_losses(RATINGS.read_text(encoding="utf-8"))
    published = pd.read_csv(PUBLISHED, sep="\t")
    losses = published.pivot_table(index="set", columns="method", values="loss")
    seconds = published.groupby("method")["train_seconds"].median()
    measured_ratios = ratios(measured, "catboost-bag")
    published_ratios = ratios(losses.loc[measured.index], "CAT (default)")
    rows = [
        (name, *measured_ratios.loc[key], "", "measured here") for key, name in MEASURED.items()
    ]
    rows += [
        (name, *published_ratios.loc[key], f"{seconds[key]:.1f}", "TabArena")
        for key, name in FROM_TABARENA.items()
    ]
    return sorted(rows, key=lambda row: row[1])


def parse(argv=None):
    return cli.Parser(__doc__, "pretrained").read(argv)


def main(argv=None):
    parse(argv)
    print("| method | loss/CatBoost | better on | training, s | source |")
    print("| --- | --: | --: | --: | --- |")
    for name, ratio, better, seconds, source in summary():
        print(f"| {name} | {ratio:.3f} | {better:.0f} | {seconds} | {source} |")


if __name__ == "__main__":
    main()
