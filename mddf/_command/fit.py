"""``mddf fit``: fit a model to a table, save it and write a report."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import StratifiedKFold, train_test_split

from mddf._quality.check import check
from mddf._quality.drift import DriftReference
from mddf._quality.findings import NEARLY_PERFECT, Finding, Findings
from mddf._resampling.folds import make_folds

from . import dependent_rows, estimators, files, pages, report, rows
from .command import Command
from .dependent_rows import INDEPENDENT, DependentRows
from .progress import Progress
from .rows import LabelledRows
from .scores import Decision
from .table_options import format_from

# Smaller tables are scored by cross-validation: a fifth of 300 rows tells an accuracy to 0.1, and
# a fifth of 50 groups, or of 50 cases of the rarer class, has ten of them.
_MIN_ROWS = 300
_MIN_GROUPS = 50
_MIN_CASES = 50
_N_FOLDS = 5
_HELD_OUT_SHARE = 0.2
RowSplit = tuple[np.ndarray, np.ndarray]  # numbers of training rows and of held-out rows
# Accuracy, ROC AUC or R2 from which a score gets a remark. Not tuned.
_NEARLY_PERFECT = 0.999

_SETTINGS_HELP = (
    "parameters of the model (a time_limit holds for each fit: six for small tables, one with "
    "--test, else two)"
)


@dataclass(frozen=True)
class _Paths:
    """Output files of the command."""

    model: Path
    report: Path

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> _Paths:
        """Refuse outputs that cannot be written, before any work."""
        if not options.table.exists():
            path = rows.visible(options.table)
            raise SystemExit(f"the table must be an existing file or folder, got {path}")
        stem = options.table.name.split(".")[0] or "model"
        model = options.out or Path(f"{stem}.mddf")
        report_path = options.report or model.with_suffix(".html")
        files.check_output("--out", model, (files.MODEL,), options.overwrite)
        files.check_output("--report", report_path, (".html",), options.overwrite)
        pages.check_libraries()
        return cls(model, report_path)


class FitCommand(Command):
    """``mddf fit``."""

    description = """\
Fit a model to a table, save it, and write a report that opens in a browser.

A fifth of the rows is held out. The scores in the report are of a model that was
not fitted to these rows. With fewer than 300 rows or 50 groups, or fewer than 50 of
them in the rarer of two classes, each fifth is held out in turn. The saved model is
then fitted to all rows, with the same parameters and seed. Columns of text are
categories. The labels decide the task unless --task is given.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        estimators.add_learning_options(parser, settings_help=_SETTINGS_HELP)
        parser.add_argument(
            "--out", type=Path, metavar="FILE",
            help=".mddf file for the model (default: TABLE's name.mddf)",
        )  # fmt: skip
        parser.add_argument(
            "--report", type=Path, metavar="FILE",
            help="page with the report (default: the model's name.html)",
        )  # fmt: skip
        parser.add_argument(
            "--estimator", choices=estimators.CLASS_NAMES, default="deep-forest",
            help="kind of model (default: deep-forest)",
        )  # fmt: skip
        parser.add_argument(
            "--test", type=Path, metavar="TABLE",
            help="table of held-out rows, used instead of --holdout",
        )  # fmt: skip
        parser.add_argument(
            "--holdout", type=estimators.fraction,
            help="share of rows held out (default: 0.2, or cross-validation of a small table)",
        )  # fmt: skip
        dependent_rows.add_dependence_options(parser)
        parser.add_argument(
            "--positive", metavar="CLASS",
            help="class whose precision, recall and threshold the report shows, if there are two "
            "classes (default: the rarer one)",
        )  # fmt: skip
        parser.add_argument(
            "--verbose", action="store_true",
            help="print the decisions and bars of the fits, instead of one bar",
        )  # fmt: skip

    def run(self, options: argparse.Namespace) -> None:
        """Read, hold rows out, fit, write the report, fit to all rows, save."""
        paths = _Paths.from_options(options)
        # 1. Read the table.
        dependent_rows.check_options(options)
        groups = dependent_rows.read_groups(options)
        times = dependent_rows.read_times(options)
        table = rows.read_training(
            options.table, options.target, options.drop,
            not_features=[name for name in (options.groups, options.time) if name is not None],
            task=options.task, form=format_from(options),
            drop_unlabelled=options.drop_unlabelled, warn=True,
        )  # fmt: skip
        if options.positive is not None:
            check_positive(options.positive, table)
        # 2. Make the model.
        model = estimators.make(
            options.estimator, table.task, seed=options.seed, n_jobs=options.n_jobs,
            settings=options.set, verbose=options.verbose,
        )  # fmt: skip
        dependence = DependentRows.from_options(options, groups, times, table.rows)
        if not dependence.are_dependent and options.test is None:
            dependence = DependentRows.from_copies(table.X)
        dependence.set_folds(model, options.set)
        # 3. Check the data, fit to the training rows and score the held-out rows.
        fits_again = options.test is None
        # A fit to all rows takes longer by the held-out rows. With --verbose, fits show bars.
        shares = (0.4, 0.1, 0.5) if fits_again else (0.8, 0.2, 0.0)
        with Progress(shown=not options.verbose).running() as progress:
            fit = _fit_and_evaluate(
                options, table, model, paths.model.name, dependence, progress, shares[0]
            )
            with progress.step("report", shares[1]):
                page = report.render_report(fit)
            # 4. Fit to all rows, unless the held-out rows are of another table.
            if fits_again:
                with warnings.catch_warnings(), progress.step("fit to all rows", shares[2]):
                    warnings.simplefilter("ignore")  # the report has them
                    dependence.fit(model, LabelledRows(table.X, table.y))
            else:
                model = fit.model
        # 5. Write the model and the report.
        contents = files.StoredModel(
            model,
            table.schema,
            fit.decision,
            reference=DriftReference.from_table(table.X).to_json(),
            facts=report.facts(fit),
        )
        files.write_model(paths.model, contents)
        files.write_text(paths.report, page)
        _print_summary(options, table, fit, paths)


