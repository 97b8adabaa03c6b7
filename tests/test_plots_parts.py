"""Pictures of texts and images: the parts that may go are those of the region."""

import warnings

import numpy as np
import pytest
from lime.lime_image import LimeImageExplainer
from lime.lime_text import LimeTextExplainer
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from pictures import difference, empty_axes, explained, overlapping, region_of, texts
from reviews import TEXT, classifier

from lime_guarantee import Domain, GuaranteeRegion, InvalidInputError, guarantee_region
from lime_guarantee.views.plots import ImageDisplay, TextDisplay, drawing, images

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
WORDS = f"{TEXT} It's “very” charming ($5, \\alpha_2),\n\nand the story was fine."


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def text_region(*, bow):
    """LIME's own explanation, of a text with repeated words; some of them may go."""
    model = classifier("bad", "good").predict_proba
    explainer = LimeTextExplainer(class_names=["bad", "good"], random_state=0, bow=bow)
    explanation = explainer.explain_instance(WORDS, model, num_features=20, num_samples=200)
    return guarantee_region(explanation, predict_fn=model, agreement="value", tolerance=0.08, **QUICK)


@pytest.fixture(scope="module", params=[True, False], ids=["bag of words", "words in order"])
def real(request):
    return text_region(bow=request.param)


def words_region(words, lower, weights, **changes):
    """A region of a text, by hand."""
    count = len(words)
    domain = Domain.from_bounds([0] * count, [1] * count, names=words, integer=range(count))
    about = explained(weights, kind="lime text", space="presence")
    return region_of(domain, np.ones(count), lower, np.ones(count), explained=about, **changes)


def test_the_text_is_shown_as_it_was_explained(real):
    assert real
    assert 0 < len(real.removable) < len(real.domain)
    display = real.plot_text()
    assert "".join(piece.text for piece in display.pieces) == WORDS
    parts = [piece for piece in display.pieces if piece.part is not None]
    assert {piece.part for piece in parts} == set(range(len(real.domain)))
    for piece in parts:
        assert piece.may_go == (real.names[piece.part] in real.removable)
        assert piece.weight == real.explained.weights[piece.part]
        assert real.names[piece.part].split(" #")[0] == piece.text


def test_words_that_must_stay_are_boxed_and_none_is_struck():
    """What may be removed is there: a line through it would say that it is gone."""
    region = words_region(["good", "bad", "film"], [1, 0, 0], [0.5, -0.2, 0])
    ax = region.plot_text("A good, bad film").ax_
    at = {text.get_text(): text.get_position() for text in ax.texts}
    size = next(text.get_fontsize() for text in ax.texts if text.get_text() == "film")
    (box,) = (patch for patch in ax.patches if not patch.get_fill())
    assert box.get_x() < at["good"][0] < box.get_x() + box.get_width() < at["bad"][0]
    lines = [path.vertices for lines in ax.collections for path in lines.get_paths()]
    assert sorted(line[0, 0] for line in lines) == [at["bad"][0], at["film"][0]]
    for line in lines:  # y grows downwards: they run below the words
        assert line[0, 1] > at["film"][1] + 0.1 * size
    written = {text.get_text() for text in ax.get_legend().get_texts()}
    assert {"must stay", "may be removed, or not"} <= written
    inks = {text.get_color() for text in ax.texts}
    assert inks == {drawing.INK}


def test_words_in_order_each_have_a_part_of_their_own():
    parts = [piece.part for piece in text_region(bow=False).plot_text().pieces if piece.part is not None]
    assert parts == list(range(len(parts)))


def test_a_region_from_json_shows_its_words_or_the_text_given(real):
    lost = GuaranteeRegion.from_json(real.to_json())
    words = [piece.text for piece in lost.plot_text().pieces if piece.part is not None]
    assert words == [name.split(" #")[0] for name in real.names]
    assert lost.plot_text(WORDS).pieces == real.plot_text().pieces
    with pytest.raises(InvalidInputError, match=r"text: the explained words .* are not in it"):
        lost.plot_text("Quite another text.")


def test_a_text_is_wrapped_into_its_axes_and_no_word_hides_another(real):
    display = real.plot_text()
    assert overlapping(display.figure_) == []
    for ax in (display.ax_, real.plot_text(ax=empty_axes(3, 3)).ax_):
        ax.figure.draw_without_rendering()
        frame = ax.get_window_extent()
        rows = set()
        for text in ax.texts:
            extent = text.get_window_extent()
            assert frame.x0 - 2 <= extent.x0
            assert extent.x1 <= frame.x1 + 4
            rows.add(round(text.get_position()[1], 3))
        assert len(rows) > 2


def test_a_long_text_is_cut_and_says_what_is_left_out():
    count = 400
    words = [f"word{i}" for i in range(count)]
    region = words_region(words, np.arange(count) >= 300, np.zeros(count))
    display = region.plot_text(" ".join(words), ax=empty_axes(4, 3))
    *shown, last = (text.get_text() for text in display.ax_.texts)
    assert shown == words[: len(shown)]
    assert 100 < len(shown) < 300
    assert last == f"… and {count - len(shown)} more words, of which {300 - len(shown)} may go"
    alone = region.plot_text(" ".join(words))
    assert [text.get_text() for text in alone.ax_.texts] == words


