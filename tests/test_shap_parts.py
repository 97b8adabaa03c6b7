"""shap's explanations of texts and images: the words and patches found may really go."""

import pickle

import numpy as np
import pytest
from lime_guarantee.adapters.predictors import layout_of
from shap_cases import QUICK, shap, theirs

from lime_guarantee import InvalidInputError, guarantee_region, install, problem_of, wrap
from lime_guarantee.views.html.parts import whole_of

TEXT = "the film was so very good, and its music was good too!"


def sentiment(texts):
    """Good words speak for a text together, and against it alone; so do no others."""
    good = np.array([(0.6, 0.2, 0.8)[t.count("good")] - 0.3 * t.count("rain") for t in texts])
    return np.column_stack([1 - good, good])


@pytest.fixture(scope="module")
def texts():
    return theirs(wrap(shap.Explainer(sentiment, shap.maskers.Text())), [TEXT, "so much rain"])


def test_words_that_may_be_removed(texts):
    region = texts[0].guarantee_region(**QUICK)
    assert region.status == "certified"
    assert region.explained.kind == "shap text"
    assert {"the", "film", "music"} <= set(region.removable)
    assert not {"good,", "good"} & set(region.removable)
    assert "May go:" in str(region)
    assert "replaced by '...', as shap does it" in str(region)
    rows = region.sample(500, random_state=1)
    asked = region.problem.model.predict_fn.build(rows)
    assert all(text.count("good") == 2 for text in asked)
    truth = sentiment(asked)[:, region.explained.label]
    own = region.problem.surrogate(rows)
    assert ((truth >= 0.5) == (own >= 0.5)).mean() >= 0.88


def test_texts_are_masked_as_shap_masks_them(texts):
    problem = problem_of(texts[0], label=1)
    assert problem.model(np.ones((1, len(problem.domain)))) == pytest.approx(sentiment([TEXT])[:, 1])
    assert problem.model(np.zeros((1, len(problem.domain)))) == pytest.approx(texts[0].base_values[1])
    added = texts[0].base_values[1] + texts[0].values[:, 1].sum()
    assert problem.surrogate(np.ones((1, len(problem.domain)))) == pytest.approx(added)


def test_one_output_of_a_text(texts):
    assert texts[0, :, 0].guarantee_region(**QUICK).explained.label == 0
    assert texts[1].guarantee_region(**QUICK).explained.label == 0  # the likeliest
    assert texts[1].guarantee_region(label="Output 1", **QUICK).explained.label == 1


def test_a_text_needs_its_masker(texts):
    bare = shap.Explanation(
        texts[0].values, texts[0].base_values, texts[0].data, feature_names=texts[0].feature_names
    )
    with pytest.raises(InvalidInputError, match=r"Pass explainer=.*shap\.maskers\.Text"):
        guarantee_region(bare, predict_fn=sentiment, **QUICK)
    explainer = shap.Explainer(sentiment, shap.maskers.Text())
    assert guarantee_region(bare, explainer=explainer, **QUICK).status == "certified"
    again = pickle.loads(pickle.dumps(texts[0]))
    with pytest.raises(InvalidInputError, match="Pass explainer="):
        again.guarantee_region(**QUICK)
    assert again.guarantee_region(explainer=explainer, **QUICK).status == "certified"
    with pytest.raises(InvalidInputError, match=r"one text is required. Slice one: explanation\[0\]"):
        texts.guarantee_region(**QUICK)


def test_installed_texts_have_regions_too():
    with install():
        row = theirs(shap.Explainer(sentiment, shap.maskers.Text(r"\W")), [TEXT])[0]
        assert row.guarantee_region(**QUICK).status == "certified"


IMAGE = np.random.default_rng(0).random((16, 12, 3)).astype(np.float32)


def brightness(images):
    """How bright the upper half is, and the lower."""
    return np.stack([images[:, :8].mean(axis=(1, 2, 3)), images[:, 8:].mean(axis=(1, 2, 3))], axis=1)


