"""What a what-if page keeps of model, explanation and data: asked once, at few places, and true there."""

import dataclasses

import numpy as np
import pytest
import whatif_cases
from html_cases import TEXT, region
from lime.lime_text import LimeTextExplainer
from lime_guarantee.adapters.predictors import layout_of
from pictures import mixed_data
from reviews import classifier
from whatif_cases import SIDE, SIZE, data_of

from lime_guarantee import GuaranteeRegion, ModelError, SameClass, wrap
from lime_guarantee.api import problem_of
from lime_guarantee.views.feature_row import instance_coordinates
from lime_guarantee.views.html.curves import PLACES, ask_along, places_along
from lime_guarantee.views.html.parts import whole_of


@pytest.fixture(scope="module")
def mixed():
    return whatif_cases.mixed()


def test_the_model_is_asked_once_at_few_places(mixed):
    model = mixed.problem.model
    model.calls.clear()
    data = data_of(mixed.to_html())
    assert len(model.calls) == 1
    kinds = {"income": PLACES, "balance": PLACES, "rooms": 9, "colour": 4, "owner": 2}
    asked = {f["name"]: len(f["curve"]["at"]) for f in data["features"] if "curve" in f}
    assert set(asked) == set(kinds)
    assert all(2 <= asked[name] <= most for name, most in kinds.items())
    assert (asked["rooms"], asked["colour"], asked["owner"]) == (9, 4, 2)
    assert model.calls[0] == data["asked"] == 1 + sum(count - 1 for count in asked.values())


def test_a_model_that_takes_few_rows_at_once_is_given_few():
    limited = whatif_cases.mixed(batch_rows=10)
    limited.to_html()
    assert max(limited.problem.model.calls) <= 10
    assert sum(limited.problem.model.calls) > 40


def test_a_curve_is_what_model_and_explanation_say_there(mixed):
    home = instance_coordinates(mixed)
    for opaque in (False, True):
        hidden = dataclasses.replace(mixed.problem, surrogate=lambda X: mixed.problem.surrogate(X))
        case = dataclasses.replace(mixed, problem=hidden) if opaque else mixed
        data = data_of(case.to_html())
        assert (data["formula"] is None) == opaque
        for feature in data["features"]:
            if feature["name"] == "planet":
                assert "curve" not in feature
                continue
            curve = feature["curve"]
            rows = np.tile(home, (len(curve["at"]), 1))
            rows[:, feature["position"]] = curve["at"]
            model, surrogate = mixed.problem.answers(mixed.domain.decode(rows))
            np.testing.assert_allclose(curve["model"][0], model, rtol=1e-3, atol=1e-4)
            if opaque:
                np.testing.assert_allclose(curve["surrogate"][0], surrogate, rtol=1e-3, atol=1e-4)
            fails = np.flatnonzero(~mixed.problem.agreement(model, surrogate)).tolist()
            assert curve["fails"] == fails
    assert any(feature.get("curve", {}).get("fails") for feature in data["features"])


def test_the_places_hold_what_matters(mixed):
    home = instance_coordinates(mixed)
    data = mixed.domain.encode(mixed_data())
    for i, axis in enumerate(mixed.domain.axes[:3]):
        places = places_along(mixed, i, home[i], data)
        assert {axis.low, axis.high, home[i], mixed.lower[i], mixed.upper[i]} <= set(places.tolist())
        assert len(places) <= PLACES
        assert (np.diff(places) > 0).all()
    thirds = np.quantile(data[:, 0], [1 / 3, 2 / 3])  # half of the places follow the data
    with_data, without = (places_along(mixed, 0, home[0], some) for some in (data, None))
    among = [np.mean((places >= thirds[0]) & (places <= thirds[1])) for places in (with_data, without)]
    assert among[0] > 1.4 * among[1]


def test_of_very_many_features_each_is_asked_at_fewer_places():
    region = whatif_cases.wide(1_000)
    region.to_html()
    rows = sum(region.problem.model.calls)
    assert 5_000 < rows <= 10_001
    assert max(region.problem.model.calls) * 1_000 <= 2**22


def test_a_page_without_the_model(mixed):
    mixed.problem.model.calls.clear()
    page = mixed.to_html(model=False)
    assert mixed.problem.model.calls == []
    assert not any("curve" in feature for feature in data_of(page)["features"])
    assert "The model was left out of this page" in page
    without = GuaranteeRegion.from_json(mixed.to_json()).to_html()
    assert not any({"curve", "bars"} & set(feature) for feature in data_of(without)["features"])
    assert "the region does not have it. It was read from JSON" in without
    assert "no curves" not in mixed.to_html()


