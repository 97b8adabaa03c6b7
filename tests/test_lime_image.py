"""LIME's explanations of images: images and surrogate are LIME's own, and the superpixels may really go."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from lime.lime_image import LimeImageExplainer
from lime.lime_text import LimeTextExplainer
from lime.wrappers.scikit_image import SegmentationAlgorithm
from lime_guarantee.adapters import lime_image
from lime_guarantee.adapters.lime_image import Images
from recording import Recorder, RecordingBase
from reviews import TEXT, classifier

from lime_guarantee import GuaranteeRegion, GuaranteeWarning, InvalidInputError, guarantee_region, wrap
from lime_guarantee.api import problem_of

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
SIZE = 24


def picture(kind="uint8"):
    """A noisy image with a bright blob: in bytes, in floats from 0 to 1, or grey in either."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    blob = np.exp(-20 * ((x - 0.3) ** 2 + (y - 0.4) ** 2))
    image = np.stack([blob, 0.5 * blob + 0.3 * x, 0.6 * y], axis=-1)
    image = np.clip(image + rng.normal(0, 0.03, image.shape), 0, 1)
    image = image.mean(axis=-1) if "grey" in kind else image
    return np.round(255 * image).astype(np.uint8) if "uint8" in kind else image.astype(kind.split()[-1])


def scores(images):
    """Three classes, from the colour where the blob is; far from linear in what is hidden."""
    scale = 255.0 if images.dtype == np.uint8 else 1.0
    red, green, blue = images[:, 4:14, 3:12].mean(axis=(1, 2)).T / scale
    e = np.exp(np.column_stack([30 * red * green, 9 * green, 12 * blue + 2]))
    return e / e.sum(axis=1, keepdims=True)


def grid(side):
    """A segmentation into squares, numbered from 0."""
    cell = SIZE // side

    def segment(image):
        y, x = np.mgrid[:SIZE, :SIZE] // cell
        return y * side + x

    return segment


SEGMENTATIONS = {
    "quickshift, LIME's default": None,
    "slic from 0": SegmentationAlgorithm("slic", n_segments=9, compactness=10, start_label=0),
    "slic from 1": SegmentationAlgorithm("slic", n_segments=9, compactness=10, start_label=1),
    "squares": grid(3),
}


def explain(image, model, *, wrapped=False, **call):
    """LIME's explanation of an image, and the inner explainer with what it saw."""
    explainer = LimeImageExplainer(random_state=0)
    explainer.base = RecordingBase(explainer.base)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-image's own, about what LIME passes to it
        call = {"num_samples": 60, "segmentation_fn": grid(3), **call}
        explanation = (wrap(explainer) if wrapped else explainer).explain_instance(image, model, **call)
    return explanation, explainer.base


