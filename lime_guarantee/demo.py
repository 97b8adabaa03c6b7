"""The demonstration: a forest on the breast-cancer data, one row explained, and its region."""

from __future__ import annotations

import numpy as np
from numpy.random import SeedSequence

from lime_guarantee.domain import Domain
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.find import find_region
from lime_guarantee.problem import Problem, SameClass
from lime_guarantee.surrogates import fit_surrogate

TOLERANCE = 0.1


def run_demo(*, row: int = 0, seed: int = 0) -> str:
    """Train, explain, certify; returns the report."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer()
    X_train, X_test, y_train, _ = train_test_split(data.data, data.target, random_state=seed)
    if not 0 <= row < len(X_test):
        raise InvalidInputError(f"row: a number from 0 to {len(X_test) - 1} is required; got {row}.")
    model = RandomForestClassifier(n_estimators=100, random_state=seed).fit(X_train, y_train)
    instance = X_test[row]
    agreement = SameClass(TOLERANCE)
    fit_seed, region_seed = (int(s.generate_state(1)[0]) for s in SeedSequence(seed).spawn(2))
    surrogate = fit_surrogate(
        model.predict_proba, instance, agreement, scale=X_train.std(axis=0), random_state=fit_seed
    )
    problem = Problem(
        model.predict_proba,
        surrogate,
        agreement,
        instance,
        Domain.from_data(X_train, names=list(data.feature_names)),
    )
    region = find_region(problem.faithful, problem.instance, problem.domain, random_state=region_seed)
    predicted = data.target_names[int(np.argmax(model.predict_proba(instance[np.newaxis])[0]))]
    heading = (
        f"Row {row} of the breast-cancer test data: a forest of 100 trees says {predicted}, explained by a "
        "logistic surrogate."
    )
    return f"{heading}\n\n{region}"