command = FitCommand()


def _print_summary(
    options: argparse.Namespace, table: rows.TrainingTable, fit: report.EvaluatedFit, paths: _Paths
) -> None:
    scores = [f"{name} {value:.4g}" for name, value in fit.scores.items() if np.isfinite(value)]
    print(f"{table.task} of {options.target!r}: {len(table.X)} rows, {table.X.shape[1]} features")
    print(f"scores on {fit.held_out.description}: {', '.join(scores)}")
    if fit.findings:
        plural = "s" if len(fit.findings) != 1 else ""
        print(f"data: {len(fit.findings)} finding{plural}, listed in the report")
    print(f"model: {paths.model}\nreport: {paths.report}")


def _fit_and_evaluate(
    options: argparse.Namespace,
    table: rows.TrainingTable,
    model: BaseEstimator,
    model_name: str,
    dependence: DependentRows,
    progress: Progress,
    share: float,  # share of the progress
) -> report.EvaluatedFit:
    splits = _labelled_splits(options, table, dependence)
    findings = _findings(options, table, splits[0][1], dependence)
    models = []
    predictions = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        start = time.perf_counter()
        for number, (train, test) in enumerate(splits, 1):
            text = "fit to the training rows" if len(splits) == 1 else f"fit without part {number}"
            with progress.step(text, share / len(splits)):
                fitted = dependence.fit(clone(model), train)
            predict = fitted.predict_proba if is_classifier(fitted) else fitted.predict
            models.append(fitted)
            predictions.append(predict(test.X))
        seconds = (time.perf_counter() - start) / len(splits)
    # Rows are in the order of the folds.
    row_numbers = np.concatenate([test.X.index.to_numpy() for _, test in splits])
    groups = None
    if dependence.groups is not None and options.test is None:
        groups = dependence.groups[row_numbers]
    held_out = report.ScoredRows(
        y=np.concatenate([test.y for _, test in splits]),
        predictions=np.concatenate(predictions),
        n_folds=len(splits),
        groups=groups,
        name_of_groups=dependence.name_of_groups,
        time_name=dependence.time_name if options.test is None else None,
    )
    train, test = splits[0]
    sizes = sorted({len(train.y) for train, _ in splits})
    decision, source_of_threshold = _choose_decision(options, models[0], train, held_out)
    fit = report.EvaluatedFit(
        table_name=options.table.name,
        target=options.target,
        task=table.task,
        X=table.X,
        schema=table.schema,
        model=models[0],
        train=train,
        test=test,
        training_sizes=f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0]),
        held_out=held_out,
        decision=decision,
        source_of_threshold=source_of_threshold,
        seconds=seconds,
        findings=findings,
        warnings=list(dict.fromkeys(str(warning.message) for warning in caught)),
        settings=[
            f"{name}={value}"
            for name, value in {**dict(options.set), "random_state": options.seed}.items()
        ],
        model_name=model_name,
    )
    remarks = nearly_perfect(fit.scores, len(held_out.y))
    fit = replace(fit, findings=Findings([*remarks, *findings]))
    _warn_of_leaks(fit.findings)
    return fit


