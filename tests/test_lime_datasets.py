"""scikit-learn's small datasets, common models, LIME as it comes: what a user gets, in a table."""

import warnings
from functools import cache

import numpy as np
import pytest
from lime.lime_tabular import LimeTabularExplainer
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from lime_guarantee import wrap
from lime_guarantee.errors import GuaranteeWarning

pytestmark = pytest.mark.compiled

DATASETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "diabetes": load_diabetes,
}
SMALL = {"hidden_layer_sizes": (10,), "solver": "lbfgs", "max_iter": 1_000, "alpha": 1.0, "random_state": 0}
CLASSIFIERS = {
    "random forest": RandomForestClassifier(20, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "SVM": make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)),
    "MLP": make_pipeline(StandardScaler(), MLPClassifier(**SMALL)),
}
REGRESSORS = {
    "random forest": RandomForestRegressor(20, random_state=0),
    "gradient boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
    "SVM": make_pipeline(StandardScaler(), SVR(C=100)),
    "MLP": make_pipeline(StandardScaler(), MLPRegressor(**{**SMALL, "alpha": 100.0})),
}
STATUSES = ("certified", "uncertified", "unfaithful")

load = cache(lambda name: DATASETS[name]())


def regions_of(dataset, model, rows, **options):
    """A region for each of some rows, with LIME's own settings."""
    data = load(dataset)
    regression = dataset == "diabetes"
    fitted = (REGRESSORS if regression else CLASSIFIERS)[model].fit(data.data, data.target)
    explainer = LimeTabularExplainer(
        data.data,
        mode="regression" if regression else "classification",
        feature_names=data.feature_names,
        class_names=None if regression else data.target_names,
        random_state=0,
    )
    explainer = wrap(explainer, training_data=data.data)
    answer = fitted.predict if regression else fitted.predict_proba
    chosen = np.linspace(0, len(data.data) - 1, rows).astype(int)
    for row in data.data[chosen]:
        explanation = explainer.explain_instance(row, answer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)  # LIME's own faults, which others test
            yield explanation.guarantee_region(random_state=0, **options)


def check_and_tabulate(rows, **options):
    """A line for every dataset and model: how many of each status, and the mean reach of the certified."""
    lines = []
    for dataset in DATASETS:
        for model in CLASSIFIERS:
            regions = list(regions_of(dataset, model, rows, **options))
            assert len(regions) == rows
            for region in regions:
                assert region.status in STATUSES
                for numbers in (region.lower, region.upper, region.reach, region.log10_share):
                    assert np.isfinite(numbers).all()
                assert region.contains(region.instance[np.newaxis]).all()
                assert bool(region) == (region.certificate is not None)
                assert region or region.reason
            counts = [sum(region.status == status for region in regions) for status in STATUSES]
            reach = [region.reach.mean() for region in regions if region]
            shown = f"{np.mean(reach):11.3f}" if reach else f"{'-':>11}"
            lines.append(f"{dataset:14}{model:18}" + "".join(f"{c:12}" for c in counts) + shown)
    return lines


def print_table(lines):
    print("\n" + f"{'':32}" + "".join(f"{status:>12}" for status in STATUSES) + f"{'mean reach':>11}")
    print("\n".join(lines))


def test_every_dataset_and_model_gets_an_answer_and_never_a_nan():
    lines = check_and_tabulate(rows=2, purity=0.95, confidence=0.95, effort="low")
    print_table(lines)
    assert len(lines) == 16
    assert len({line[:32] for line in lines}) == 16


def test_an_unfaithful_answer_becomes_a_certified_one_when_changes_are_compared():
    for test in ("auto", "change"):
        regions = list(
            regions_of("iris", "MLP", 4, purity=0.95, confidence=0.95, effort="low", agreement=test)
        )
        assert ("unfaithful" in {region.status for region in regions}) == (test == "auto")
    assert all(regions)


@pytest.mark.slow
def test_every_dataset_and_model_gets_an_answer_at_the_default_purity():
    lines = check_and_tabulate(rows=8)
    print_table(lines)
    assert len(lines) == 16
