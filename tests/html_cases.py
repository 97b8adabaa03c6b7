"""Regions and reports to be shown: real ones, with names that must not be taken for HTML."""

from functools import cache

import audit_models
import lime_rows
import numpy as np
import shap_cases
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer
from problems import PROBLEMS
from reviews import TEXT, classifier

from lime_guarantee import Domain, Problem, Radial, SameValue, audit, find_region, guarantee_region, wrap

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low"}
SEED = 6  # of the audit: verdicts of many kinds, and an explanation that leaves out what matters
SCRIPT, IMAGE, HANDLER = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"'><b onclick=alert(3)>",
)
ENDING = "</script><!--\u2028&amp;"
HOSTILE = [SCRIPT, IMAGE, HANDLER, ENDING, "mean smoothness", "mean compactness"]
X, _, _ = audit_models.data()


def explainer():
    return LimeTabularExplainer(
        X[:400], feature_names=HOSTILE, class_names=["malignant", f"benign {SCRIPT}"], random_state=0
    )


def explained(row, **options):
    explanation = wrap(explainer(), training_data=X[:400]).explain_instance(
        X[row], audit_models.predict, num_samples=500, num_features=4
    )
    return explanation.guarantee_region(random_state=0, **{**QUICK, **options})


def tabular():
    """A forest on a few features."""
    return explained(403)


def unfaithful():
    return explained(403, agreement="value", tolerance=1e-6)


def categories():
    """LIME with categories, and scores of all three classes."""
    made = lime_rows.categorical(lime_rows.MIXED.predict_proba, explain_options={"top_labels": 3})
    given = {**made.given, "training_data": made.training_data}
    return guarantee_region(made.explanation, random_state=0, **given, **QUICK)


def text():
    """Words, some of which must stay."""
    predict = classifier("bad", "good").predict_proba
    explainer = wrap(LimeTextExplainer(random_state=0, class_names=["bad", "good"]))
    explanation = explainer.explain_instance(TEXT, predict, num_samples=300)
    return explanation.guarantee_region(random_state=0, tolerance=0.03, agreement="change", **QUICK)


def shap():
    """Categories, not all of which are allowed, whole numbers, and effects on grids."""
    case = shap_cases.CASES["xgboost colours"]
    given = {"tolerance": 0.05, "random_state": 1, "measure": "uniform", **case.options, **QUICK}
    return case.explanation.guarantee_region(**given)


def ball():
    disc = PROBLEMS["disc"]
    return find_region(
        disc.faithful, [0.1, 0.2], disc.domain, search=Radial(steps=8), purity=0.9, random_state=0
    )


def undescribed():
    """A surrogate of the user's own, of which a page knows nothing."""
    problem = Problem(
        lambda X: X[:, 0] + np.sin(X[:, 1]),
        lambda X: X[:, 0],
        SameValue(0.25),
        np.array([0.5, 0.1]),
        Domain.from_bounds([-3, -3], [3, 3]),
    )
    return find_region(problem, random_state=0, purity=0.9)


MAKERS = {maker.__name__: maker for maker in (tabular, categories, text, shap, ball, undescribed, unfaithful)}
CERTIFIED = [name for name in MAKERS if name != "unfaithful"]


@cache
def region(name):
    return MAKERS[name]()


@cache
def report():
    """A real audit of twelve rows; the model fails on one of them."""
    rows = X[500:512].copy()
    rows[4, 0] += 0.00123  # a value that no other row has
    return audit(
        explainer=explainer(),
        X=rows,
        predict_fn=audit_models.FailsOn(rows[4, 0]),
        training_data=X[:400],
        explain_kwargs={"num_samples": 300},
        measure="uniform",
        random_state=SEED,
        **QUICK,
    )