def _findings(
    options: argparse.Namespace,
    table: rows.TrainingTable,
    test: LabelledRows,
    dependence: DependentRows,
) -> Findings:
    return check(
        table.X,
        table.y,
        groups=dependence.groups,
        X_test=None if options.test is None else test.X,
        task=table.task,
    )


def _warn_of_leaks(findings: Findings) -> None:
    for finding in findings:
        if finding.is_leak:
            warnings.warn(
                f"{finding.column} {finding.finding}: {finding.evidence}. {finding.advice}",
                UserWarning,
                stacklevel=2,
            )


def nearly_perfect(scores: Mapping[str, float], n_rows: int) -> Iterator[Finding]:
    """Remark on scores that are too good for most data without a leak."""
    for name in ("accuracy", "ROC AUC", "R2"):
        if scores.get(name, 0.0) >= _NEARLY_PERFECT:
            yield Finding(
                "(scores)",
                NEARLY_PERFECT,
                f"{name} {scores[name]:.4g} on {n_rows} held-out rows",
                "look among the most important columns for one that is written after the outcome",
            )
            return


def check_positive(positive: str, table: rows.TrainingTable) -> None:
    """End the command unless the positive class is one of two."""
    labels = np.unique(table.y) if table.task == "classification" else np.array([])
    if len(labels) != 2:
        raise SystemExit(
            f"--positive needs a target of two classes, got {table.task} with "
            f"{len(np.unique(table.y))} different labels"
        )
    rows.check_names("--positive must be one of", [positive], [str(label) for label in labels])


def _choose_decision(
    options: argparse.Namespace,
    model: BaseEstimator,
    train: LabelledRows,
    held_out: report.ScoredRows,
) -> tuple[Decision | None, str]:
    """Choose the threshold of the positive class, and tell which rows chose it.

    A deep forest has out-of-fold probabilities of its training rows. Other models, and
    cross-validation, choose it on the held-out rows, which makes F1 at the threshold a little too
    good.
    """
    if not is_classifier(model) or len(model.classes_) != 2:
        return None, ""
    classes = model.classes_
    positive = next((label for label in classes.tolist() if str(label) == options.positive), None)
    decision = Decision.for_class(train.y, classes, positive)
    probabilities = getattr(model, "oof_probabilities_", None)
    if probabilities is not None and held_out.n_folds == 1:
        return decision.with_best_f1(train.y, probabilities, classes), "out-of-fold predictions"
    decision = decision.with_best_f1(held_out.y, held_out.predictions, classes)
    return decision, "the held-out rows"


def row_splits(
    options: argparse.Namespace, table: rows.TrainingTable, dependence: DependentRows = INDEPENDENT
) -> list[RowSplit]:
    """Split the rows of a table: one part is held out, or each of five parts of a small table.

    The only row of a class is a training row.
    """
    y = table.y
    if not dependence.are_dependent:
        splits = _independent_splits(options, table)
    elif _is_cross_validated(options, table, dependence):
        strata = np.zeros(len(y), np.int64)
        if table.task == "classification":
            strata = np.unique(y, return_inverse=True)[1]
        try:
            splits = make_folds(
                _N_FOLDS, table.X, y, strata, options.seed, groups=dependence.groups
            )
        except ValueError as error:
            raise SystemExit(f"--groups must leave groups to hold out: {error}") from None
    else:
        share = options.holdout or _HELD_OUT_SHARE
        splits = [dependence.split(table.X, share, options.seed)]
    if table.task == "classification" and dependence.are_dependent:
        for train_rows, _ in splits:
            _check_classes_of_training(options, y, train_rows)
    return splits