def test_a_word_that_is_cut_is_found_in_its_text_all_the_same():
    link = "https_example_" + "x" * 80
    region = words_region([link, "film"], [1, 0], [0.5, 0])
    display = region.plot_text(f"See {link}, a film")
    shown = [piece for piece in display.pieces if piece.part is not None]
    assert [piece.part for piece in shown] == [0, 1]
    assert len(shown[0].text) == 60
    assert "…" in shown[0].text


def test_characters_may_be_parts():
    def model(texts):
        score = np.array([0.1 + 0.15 * text.count("e") for text in texts])
        return np.column_stack([1 - score, score])

    explainer = LimeTextExplainer(char_level=True, bow=False, random_state=0)
    explanation = explainer.explain_instance("be free", model, num_samples=100)
    region = guarantee_region(explanation, predict_fn=model, tolerance=0.3, **QUICK)
    shown = [piece for piece in region.plot_text().pieces if piece.part is not None]
    assert [piece.part for piece in shown] == list(range(7))


def test_signs_of_words_are_colour_and_character():
    display = words_region(["good", "bad", "film"], [1, 0, 0], [0.5, -0.2, 0]).plot_text("A good, bad film")
    colours = [drawing.PLUS, drawing.MINUS]
    filled = [patch for patch in display.ax_.patches if patch.get_fill()]
    tinted = [patch.get_facecolor()[:3] for patch in filled]
    assert tinted == [pytest.approx(plt.matplotlib.colors.to_rgb(colour)) for colour in colours]
    strong, weak = (patch.get_alpha() for patch in filled)
    assert strong > weak
    written = [text.get_text() for text in display.ax_.texts]
    assert {"+", "\N{MINUS SIGN}"} <= set(written)


@pytest.mark.parametrize("status", ["unfaithful", "uncertified"])
def test_a_text_without_a_region_is_not_marked(status):
    display = words_region(["good"], [1], [0.5], status=status, reason="no.").plot_text("good")
    assert "No region is certified" in {text.get_text() for text in texts(display.figure_)}
    assert not display.ax_.patches


def test_only_texts_have_words_and_only_images_pixels():
    region = region_of(Domain.from_bounds([0], [1]), [0.5], [0], [1])
    with pytest.raises(InvalidInputError, match="plot_text"):
        region.plot_text("x")
    with pytest.raises(InvalidInputError, match="only the region of an image"):
        region.plot_image(np.zeros((2, 2)), np.zeros((2, 2), dtype=int))


SIZE = 24


def picture():
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    return np.stack([x, 0.5 * y, 1 - x], axis=-1)


def squares(image):
    """A segmentation into 3 x 3 squares."""
    y, x = np.mgrid[:SIZE, :SIZE] // (SIZE // 3)
    return y * 3 + x


def bright(pictures):
    """The class depends on the red of the middle square, and a little on the corners."""
    score = 0.8 * pictures[:, 8:16, 8:16, 0].mean(axis=(1, 2)) + 0.3 * pictures[:, :8, :8, 2].mean(
        axis=(1, 2)
    )
    return np.column_stack([1 - score, score])


@pytest.fixture(scope="module")
def image_region():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation = LimeImageExplainer(random_state=0).explain_instance(
            picture(), bright, num_samples=60, segmentation_fn=squares, hide_color=0
        )
    options = {"agreement": "change", "tolerance": 0.02, "hide_color": 0}
    return guarantee_region(explanation, predict_fn=bright, **options, **QUICK)


def by_hand(may_go, weights=None):
    """A region of nine superpixels of which these may go."""
    domain = Domain.from_bounds(
        [0] * 9, [1] * 9, names=[f"superpixel {i}" for i in range(9)], integer=range(9)
    )
    about = explained(weights or np.linspace(-1, 1, 9), kind="lime image", space="presence")
    lower = [float(i not in may_go) for i in range(9)]
    return region_of(domain, np.ones(9), lower, np.ones(9), explained=about)


def test_a_real_image_stays_visible_under_the_colours_of_its_weights(image_region):
    assert image_region
    assert len(image_region.removable) > 0
    display = image_region.plot_image(picture(), squares(None))
    np.testing.assert_array_equal(display.may_go, image_region.mask(squares(None)))
    assert display.weights == {k: w for k, w in enumerate(image_region.explained.weights) if w}
    shown = np.asarray(display.ax_.images[0].get_array())
    grey = picture() @ [0.299, 0.587, 0.114]
    for square in range(9):
        here = squares(None) == square
        seen = np.corrcoef(shown[here].sum(axis=1), grey[here])[0, 1]
        assert seen > 0.999  # light and dark are where they were, on every superpixel
    assert f"{len(image_region.removable)} of 9" in display.headline