@pytest.fixture(scope="module")
def image():
    explainer = wrap(shap.Explainer(brightness, shap.maskers.Image(0.0, IMAGE.shape)))
    return theirs(explainer, IMAGE[np.newaxis], max_evals=150, batch_size=50)[0]


def test_patches_that_may_be_removed(image):
    region = image.guarantee_region(label=0, patches=4, agreement="value", **QUICK)
    assert region.status == "certified"
    assert region.explained.kind == "shap image"
    assert len(region.domain) == 16
    assert {f"patch {i}" for i in range(8, 16)} <= set(region.removable)  # those of the lower half
    masked = region.problem.model.predict_fn.build(np.zeros((1, 16)))
    assert masked.shape == (1, *IMAGE.shape)
    assert not masked.any()


def test_superpixels_of_ones_own(image):
    segments = np.repeat([[0], [1]], 8, axis=0) + np.zeros((1, 12), dtype=int)
    problem = problem_of(image, label=1, segments=segments)
    assert problem.model(np.array([[0.0, 1.0]])) == pytest.approx(
        brightness(IMAGE[np.newaxis])[0, 1], abs=1e-6
    )
    assert problem.explained.weights[1] == pytest.approx(image.values[8:, :, :, 1].sum(), abs=1e-6)
    with pytest.raises(InvalidInputError, match=r"segments: a number for each of \(16, 12\) pixels"):
        problem_of(image, label=1, segments=segments[:3])
    with pytest.raises(InvalidInputError, match="patches: a positive integer"):
        problem_of(image, label=1, patches=0)


def test_pages_show_texts_and_images_whole(texts, image):
    problem = problem_of(texts[0], label=1)
    layout = layout_of(problem)
    assert layout.text == "".join(texts[0].data)
    assert [part for _, part in layout.pieces] == list(range(len(problem.domain)))
    assert whole_of(problem)["text"][0] == ["the ", 0]
    problem = problem_of(image, label=1, patches=2)
    layout = layout_of(problem)
    np.testing.assert_array_equal(layout.image, IMAGE)
    np.testing.assert_array_equal(layout.part_of[[0, 0, 15, 15], [0, 11, 0, 11]], [0, 1, 2, 3])
    assert not layout.hidden.any()
    picture = whole_of(problem)["picture"]
    assert (picture["height"], picture["width"], picture["hidden"]["3"]) == (16, 12, [0, 0, 0])


def test_images_that_nothing_masks_are_refused(image):
    bare = shap.Explanation(image.values, image.base_values, image.data)
    with pytest.raises(InvalidInputError, match=r"Pass explainer=.*shap\.maskers\.Image"):
        guarantee_region(bare, predict_fn=brightness, label=0, **QUICK)


def test_texts_and_images_of_shap_are_drawn(texts, image):
    region = texts[0].guarantee_region(**QUICK)
    display = region.plot_text()
    parts = [piece.part for piece in display.pieces if piece.part is not None]
    assert parts == list(range(len(region.domain)))
    seen = image.guarantee_region(label=0, patches=4, agreement="value", **QUICK)
    display = seen.plot_image(IMAGE)
    assert len(np.unique(display.segments)) == 16
    assert display.may_go[8:].all()  # the lower half, of which the score knows nothing
    assert display.weights[0] == seen.explained.weights[0]
    own = np.repeat([[7], [3]], 8, axis=0) + np.zeros((1, 12), dtype=int)
    seen = image.guarantee_region(label=0, segments=own, agreement="value", **QUICK)
    display = seen.plot_image(IMAGE, own)
    assert display.may_go[8:].all()
    assert display.weights[7] == max(seen.explained.weights)
    with pytest.raises(InvalidInputError, match="segments: the superpixel of every pixel is required"):
        seen.plot_image(IMAGE)