def test_a_model_that_fails_says_what_to_do(mixed):
    def broken(X):
        raise RuntimeError("the server is gone")

    problem = dataclasses.replace(mixed.problem, model=broken)
    with pytest.raises(ModelError, match=r"the server is gone Pass model=False"):
        dataclasses.replace(mixed, problem=problem).to_html()


def test_the_data_behind_the_curves(mixed):
    def bars(**given):
        return {f["name"]: f.get("bars") for f in data_of(mixed.to_html(**given))["features"]}

    remembered, given = bars(), bars(data=mixed_data(500)[:100])
    counts = np.histogram(mixed_data()[:, 0].astype(float), 32, (0, 10))[0]
    np.testing.assert_array_equal(remembered["income"], np.ceil(100 * counts / counts.max()))
    rooms = np.histogram(mixed_data()[:, 2].astype(float), 9, (0.5, 9.5))[0]
    np.testing.assert_array_equal(remembered["rooms"], np.ceil(100 * rooms / rooms.max()))
    assert len(remembered["colour"]) == 4
    assert remembered["planet"] is None
    assert given["income"] != remembered["income"]
    assert set(bars(data=False).values()) == {None}


def test_outputs_are_called_by_the_names_of_the_classes():
    assert data_of(region("categories").to_html())["outputs"] == ["low", "middle", "high"]
    assert data_of(region("text").to_html())["outputs"] == ["good"]
    assert data_of(whatif_cases.image().to_html())["outputs"] == ["class 0"]  # LIME's images have no names
    assert data_of(region("shap").to_html(model=False))["outputs"] == ["value"]
    about = dataclasses.replace(
        region("text").explained, outputs=(), label_name="Output 1", agreement="class"
    )
    page = dataclasses.replace(region("text"), explained=about).to_html(
        model=False
    )  # shap names it like that
    assert data_of(page)["outputs"] == ["class 1"]
    assert "<h1>Guarantee region of <bdi>class 1</bdi></h1>" in page
    kept = GuaranteeRegion.from_json(region("categories").to_json())
    assert data_of(kept.to_html())["outputs"] == ["low", "middle", "high"]
    mixed = whatif_cases.mixed()
    own = dataclasses.replace(
        mixed.problem,
        model=lambda X: np.tile([0.2, 0.8], (len(X), 1)),
        surrogate=lambda X: np.tile([0.3, 0.7], (len(X), 1)),
        agreement=SameClass(0.1),
    )
    case = dataclasses.replace(mixed, problem=own, explained=None)
    assert data_of(case.to_html())["outputs"] == ["class 0", "class 1"]


def test_instances_are_asked_with_everything_else():
    case = region("undescribed")
    curves = ask_along(case, case.problem)
    model, surrogate = case.problem.answers(case.instance[np.newaxis])
    assert (curves.model, curves.surrogate) == (model, surrogate)
    assert data_of(case.to_html())["model"] == model.tolist()


# Texts and pictures


def without(layout, part):
    return "".join(piece for piece, own in layout.pieces if own != part)


def test_a_text_comes_in_the_pieces_that_lime_removes():
    predict = classifier("bad", "good").predict_proba
    for bow in (True, False):
        explainer = LimeTextExplainer(random_state=0, bow=bow, mask_string="")
        explanation = wrap(explainer).explain_instance(TEXT, predict, num_samples=50)
        problem = problem_of(explanation)
        layout = layout_of(problem)
        assert layout.text == TEXT
        assert {part for _, part in layout.pieces} == {None, *range(len(problem.domain))}
        build = problem.model.predict_fn.build
        for part in range(len(problem.domain)):
            row = np.ones((1, len(problem.domain)))
            row[0, part] = 0
            assert without(layout, part) == build(row)[0]
        assert whole_of(problem)["text"][0] == ["The", 0]


def test_a_large_picture_is_made_small():
    case = whatif_cases.image()
    build = case.problem.model.predict_fn.build
    grow = np.ones((30, 30, 1))
    large = dataclasses.replace(
        build,
        image=np.kron(build.image, grow).astype(np.uint8),
        segments=np.kron(build.segments, grow[..., 0]).astype(int),
    )
    model = dataclasses.replace(
        case.problem.model, predict_fn=dataclasses.replace(case.problem.model.predict_fn, build=large)
    )
    picture = whole_of(dataclasses.replace(case.problem, model=model))["picture"]
    assert max(picture["height"], picture["width"]) <= 256
    assert len(picture["pixels"]) < 30 * SIZE**2
    assert len(picture["hidden"]) == SIDE**2


def test_a_problem_about_neither_has_neither(mixed):
    assert whole_of(mixed.problem) == whole_of(None) == {}
