"""Which adapter takes an explanation, how others add theirs, and what is said where none fits."""

import importlib
import json
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from lime.explanation import DomainMapper, Explanation
from lime.lime_image import ImageExplanation, LimeImageExplainer
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer
from lime_guarantee.adapters import hooks, registry
from lime_guarantee.adapters.lime_image import LimeImageAdapter
from lime_guarantee.adapters.lime_table import LimeTableAdapter
from lime_guarantee.adapters.lime_text import LimeTextAdapter
from lime_guarantee.adapters.registry import adapter_for
from reviews import TEXT, classifier

from lime_guarantee import (
    Adapter,
    GuaranteeRegion,
    GuaranteeWarning,
    InvalidInputError,
    audit,
    guarantee_region,
    install,
    register,
    uninstall,
    wrap,
)

ROOT = Path(__file__).parent.parent
QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
X = np.random.default_rng(0).normal(size=(100, 3))


def scores(rows):
    p = 1 / (1 + np.exp(-2 * rows[:, 0] + rows[:, 1]))
    return np.column_stack([1 - p, p])


def image_scores(images):
    p = images[:, :4].mean(axis=(1, 2, 3)) / 255
    return np.column_stack([1 - p, p])


def table_explanation(**options):
    explainer = LimeTabularExplainer(X, feature_names=["a", "b", "c"], random_state=0, **options)
    return explainer, explainer.explain_instance(X[0], scores, num_samples=200)


def text_explanation():
    model = classifier("bad", "good").predict_proba
    return LimeTextExplainer(random_state=0).explain_instance(TEXT, model, num_samples=100)


def image_explanation():
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    return LimeImageExplainer(random_state=0).explain_instance(
        image, image_scores, segmentation_fn=lambda image: np.arange(64).reshape(8, 8) // 16, num_samples=30
    )


# ------------------------------------------------------------------------------------------- recognising


def test_every_explanation_of_lime_finds_its_adapter():
    assert adapter_for(table_explanation()[1]) is LimeTableAdapter
    assert adapter_for(text_explanation()) is LimeTextAdapter
    assert adapter_for(image_explanation()) is LimeImageAdapter


def test_a_subclass_finds_the_adapter_of_its_base():
    explanation = text_explanation()
    explanation.__class__ = type("Mine", (Explanation,), {})
    assert adapter_for(explanation) is LimeTextAdapter
    image = image_explanation()
    image.__class__ = type("Mine", (ImageExplanation,), {})
    assert adapter_for(image) is LimeImageAdapter


@pytest.mark.parametrize(
    "thing",
    [object(), None, [1, 2], "text", X, Explanation(DomainMapper()), Explanation],
    ids=lambda t: str(type(t)),
)
def test_an_unknown_object_is_told_what_is_supported_and_how_to_add_to_it(thing):
    with pytest.raises(InvalidInputError) as caught:
        guarantee_region(thing, predict_fn=scores)
    said = str(caught.value)
    kind = type(thing)
    assert f"no adapter for {kind.__module__}.{kind.__qualname__}" in said
    for name in ("lime.explanation.Explanation", "lime.lime_image.ImageExplanation", "shap.Explanation"):
        assert name in said
    assert "`find_region`" in said
    assert "a subclass of Adapter, registered with @register" in said


def test_recognising_imports_no_explanation_library():
    code = """
import json, sys
from lime_guarantee import InvalidInputError
from lime_guarantee.adapters.registry import adapter_for

class Foreign:
    domain_mapper = object()

said = []
for thing in (Foreign(), [], None):
    try:
        adapter_for(thing)
    except InvalidInputError as error:
        said.append(str(error))
libraries = [name for name in ("lime", "shap", "skimage", "pandas") if name in sys.modules]
print(json.dumps([len(said), libraries]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [3, []]


# --------------------------------------------------------------------------------- adapters of others

MODULE = '''
"""A package of somebody else's: an explanation by a threshold, its explainer, and its adapter."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from lime_guarantee import Adapter, Domain


