"""Computation of cells: progress, failures, sets that are left out, and Ctrl-C."""

import traceback
import warnings
from dataclasses import dataclass, field

from mddf.datasets import DataFileNotFoundError
from tqdm import tqdm

from . import in_a_line


@dataclass
class Outcome:
    """Counts, failures and omissions of a run."""

    n_asked: int = 0
    n_found: int = 0
    failures: list[dict] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    stopped: bool = False

    def notes(self):
        """Yield lines for the screen."""
        if self.n_found:
            yield f"{self.n_found} of {self.n_asked} results were there from earlier runs"
        for name, why in self.left_out.items():
            yield f"{name} left out: {why.splitlines()[0]}"
        for failure in self.failures:
            yield f"FAILED: {failure['cell']}: {failure['error']}"


def run(store, keys, compute, fresh=False) -> Outcome:
    """Compute the missing cells (with `fresh` all cells), and store them.

    `compute` makes a result from the parts of a key; the part "set" names the data. A failure
    does not stop the run. Cells do not depend on each other: several processes may compute those
    of one folder.
    """
    keys = list(keys)
    outcome = Outcome(len(keys))
    try:
        with tqdm(total=len(keys), dynamic_ncols=True) as bar:
            for key in keys:
                # Checked for every cell: another process may have computed it in the meantime.
                if not fresh and store.has(key):
                    outcome.n_found += 1
                elif key["set"] not in outcome.left_out:
                    bar.set_description(title(key))
                    if message := _attempt(store, key, compute, outcome):
                        bar.write(message)
                bar.update()
            bar.set_description("done")
    except KeyboardInterrupt:
        outcome.stopped = True
    return outcome


def title(key):
    """Return a key as text."""
    return ", ".join(map(str, key.values()))


def _attempt(store, key, compute, outcome):
    """Store the result of a cell, or return a line with the reason why there is none."""
    try:
        with warnings.catch_warnings():
            # Perceptrons of scikit-learn turn Ctrl-C into a warning, and are then not finished.
            warnings.filterwarnings("error", "Training interrupted by user")
            result = compute(**key)
        store.save(key, result)
    except DataFileNotFoundError as error:
        outcome.left_out[key["set"]] = str(error)
        return f"{key['set']}: left out: {str(error).splitlines()[0]}"
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        failure = {"cell": title(key), "error": in_a_line(error), "traceback": trace}
        outcome.failures.append(failure)
        return f"FAILED: {title(key)}: {failure['error']}"
    return None
