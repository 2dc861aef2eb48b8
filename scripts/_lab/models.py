"""Methods: the registry of methods.toml, methods of the user, equal budgets, and tuning."""

import inspect
import pkgutil
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline

from mddf import MDDFClassifier
from mddf._command.rows import check_names
from mddf.rules import MarginRules

from . import data, in_a_line, scores

EQUAL = ("deepforest", "mddf", "gcforest", "xgboost", "rf", "mlp")
ABLATIONS = ("mddf-sf", "mddf-st", "mddf-np")
CASCADES = ("mddf", "mddf-paper", "gcforest", *ABLATIONS)
PEERS = ("sklearn-rf", "extratrees", "histgb", "xgboost", "lightgbm", "catboost")
LEAGUE = {
    "classification": ("deepforest", "mddf", "gcforest", *PEERS),
    "regression": ("deepforest", *PEERS),
}


@dataclass(frozen=True)
class Budget:
    """Equal budget of all methods."""

    n_estimators: int = 100  # trees of each of the four forests of a layer
    n_layers: int | None = None  # None: the default of the class
    n_folds: int = 5
    rounds: int | None = None  # boosting rounds; None: the number of trees of a layer
    max_epochs: int = 100  # of the perceptron

    @property
    def n_trees(self) -> int:
        """Number of trees of a layer over all k folds: 400 k in the mdDF paper."""
        return 4 * self.n_estimators * self.n_folds

    @property
    def n_rounds(self) -> int:
        """Number of boosting rounds."""
        return self.rounds or self.n_trees

    def __str__(self):
        layers = "" if self.n_layers is None else f", at most {self.n_layers} layers"
        return (
            f"cascades 4 x {self.n_estimators} trees in {self.n_folds} folds a layer{layers};\n"
            f"DeepForest {self.n_estimators} trees a forest, folds and members its own choice;\n"
            f"RandomForest {self.n_trees} trees; boosting {self.n_rounds} rounds"
        )


@dataclass(frozen=True)
class Method:
    """A method; methods.toml explains the fields."""

    title: str
    classifier: str | None = None
    regressor: str | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)
    budget: Mapping[str, str] = field(default_factory=dict)
    equal: Mapping[str, object] = field(default_factory=dict)
    takes: str = "as they are"
    library: bool = False
    threads: str = "n_jobs"
    extra: str = ""
    needs: str = ""
    space: Mapping[str, object] = field(default_factory=dict)
    named: str = ""

    def path(self, task):
        """Return "module:Class" for a task; None if the method cannot do it."""
        return self.classifier if task == "classification" else self.regressor

    def missing(self, task="classification"):
        """Return why the method is not available; None if it is."""
        if self.path(task) is None:
            return f"{self.title} is not for {task}"
        try:
            pkgutil.resolve_name(self.needs or self.path(task))
        except ImportError:
            return f'{self.title} is not installed: pip install "mddf[{self.extra}]"'
        return None


def _registry():
    folder = Path(__file__).parent
    content = tomllib.loads((folder / "methods.toml").read_text("utf-8"))
    spaces = tomllib.loads((folder.parent / "published/search_spaces.toml").read_text("utf-8"))
    for name, space in spaces.items():
        content[name]["space"] = space
    entries = {n: {**content.get(e.get("like"), {}), **e} for n, e in content.items()}
    return {n: Method(**{k: v for k, v in e.items() if k != "like"}) for n, e in entries.items()}


METHODS = _registry()


def title_of(name):
    """Return the name of a method in pictures and tables."""
    plain = re.match(r"[^(,+]*", name)[0]
    title = METHODS[plain].title if plain in METHODS else plain
    return title + name[len(plain) :].replace("(", " (", 1)


