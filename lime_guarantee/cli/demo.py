"""The demonstration: a forest on the breast-cancer data, one row explained by LIME, and its region."""

from __future__ import annotations

from lime_guarantee.adapters.hooks import wrap
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require


def run_demo(*, row: int = 0, seed: int = 0) -> str:
    """Train, explain, certify; returns the report."""
    lime_tabular = require("lime.lime_tabular", "lime-guarantee demo", extra="lime")
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer()
    X_train, X_test, y_train, _ = train_test_split(data.data, data.target, random_state=seed)
    if not 0 <= row < len(X_test):
        raise InvalidInputError(f"row: a number from 0 to {len(X_test) - 1} is required; got {row}.")
    model = RandomForestClassifier(n_estimators=100, random_state=seed).fit(X_train, y_train)
    explainer = wrap(
        lime_tabular.LimeTabularExplainer(
            X_train, feature_names=data.feature_names, class_names=data.target_names, random_state=seed
        ),
        training_data=X_train,
    )
    explanation = explainer.explain_instance(X_test[row], model.predict_proba)
    region = explanation.guarantee_region(random_state=seed)
    weights = "\n".join(f"  {weight:+.3f}  {feature}" for feature, weight in explanation.as_list())
    return (
        f"Row {row} of the breast-cancer test data, a forest of 100 trees, explained by "
        f"LIME:\n\n{weights}\n\nHow far does that hold?\n\n{region}"
    )
