"""What run_uci.py shows: means over seeds, ranks and published values, as text and Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

from _results import published
from _uci_methods import ALL_METHODS
from scipy.stats import rankdata


def summarise(cells) -> list[dict]:
    """One row for each set and method, in the order of the cells."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for cell in cells:
        groups.setdefault((cell["dataset"], cell["method"]), []).append(cell)
    there = published_accuracies()
    rows = []
    for (dataset, method), group in groups.items():
        accuracies = [cell["accuracy"] for cell in group]
        layers = [cell["layers"] for cell in group if cell["layers"] is not None]
        rows.append(
            {
                "dataset": dataset,
                "method": method,
                "n_seeds": len(group),
                "accuracy": mean(accuracies),
                "accuracy_std": stdev(accuracies) if len(group) > 1 else None,
                "published": there.get((dataset, method)),
                "fit_seconds": mean(cell["fit_seconds"] for cell in group),
                "predict_seconds": mean(cell["predict_seconds"] for cell in group),
                "fewest_layers": min(layers, default=None),
                "most_layers": max(layers, default=None),
            }
        )
    return rows


def published_accuracies() -> dict[tuple[str, str], float]:
    """The mdDF paper's test accuracies, as shares, by set and method."""
    rows = [row for table in (2, 3) for row in published(f"mddf_table{table}.tsv")]
    return {
        (row["dataset"], name): float(row[method.published]) / 100
        for row in rows
        for name, method in ALL_METHODS.items()
        if method.published in row
    }


@dataclass(frozen=True)
class Grid:
    """The summary by set and method, and what follows from it."""

    datasets: list[str]
    methods: list[str]
    rows: dict[tuple[str, str], dict]

    @classmethod
    def of(cls, summary, methods):
        """Make a grid with the methods in the order given, those without a result left out."""
        rows = {(row["dataset"], row["method"]): row for row in summary}
        datasets = list(dict.fromkeys(row["dataset"] for row in summary))
        return cls(datasets, [m for m in methods if any((d, m) in rows for d in datasets)], rows)

    def values(self, dataset, key):
        """A line of the table: the value of each method, None where there is none."""
        return [self.rows.get((dataset, method), {}).get(key) for method in self.methods]

    def mean_ranks(self, key):
        """Each method's mean rank over the sets where all have a value, and how many these are."""
        lines = [self.values(dataset, key) for dataset in self.datasets]
        # Accuracies are averages: what differs by rounding only is equal.
        ranks = [rankdata([-round(v, 9) for v in line]) for line in lines if None not in line]
        return [mean(column) for column in zip(*ranks, strict=True)], len(ranks)

    def layers(self, dataset):
        """How many layers mdDF kept, as text."""
        row = self.rows.get((dataset, "mddf"), {})
        fewest, most = row.get("fewest_layers"), row.get("most_layers")
        if fewest is None:
            return ""
        return str(fewest) if fewest == most else f"{fewest} to {most}"

    def shows_layers(self):
        """Whether there is a column of layers."""
        return any(self.layers(dataset) for dataset in self.datasets)


def percent(value, std=None, sign="±") -> str:
    """An accuracy in percent with its deviation, or a dash."""
    if value is None:
        return "-"
    return f"{100 * value:.2f}" if std is None else f"{100 * value:.2f} {sign} {100 * std:.2f}"


def accuracies(grid, dataset) -> list[str]:
    """Accuracies of a set with their deviations."""
    pairs = zip(
        grid.values(dataset, "accuracy"), grid.values(dataset, "accuracy_std"), strict=True
    )
    return [percent(value, std) for value, std in pairs]


def any_published(grid) -> bool:
    """Whether some value shown has a published one."""
    return any(v is not None for d in grid.datasets for v in grid.values(d, "published"))


def text_table(grid) -> str:
    """The table for the screen; published values stand below those measured."""
    header = ["set", *(ALL_METHODS[m].title for m in grid.methods)]
    lines = []
    for dataset in grid.datasets:
        lines.append([dataset, *accuracies(grid, dataset), grid.layers(dataset)])
        there = grid.values(dataset, "published")
        if any(value is not None for value in there):
            # Below the accuracy, without its deviation.
            lines.append(["  published", *(f"{percent(v):8s}" for v in there), ""])
    ranks, n_ranked = grid.mean_ranks("accuracy")
    if n_ranked:
        lines.append(["mean rank", *(f"{rank:.2f}" for rank in ranks), ""])
    seconds = [sum(v or 0 for v in column) for column in zip(
        *(grid.values(d, "fit_seconds") for d in grid.datasets), strict=True)]  # fmt: skip
    lines.append(["fit, seconds", *(f"{value:.1f}" for value in seconds), ""])
    if grid.shows_layers():
        header.append("layers of mdDF")
    else:
        lines = [line[:-1] for line in lines]
    widths = [max(len(line[i]) for line in (header, *lines)) for i in range(len(header))]
    rule = "-" * (sum(widths) + 2 * len(widths) - 2)
    shown = [_aligned(line, widths) for line in (header, *lines)]
    n_totals = 2 if n_ranked else 1
    return "\n".join([shown[0], rule, *shown[1:-n_totals], rule, *shown[-n_totals:]])


def _aligned(line, widths) -> str:
    first, *others = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()


def markdown_table(grid) -> str:
    """The table for the documentation; published values stand in brackets."""
    header = ["set", *(ALL_METHODS[m].title for m in grid.methods), "layers of mdDF"]
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    for dataset in grid.datasets:
        cells = [
            f"{cell} ({percent(there)})" if there is not None else cell
            for cell, there in zip(
                accuracies(grid, dataset), grid.values(dataset, "published"), strict=True
            )
        ]
        lines.append([f"`{dataset}`", *cells, grid.layers(dataset)])
    ranks, n_ranked = grid.mean_ranks("accuracy")
    if n_ranked:
        lines.append(["mean rank", *(f"{rank:.2f}" for rank in ranks), ""])
    if not grid.shows_layers():
        lines = [line[:-1] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