def test_superpixels_are_coloured_by_weight():
    weights = [0, 0.1, 0.5, 1.0, 0, -0.1, -0.5, -1.0, 0]
    display = by_hand({0, 4}, weights).plot_image(np.full((SIZE, SIZE), 0.5), squares(None))
    colour = [display.tinted[squares(None) == k][0] for k in range(9)]
    blue = [c[2] - c[0] for c in colour]
    assert blue[0] == blue[4] == blue[8] == 0
    assert 0 < blue[1] < blue[2] < blue[3]
    assert 0 > blue[5] > blue[6] > blue[7]
    (scale,) = (ax for ax in display.figure_.axes if ax is not display.ax_)
    assert [label.get_text() for label in scale.get_yticklabels()] == ["\N{MINUS SIGN}1", "0", "+1"]
    assert scale.get_ylabel() == "weight for yes"
    assert overlapping(display.figure_) == []


def test_every_superpixel_has_an_outline_of_its_own_by_whether_it_may_go():
    display = by_hand({0, 4}).plot_image(picture(), squares(None))
    drawn = [c for c in display.ax_.collections if c.get_edgecolor().tolist() == [list(to_rgba(drawing.INK))]]
    dashed, solid = sorted(drawn, key=lambda lines: lines.get_linestyle()[0][1] is None)
    for lines, expected in ((dashed, {0, 4}), (solid, set(range(9)) - {0, 4})):
        loops = [loop for path in lines.get_paths() for loop in path._iter_connected_components()]
        middles = [(loop.vertices.min(axis=0) + loop.vertices.max(axis=0)) / 2 for loop in loops]
        assert sorted(int(y) // 8 * 3 + int(x) // 8 for x, y in middles) == sorted(expected)
        for loop, (x, y) in zip(loops, middles, strict=True):
            assert np.all(np.abs(loop.vertices - [x, y]) < 4)  # inside of its own square


def test_the_largest_weights_are_signed():
    display = by_hand({0, 4}).plot_image(picture(), squares(None))
    signs = {text.get_text(): 0 for text in display.ax_.texts}
    for text in display.ax_.texts:
        signs[text.get_text()] += 1
        x, y = text.get_position()
        square = int(y) // 8 * 3 + int(x) // 8
        assert (text.get_text() == "+") == (square > 4)
    assert signs == {"\N{MINUS SIGN}": 4, "+": 4}  # the one in the middle has no weight


@pytest.mark.parametrize("kind", ["grey", "bytes", "floats", "floats to 255", "missing"])
def test_images_of_all_kinds_are_drawn_in_their_colours(kind):
    image = picture()
    given = {
        "grey": image[..., 0],
        "bytes": (255 * image).astype(np.uint8),
        "floats": image.astype(np.float32),
        "floats to 255": 255 * image,
        "missing": np.where(image > 0.9, np.nan, image),
    }[kind]
    display = ImageDisplay.from_region(by_hand({1}), given, squares(None))
    expected = np.repeat(image[..., :1], 3, axis=2) if kind == "grey" else np.nan_to_num(given)
    expected = image if kind in ("bytes", "floats to 255") else expected
    scale = image.max() if kind == "floats to 255" else 1
    np.testing.assert_allclose(display.image, expected / scale, atol=0.005)
    display.plot().figure_.draw_without_rendering()


def test_images_and_segments_must_fit():
    with pytest.raises(InvalidInputError, match=r"segments: .*\(24, 24\).* got shape \(2, 2\)"):
        by_hand({1}).plot_image(picture(), np.zeros((2, 2), dtype=int))
    with pytest.raises(InvalidInputError, match="image: shape"):
        by_hand({1}).plot_image(np.zeros(3), squares(None))


def test_depth_is_the_distance_to_the_border():
    parts = np.repeat([0] * 5 + [1] * 3, 7).reshape(8, 7)
    depth = images._depth(parts)
    assert depth[2, 3] == 2  # two pixels from the line that borders on the other part, or on nothing
    assert not depth[[0, 4, 5, 7]].any()
    assert not depth[:, [0, 6]].any()


def text_by_hand():
    words = ["The", "film", "was", "good", "plot", "bad"]
    text = "The film was good, the plot was bad: The film, the film."
    return words_region(words, [0, 0, 0, 1, 0, 1], [0, 0.1, 0, 0.6, -0.2, -0.6]).plot_text(
        text, ax=empty_axes(4, 2)
    )


PICTURES = {
    "text": text_by_hand,
    "image": lambda: by_hand({0, 1, 4, 8}).plot_image(picture(), squares(None), ax=empty_axes(4, 4)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_did(name, tmp_path):
    assert difference(PICTURES[name]().ax_, name, tmp_path) is None


def test_a_changed_picture_is_noticed(tmp_path):
    other = by_hand({0, 1, 4}).plot_image(picture(), squares(None), ax=empty_axes(4, 4))
    assert difference(other.ax_, "image", tmp_path) is not None
    pieces = [
        TextDisplay.from_region(words_region(["good"], [low], [1.0]), "good").plot(empty_axes(4, 2))
        for low in (0, 1)
    ]
    assert all(difference(display.ax_, "text", tmp_path) is not None for display in pieces)