def chosen(options, default, task="classification") -> dict[str, Method]:
    """Return the methods of --methods, --method and --set by name.

    Methods that are not available are left out, and a line is printed. A method with parameters
    of --set has them in its name, such as mddf(strength=0.7).
    """
    own = own_methods(options)
    methods, names = METHODS | own, options.methods or [*default, *own]
    values: dict[str, dict] = {}
    for name, parameter, value in sorted(options.set, key=lambda setting: setting[:2]):
        values.setdefault(name, {})[parameter] = value
    check_names("--methods: must be among", names, [*own, *METHODS])
    check_names("--method: must be among --methods:", own, names)
    check_names("--set: must be among", values, names)
    methods_by_label = {}
    for name, method in present({name: methods[name] for name in names}, task).items():
        label = name
        if name in values:
            label += f"({', '.join(f'{key}={value}' for key, value in values[name].items())})"
            budget = {
                key: attribute
                for key, attribute in method.budget.items()
                if key not in values[name]
            }
            method = replace(method, fixed={**method.fixed, **values[name]}, budget=budget)
        methods_by_label[label] = method
        if name in values or name in own:
            try:
                build(method, 0, task=task)
            except Exception as error:  # such as unknown arguments of the class
                raise SystemExit(f"{label} cannot be made: {in_a_line(error)}") from error
    return methods_by_label


def present(methods, task="classification"):
    """Return the available methods by name, and print a line for each other one."""
    missing = {name: method.missing(task) for name, method in methods.items()}
    for name, why in missing.items():
        if why:
            print(f"{name} left out: {why}")
    return {name: method for name, method in methods.items() if missing[name] is None}


def own_methods(options) -> dict[str, Method]:
    """Return the methods of --method by name; other methods must not have the same name."""
    titles = {method.title.lower(): name for name, method in METHODS.items()}
    titles |= {name.lower(): name for name in METHODS}
    titles |= {f"{name}-tuned": name for name in METHODS}
    by_name: dict[str, Method] = {}
    for name, *rest in options.own:
        if name in by_name:
            raise SystemExit(f"--method: must have names of their own, got {name!r} twice")
        if name.lower() in titles:
            taken = titles[name.lower()]
            raise SystemExit(
                f"--method: {name} is a method of these scripts, {title_of(taken)}: give your own "
                "another name"
            )
        by_name[name] = own_method(*rest)
    return by_name


def own_method(path, arguments) -> Method:
    """Return the method of a user's class.

    A class of the registry keeps the treatment of its entry. Tables become numbers for any other
    class, which gets only the user's arguments.
    """
    for method in METHODS.values():
        if path in (method.classifier, method.regressor):
            arguments = {**method.fixed, **arguments}
            return replace(method, fixed=arguments, budget={}, equal={})
    takes = "as they are" if path.startswith("mddf:") else "numbers"
    return Method(path, path, path, arguments, takes=takes, threads="")


class Library(BaseEstimator):
    """XGBoost, LightGBM or CatBoost for labels and tables of any kind.

    Labels are encoded as 0, 1, … and decoded again. Columns are renamed c0, c1, …, because
    LightGBM rejects special characters. CatBoost gets categories as text, and their columns.
    """

    def __init__(self, model):
        self.model = model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if is_classifier(self.model) else "regressor"
        return tags

    def _table(self, X):
        if not hasattr(X, "columns"):
            return X, {}
        X = X.set_axis([f"c{i}" for i in range(X.shape[1])], axis=1)
        if not type(self.model).__module__.startswith("catboost"):
            return X, {}
        words = list(X.select_dtypes(exclude="number"))
        X = X.astype(dict.fromkeys(words, object))
        X[words] = X[words].where(X[words].notna(), "missing").astype(str)
        return X, {"cat_features": words}

    def fit(self, X, y):
        """Fit a copy of the model."""
        X, options = self._table(X)
        if is_classifier(self.model):
            self.classes_, y = np.unique(y, return_inverse=True)
        self.model_ = clone(self.model).fit(X, y, **options)
        return self

    def predict(self, X):
        """Return labels or numbers."""
        predicted = np.asarray(self.model_.predict(self._table(X)[0])).reshape(len(X))
        return self.classes_[predicted.astype(int)] if is_classifier(self.model) else predicted

    def predict_proba(self, X):
        """Return the probabilities in the order of `classes_`."""
        return self.model_.predict_proba(self._table(X)[0])


