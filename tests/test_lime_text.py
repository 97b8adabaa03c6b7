"""LIME's explanations of texts: strings and surrogate are LIME's own, and the words found may really go."""

import itertools
import math
import re

import numpy as np
import pytest
from lime.explanation import Explanation
from lime.lime_text import IndexedString, LimeTextExplainer, TextDomainMapper
from lime_guarantee.adapters.lime_text import Texts
from recording import Recorder, RecordingBase
from reviews import TEXT, classifier
from sklearn.linear_model import Lasso

from lime_guarantee import (
    GuaranteeRegion,
    InconsistentModelError,
    InvalidInputError,
    ModelError,
    guarantee_region,
    wrap,
)
from lime_guarantee.api import problem_of

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
SHORT = "good plot, bad film: good!"


def words_of(text):
    return re.findall(r"\w+", text)


CONFIGURATIONS = {
    "default": {},
    "each occurrence on its own": {"bow": False},
    "a mask of one's own": {"bow": False, "mask_string": "<hidden>"},
    "an empty mask": {"bow": False, "mask_string": ""},
    "characters": {"char_level": True},
    "characters, each on its own": {"char_level": True, "bow": False},
    "characters with a mask": {"char_level": True, "bow": False, "mask_string": "_"},
    "split at blanks": {"split_expression": r"\s+"},
    "split at blanks, each on its own": {"split_expression": r"\s+", "bow": False},
    "split with a group, which LIME repeats": {"split_expression": r"(\s|,)+"},
    "a tokenizer": {"split_expression": words_of},
    "a tokenizer, each on its own": {"split_expression": words_of, "bow": False},
    "lasso path": {"feature_selection": "lasso_path"},
    "all features": {"feature_selection": "none"},
}
CALLS = {
    "one label": {},
    "label 0": {"labels": (0,)},
    "both labels": {"labels": (0, 1)},
    "the top label": {"top_labels": 1},
    "all top labels": {"top_labels": 2},
    "few features": {"num_features": 3},
    "more features than words": {"num_features": 50},
}


def explain(text, model, *, call=None, **options):
    """LIME's explanation of a text, and the inner explainer with what it saw."""
    explainer = LimeTextExplainer(random_state=0, **options)
    explainer.base = RecordingBase(explainer.base)
    explanation = explainer.explain_instance(text, model, num_samples=200, **(call or {}))
    return explanation, explainer.base


def assert_rebuilt(text, *, call=None, **options):
    """Surrogate, strings and scores are LIME's, on LIME's neighbourhood, for every label explained."""
    model = Recorder(classifier("bad", "good").predict_proba)
    explanation, lime = explain(text, model, call=call, **options)
    strings = model.asked
    assert Texts(explanation.domain_mapper.indexed_string)(lime.data) == strings
    assert len(set(strings)) > 2
    for label in explanation.available_labels():
        problem = problem_of(explanation, predict_fn=model, label=int(label))
        assert np.abs(problem.surrogate(lime.data) - lime.answers[int(label)]).max() < 1e-9
        model.batches.clear()
        assert problem.model(lime.data) == pytest.approx(lime.scores[:, label], abs=1e-12)
        assert set(model.asked) == set(strings)
        assert len(model.asked) == len(set(map(tuple, lime.data)))  # none is asked twice


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_strings_and_surrogate_are_those_of_lime(name):
    assert_rebuilt(SHORT if "char" in name else TEXT, **CONFIGURATIONS[name])


@pytest.mark.parametrize("name", CALLS)
def test_every_label_is_read_as_lime_means_it(name):
    assert_rebuilt(TEXT, call=CALLS[name])


def test_all_classes_are_compared_together_if_all_were_explained():
    model = classifier("bad", "fair", "good").predict_proba
    explanation, lime = explain(TEXT, model, call={"top_labels": 3})
    problem = problem_of(explanation, predict_fn=model)
    expected = np.column_stack([lime.answers[k] for k in range(3)])
    assert np.abs(problem.surrogate(lime.data) - expected).max() < 1e-9
    assert problem.model(lime.data) == pytest.approx(lime.scores, abs=1e-12)


def naive_string(words, separators, present):
    """A text from its pieces, without the words that are absent."""
    kept = [word if there else "" for word, there in zip(words, present, strict=True)]
    return "".join(piece for pair in zip(kept, separators, strict=True) for piece in pair)