def _is_cross_validated(
    options: argparse.Namespace, table: rows.TrainingTable, dependence: DependentRows
) -> bool:
    """Whether the table has too few rows, groups or cases for the score of one part."""
    if options.holdout is not None or dependence.times is not None:
        return False
    n_groups = dependence.n_groups
    if len(table.y) < _MIN_ROWS or (n_groups is not None and n_groups < _MIN_GROUPS):
        return True
    return table.task == "classification" and _n_cases(table.y, dependence) < _MIN_CASES


def _n_cases(y: np.ndarray, dependence: DependentRows) -> float:
    """Rows of the rarer class, or groups with such a row; infinity without two classes."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) != 2:
        return np.inf
    if dependence.groups is None:
        return int(counts.min())
    return len(np.unique(dependence.groups[y == classes[counts.argmin()]]))


def _independent_splits(options: argparse.Namespace, table: rows.TrainingTable) -> list[RowSplit]:
    y = table.y
    is_classification = table.task == "classification"
    strata = y if is_classification else np.zeros(len(y))
    _, stratum_of_row, counts = np.unique(strata, return_inverse=True, return_counts=True)
    is_single = counts[stratum_of_row] == 1
    if is_single.all():
        raise SystemExit(
            f"{options.table} must have two rows or more of a class to hold some out, got "
            f"{len(counts)} classes in {len(y)} rows of {options.target!r}"
            + ("; --task regression predicts numbers" if y.dtype.kind in "iuf" else "")
        )
    single_rows = np.flatnonzero(is_single)
    other_rows = np.flatnonzero(~is_single)
    if _is_cross_validated(options, table, INDEPENDENT):
        splitter = StratifiedKFold(
            min(_N_FOLDS, counts.max()), shuffle=True, random_state=options.seed
        )
        with warnings.catch_warnings():
            # About classes with fewer rows than folds, whose rows are in different folds.
            warnings.simplefilter("ignore")
            folds = list(splitter.split(other_rows, stratum_of_row[other_rows]))
        return [
            (np.concatenate([other_rows[train], single_rows]), other_rows[test])
            for train, test in folds
        ]
    share = options.holdout or _HELD_OUT_SHARE
    try:
        train_rows, test_rows = train_test_split(
            other_rows, test_size=share, random_state=options.seed,
            stratify=strata[other_rows] if is_classification else None,
        )  # fmt: skip
    except ValueError as error:
        raise SystemExit(
            f"{options.table} must have enough rows to hold out {share:g} of them: {error}"
        ) from None
    train_rows = np.concatenate([train_rows, single_rows])
    if len(np.unique(strata[train_rows])) < len(counts):
        raise SystemExit(
            f"{options.table} must have enough rows of each class to hold out {share:g} of them, "
            f"got {counts.min()} of the rarest"
        )
    return [(train_rows, test_rows)]


def _labelled_splits(
    options: argparse.Namespace, table: rows.TrainingTable, dependence: DependentRows
) -> list[tuple[LabelledRows, LabelledRows]]:
    """Training rows and held-out rows, of another table with --test."""
    X = table.X
    y = table.y
    if options.test is None:
        return [
            (LabelledRows(X.iloc[train], y[train]), LabelledRows(X.iloc[test], y[test]))
            for train, test in row_splits(options, table, dependence)
        ]
    classes = np.unique(y) if table.task == "classification" else None
    X_test, y_test = rows.read_test(
        options.test, table.schema, classes, drop_unlabelled=options.drop_unlabelled
    )
    if y_test is None:
        raise SystemExit(
            f"--test: {options.test} must have labels in {options.target!r}, since the model is "
            "scored on it; mddf check --test and mddf predict take rows without labels"
        )
    return [(LabelledRows(X, y), LabelledRows(X_test, y_test))]


def _check_classes_of_training(
    options: argparse.Namespace, y: np.ndarray, train_rows: np.ndarray
) -> None:
    """End the command if a class is only among the groups or the times that are held out."""
    missing = sorted(set(y.tolist()) - set(y[train_rows].tolist()), key=str)
    if missing:
        option = "--groups" if options.groups is not None else "--time"
        raise SystemExit(
            f"{option} must leave rows of each class to train on, got none of {missing[0]!r}"
        )