@dataclass
class ThresholdExplanation:
    """The model says 1 above the threshold, and 0 below."""

    threshold: float
    row: list


class Special(ThresholdExplanation):
    pass


class Broad(ThresholdExplanation):
    pass


class ThresholdExplainer:
    def __init__(self, threshold):
        self.threshold = threshold

    def explain(self, instance, predict_fn):
        return ThresholdExplanation(self.threshold, list(instance))


class ThresholdAdapter(Adapter):
    explanation_class = "threshold_explainer.ThresholdExplanation"
    explainer_class, explain_method = "threshold_explainer.ThresholdExplainer", "explain"
    kind = "threshold"

    @classmethod
    def recognises(cls, explanation):
        return not isinstance(explanation, Broad)

    def read(self, *, low=-1.0, high=1.0):
        self.instance = np.asarray(self.explanation.row, dtype=float)
        self.weights = [1.0, 0.0]
        self.domain = Domain.from_bounds([low, low], [high, high], names=["x", "y"])

    def surrogate(self, X):
        return (X[:, 0] > self.explanation.threshold).astype(float)


class BroadAdapter(ThresholdAdapter):
    explanation_class = "threshold_explainer.Broad"

    @classmethod
    def recognises(cls, explanation):
        return True

    def read(self, **options):
        super().read(low=-options["reach"], high=options["reach"])