def true_purity(free, explanation, predict_fn, test, tolerance, build):
    """The share of all combinations of the words given on which the rule holds for label 1, one by one."""
    weights = np.zeros(explanation.domain_mapper.indexed_string.num_words())
    for feature, weight in explanation.local_exp[1]:
        weights[feature] = weight
    combinations = np.ones((2 ** len(free), len(weights)))
    combinations[:, free] = list(itertools.product((0, 1), repeat=len(free)))
    f = predict_fn([build(row) for row in combinations])[:, 1]
    g = explanation.intercept[1] + combinations @ weights
    near = np.abs(f - g) < tolerance
    return np.mean(near if test == "value" else near | ((f >= 0.5) == (g >= 0.5)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("test", ["class", "value"])
def test_the_region_is_certified_and_truly_pure(test, seed):
    words = ["good", "bad", "great", "dull", "film", "lovely", "weak", "plot"]
    separators = [" ", " ", ", ", " ", "; ", " ", " ... ", "."]

    def build(row):
        return naive_string(words, separators, row)

    model = classifier("bad", "good").predict_proba
    explanation, _ = explain(build(np.ones(8)), model)
    region = guarantee_region(
        explanation,
        predict_fn=model,
        agreement=test,
        tolerance=0.05,
        purity=0.95,
        confidence=0.99,
        effort="low",
        random_state=seed,
    )
    assert region
    assert region.names == tuple(words)
    free = [words.index(name) for name in region.removable]
    assert free
    assert true_purity(free, explanation, model, test, 0.05, build) >= 0.95
    assert true_purity(range(8), explanation, model, test, 0.05, build) < 0.95  # so not all may go
    everything = np.array(list(itertools.product((0, 1), repeat=8)))
    stay = [i for i in range(8) if i not in free]
    assert (region.contains(everything) == everything[:, stay].all(axis=1)).all()


def test_masked_positions_are_truly_pure_too():
    model = classifier("bad", "good", ngram_range=(1, 2)).predict_proba
    explainer = LimeTextExplainer(bow=False, mask_string="...", random_state=0)
    words = ["good", "plot", "and", "good", "film", "not", "bad"]

    def build(row):
        return " ".join(word if there else "..." for word, there in zip(words, row, strict=True))

    explanation = wrap(explainer).explain_instance(" ".join(words), model, num_samples=300)
    options = {"agreement": "value", "tolerance": 0.1}
    region = explanation.guarantee_region(
        purity=0.9, confidence=0.99, effort="low", random_state=1, **options
    )
    assert region
    assert (region.names[0], region.names[3]) == ("good #1", "good #2")
    free = [region.names.index(name) for name in region.removable]
    assert true_purity(free, explanation, model, "value", 0.1, build) >= 0.9
    assert true_purity(range(7), explanation, model, "value", 0.1, build) < 0.9


def parts(report, heading):
    """The names listed after a heading of the report, without their weights."""
    (line,) = (line for line in report.splitlines() if line.startswith(heading))
    names = [
        re.sub(r" \([+-][\d.e+-]+\)$", "", part) for part in line.removeprefix(heading).strip().split(", ")
    ]
    return [] if names == ["none"] else names


def test_the_report_lists_the_words_that_may_go_and_those_that_must_stay():
    model = classifier("bad", "good").predict_proba
    explainer = LimeTextExplainer(class_names=["bad review", "good review"], random_state=0)
    explanation = wrap(explainer).explain_instance(TEXT, model, num_samples=300)
    region = explanation.guarantee_region(**QUICK, agreement="value", tolerance=0.05)
    report = str(region)
    go, stay = parts(report, "May go:"), parts(report, "Must stay:")
    assert tuple(go) == region.removable
    assert 0 < len(go) < len(region.names)
    assert sorted(go + stay) == sorted(region.names)
    assert report.startswith(f"Certified: {len(go)} of 13 parts may be removed")
    assert "lime text of 'good review'" in report
    for word, weight in explanation.as_list():
        assert f"{word} ({weight:+.3g})" in report


def test_a_word_that_alone_decides_must_stay():
    """The model says yes to "yes" alone; the explanation says the same of everything."""

    def model(texts):
        yes = np.array(["yes" in text.split() for text in texts], dtype=float)
        return np.column_stack([1 - yes, yes])

    explanation, _ = explain("yes we can do it now", model)
    explanation.local_exp[1] = [(i, 0.0) for i, _ in explanation.local_exp[1]]
    explanation.intercept[1] = explanation.local_pred = 1.0
    region = guarantee_region(explanation, predict_fn=model, **QUICK)
    assert region
    assert set(region.removable) == {"we", "can", "do", "it", "now"}


def test_a_text_of_one_word():
    model = classifier("bad", "good").predict_proba
    explanation, lime = explain("good", model)
    assert set(lime.data.ravel()) == {0, 1}
    region = guarantee_region(explanation, predict_fn=model, **QUICK)
    assert region
    assert region.names == ("good",)
    f = model(["", "good"])[:, 1]
    g = explanation.intercept[1] + np.array([0, 1]) * explanation.local_exp[1][0][1]
    both = ((f >= 0.5) == (g >= 0.5)) | (np.abs(f - g) < 0.1)
    assert both[1]
    assert region.removable == (("good",) if both[0] else ())


def test_a_text_without_words_is_refused():
    empty = Explanation(TextDomainMapper(IndexedString("?!")), class_names=["0", "1"])
    with pytest.raises(InvalidInputError, match="no words, so there is nothing to remove"):
        guarantee_region(empty, predict_fn=classifier("bad", "good").predict_proba)
    with pytest.raises(ValueError, match="low >= high"):  # LIME's own, unchanged
        wrap(LimeTextExplainer()).explain_instance("", classifier("bad", "good").predict_proba)


def test_an_explanation_that_misses_its_own_text_says_by_how_much():
    """An exclusive or of two words is as far from linear as can be."""

    def model(texts):
        both = np.array([("left" in t) != ("right" in t) for t in texts], dtype=float)
        return np.column_stack([both, 1 - both])

    explainer = LimeTextExplainer(class_names=["one", "both"], random_state=0)
    explanation = wrap(explainer).explain_instance("left or right", model, num_samples=300)
    region = explanation.guarantee_region(agreement="value", tolerance=0.01)
    gap = abs(1 - float(explanation.local_pred[0]))
    assert gap > 0.01
    assert region.status == "unfaithful"
    assert not region
    assert region.removable == ()
    assert region.explained.gap == pytest.approx(gap)
    report = str(region)
    assert report.startswith("Unfaithful: at the instance itself the model says 1 for 'both'")
    assert f"a gap of {gap:.4g}" in report
    assert "agreement='change'" in report
    assert "tolerance=" not in report  # one of 0.5 and more would say nothing of a probability
    assert explanation.guarantee_region(agreement="change", tolerance=0.01, **QUICK).status != "unfaithful"


@pytest.mark.parametrize("test", ["class", "value", "change"])
def test_a_region_round_trips_through_json(test):
    model = classifier("bad", "good").predict_proba
    explanation, _ = explain(TEXT, model, call={"top_labels": 1})
    region = guarantee_region(explanation, predict_fn=model, agreement=test, tolerance=0.3, **QUICK)
    again = GuaranteeRegion.from_json(region.to_json())
    assert again == region
    assert again.explained == region.explained
    assert again.removable == region.removable
    assert str(again) == str(region)


def test_numbers_of_numpy_do_not_keep_a_region_from_json():
    model = classifier("bad", "good").predict_proba
    explanation, _ = explain(TEXT, model, call={"labels": (np.int64(1),)})
    options = {**QUICK, "tolerance": np.float32(0.3), "purity": np.float32(0.9), "random_state": np.int64(0)}
    region = guarantee_region(explanation, predict_fn=model, label=np.int32(1), **options)
    assert GuaranteeRegion.from_json(region.to_json()) == region


def test_words_with_markup_and_line_breaks_survive():
    model = classifier("bad", "good").predict_proba
    text = "<b>good</b>|line\nbreak|<script>alert('bad')</script>|plot\t\u2028#1|plot\t\u2028#1"
    explanation, _ = explain(text, model, split_expression=r"\|", bow=False)
    region = guarantee_region(explanation, predict_fn=model, **QUICK)
    pieces = text.split("|")
    assert region.names == (*pieces[:3], pieces[3] + " #1", pieces[3] + " #2")
    assert GuaranteeRegion.from_json(region.to_json()).names == region.names
    assert region.to_frame()["feature"].tolist() == list(region.names)
    assert all(name in str(region) for name in region.names)


def test_names_that_would_clash_once_numbered_stay_apart():
    model = classifier("bad", "good").predict_proba
    explanation, _ = explain("good|good|good #1", model, split_expression=r"\|", bow=False)
    region = guarantee_region(explanation, predict_fn=model, **QUICK)
    assert len(set(region.names)) == 3


def test_the_model_is_called_seldom_and_with_whole_batches():
    model = Recorder(classifier("bad", "good").predict_proba)
    explanation, _ = explain(TEXT, model)
    model.batches.clear()
    region = guarantee_region(explanation, predict_fn=model, random_state=0)
    assert region
    assert region.calls == len(model.batches) <= 100
    assert region.evaluations >= len(model.asked)
    assert all(len(batch) == len(set(map(str, batch))) for batch in model.batches)


def test_batches_and_evaluations_keep_to_their_limits():
    model = Recorder(classifier("bad", "good").predict_proba)
    explanation, _ = explain(TEXT, model)
    model.batches.clear()
    region = guarantee_region(explanation, predict_fn=model, batch_rows=16, max_evaluations=400, **QUICK)
    assert max(map(len, model.batches)) <= 16
    assert len(model.asked) <= region.evaluations <= 400


def test_the_likeliest_class_explained_is_taken_and_others_can_be_named():
    model = classifier("bad", "fair", "good").predict_proba
    explainer = LimeTextExplainer(class_names=["bad", "fair", "good"], random_state=0)
    explanation = wrap(explainer).explain_instance(TEXT, model, labels=(0, 2), num_samples=200)
    options = {**QUICK, "agreement": "change"}
    assert explanation.guarantee_region(**options).explained.label_name == "good"
    assert explanation.guarantee_region(label="bad", **options).explained.label == 0
    assert explanation.guarantee_region(label=np.int64(0), **options).explained.label_name == "bad"
    for missing in ("fair", 1, "excellent"):
        with pytest.raises(InvalidInputError, match=r"Explained: 0 \(bad\), 2 \(good\).*top_labels="):
            explanation.guarantee_region(label=missing)


def test_a_regressor_of_ones_own():
    model = classifier("bad", "good").predict_proba
    explainer = LimeTextExplainer(random_state=0)
    explanation = wrap(explainer).explain_instance(TEXT, model, num_samples=200, model_regressor=Lasso(0.01))
    assert explanation.guarantee_region(agreement="change", **QUICK)


def test_a_model_with_a_single_column_is_asked_for_that_column():
    pipeline = classifier("bad", "good")

    def sigmoid(texts):
        return pipeline.predict_proba(texts)[:, 1:]

    explanation, lime = explain(TEXT, sigmoid, call={"labels": (0,)})
    problem = problem_of(explanation, predict_fn=sigmoid)
    assert problem.model(lime.data) == pytest.approx(lime.scores[:, 0], abs=1e-12)
    assert guarantee_region(explanation, predict_fn=sigmoid, **QUICK)


def test_another_model_than_the_one_explained_is_refused():
    model = classifier("bad", "good").predict_proba
    explanation, _ = explain(TEXT, model)
    with pytest.raises(InvalidInputError, match="Pass the function and the instance that were explained"):
        guarantee_region(explanation, predict_fn=lambda texts: model(texts)[:, ::-1])


def test_a_model_that_changes_its_mind_is_refused():
    rng = np.random.default_rng(0)
    model = classifier("bad", "good").predict_proba
    explanation, _ = explain(TEXT, model)
    with pytest.raises(InconsistentModelError, match="Fix its seed"):
        guarantee_region(
            explanation, predict_fn=lambda texts: model(texts) * rng.uniform(0.5, 1, (len(texts), 1))
        )


def test_a_model_that_answers_too_little_is_named():
    model = classifier("bad", "good").predict_proba
    explanation, _ = explain(TEXT, model)
    with pytest.raises(ModelError, match="must answer as often"):
        guarantee_region(explanation, predict_fn=lambda texts: model(texts)[:0])
    with pytest.raises(ModelError, match="pass predict_proba"):
        guarantee_region(explanation, predict_fn=lambda texts: ["good"] * len(texts))


def test_a_long_text_is_reported_in_part_and_says_so():
    model = classifier("bad", "good").predict_proba
    text = " ".join([*(f"word{i}" for i in range(70)), "good", "great"])
    explanation, _ = explain(text, model)
    region = guarantee_region(explanation, predict_fn=model, **QUICK)
    assert region
    assert math.isfinite(region.log10_volume)
    assert len(region.removable) > 60
    assert f"and {len(region.removable) - 60} more (see to_frame())" in str(region)
