"""The region on the explanation: an attribute, in pickles, and under LIME's own view."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
from lime.explanation import Explanation
from lime.lime_image import ImageExplanation
from lime.lime_tabular import LimeTabularExplainer
from lime_guarantee.adapters import hooks
from sklearn.linear_model import LinearRegression

from lime_guarantee import Settings, guarantee_region, install, is_installed, uninstall, wrap

with warnings.catch_warnings():  # of its own use of matplotlib
    warnings.simplefilter("ignore")
    import shap

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
X = np.random.default_rng(0).normal(size=(150, 3))
MODEL = LinearRegression().fit(X, X @ [1.0, -2.0, 0.0])


def tabular():
    return LimeTabularExplainer(X, mode="regression", feature_names=["a", "<b>", "c"], random_state=0)


def explained(explainer=None):
    return (explainer or tabular()).explain_instance(X[0], MODEL.predict, num_samples=100)


def ask(explanation, **options):
    return explanation.guarantee_region(agreement="change", training_data=X, **QUICK, **options)


def page(explanation):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # LIME leaves its script open
        return explanation.as_html()


def by_wrapping():
    return explained(wrap(tabular()))


def by_installing():
    install()
    return explained()


@pytest.fixture(autouse=True)
def nothing_stays_installed():
    yield
    uninstall()


@pytest.fixture(params=[by_wrapping, by_installing])
def explanation(request):
    return request.param()


def test_an_explanation_has_no_region_until_it_is_asked_for_and_then_the_last_one(explanation):
    assert explanation.region is None
    first = ask(explanation)
    assert explanation.region is first
    second = ask(explanation, tolerance=5.0)
    assert explanation.region is second
    assert second != first


def test_the_function_attaches_the_region_as_well():
    explainer = tabular()
    plain = explained(explainer)
    region = guarantee_region(
        plain, explainer=explainer, predict_fn=MODEL.predict, instance=X[0], agreement="change", **QUICK
    )
    assert plain.region is region


def test_the_region_pickles_and_copies_with_the_explanation(explanation):
    region = ask(explanation)
    for again in (
        pickle.loads(pickle.dumps(explanation)),
        copy.deepcopy(explanation),
        copy.copy(explanation),
    ):
        assert again.region == region
        assert type(again) is type(explanation)


def test_lime_s_views_show_the_region_under_its_own(explanation, tmp_path):
    before = page(explanation)
    assert "Certified" not in before
    region = ask(explanation)
    after = page(explanation)
    assert after.count(region._repr_html_()) == 1
    assert after.index("lime.Explanation") < after.index("Certified: draw each feature")
    assert after.rstrip().endswith("</body></html>")
    assert "&lt;b&gt;" in region._repr_html_()
    assert "<b>" not in region._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        explanation.save_to_file(tmp_path / "page.html")
    assert region._repr_html_() in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_notebook_shows_the_region(explanation, monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    region = ask(explanation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        explanation.show_in_notebook()
    assert len(shown) == 1
    assert region._repr_html_() in shown[0].data


@pytest.mark.parametrize("first", [by_wrapping, by_installing])
def test_an_explanation_of_a_wrapped_explainer_shows_it_once_while_installed(first, monkeypatch):
    monkeypatch.setattr(hooks, "_subclasses", {})  # ours is made anew: before we are installed, or after
    first()
    install()
    explanation = by_wrapping()
    region = ask(explanation)
    assert page(explanation).count(region._repr_html_()) == 1
    uninstall()
    assert page(explanation).count(region._repr_html_()) == 1


def test_uninstalling_leaves_no_trace():
    def members(cls):  # `copy` notes the names of slots there
        return {name: value for name, value in vars(cls).items() if name != "__slotnames__"}

    before = {cls: members(cls) for cls in (Explanation, ImageExplanation, shap.Explanation)}
    explanation = by_installing()
    ask(explanation)
    uninstall()
    assert not is_installed()
    assert {cls: members(cls) for cls in before} == before
    assert "Certified" not in page(explained())
    assert not hasattr(explained(), "region")


def test_a_row_of_shap_keeps_its_region_and_a_slice_of_it_has_none():
    explainer = wrap(shap.LinearExplainer(MODEL, X), training_data=X)
    explanation = explainer(X[:5])
    row = explanation[0]
    assert row.region is None
    region = row.guarantee_region(**QUICK)
    assert row.region is region
    assert pickle.loads(pickle.dumps(row)).region == region
    assert explanation[0].region is None  # another object
    assert explanation.region is None
    assert row.abs.region is None
    with install():
        installed = shap.LinearExplainer(MODEL, X)(X[:5])[0]
        assert installed.region is None
        assert installed.guarantee_region(training_data=X, **QUICK) == installed.region


@pytest.mark.parametrize(
    ("make", "own"),
    [
        (by_wrapping, set()),
        (by_installing, set()),
        (
            lambda: wrap(shap.LinearExplainer(MODEL, X))(X[:2])[0],
            {"surrogate", "space", "background", "units", "allowance"},
        ),
    ],
)
def test_completion_sees_the_real_parameters(make, own):
    shown = inspect.signature(make().guarantee_region).parameters
    settings = set(Settings.__dataclass_fields__)
    assert settings | own | {"predict_fn", "training_data", "label", "agreement", "tolerance"} <= set(shown)
    assert all(p.kind is p.KEYWORD_ONLY for p in shown.values())
    assert shown["purity"].default == Settings.purity
    assert "hide_color" not in shown
