"""``mddf card``: write a model card in Markdown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mddf._members.kernel import MOST_LANDMARKS

from . import files
from .command import Command
from .scores import N_DRAWS

# Texts for the parts that no program knows.
_TO_FILL_IN = "*To be filled in.*"
# The metadata that the Hugging Face Hub reads.
_TASKS = {"classification": "tabular-classification", "regression": "tabular-regression"}
# Members of deep forests that need complete columns.
_FILLING_MEMBERS = ("linear", "kernel", "kernel-logistic", "network")


class CardCommand(Command):
    """``mddf card``."""

    description = """\
Write a model card in Markdown: what the model predicts, from which columns, how good
it was on held-out rows, and what the checks of the data found. Parts that only
people know are left to fill in. --methods writes the paragraph for the methods
section of a paper.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("model", type=Path, help="model that `mddf fit` saved")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help=".md file (default: the screen)"
        )
        parser.add_argument(
            "--purpose", metavar="TEXT", help="what the model is for, and what it is not for"
        )
        parser.add_argument(
            "--methods", action="store_true", help="write a paragraph on the methods of a study"
        )
        parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")

    def run(self, options: argparse.Namespace) -> None:
        """Read the model, write its card."""
        if options.out is not None:
            files.check_output("--out", options.out, (".md",), options.overwrite)
        stored = files.read_model(options.model)
        if options.methods:
            text = " ".join(_methods(stored)) + "\n"
        else:
            lines = _lines_of_card(stored, options.model, options.purpose or _TO_FILL_IN)
            text = "".join(f"{line}\n" for line in lines)
        if options.out is None:
            print(text, end="")
        else:
            files.write_text(options.out, text)
            kind = "methods" if options.methods else "card"
            print(f"{options.out}: {kind} of {options.model}")


command = CardCommand()


def _lines_of_card(stored: files.StoredModel, path: Path, purpose: str) -> Iterator[str]:
    facts = stored.facts
    yield from ("---", "library_name: mddf", "tags:", f"- {_TASKS[facts['task']]}", "---", "")
    yield f"# {_escaped(facts['target'])}: {facts['task']} by {type(stored.model).__name__}"
    yield from ("", "## Purpose", "", purpose)
    yield from ("", "## Training data", "")
    yield (
        f"{facts['n_rows']} rows of `{facts['table']}` with {len(stored.schema.columns)} columns, "
        f"fitted on {facts['date']}."
    )
    if any("kernel" in row["member"] for row in getattr(stored.model, "leaderboard_", ())):
        yield (
            f"The file may hold up to {MOST_LANDMARKS} of these rows, encoded, in the model's "
            "kernel members."
        )
    if facts["classes"]:
        yield f"Classes: {', '.join(map(_escaped, facts['classes']))}."
    yield from ("", *_table(facts["columns"]))
    yield from ("", "## Scores", "")
    yield (
        f"Of a model that was fitted to {facts['training_sizes']} rows, on {facts['held_out']}. "
        f"Intervals are bootstrap intervals of {N_DRAWS} draws of {facts['drawn_units']}, widened "
        "for the numbers of units and folds."
    )
    yield from ("", *_table(facts["scores"]))
    if facts["threshold"] is not None:
        yield ""
        yield (
            f"At a threshold of {facts['threshold']:.4g} for the probability of "
            f"{_escaped(facts['positive'])}, F1 is best on {facts['source_of_threshold']}."
        )
    yield from ("", "## Checks of the data", "")
    yield from _table(facts["findings"]) if facts["findings"] else ["Nothing was found."]
    if facts["warnings"]:
        yield from ("", *(f"- {_escaped(warning)}" for warning in facts["warnings"]))
    yield from ("", "## Limitations", "", _TO_FILL_IN)
    yield from ("", "## How to use it", "", "```sh")
    yield f"mddf predict {path.name} new.csv --out predictions.csv"
    yield f"mddf drift {path.name} new.csv"
    yield from ("```", "", "## Settings and versions", "")
    yield f"{', '.join(map(_escaped, facts['settings']))}; all other parameters at their defaults."
    yield f"{facts['versions']}."


def _methods(stored: files.StoredModel) -> Iterator[str]:
    """Sentences for the methods section of a paper."""
    facts = stored.facts
    name = type(stored.model).__name__
    target = facts["target"]
    if facts["classes"]:
        target += f" (classes: {', '.join(facts['classes'])})"
    yield (
        f"We predicted {target} from {len(stored.schema.columns)} variables of {facts['n_rows']} "
        f"observations by the {name} of {facts['versions']}, with "
        f"{', '.join(facts['settings'])} and all other parameters at their defaults."
    )
    if members := _weighted_members(stored.model):
        weights = ", ".join(
            f"{row['member']} (layer {row['layer']}, {row['weight']:.2f})" for row in members
        )
        yield (
            "Its prediction is a weighted average of these models, with weights of least loss of "
            f"out-of-fold predictions: {weights}."
        )
    missing = [column for column in stored.schema.columns if column.missing_share > 0]
    shares = ", ".join(f"{column.name} {100 * column.missing_share:.3g} %" for column in missing)
    filling = ""
    if any(row["member"] in _FILLING_MEMBERS for row in members):
        filling = "; linear, kernel and network members fill in means or medians"
    yield (
        f"Values were missing in {shares}, and none were imputed before the fit{filling}."
        if missing
        else "No values were missing."
    )
    yield (
        f"Performance was estimated on {facts['held_out']}, by models that were fitted to "
        f"{facts['training_sizes']} observations each, with 95 % bootstrap intervals of {N_DRAWS} "
        f"draws of {facts['drawn_units']}, widened for the numbers of units and folds:"
    )
    scores = (
        f"{row['score']} {row['model']:.3g} ({row['95 % interval']}; without features "
        f"{row['without features']:.3g})"
        for row in facts["scores"]
        if row["model"] is not None and row["without features"] is not None
    )
    yield "; ".join(scores) + "."
    if facts["threshold"] is not None:
        yield (
            f"The threshold of {facts['positive']}, {facts['threshold']:.3g}, has the best F1 on "
            f"{facts['source_of_threshold']}."
        )
    yield "The final model was fitted to all observations with the same settings."


def _weighted_members(model: Any) -> list[dict[str, Any]]:
    """Members of a deep forest with a weight of at least 0.005, the largest first."""
    board = [row for row in getattr(model, "leaderboard_", []) if row["weight"] >= 0.005]
    return sorted(board, key=lambda row: -row["weight"])


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| " + " | ".join(map(_escaped, rows[0])) + " |"
    yield "|" + "---|" * len(rows[0])
    for row in rows:
        yield "| " + " | ".join(map(_escaped, row.values())) + " |"


def _escaped(cell: object) -> str:
    """Write a cell so that Markdown shows it as it is."""
    if cell is None:
        return ""
    text = f"{cell:.4g}" if isinstance(cell, float) else " ".join(str(cell).split())
    for mark in "\\`*_|<>[]":
        text = text.replace(mark, f"\\{mark}")
    return text