'''

ENTRIES = """
    [lime_guarantee.adapters]
    thresholds = threshold_explainer:ThresholdAdapter
    broad = threshold_explainer:BroadAdapter
    """


@pytest.fixture
def threshold(tmp_path, monkeypatch):
    """A third-party distribution, as an installer leaves it: a module, and metadata with entry points."""
    yield from distribution(tmp_path, monkeypatch, ENTRIES)


def distribution(folder, monkeypatch, entries):
    (folder / "threshold_explainer.py").write_text(MODULE, encoding="utf-8")
    metadata = folder / "threshold_explainer-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: threshold-explainer\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(textwrap.dedent(entries))
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    yield importlib.import_module("threshold_explainer")
    del sys.modules["threshold_explainer"]


def step(rows):
    return np.where((rows[:, 0] > 0.2) & (rows[:, 1] < 0.5), 1.0, 0.0)


def test_an_adapter_of_another_package_works_from_end_to_end(threshold):
    explanation = threshold.ThresholdExplanation(0.2, [0.6, 0.0])
    assert adapter_for(explanation) is threshold.ThresholdAdapter
    region = guarantee_region(explanation, predict_fn=step, purity=0.95, confidence=0.99, random_state=0)
    assert region
    assert explanation.region is region
    assert region.explained.kind == "threshold"
    assert region.names == ("x", "y")
    assert region.upper[1] < 0.65  # of what lies above 0.5, most is faithful
    rows = region.sample(5_000, random_state=1)
    assert np.mean((rows[:, 1] < 0.5) | (rows[:, 0] <= 0.2)) >= 0.95
    assert GuaranteeRegion.from_json(region.to_json()) == region
    assert "threshold; faithful: the same value within 0.1" in str(region)


def test_an_adapter_of_another_package_takes_subclasses_options_and_models(threshold):
    explanation = threshold.Special(0.2, [0.6, 0.0])
    region = guarantee_region(explanation, predict_fn=step, low=-3.0, **QUICK)
    assert [axis.low for axis in region.domain.axes] == [-3, -3]
    with pytest.raises(InvalidInputError, match="Pass predict_fn="):
        guarantee_region(explanation)
    unfaithful = guarantee_region(threshold.Special(0.9, [0.6, 0.0]), predict_fn=step)
    assert unfaithful.status == "unfaithful"
    assert "a gap of 1" in str(unfaithful)


def test_an_adapter_of_another_package_serves_all_doors(threshold):
    explainer = threshold.ThresholdExplainer(0.2)
    direct = guarantee_region(explainer.explain([0.6, 0.0], step), predict_fn=step, **QUICK)
    wrapped = wrap(explainer).explain([0.6, 0.0], step)
    assert wrapped.region is None
    assert wrapped.guarantee_region(**QUICK) == direct == wrapped.region
    with install():
        installed = explainer.explain([0.6, 0.0], step)
        assert installed.guarantee_region(**QUICK) == direct
    assert not hasattr(threshold.ThresholdExplanation, "guarantee_region")
    report = audit(explainer=explainer, X=np.array([[0.6, 0.0]]), predict_fn=step)
    assert report[0].region.explained.kind == "threshold"


def test_unknown_options_of_another_adapter_are_refused_with_the_known_ones(threshold):
    explanation = threshold.ThresholdExplanation(0.2, [0.6, 0.0])
    with pytest.raises(
        InvalidInputError, match=r"lo, top: .* no such option; its options are \['low', 'high'\]"
    ):
        guarantee_region(explanation, predict_fn=step, lo=1, top=2, high=3)


def test_an_adapter_may_take_any_option(threshold):
    region = guarantee_region(threshold.Broad(0.2, [0.6, 0.0]), predict_fn=step, reach=2.0, **QUICK)
    assert [axis.high for axis in region.domain.axes] == [2, 2]


def test_adapters_of_others_are_listed_among_the_supported(threshold):
    with pytest.raises(InvalidInputError, match=r"threshold_explainer\.ThresholdExplanation"):
        guarantee_region([], predict_fn=step)


def test_an_adapter_that_cannot_be_loaded_is_told_of_and_hinders_nobody(tmp_path, monkeypatch):
    entries = (
        "[lime_guarantee.adapters]\nbroken = threshold_explainer:Nothing\nwrong = threshold_explainer:np\n"
    )
    for module in distribution(tmp_path, monkeypatch, entries):
        with (
            pytest.warns(GuaranteeWarning, match=r"'broken' is passed over: AttributeError"),
            pytest.warns(GuaranteeWarning, match=r"'wrong' is passed over: it is no subclass of Adapter"),
            pytest.raises(InvalidInputError, match="there is no adapter for threshold_explainer"),
        ):
            guarantee_region(module.Special(0.2, [0.6, 0.0]), predict_fn=step)
        assert adapter_for(text_explanation()) is LimeTextAdapter


def test_ours_come_before_those_of_other_packages_and_after_those_registered(threshold, monkeypatch):
    monkeypatch.setattr(registry, "_registered", [])
    monkeypatch.setattr(threshold.ThresholdAdapter, "explanation_class", "lime.explanation.Explanation")
    explanation = text_explanation()
    assert adapter_for(explanation) is LimeTextAdapter
    register(threshold.ThresholdAdapter)
    assert adapter_for(explanation) is threshold.ThresholdAdapter


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (lambda explanation: None, "a subclass of Adapter is required"),
        (type("Nameless", (Adapter,), {}), "Nameless must say which explanations it is for"),
    ],
)
def test_what_is_no_adapter_is_not_registered(thing, said):
    with pytest.raises(InvalidInputError, match=said):
        register(thing)


# ------------------------------------------------------------------------------- the README's adapter

RULES = """
import numpy as np


class Rule:
    def __init__(self, row, weights, offset):
        self.row, self.weights, self.offset = row, weights, offset

    def predict(self, X):
        return self.offset + X @ self.weights


class RuleExplainer:
    def explain(self, instance, predict_fn):
        base = predict_fn(np.array([instance]))[0]
        weights = np.array([predict_fn(np.array([instance + e]))[0] - base for e in np.eye(len(instance))])
        return Rule(instance, weights, base - instance @ weights)
"""


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """The library that the README's adapter is for."""
    (tmp_path / "rules.py").write_text(RULES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_registered", [])
    monkeypatch.setattr(hooks, "_subclasses", {})  # those of a module that another test imported
    yield importlib.import_module("rules")
    uninstall()
    del sys.modules["rules"]


def readme_adapter():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if "(Adapter)" in block]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 12
    exec(code, {})


def bent(rows):
    return 2 * rows[:, 0] - rows[:, 1] + np.maximum(rows[:, 2] - 1, 0)


def test_the_adapter_of_the_readme_works_through_all_four_doors(rules):
    install()
    readme_adapter()  # registered while we are installed
    explainer = rules.RuleExplainer()
    installed = explainer.explain(X[0], bent)
    region = installed.guarantee_region(training_data=X, **QUICK)
    assert region
    assert installed.region is region
    uninstall()
    assert not hasattr(rules.Rule, "guarantee_region")
    plain = explainer.explain(X[0], bent)
    assert not hasattr(plain, "guarantee_region")
    assert guarantee_region(plain, predict_fn=bent, training_data=X, **QUICK) == region
    wrapped = wrap(explainer, training_data=X).explain(X[0], bent)
    assert wrapped.guarantee_region(**QUICK) == region
    again = pickle.loads(pickle.dumps(wrapped))
    assert again.region == region
    report = audit(explainer=explainer, X=X[:2], predict_fn=bent, training_data=X, **QUICK)
    assert [record.region.explained.kind for record in report] == ["RuleAdapter", "RuleAdapter"]
    assert all(record.region for record in report)


@pytest.mark.parametrize("door", ["wrap", "install"])
def test_the_row_that_was_explained_is_remembered_as_it_was(rules, door):
    class BareAdapter(Adapter):
        explanation_class = "rules.Rule"
        explainer_class, explain_method = "rules.RuleExplainer", "explain"

        def read(self):
            self.weights = self.explanation.weights

        def surrogate(self, X):
            return self.explanation.predict(X)

    register(BareAdapter)
    explainer = wrap(rules.RuleExplainer()) if door == "wrap" else rules.RuleExplainer()
    row = X[0].copy()
    with install():
        explanation = explainer.explain(row, bent)
        row += 1  # its owner's to change
        region = explanation.guarantee_region(training_data=X, **QUICK)
    assert region.instance == pytest.approx(X[0])


# ------------------------------------------------------------------------------------ argument errors


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hide_colour": 0}, r"hide_colour: .* no such option; its options are \['hide_color'\]"),
        ({"nonsense": 1, "absurd": 2}, r"absurd, nonsense: .* its options are \['hide_color'\]"),
    ],
)
def test_unknown_options_of_images_are_refused_with_the_known_ones(options, said):
    with pytest.raises(InvalidInputError, match=said):
        guarantee_region(image_explanation(), predict_fn=image_scores, **options)


def test_options_of_images_are_not_for_texts():
    with pytest.raises(InvalidInputError, match="hide_color: this kind of explanation has no such option"):
        guarantee_region(text_explanation(), predict_fn=scores, hide_color=0)


@pytest.mark.parametrize("make", [text_explanation, image_explanation, lambda: table_explanation()[1]])
def test_a_missing_model_is_asked_for(make):
    explanation = make()
    explainer = table_explanation()[0]
    with pytest.raises(InvalidInputError) as caught:
        guarantee_region(explanation, explainer=explainer, instance=X[0])
    said = str(caught.value)
    assert said.startswith("predict_fn: the explanation does not keep the model.")
    assert re.search(r"Pass predict_fn=.*wrap\(explainer\).*install\(\)", said)


def argument_errors():
    """What is given, and what, why and what next has to be said of it."""
    explainer, explanation = table_explanation()
    known = {"explainer": explainer, "predict_fn": scores, "instance": X[0]}
    return explanation, [
        ({**known, "explainer": None}, r"^explainer: .*keeps neither its bins.* Pass explainer=.*wrap"),
        ({**known, "instance": None}, r"^instance: .*rounded values.* Pass instance="),
        ({**known, "instance": X[0][:2]}, r"^instance: .* knows 3 features; got a row of 2"),
        ({**known, "instance": X[:2]}, r"^instance: one row is required; got .*\(2, 3\)"),
        ({**known, "instance": ["a", "b", "c"]}, r"^instance: numbers are required"),
        (
            {**known, "instance": X[0] + 1},
            r"^instance, explainer: .*Pass the row and the explainer that it was made with",
        ),
        ({**known, "predict_fn": "model"}, r"^predict_fn: a callable is required; got 'model'"),
        ({**known, "label": 5}, r"^label: 5 was not explained\. Explained: 1 \(1\)\. .*top_labels="),
        ({**known, "label": 0}, r"^label: 0 was not explained"),
        (
            {**known, "agreement": "same"},
            r"^agreement: one of \['auto', 'class', 'value', 'change'\].*got 'same'",
        ),
        ({**known, "tolerance": 0}, r"^tolerance: a positive number is required; got 0"),
        ({**known, "tolerance": -1.0}, r"^tolerance: a positive number is required; got -1"),
        ({**known, "tolerance": float("nan")}, r"^tolerance: a positive number is required; got nan"),
        ({**known, "tolerance": "wide"}, r"^tolerance: a positive number is required; got 'wide'"),
        ({**known, "purity": 1.5}, r"^purity: a number between 0 and 1"),
        ({**known, "confidence": 0}, r"^confidence: a number between 0 and 1"),
        ({**known, "search": "best"}, r"^search: one of .*boundary.* got 'best'"),
        ({**known, "effort": "huge"}, r"^effort: "),
        ({**known, "certifier": "best"}, r"^certifier: one of .*anytime.* got 'best'"),
        ({**known, "random_state": -1}, r"^random_state: "),
        ({**known, "max_evaluations": 0}, r"^max_evaluations: a positive integer.* got 0"),
        ({**known, "max_evaluations": 1}, r"^max_evaluations: .*got 1"),
        ({**known, "max_evaluations": "many"}, r"^max_evaluations: a positive integer.* got 'many'"),
        ({**known, "batch_rows": 0}, r"^batch_rows: a positive integer is required; got 0"),
        ({**known, "progress": 3}, r"^progress: "),
        ({**known, "training_data": X[:, :2]}, r"^training_data: .* knows 3 features; got 2 columns"),
        ({**known, "bounds": {"z": (0, 1)}}, r"^bounds: there is no feature 'z'\. The features are"),
        ({**known, "bounds": [(0, 1)]}, r"^bounds: a \(low, high\) pair for each of 3 features"),
        ({**known, "bounds": {"a": 3}}, r"^bounds: 'a' needs a pair \(low, high\)"),
        ({**known, "bounds": {"a": (2, -2)}}, r"'a'.*2"),
        ({**known, "hide_color": 0}, r"^hide_color: this kind of explanation has no such option"),
    ]


EXPLANATION, ERRORS = argument_errors()


@pytest.mark.parametrize(("given", "said"), ERRORS, ids=[said for _, said in ERRORS])
def test_wrong_arguments_are_named_with_what_is_required(given, said):
    with pytest.raises(InvalidInputError, match=said):
        guarantee_region(EXPLANATION, **given)


def test_a_regression_has_no_class_to_compare():
    explainer = LimeTabularExplainer(X, mode="regression", random_state=0)
    explanation = wrap(explainer).explain_instance(X[0], lambda rows: rows[:, 0], num_samples=100)
    with pytest.raises(
        InvalidInputError, match=r"^agreement: 'class' is for classifiers; use 'value' or 'change'"
    ):
        explanation.guarantee_region(agreement="class")


def test_a_model_that_can_be_mistaken_for_nothing_is_still_the_model():
    """Some callables, such as an empty container of layers, are falsy."""

    class Layers(list):
        def __call__(self, texts):
            return classifier("bad", "good").predict_proba(texts)[:, ::-1]

    explanation = wrap(LimeTextExplainer(random_state=0)).explain_instance(
        TEXT, classifier("bad", "good").predict_proba, num_samples=100
    )
    with pytest.raises(InvalidInputError, match="Pass the function and the instance that were explained"):
        explanation.guarantee_region(predict_fn=Layers())
