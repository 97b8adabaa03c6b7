"""Common models and explainers, called as newcomers call them: what every cell of that table gives."""

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from shap_cases import shap, theirs
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from lime_guarantee import install
from lime_guarantee.errors import GuaranteeError

TABLE = Path(__file__).parent / "first_calls.md"
OUTCOMES = ("certified", "uncertified", "unfaithful", "refused", "crash")

DATA = load_breast_cancer(as_frame=True)
X, Y = DATA.data.iloc[:, :6], DATA.target  # the columns have blanks in their names
BACKGROUND = X[::40]


def _xgboost():
    import xgboost

    return xgboost.XGBClassifier(n_estimators=15, max_depth=3, n_jobs=1)


def _lightgbm():
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=15, num_leaves=8, verbose=-1, n_jobs=1)


def _catboost():
    import catboost

    return catboost.CatBoostClassifier(
        iterations=15, depth=3, verbose=0, thread_count=1, allow_writing_files=False, random_seed=0
    )


def _scaled(model):
    return make_pipeline(StandardScaler(), model)


MODELS = {
    "XGBoost": _xgboost,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=15, random_state=0),
    "RandomForest": lambda: RandomForestClassifier(15, max_depth=5, random_state=0),
    "linear": lambda: LogisticRegression(max_iter=10_000),
    "MLP": lambda: _scaled(MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=500, random_state=0)),
    "SVC": lambda: _scaled(CalibratedClassifierCV(SVC(), ensemble=False)),
}


def explained_by_lime(model, rows):
    explainer = LimeTabularExplainer(X.to_numpy(), feature_names=list(X), random_state=0)
    for row in rows.to_numpy():
        yield explainer.explain_instance(row, model.predict_proba)


def explained_by_own(model, rows):
    """The explainer that shap has for such a model, without a background where it needs none."""
    own = (
        shap.TreeExplainer(model) if not hasattr(model, "coef_") else shap.LinearExplainer(model, BACKGROUND)
    )
    yield from rows_of(own(rows))


def explained_with(make):
    def explained(model, rows):
        yield from rows_of(make(model.predict_proba)(rows))

    return explained


def rows_of(batch):
    """Every row of a batch, of several outputs the last."""
    for i in range(len(batch)):
        yield batch[i] if batch.values.ndim == 2 else batch[i, :, 1]


EXPLAINERS = {
    "LIME": explained_by_lime,
    "its own": explained_by_own,
    "Permutation": explained_with(lambda f: shap.PermutationExplainer(f, BACKGROUND)),
    "Kernel": explained_with(lambda f: shap.KernelExplainer(lambda rows: f(rows), BACKGROUND)),
    "Exact": explained_with(lambda f: shap.ExactExplainer(f, BACKGROUND)),
    "Partition": explained_with(lambda f: shap.PartitionExplainer(f, shap.maskers.Partition(BACKGROUND))),
}


def outcomes(model, explained, count, **asked):
    """How often a cell gives what, and its failures in words; None if the library itself fails.

    The explanations are made after install(), and nothing is given but settings.
    """
    rows = X.iloc[np.linspace(0, len(X) - 1, count).astype(int)]
    found, failures = Counter(), []
    with install():
        try:
            explanations = theirs(lambda: list(explained(model, rows)))
        except Exception as error:  # noqa: BLE001 - whatever another library raises
            return None, [f"{type(error).__name__}: {error}"]
        for explanation in explanations:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    region = explanation.guarantee_region(random_state=0, **asked)
                assert region or region.reason
                found[region.status] += 1
            except GuaranteeError as error:
                found["refused"] += 1
                failures.append(str(error))
            except Exception as error:  # noqa: BLE001 - to be counted, and shown
                found["crash"] += 1
                failures.append(f"{type(error).__name__}: {error}")
    return found, failures


def write_table(lines):
    """Put lines, by model and explainer, into the table; those of others stay."""
    head = f"| model | explainer | {' | '.join(OUTCOMES)} |\n|---|---|{'---|' * len(OUTCOMES)}\n"
    intro = (
        "# First calls\n\nWhat 20 rows of the breast-cancer data give, explained after `install()`, with "
        "nothing given but a seed. Made by\n`pytest -m slow tests/test_first_call_matrix.py "
        "tests/with_torch`; refused is an error that names what to do.\n\n"
    )
    known = {}
    if TABLE.exists():
        for line in TABLE.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) > 2 and cells[0] not in ("model", "---"):
                known[cells[0], cells[1]] = line
    known |= lines
    order = [*MODELS, "torch MLP"]
    ranked = sorted(
        known, key=lambda key: (order.index(key[0]), ["LIME", "its own", *EXPLAINERS].index(key[1]))
    )
    TABLE.write_text(intro + head + "\n".join(known[key] for key in ranked) + "\n")


def line_of(model, explainer, found, failures):
    """A cell as a line of the table."""
    if found is None:
        return f"| {model} | {explainer} | the library itself fails: {failures[0].splitlines()[0][:60]} |||||"
    return f"| {model} | {explainer} | " + " | ".join(str(found[name]) for name in OUTCOMES) + " |"
