"""Limits inside mddf that tests change, so that small tables reach the code for large ones."""

import importlib
from contextlib import contextmanager

import pytest

# Tests name a limit by the words on the left; a refactoring changes this table only.
_PLACES = {
    "bytes_of_a_mapped_file": ["mddf._layers.memmap._MIN_FILE_BYTES"],
    "bytes_of_a_block_of_columns": ["mddf._input.table._BLOCK_BYTES"],
    "cells_of_a_small_frame": ["mddf._input.frame._FEW_CELLS"],
    "bytes_of_a_block_of_rows": ["mddf._fitted.batching._BLOCK_BYTES"],
    "rows_of_a_block": ["mddf._fitted.batching._MIN_ROWS"],
    "jobs_of_bins": ["mddf._binning.bins.useful_jobs"],
    "traversals_for_processes": ["mddf._trees.predictor._MIN_TRAVERSALS_FOR_PROCESSES"],
    "uses_raw_numbers": ["mddf._trees.predictor.prefers_raw_numbers"],
    "rows_of_codes_in_a_file": ["mddf._gradient.dataset._ROWS_AT_A_TIME"],
    "rounds": ["mddf._gradient.rounds.N_ROUNDS", "mddf._gradient.fit_warnings.N_ROUNDS"],
    "landmarks": [
        "mddf._members.kernel.MOST_LANDMARKS",
        "mddf._members.kernel_logistic._LANDMARKS",
    ],
    "tolerance_of_kernel_logistic": ["mddf._members.kernel_logistic._TOLERANCE"],
    "rows_of_penalties": ["mddf._members.kernel.KernelClassifier._n_penalty_rows"],
    "rows_of_a_network": ["mddf._members.network._BLOCK"],
    "rows_of_a_copied_node": ["mddf._clusters.forest_growth._LEAST_COPIED"],
    "share_of_a_copied_node": ["mddf._clusters.forest_growth._COPIED_SHARE"],
    "copies_of_nodes": ["mddf._clusters.forest_growth._Peers.copy"],
    "draws_of_intervals": ["mddf._command.scores.N_DRAWS"],
    "a_layer_helps": ["mddf._layers.later_layers._helps"],
    "forests_have_weight": ["mddf._layers.stack.Stack.has_weighted_forest"],
}


def change(monkeypatch, **values):
    """Change limits until monkeypatch undoes it."""
    for limit, value in values.items():
        for place in _PLACES[limit]:
            monkeypatch.setattr(place, value)


@contextmanager
def changed(**values):
    """Change limits within a block."""
    with pytest.MonkeyPatch.context() as patch:
        change(patch, **values)
        yield


def value(limit):
    """The limit as it is in mddf."""
    module, _, name = _PLACES[limit][0].rpartition(".")
    return getattr(importlib.import_module(module), name)


def limit_rounds_of_members(monkeypatch, n_rounds):
    """Let boosted members of deep forests end after some rounds."""
    parsing = importlib.import_module("mddf._layers.member_parsing")
    for options in (parsing._BOOSTING, parsing._LEAF_WISE):
        monkeypatch.setitem(options, "max_iter", n_rounds)
