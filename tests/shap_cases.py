"""Data, models and explainers for the tests of SHAP. Every model is fitted once."""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from cubes import cube_of
from scipy.special import expit, logit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from lime_guarantee import Settings, wrap
from lime_guarantee.api import problem_of

with warnings.catch_warnings():  # of its own use of matplotlib
    warnings.simplefilter("ignore")
    import shap

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
FRAME = pd.DataFrame(X, columns=["age", "bmi", "dose", "rest"])
BACKGROUND = X[:40]
LINE = X @ [1.0, -2.0, 0.5, 0.0]
CURVES = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + np.abs(X[:, 2])
STEPS = 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0.5) * (X[:, 2] > 0)
CLASSES = (STEPS + 0.3 * RNG.normal(size=300) > 1.5).astype(int)
THREE = np.digitize(LINE, [-1.0, 1.0])

COLOURS = RNG.choice(["red", "green", "blue"], 300)
MIXED = pd.DataFrame({"size": X[:, 0], "count": RNG.integers(0, 5, 300), "colour": COLOURS}).astype(
    {"colour": object}
)
CATEGORIES = MIXED.astype({"colour": "category"})
PRICE = X[:, 0] + pd.Series(COLOURS).map({"red": 0.0, "green": 1.0, "blue": 3.0}) + (MIXED["count"] > 2)

MAKERS = {
    "line": lambda: LinearRegression().fit(X, LINE),
    "frame line": lambda: LinearRegression().fit(FRAME, LINE),
    "logistic": lambda: LogisticRegression().fit(X, CLASSES),
    "frame logistic": lambda: LogisticRegression().fit(FRAME, CLASSES),
    "three": lambda: LogisticRegression().fit(X, THREE),
    "curves": lambda: make_pipeline(SplineTransformer(), LinearRegression()).fit(X, CURVES),
    "mixed line": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(sparse_output=False), ["colour"]), remainder="passthrough"),
        LinearRegression(),
    ).fit(MIXED, PRICE),
    "hist": lambda: HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, STEPS),
    "hist class": lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, CLASSES),
    "hist stumps": lambda: HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=2).fit(X, CURVES),
    "hist colours": lambda: HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype").fit(
        CATEGORIES, PRICE
    ),
    "forest": lambda: RandomForestRegressor(10, max_depth=5, random_state=0).fit(X, STEPS),
    "forest class": lambda: RandomForestClassifier(10, max_depth=5, random_state=0).fit(X, CLASSES),
    "forest three": lambda: RandomForestClassifier(10, max_depth=5, random_state=0).fit(X, THREE),
    "frame forest": lambda: RandomForestClassifier(10, max_depth=5, random_state=0).fit(FRAME, CLASSES),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, STEPS),
    "boosting class": lambda: GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, CLASSES),
    "boosting stumps": lambda: GradientBoostingRegressor(n_estimators=40, max_depth=1).fit(X, CURVES),
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=20, max_depth=3).fit(X, STEPS),
    "xgboost class": lambda: xgboost.XGBClassifier(n_estimators=20, max_depth=3).fit(X, CLASSES),
    "xgboost three": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3).fit(X, THREE),
    "xgboost stumps": lambda: xgboost.XGBRegressor(n_estimators=40, max_depth=1).fit(X, CURVES),
    "xgboost colours": lambda: xgboost.XGBRegressor(
        n_estimators=20, max_depth=3, enable_categorical=True
    ).fit(CATEGORIES, PRICE),
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(X, STEPS),
    "lightgbm class": lambda: lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(X, CLASSES),
    "lightgbm stumps": lambda: lightgbm.LGBMRegressor(n_estimators=40, num_leaves=2, verbose=-1).fit(
        X, CURVES
    ),
    "lightgbm colours": lambda: lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(CATEGORIES, PRICE),
}


@functools.cache
def fitted(name: str) -> Any:
    """A model by its name; what its library warns about while fitting is not our concern."""
    return theirs(MAKERS[name])