def adapted(explanation, **options):
    """The subject; the warning about numbers that do not start at 0 is not the matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        return problem_of(explanation, **options)


def assert_rebuilt(image, **call):
    """Images, scores and surrogate are LIME's, on LIME's neighbourhood, for every label explained."""
    model = Recorder(scores)
    explanation, lime = explain(image, model, **call)
    theirs = np.array(model.asked)
    hide_color = call.get("hide_color")
    ours = Images(explanation.image, explanation.segments, hide_color, lime.data.shape[1])(lime.data)
    assert ours.dtype == theirs.dtype
    assert (ours == theirs).all()
    assert not (theirs[1:] == theirs[0]).all()
    for label in explanation.local_exp:
        problem = adapted(explanation, predict_fn=model, label=int(label), hide_color=hide_color)
        assert np.abs(problem.surrogate(lime.data) - lime.answers[int(label)]).max() < 1e-9
        assert problem.model(lime.data) == pytest.approx(lime.scores[:, label], abs=1e-12)


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
@pytest.mark.parametrize("hide_color", [None, 0], ids=["mean colour", "black"])
def test_images_and_surrogate_are_those_of_lime(hide_color, segmentation):
    assert_rebuilt(picture(), hide_color=hide_color, segmentation_fn=SEGMENTATIONS[segmentation])


@pytest.mark.parametrize("kind", ["float64", "float32", "grey uint8", "grey float64"])
@pytest.mark.parametrize("hide_color", [None, 0, (0.9, 0.1, 0.2)], ids=["mean colour", "black", "a colour"])
def test_every_kind_of_image_is_rebuilt(kind, hide_color):
    assert_rebuilt(picture(kind), hide_color=hide_color)


@pytest.mark.parametrize("hide_color", [(250, 3, 90), 127.6, np.array([1, 2, 3])], ids=["a", "b", "c"])
def test_every_colour_of_bytes_is_rebuilt(hide_color):
    assert_rebuilt(picture(), hide_color=hide_color)


@pytest.mark.parametrize(
    "call",
    [{"top_labels": 1}, {"top_labels": 3}, {"top_labels": None, "labels": (2, 0)}, {"num_features": 4}],
    ids=["top", "all", "named", "few features"],
)
def test_every_label_is_read_as_lime_means_it(call):
    assert_rebuilt(picture(), **call)


def test_segments_with_gaps_in_their_numbers_are_hidden_as_lime_hides_them():
    squares = grid(3)
    assert_rebuilt(picture(), segmentation_fn=lambda image: 2 * squares(image))


def test_the_colour_is_remembered_and_survives_pickling():
    model = Recorder(scores)
    explanation, _ = explain(picture(), model, wrapped=True, hide_color=(9, 8, 7))
    seen = {image.tobytes() for image in model.asked}
    for copy in (explanation, pickle.loads(pickle.dumps(explanation))):
        subject = problem_of(copy, predict_fn=model)
        model.batches.clear()
        rows = np.ones((2, 9))
        rows[1, 4] = 0
        subject.model(rows)
        hidden = np.array(model.asked)[0]  # rows are asked in order, and 0 comes first
        assert (hidden[8:16, 8:16] == (9, 8, 7)).all()
        assert subject.explained.notes == ()
    assert len(seen) > 2


def test_a_colour_that_is_not_known_is_guessed_and_noted():
    explanation, _ = explain(picture(), scores)
    region = guarantee_region(explanation, predict_fn=scores, **QUICK)
    assert "Note: hide_color is not known" in str(region)
    given = guarantee_region(explanation, predict_fn=scores, hide_color=None, **QUICK)
    assert given.explained.notes == ()


def naive_image(image, segments, hidden, present):
    """One image, superpixel by superpixel."""
    built = image.copy()
    for segment in np.flatnonzero(np.asarray(present) == 0):
        built[segments == segment] = hidden
    return built


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("test", "tolerance"), [("class", 0.1), ("value", 0.2), ("change", 0.1)])
def test_the_region_is_certified_and_truly_pure(test, tolerance, seed):
    explanation, _ = explain(picture(), scores, wrapped=True, hide_color=0, num_samples=200)
    region = explanation.guarantee_region(
        purity=0.95, confidence=0.99, effort="low", agreement=test, tolerance=tolerance, random_state=seed
    )
    assert region, str(region)
    free = [region.names.index(name) for name in region.removable]
    assert free
    combinations = np.ones((2 ** len(free), 9))
    combinations[:, free] = list(itertools.product((0, 1), repeat=len(free)))
    assert region.contains(combinations).all()
    images = [naive_image(explanation.image, explanation.segments, 0, row) for row in combinations]
    f = scores(np.array(images))[:, region.explained.label]
    g = np.full(len(combinations), explanation.intercept[region.explained.label])
    for feature, weight in explanation.local_exp[region.explained.label]:
        g += weight * combinations[:, feature]
    whole = combinations.all(axis=1)  # the row where nothing is hidden
    faithful = {
        "class": ((f >= 0.5) == (g >= 0.5)) | (np.abs(f - g) < tolerance),
        "value": np.abs(f - g) < tolerance,
        "change": np.abs((f - f[whole]) - (g - g[whole])) < tolerance,
    }
    assert np.mean(faithful[test]) >= 0.95


def test_the_mask_is_exactly_the_pixels_that_may_be_hidden():
    explanation, _ = explain(picture(), scores, wrapped=True, hide_color=0, num_samples=200)
    region = explanation.guarantee_region(agreement="change", tolerance=0.1, **QUICK)
    mask = region.mask(explanation.segments)
    assert mask.shape == (SIZE, SIZE)
    assert mask.dtype == bool
    free = {int(name.removeprefix("superpixel ")) for name in region.removable}
    assert 0 < len(free) < 9
    expected = [[int(segment) in free for segment in row] for row in explanation.segments]
    assert (mask == expected).all()
    again = GuaranteeRegion.from_json(region.to_json())
    assert (again.mask(explanation.segments) == mask).all()


def test_the_report_lists_superpixels():
    explanation, _ = explain(picture(), scores, wrapped=True, hide_color=0, num_samples=200)
    region = explanation.guarantee_region(agreement="change", tolerance=0.1, **QUICK)
    report = str(region)
    assert report.startswith(f"Certified: {len(region.removable)} of 9 parts may be removed")
    may_go, must_stay = (
        {part.split(" (")[0].strip() for part in line.partition(":")[2].split(",")}
        for line in report.splitlines()
        if line.startswith(("May go:", "Must stay:"))
    )
    assert may_go == set(region.removable)
    assert must_stay == set(region.names) - may_go


def test_only_the_region_of_an_image_has_a_mask():
    model = classifier("bad", "good").predict_proba
    explanation = LimeTextExplainer(random_state=0).explain_instance(TEXT, model, num_samples=50)
    region = guarantee_region(explanation, predict_fn=model, **QUICK)
    with pytest.raises(InvalidInputError, match="only the region of an image"):
        region.mask(np.zeros((2, 2), dtype=int))


def test_columns_that_hide_nothing_stay_and_are_warned_about():
    segmentation = SEGMENTATIONS["slic from 1"]
    explanation, lime = explain(picture(), scores, segmentation_fn=segmentation, top_labels=1)
    count = lime.data.shape[1]
    assert explanation.segments.min() == 1
    assert explanation.segments.max() == count
    with pytest.warns(GuaranteeWarning, match=r"1 of its columns hide nothing.*start_label=0"):
        region = guarantee_region(explanation, predict_fn=scores, hide_color=None, **QUICK)
    assert "superpixel 0" in region.names
    assert "superpixel 0" not in region.removable
    assert region.lower[0] == region.upper[0] == 1
    mask = region.mask(explanation.segments)
    assert not mask[explanation.segments == count].any()  # LIME never hid it
    assert "Note: LIME numbers superpixels" in str(region)


def test_batches_take_little_memory_and_are_whole(monkeypatch):
    image = picture()
    monkeypatch.setattr(lime_image, "BATCH_BYTES", 10 * image.nbytes)
    model = Recorder(scores)
    explanation, _ = explain(image, model, wrapped=True)
    model.batches.clear()
    region = explanation.guarantee_region(**QUICK)
    sizes = [len(batch) for batch in model.batches]
    assert 5 < max(sizes) <= 10
    assert region.calls == len(sizes)
    model.batches.clear()
    explanation.guarantee_region(**QUICK, batch_rows=7)
    assert max(len(batch) for batch in model.batches) <= 7


def test_an_image_larger_than_a_batch_is_asked_alone(monkeypatch):
    monkeypatch.setattr(lime_image, "BATCH_BYTES", 10)
    explanation, _ = explain(picture(), scores, wrapped=True)
    assert problem_of(explanation).batch_rows == 1


def test_no_image_is_asked_twice_in_a_batch():
    model = Recorder(scores)
    explanation, _ = explain(picture(), model, wrapped=True)
    model.batches.clear()
    region = explanation.guarantee_region(random_state=0)
    assert region.calls == len(model.batches) <= 100
    assert max(len(batch) for batch in model.batches) <= 2**9


def test_labels_are_the_likeliest_or_the_one_named():
    explanation, _ = explain(picture(), scores, wrapped=True, top_labels=2)
    best = int(np.argmax(scores(explanation.image[np.newaxis])))
    options = {**QUICK, "agreement": "change"}
    assert explanation.guarantee_region(**options).explained.label == best
    other = next(int(k) for k in explanation.local_exp if k != best)
    assert explanation.guarantee_region(label=other, **options).explained.label == other
    with pytest.raises(InvalidInputError, match="label: 7 was not explained"):
        explanation.guarantee_region(label=7)


def test_a_model_with_a_single_column_is_asked_for_that_column():
    def sigmoid(images):
        return scores(images)[:, :1]

    explanation, lime = explain(picture(), sigmoid, wrapped=True, top_labels=1)
    problem = problem_of(explanation)
    assert problem.model(lime.data) == pytest.approx(lime.scores[:, 0], abs=1e-12)


def test_a_region_round_trips_through_json():
    explanation, _ = explain(picture("float32"), scores, wrapped=True)
    region = explanation.guarantee_region(**QUICK)
    again = GuaranteeRegion.from_json(region.to_json())
    assert again == region
    assert str(again) == str(region)


def test_an_explanation_that_misses_its_own_image_says_so():
    explanation, _ = explain(picture(), scores, wrapped=True)
    region = explanation.guarantee_region(agreement="value", tolerance=1e-9)
    assert region.status == "unfaithful"
    assert not region.mask(explanation.segments).any()
    assert "a gap of" in str(region)
