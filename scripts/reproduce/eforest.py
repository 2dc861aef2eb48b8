"""Reconstruction of images by eForest, against principal components and the nearest row.

    python scripts/reproduce/eforest.py --quick
    python scripts/reproduce/eforest.py --datasets digits mnist
    python scripts/reproduce/eforest.py --plot    draw what was computed: eforest-SET for each set

eForest encodes an image by the leaf of each tree, one whole number for each, and decodes it to the
middle of the box in which all paths meet. It is fitted on at most --rows training images. Errors
are those of at most --predicted test images: the mean squared error in grey levels from 0 to 255,
and the relative error, which is the length of the difference divided by the length of the image.

unsupervised  completely-random trees that see no labels
supervised    a random forest that is grown on the labels
pca           as many principal components as the codes have numbers
nearest       the nearest training image, which one number names

Damage: a share of the codes of the largest unsupervised forest is unknown.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, pictures, tables
from _lab.conditions import IMAGES
from _lab.study import Study

from mddf import RandomForestClassifier
from mddf.representation import EForest

# Largest grey level of each set.
WHITE = {"digits": 16, "optdigits": 16, "mnist": 255}
DAMAGES = (0.25, 0.5, 0.75, 0.9)
N_PICTURES = 8


def errors(images, decoded):
    """Mean squared error in grey levels from 0 to 255, and mean relative error."""
    difference = images - decoded
    relative = np.linalg.norm(difference, axis=1) / np.linalg.norm(images, axis=1)
    return {"mse": float(np.square(difference).mean()), "relative": float(relative.mean())}


def cell(options, set, seed):
    """Errors of all reconstructions, and the first test images with some of them."""
    split = data.split(data.Source(set, options.data_home), seed, options.rows)
    to_grey = 255 / WHITE[set]
    X = np.asarray(split.X, float) * to_grey
    X_test = np.asarray(split.X_test, float)[: options.predicted] * to_grey
    nearest = X[NearestNeighbors(n_neighbors=1).fit(X).kneighbors(X_test)[1][:, 0]]
    rows = [{"method": "nearest", "numbers": 1, "damage": 0.0, **errors(X_test, nearest)}]
    displayed = {"original": X_test, "nearest": nearest}
    random = np.random.default_rng(seed)
    for n_trees in options.trees:
        forest = RandomForestClassifier(n_trees, random_state=seed, n_jobs=options.n_jobs)
        coders = {
            "unsupervised": EForest(
                n_estimators=n_trees, random_state=seed, n_jobs=options.n_jobs
            ),
            "supervised": EForest(forest),
        }
        pca = PCA(min(n_trees, *X.shape), random_state=seed).fit(X)
        decoded = pca.inverse_transform(pca.transform(X_test))
        displayed[f"pca, {n_trees}"] = decoded
        pca_row = {"method": "pca", "numbers": n_trees, "damage": 0.0}
        rows.append({**pca_row, **errors(X_test, decoded)})
        for method, coder in coders.items():
            codes = coder.fit(X, split.y).transform(X_test)
            decoded = coder.inverse_transform(codes)
            displayed[f"{method}, {n_trees}"] = decoded
            row = {"method": method, "numbers": n_trees, "damage": 0.0}
            rows.append({**row, **errors(X_test, decoded)})
            if method == "unsupervised" and n_trees == max(options.trees):
                for damage in DAMAGES:
                    damaged = np.where(random.random(codes.shape) < damage, -1, codes)
                    decoded = coder.inverse_transform(damaged)
                    displayed[f"{damage:.0%} of {n_trees} unknown"] = decoded
                    rows.append({**row, "damage": damage, **errors(X_test, decoded)})
    images = {
        name: part[:N_PICTURES].round().astype(int).tolist() for name, part in displayed.items()
    }
    return {"errors": rows, "images": images}


ERRORS = """
set method numbers unknown_codes=damage:.0% mean_squared_error=mse:.1f±
relative_error=relative:.3f± seeds=n_seeds
"""


def report(frame, options):
    long = tables.unnest(frame, "errors")
    rows = tables.means(long, ["set", "method", "numbers", "damage"])
    title = "reconstruction errors of test images, mean ± standard deviation over seeds"
    return [tables.columns("eforest", title, rows, ERRORS, n_index=4)]


def is_drawn(name):
    """Whether a reconstruction is drawn: a few numbers and damages show the trend."""
    return not name.startswith(("supervised", "25%", "75%")) and not name.endswith((" 50", " 200"))


def draw(frame, options):
    """Draw test images above their reconstructions, a row for each; the first seed only."""
    for row in frame.drop_duplicates("set").to_dict("records"):
        chosen = {name: images for name, images in row["images"].items() if is_drawn(name)}
        shape = IMAGES[row["set"]]
        figure, axes = pictures.panels([0.62] * len(chosen), N_PICTURES, 0.62)
        for line, (name, images) in zip(axes, chosen.items(), strict=True):
            for axis, image in zip(line, images, strict=True):
                axis.imshow(np.reshape(image, shape), cmap="gray_r", vmin=0, vmax=255)
                axis.set(xticks=[], yticks=[])
                axis.grid(False)
                axis.spines[:].set_visible(False)
            title = name.replace("unsupervised", "eForest").replace("pca", "components")
            line[0].set_ylabel(title, rotation=0, ha="right", va="center")
        caption = (
            f"Test images of {row['set']} and their reconstructions from codes of eForest without "
            "labels, from as many principal components, and by the nearest training image."
        )
        pictures.save(figure, options, f"eforest-{row['set']}", caption)


study = Study(
    globals(), "eforest", "set=datasets seed=seeds", ("rows", "predicted", "trees"),
    datasets=["digits", "mnist"], trees=[10, 50, 100, 200, 500], rows=2000, predicted=300, seeds=2,
    quick={"datasets": ["digits"], "trees": [5, 20], "seeds": 1, "rows": 300, "predicted": 50},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