def theirs(call: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call another library; its own warnings are not our concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


@dataclass(eq=False)
class Case:
    """An explainer, the rows it explains, and what the truth is.

    `truth` maps raw rows to the model's answer, in the units explained, and takes another way to the model
    than the adapter does. `shape` says what kind of function it is.
    """

    name: str
    explainer: Callable
    truth: Callable
    shape: str = "tree"
    data: Any = field(default_factory=lambda: X)
    output: int | None = None
    row: int = 0
    options: dict = field(default_factory=dict)

    @functools.cached_property
    def batch(self) -> Any:
        return theirs(wrap(theirs(self.explainer), training_data=self.data), self.data[:3])

    @property
    def explanation(self) -> Any:
        return self.batch[self.row] if self.output is None else self.batch[self.row, :, self.output]

    @functools.cached_property
    def subject(self) -> Any:
        options = dict(self.options)
        given = {"predict_fn": options.pop("predict_fn", None), "settings": Settings(random_state=0)}
        return problem_of(self.explanation, **given, **options)

    @functools.cached_property
    def region(self) -> Any:
        return self.explanation.guarantee_region(**QUICK, **self.options)

    def told(self, numbers: Any) -> Any:
        """Numbers in the units explained, as the region compares them."""
        return expit(numbers) if self.options.get("units") == "probability" else numbers

    @property
    def instance(self) -> Any:
        return as_rows(self.data)[[self.row]]

    def draws(self, count: int = 500) -> Any:
        """Rows spread over the whole domain."""
        domain, _ = self.subject.domain.including(self.subject.instance)
        cube = cube_of(domain, self.subject.instance)
        return cube.decode(cube.whole.sample(np.random.default_rng(7), count))


def as_rows(data: Any) -> Any:
    return data.to_numpy() if isinstance(data, pd.DataFrame) else data


def frame_like(rows: Any, like: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=like.columns).astype(like.dtypes.to_dict())


def answers(name: str, method: str = "predict", column: int | None = None, like: Any = None) -> Callable:
    """One output of a fitted model, asked with a frame where it was fitted with one."""

    def truth(rows: Any) -> Any:
        asked = rows if like is None else frame_like(rows, like)
        answer = getattr(fitted(name), method)(asked)
        return np.asarray(answer if column is None else answer[:, column], dtype=np.float64)

    return truth


def log_odds(name: str) -> Callable:
    if name.startswith("xgboost"):  # its probabilities are too coarse
        return lambda rows: margins(name, rows).astype(np.float64)
    return lambda rows: logit(answers(name, "predict_proba", 1)(rows))


def margins(name: str, rows: Any) -> Any:
    return fitted(name).predict(rows, output_margin=True)


def partition(model: Callable, data: Any, **options: Any) -> Any:
    return shap.PartitionExplainer(model, shap.maskers.Partition(data), **options)


def tree_cases() -> list[Case]:
    cases = []
    for name in ("hist", "forest", "boosting", "xgboost", "lightgbm"):
        cases.append(
            Case(f"{name}, trees alone", lambda name=name: shap.TreeExplainer(fitted(name)), answers(name))
        )
        if name != "hist":  # shap fails its own check there: see test_a_row_that_shap_gets_wrong_is_refused
            cases.append(
                Case(
                    f"{name}, background",
                    lambda name=name: shap.TreeExplainer(fitted(name), BACKGROUND),
                    answers(name),
                )
            )
        label = f"{name} class"
        if name != "forest":
            cases.append(
                Case(f"{label}, raw", lambda label=label: shap.TreeExplainer(fitted(label)), log_odds(label))
            )
            cases.append(
                Case(
                    f"{label}, raw as probability",
                    lambda label=label: shap.TreeExplainer(fitted(label)),
                    log_odds(label),
                    options={"units": "probability"},
                )
            )
        if name not in ("forest", "hist"):
            cases.append(
                Case(
                    f"{label}, probability",
                    lambda label=label: shap.TreeExplainer(
                        fitted(label), BACKGROUND, model_output="probability"
                    ),
                    answers(label, "predict_proba", 1),
                )
            )
        if name != "forest":
            stumps = f"{name} stumps"
            cases.append(
                Case(
                    stumps,
                    lambda stumps=stumps: shap.TreeExplainer(fitted(stumps)),
                    answers(stumps),
                    shape="steps",
                )
            )
    for output in (0, 1):
        cases.append(
            Case(
                f"forest class, output {output}",
                lambda: shap.TreeExplainer(fitted("forest class")),
                answers("forest class", "predict_proba", output),
                output=output,
            )
        )
    cases.append(
        Case(
            "forest class, probability",
            lambda: shap.TreeExplainer(fitted("forest class"), BACKGROUND, model_output="probability"),
            answers("forest class", "predict_proba", 1),
            output=1,
        )
    )
    cases.append(
        Case(
            "forest three",
            lambda: shap.TreeExplainer(fitted("forest three")),
            answers("forest three", "predict_proba", 2),
            output=2,
        )
    )
    cases.append(
        Case(
            "xgboost three",
            lambda: shap.TreeExplainer(fitted("xgboost three")),
            lambda rows: margins("xgboost three", rows)[:, 2].astype(np.float64),
            output=2,
            # shap's copy starts all classes from one base score, XGBoost 3 does not
            options={"predict_fn": functools.partial(margins, "xgboost three")},
        )
    )
    cases.append(
        Case(
            "frame forest",
            lambda: shap.TreeExplainer(fitted("frame forest"), FRAME[:40]),
            answers("frame forest", "predict_proba", 1, FRAME),
            data=FRAME,
            output=1,
        )
    )
    for name in ("xgboost colours", "lightgbm colours"):
        cases.append(
            Case(
                name,
                lambda name=name: shap.TreeExplainer(fitted(name)),
                answers(name, like=CATEGORIES),
                data=CATEGORIES,
                options={"predict_fn": fitted(name).predict},
            )
        )
    return cases


def function_cases() -> list[Case]:
    """Explainers that ask a function: a line, curves and trees each, one output and several."""
    makers = {
        "kernel": shap.KernelExplainer,
        "sampling": shap.SamplingExplainer,
        "permutation": shap.PermutationExplainer,
        "exact": shap.ExactExplainer,
        "partition": partition,
    }
    cases = []
    for kind, make in makers.items():
        for name, shape in (("line", "line"), ("curves", "curves"), ("forest", "tree")):
            cases.append(
                Case(
                    f"{kind}, {name}",
                    lambda make=make, name=name: make(fitted(name).predict, BACKGROUND),
                    answers(name),
                    shape=shape,
                )
            )
        for name, output in (("logistic", 1), ("three", 0)):
            cases.append(
                Case(
                    f"{kind}, {name}",
                    lambda make=make, name=name: make(fitted(name).predict_proba, BACKGROUND),
                    answers(name, "predict_proba", output),
                    shape="smooth",
                    output=output,
                )
            )
        cases.append(
            Case(
                f"{kind}, frame",
                lambda make=make: make(fitted("frame logistic").predict_proba, FRAME[:40]),
                answers("frame logistic", "predict_proba", 1, FRAME),
                shape="smooth",
                data=FRAME,
                output=1,
            )
        )
    logits = {
        "kernel": lambda f: shap.KernelExplainer(f, BACKGROUND, link="logit"),
        "permutation": lambda f: shap.PermutationExplainer(f, BACKGROUND, link=shap.links.logit),
        "exact": lambda f: shap.ExactExplainer(f, BACKGROUND, link=shap.links.logit),
        # shap's own code cannot linearise a link here
        "partition": lambda f: partition(f, BACKGROUND, link=shap.links.logit, linearize_link=False),
    }
    for kind, make in logits.items():
        cases.append(
            Case(
                f"{kind}, logit",
                lambda make=make: make(fitted("logistic").predict_proba),
                log_odds("logistic"),
                shape="line",
                output=1,
            )
        )
    cases.append(
        Case(
            "kernel, a frame with its index",
            lambda: shap.KernelExplainer(fitted("frame logistic").predict_proba, FRAME[:40], keep_index=True),
            answers("frame logistic", "predict_proba", 1, FRAME),
            shape="smooth",
            data=FRAME,
            output=1,
        )
    )
    cases.append(
        Case(
            "kernel, text columns",
            lambda: shap.KernelExplainer(fitted("mixed line").predict, MIXED[:30], keep_index=True),
            answers("mixed line", like=MIXED),
            shape="line",
            data=MIXED,
        )
    )
    for name in ("hist colours", "xgboost colours", "lightgbm colours"):
        cases.append(
            Case(
                f"kernel, {name}",
                lambda name=name: shap.KernelExplainer(answers(name, like=CATEGORIES), CATEGORIES[:30]),
                answers(name, like=CATEGORIES),
                data=CATEGORIES,
            )
        )
    return cases


def linear_cases() -> list[Case]:
    return [
        Case(
            "linear, line",
            lambda: shap.LinearExplainer(fitted("line"), BACKGROUND),
            answers("line"),
            shape="line",
        ),
        Case(
            "linear, logistic",
            lambda: shap.LinearExplainer(fitted("logistic"), BACKGROUND),
            log_odds("logistic"),
            shape="line",
        ),
        Case(
            "linear, three",
            lambda: shap.LinearExplainer(fitted("three"), BACKGROUND),
            answers("three", "decision_function", 2),
            shape="line",
            output=2,
        ),
        Case(
            "linear, frame",
            lambda: shap.LinearExplainer(fitted("frame line"), FRAME[:40]),
            answers("frame line", like=FRAME),
            shape="line",
            data=FRAME,
        ),
    ]


CASES = {case.name: case for case in (*tree_cases(), *function_cases(), *linear_cases())}