def build(method, seed, *, task="classification", budget=None, n_jobs=1, n_rows=None):
    """Return an unfitted estimator with the parameters of a budget, or with its own defaults.

    Boosting libraries use one thread for few rows.
    """
    make = pkgutil.resolve_name(method.path(task))
    arguments = dict(method.fixed)
    if budget is not None:
        budget_values = {
            name: getattr(budget, attribute) for name, attribute in method.budget.items()
        }
        budget_values = {name: value for name, value in budget_values.items() if value is not None}
        arguments = {**method.equal, **budget_values, **arguments}
    takes = inspect.signature(make).parameters
    takes_any_keyword = any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values()
    )
    if method.library and n_rows is not None:
        n_jobs = scores.library_threads(n_rows, n_jobs)
    for argument, value in (("random_state", seed), (method.threads, n_jobs)):
        if takes_any_keyword or argument in takes:
            arguments.setdefault(argument, value)
    if make is MDDFClassifier:
        arguments = with_rules(arguments)
    if method.named:
        model = make.named(method.named, **arguments)
    elif any(name.startswith("rules__") for name in arguments):
        model = make(rules=MarginRules()).set_params(**arguments)
    else:
        model = make(**arguments)
    if method.library:
        return Library(model)
    prepare = {"codes": data.to_codes, "numbers": data.to_numbers, "scaled": data.to_scaled}
    if method.takes == "as they are":
        return model
    return Pipeline([("prepare", prepare[method.takes]()), ("model", model)])


def cascade(options, method, seed, task="classification", **parameters):
    """Return an unfitted cascade with the numbers of trees and layers of the options."""
    budget = Budget(options.n_estimators, options.n_layers)
    model = build(METHODS[method], seed, task=task, budget=budget, n_jobs=options.n_jobs)
    if isinstance(model, MDDFClassifier):
        parameters = with_rules(parameters)
        if model.rules is None:
            model.set_params(rules=MarginRules())
    return model.set_params(**parameters)


def with_rules(parameters):
    """Return parameters of mdDF; a hyperparameter such as strength becomes rules__strength."""
    rules = MarginRules().get_params().keys() - MDDFClassifier().get_params().keys()
    return {f"rules__{name}" if name in rules else name: v for name, v in parameters.items()}


class Draw:
    """A distribution rounded to whole numbers of at least `least`.

    With `least=None` values are not rounded, and half of them are 0.
    """

    def __init__(self, distribution, least=1):
        self.distribution = distribution
        self.least = least

    def rvs(self, random_state=None):
        """Draw a value."""
        if self.least is None and random_state.random() < 0.5:
            return 0.0
        value = float(self.distribution.rvs(random_state=random_state))
        return value if self.least is None else max(self.least, round(value))


def distribution(text):
    """Return the distribution of a text, or the values of a list, of search_spaces.toml.

    "None" in a list stands for None.
    """
    if not isinstance(text, str):
        return [None if value == "None" else value for value in text]
    kind, *numbers = text.replace("zero or log", "zero").split()
    a, b, *least = map(float, numbers)
    return {
        "uniform": lambda: stats.uniform(a, b - a),
        "lognormal": lambda: stats.lognorm(s=a, scale=b),
        "log": lambda: stats.loguniform(a, b),
        "zero": lambda: Draw(stats.loguniform(a, b), None),
        "int": lambda: stats.randint(int(a), int(b) + 1),
        "log-int": lambda: Draw(stats.loguniform(a, b)),
        "normal-int": lambda: Draw(stats.norm(a, b), int(*least)),
    }[kind]()


def tuned(model, method, seed, metric, y, *, n_iter=30, task="classification"):
    """Return a random search by a metric over the method's published space, with 3 folds."""
    prefix = "model__" if isinstance(model, Library | Pipeline) else ""
    space = {f"{prefix}{name}": distribution(text) for name, text in method.space.items()}
    kind = KFold if data.strata_of(y, task, 3) is None else StratifiedKFold
    folds = kind(3, shuffle=True, random_state=seed)
    return RandomizedSearchCV(
        model, space, n_iter=n_iter, cv=folds, random_state=seed,
        scoring=scores.scorer(metric), error_score="raise",
    )  # fmt: skip


def details(model) -> str:
    """Return the selected parameters of a fitted model in a few words."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "best_params_"):
        values = ((k.split("__")[-1], v) for k, v in last.best_params_.items())
        return ", ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in values)
    if hasattr(last, "architecture_"):
        return f"{'-'.join(map(str, last.architecture_))}, {last.n_epochs_} epochs"
    if hasattr(last, "n_layers_"):
        return f"{last.n_layers_} of {len(last.history_['score'])} layers kept"
    return ""
