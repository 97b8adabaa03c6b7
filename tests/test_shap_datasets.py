"""Readings of an explanation compared on real data: the profile's regions are the largest."""

import numpy as np
import pytest
from shap_cases import shap, theirs
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from lime_guarantee import InvalidInputError, find_region, wrap
from lime_guarantee.api import problem_of

READINGS = ("profile", "dependence", "linear", "presence", "constant")
BATCH = 100
"""Rows explained together, which the dependence reading needs."""

CASES = {
    "diabetes, forest": (load_diabetes, RandomForestRegressor(50, min_samples_leaf=3, random_state=0)),
    "diabetes, boosting": (load_diabetes, GradientBoostingRegressor(random_state=0)),
    "cancer, forest": (load_breast_cancer, RandomForestClassifier(50, min_samples_leaf=3, random_state=0)),
    "cancer, boosting": (load_breast_cancer, GradientBoostingClassifier(random_state=0)),
}


def reached(explanation, reading, **options):
    """The region of one reading, all judged alike: by value, with a tolerance and a domain of their own."""
    if reading != "constant":
        return explanation.guarantee_region(surrogate=reading, agreement="value", random_state=0, **options)
    subject = problem_of(explanation, agreement="value", surrogate="presence")
    problem, (value,) = subject, subject.explained.model_at_instance

    def faithful(X):
        return np.abs(problem.model(X) - value) < subject.explained.tolerance

    return find_region(faithful, problem.instance, problem.domain, random_state=0, **options)


def compare(name, rows, **options):
    """Mean reach, mean logarithm of the volume and evaluations of every reading; the table is printed."""
    load, model = CASES[name]
    X, y = load(return_X_y=True)
    model.fit(X, y)
    explainer = wrap(theirs(shap.TreeExplainer, model, X[:BATCH]), training_data=X)
    batch = theirs(explainer, X[:BATCH], check_additivity=False)
    batch = batch[:, :, 1] if batch.values.ndim == 3 else batch
    found = {reading: [] for reading in READINGS}
    for row in np.linspace(0, BATCH - 1, rows).astype(int):
        for reading in READINGS:
            try:
                region = reached(batch[row], reading, **options)
            except InvalidInputError:
                if reading != "linear":  # which has no slope near the mean, and so no region
                    raise
                continue
            share = region.log10_share if region else np.log10(np.finfo(float).tiny)
            found[reading].append((share, region.reach.mean(), region.evaluations, bool(region)))
    print(
        f"\n{name}, {rows} rows\n{'':12}{'log10 share':>12}{'mean reach':>12}{'rows asked':>12}{'regions':>9}"
    )
    means = {}
    for reading, numbers in found.items():
        if not numbers:
            print(f"{reading:12}{'refused':>12}")
            continue
        means[reading], reach, asked, _ = np.mean(numbers, axis=0)
        count = f"{sum(certified for *_, certified in numbers)}/{rows}"
        print(f"{reading:12}{means[reading]:12.2f}{reach:12.3f}{asked:12.0f}{count:>9}")
    return means


def test_the_profile_reaches_farthest(capsys):
    with capsys.disabled():
        volumes = compare("diabetes, forest", rows=3, purity=0.95)
    assert volumes["profile"] > max(volumes.values()) - 0.5  # of three rows; the slow run has twenty


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_profile_reaches_farthest_on_many_rows(name, capsys):
    with capsys.disabled():
        volumes = compare(name, rows=20)
    assert max(volumes, key=volumes.get) == "profile"
