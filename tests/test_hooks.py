"""wrap, install, uninstall: explanations gain a method, and LIME stays as it is."""

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from lime.explanation import Explanation
from lime.lime_image import ImageExplanation, LimeImageExplainer
from lime.lime_tabular import LimeTabularExplainer, RecurrentTabularExplainer
from lime.lime_text import LimeTextExplainer
from lime.submodular_pick import SubmodularPick
from lime_guarantee.adapters.hooks import WrappedExplainer, guaranteed_class
from reviews import TEXT, classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from lime_guarantee import (
    InvalidInputError,
    guarantee_region,
    install,
    is_installed,
    uninstall,
    wrap,
)

with warnings.catch_warnings():  # of its own use of matplotlib
    warnings.simplefilter("ignore")
    import shap

matplotlib.use("Agg")

ROOT = Path(__file__).parent.parent
QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
FEW = {**QUICK, "tolerance": 0.5, "max_evaluations": 5_000}  # where the region itself is not the matter
TOUCHED = (
    LimeTabularExplainer,
    RecurrentTabularExplainer,
    LimeTextExplainer,
    LimeImageExplainer,
    Explanation,
    ImageExplanation,
)


@pytest.fixture(autouse=True)
def lime_as_it_was():
    """Every test leaves LIME's classes as it found them."""
    before = contents()
    yield
    uninstall()
    assert contents() == before


def contents():
    """What is in LIME's classes: the very objects. (`copy` notes the names of slots there.)"""
    return {
        (owner, name): id(value)
        for owner in TOUCHED
        for name, value in vars(owner).items()
        if name != "__slotnames__"
    }


RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
FOREST = RandomForestClassifier(20, random_state=0).fit(X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int))
SEQUENCES = RNG.normal(size=(100, 3, 2))


def tabular():
    return LimeTabularExplainer(X, feature_names=list("abcd"), class_names=["no", "yes"], random_state=0)


def recurrent():
    return RecurrentTabularExplainer(SEQUENCES, feature_names=["u", "v"], random_state=0)


def sequence_scores(sequences):
    """A model of sequences alone: flat rows are no sequences."""
    assert sequences.shape[1:] == (3, 2)
    p = 1 / (1 + np.exp(-3 * sequences[:, 2, 0] + sequences[:, 0, 1]))
    return np.column_stack([1 - p, p])


def image_scores(images):
    p = 1 / (1 + np.exp(-images[:, :4, :4].mean(axis=(1, 2, 3)) / 50 + 2))
    return np.column_stack([1 - p, p])


def squares(image):
    y, x = np.mgrid[:12, :12] // 4
    return y * 3 + x


PICTURE = RNG.integers(0, 256, (12, 12, 3)).astype(np.uint8)

KINDS = {
    "tabular": (tabular, X[3], FOREST.predict_proba, {}),
    "recurrent": (recurrent, SEQUENCES[5], sequence_scores, {}),
    "text": (lambda: LimeTextExplainer(random_state=0), TEXT, classifier("bad", "good").predict_proba, {}),
    "image": (
        lambda: LimeImageExplainer(random_state=0),
        PICTURE,
        image_scores,
        {"segmentation_fn": squares, "hide_color": 0},
    ),
}


def explain(kind, explainer=None, *, model=None, attached=False, **options):
    """An explanation of its kind; `explainer` may be wrapped."""
    make, instance, predict_fn, needed = KINDS[kind]
    explainer = make() if explainer is None else explainer
    explainer = wrap(explainer) if attached else explainer
    call = {"num_samples": 200, **needed, **options}
    return explainer.explain_instance(instance, model or predict_fn, **call)


def assert_works(explanation, **options):
    region = explanation.guarantee_region(**{**FEW, **options})
    assert region.status in ("certified", "uncertified")
    assert region.explained.kind.startswith("lime ")
    return region


def run(code, **environment):
    """What Python code prints as JSON, run from the repository's root; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# ----------------------------------------------------------------------------------------------- wrap


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrapped_explainer_explains_as_before_and_its_explanations_know_their_region(kind):
    plain, explanation = explain(kind), explain(kind, attached=True)
    assert isinstance(explanation, ImageExplanation if kind == "image" else Explanation)
    assert explanation.local_exp == plain.local_exp
    assert explanation.intercept == plain.intercept
    assert_works(explanation)
    assert not is_installed()
    assert not hasattr(plain, "guarantee_region")


@pytest.mark.parametrize("kind", KINDS)
def test_the_method_and_the_function_find_the_same_region(kind):
    make, instance, predict_fn, _ = KINDS[kind]
    explainer = make()
    explanation = explain(kind, explainer)
    options = {**FEW, **({"hide_color": 0} if kind == "image" else {})}
    training_data = {"tabular": X, "recurrent": SEQUENCES}.get(kind)
    pure = guarantee_region(
        explanation,
        explainer=explainer,
        predict_fn=predict_fn,
        instance=instance,
        training_data=training_data,
        **options,
    )
    wrapped = explain(kind, wrap(make(), training_data=training_data)).guarantee_region(**FEW)
    with install():
        installed = explain(kind).guarantee_region(**FEW)
    assert pure == wrapped == installed


def test_a_wrapped_explainer_looks_like_the_explainer():
    explainer = tabular()
    wrapped = wrap(explainer)
    assert isinstance(wrapped, WrappedExplainer)
    for name in ("discretizer", "scaler", "feature_names", "class_names", "random_state", "base"):
        assert getattr(wrapped, name) is getattr(explainer, name)
    assert repr(wrapped) == f"wrap({explainer!r})"
    with pytest.raises(AttributeError, match="no_such_thing"):
        wrapped.no_such_thing  # noqa: B018
    assert wrapped.convert_and_round([1.234]) == ["1.23"]


def test_an_attribute_set_on_a_wrapped_explainer_is_set_on_the_explainer():
    explainer = LimeTextExplainer(random_state=0)
    wrapped = wrap(explainer)
    wrapped.class_names = ["bad", "good"]
    assert explainer.class_names == ["bad", "good"]
    explanation = explain("text", wrapped)
    assert assert_works(explanation).explained.label_name == "good"


def test_a_wrapped_explainer_can_be_copied():
    wrapped = wrap(LimeTextExplainer(random_state=0))
    assert_works(explain("text", copy.copy(wrapped)))
    assert_works(explain("text", copy.deepcopy(wrapped)))


def test_arguments_reach_the_explainer_by_position_and_by_name():
    wrapped = wrap(tabular())
    model = FOREST.predict_proba
    explanation = wrapped.explain_instance(X[3], model, (0,), None, 2, 100)
    assert list(explanation.local_exp) == [0]
    assert len(explanation.local_exp[0]) == 2
    assert_works(explanation)
    named = wrapped.explain_instance(predict_fn=model, data_row=X[3], num_samples=100, labels=(0, 1))
    assert sorted(named.local_exp) == [0, 1]
    assert_works(named)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        wrapped.explain_instance(X[3], model, nonsense=1)


def test_an_explainer_of_ones_own_class_can_be_wrapped():
    class Mine(LimeTextExplainer):
        def explain_instance(self, *args, **kwargs):
            return super().explain_instance(*args, num_samples=150, **kwargs)

    model = classifier("bad", "good").predict_proba
    for explanation in (
        wrap(Mine(random_state=0)).explain_instance(TEXT, model),
        wrap(Mine(random_state=0)).explain_instance(TEXT, classifier_fn=model, num_features=4),
    ):
        assert_works(explanation)
    with install():
        assert_works(Mine(random_state=0).explain_instance(TEXT, model))


def test_a_wrapped_explainer_is_not_wrapped_again():
    wrapped = wrap(tabular(), training_data=X)
    assert_works(explain("tabular", wrap(wrapped)))


def test_what_cannot_be_wrapped_is_told_what_can():
    with pytest.raises(InvalidInputError, match=r"cannot be wrapped.*LimeTextExplainer.*find_region"):
        wrap(FOREST)


def test_submodular_pick_takes_a_wrapped_explainer():
    pick = SubmodularPick(
        wrap(tabular(), training_data=X),
        X[:6],
        FOREST.predict_proba,
        method="full",
        num_exps_desired=2,
        num_features=3,
        num_samples=100,
    )
    assert len(pick.sp_explanations) == 2
    for explanation in pick.sp_explanations:
        assert_works(explanation)


def test_the_training_data_given_to_wrap_sets_the_range():
    explainer = LimeTabularExplainer(
        X, feature_names=list("abcd"), discretize_continuous=False, random_state=0
    )
    region = assert_works(explain("tabular", wrap(explainer, training_data=X)))
    assert [axis.low for axis in region.domain.axes] == pytest.approx(X.min(axis=0))
    assert [axis.high for axis in region.domain.axes] == pytest.approx(X.max(axis=0))
    assert region.explained.notes == ()


# --------------------------------------------------------------------------------- pickling and copying


@pytest.mark.parametrize("how", ["wrap", "install"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_pickles_whatever_its_model_and_then_asks_for_it(kind, how):
    predict_fn = KINDS[kind][2]
    if how == "wrap":
        explanation = explain(kind, model=lambda rows: predict_fn(rows), attached=True)
    else:
        install()
        explanation = explain(kind, model=lambda rows: predict_fn(rows))
    again = pickle.loads(pickle.dumps(explanation))
    assert type(again) is type(explanation)
    assert again.local_exp == explanation.local_exp
    with pytest.raises(InvalidInputError, match=r"predict_fn: .* Pass predict_fn="):
        again.guarantee_region()
    assert again.guarantee_region(predict_fn=predict_fn, **FEW) == explanation.guarantee_region(**FEW)


@pytest.mark.parametrize("kind", KINDS)
def test_a_deep_copy_still_knows_its_model(kind):
    explanation = explain(kind, model=lambda rows: KINDS[kind][2](rows), attached=True)
    for again in (copy.copy(explanation), copy.deepcopy(explanation)):
        assert type(again) is type(explanation)
        assert again.guarantee_region(**FEW) == explanation.guarantee_region(**FEW)


def test_classes_of_one_name_have_subclasses_of_their_own():
    """In two modules of one library, and in a module that was imported anew."""
    first, second, again = (
        type("Rule", (), {"__module__": module}) for module in ("twin.a", "twin.b", "twin.a")
    )
    made = [guaranteed_class(base) for base in (first, second)]
    assert [each.__bases__ for each in made] == [(first,), (second,)]
    assert guaranteed_class(first) is made[0]
    assert guaranteed_class(again).__bases__ == (again,)


def test_a_pickled_explanation_of_a_wrapped_explainer_opens_in_another_process(tmp_path):
    file = tmp_path / "explanation.pickle"
    file.write_bytes(pickle.dumps(explain("text", attached=True)))
    code = f"""
import json, pickle
with open({str(file)!r}, "rb") as stream:
    explanation = pickle.load(stream)
try:
    explanation.guarantee_region()
except ValueError as error:
    print(json.dumps([type(explanation).__name__, str(error), explanation.as_list()]))
"""
    name, error, listed = run(code)
    assert name == "GuaranteedLimeExplanationExplanation"
    assert "Pass predict_fn=" in error
    assert [tuple(pair) for pair in listed] == explain("text").as_list()


# -------------------------------------------------------------------------------------------- install


def test_install_and_uninstall_restore_the_very_same_functions():
    before = contents()
    for _ in range(3):
        install()
        assert is_installed()
        assert contents() != before
        assert hasattr(Explanation, "guarantee_region")
        assert hasattr(ImageExplanation, "guarantee_region")
        uninstall()
        assert not is_installed()
        assert contents() == before
        assert not hasattr(Explanation, "guarantee_region")
        assert not hasattr(ImageExplanation, "guarantee_region")
    uninstall()  # once more does no harm
    assert contents() == before


def test_installing_twice_changes_nothing_and_one_uninstall_undoes_both():
    before = contents()
    install()
    once = contents()
    install()
    assert contents() == once
    uninstall()
    assert contents() == before


def test_as_a_context_manager_it_lasts_for_the_block_even_if_that_fails():
    before = contents()

    def block():
        with install():
            assert is_installed()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert not is_installed()
    assert contents() == before


def test_an_inner_block_leaves_the_outer_one_in_force():
    with install():
        with install():
            pass
        assert is_installed()
        assert_works(explain("text"))
    assert not is_installed()
    install()
    with install():
        pass
    assert is_installed()


def test_what_was_patched_over_ours_stays():
    ours_and_theirs = []
    original = LimeTextExplainer.explain_instance
    install()
    ours = LimeTextExplainer.explain_instance

    def theirs(self, *args, **kwargs):
        ours_and_theirs.append(args[0])
        return ours(self, *args, **kwargs)

    LimeTextExplainer.explain_instance = theirs
    try:
        assert_works(explain("text"))
        uninstall()
        assert LimeTextExplainer.explain_instance is theirs
        assert not is_installed()
        later = explain("text")
        assert not hasattr(later, "_guarantee_context")
        with install():
            assert_works(explain("text"))
        assert LimeTextExplainer.explain_instance is theirs
        assert len(ours_and_theirs) == 3
    finally:
        LimeTextExplainer.explain_instance = original


@pytest.mark.parametrize("kind", KINDS)
def test_explainers_made_before_install_work(kind):
    explainer = KINDS[kind][0]()
    with install():
        assert_works(explain(kind, explainer))


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_made_while_installed_work_through_the_function_afterwards(kind):
    with install():
        explanation = explain(kind)
        region = explanation.guarantee_region(**FEW)
    assert not hasattr(explanation, "guarantee_region")
    assert guarantee_region(explanation, **FEW) == region


def test_explanations_made_before_install_ask_for_what_they_lack():
    explanation = explain("text")
    with install():
        with pytest.raises(InvalidInputError, match="Pass predict_fn="):
            explanation.guarantee_region()
        assert_works(explanation, predict_fn=KINDS["text"][2])


def test_the_range_of_the_training_data_is_noted_when_the_explainer_is_made():
    with install():
        explainer = LimeTabularExplainer(X, feature_names=list("abcd"), discretize_continuous=False)
        region = assert_works(explain("tabular", explainer))
        assert [axis.low for axis in region.domain.axes] == pytest.approx(X.min(axis=0))
        again = assert_works(explain("tabular", wrap(explainer)))
        assert again.domain == region.domain


def test_a_model_that_is_a_bound_method_of_nothing_else_is_kept_alive():
    class Model:
        def scores(self, texts):
            return classifier("bad", "good").predict_proba(texts)

    with install():
        explanation = explain("text", model=Model().scores)
        assert_works(explanation)


def test_signatures_and_names_are_lime_s_own():
    functions = [
        (owner, name)
        for owner in TOUCHED[:4]
        for name in ("__init__", "explain_instance")
        if name in vars(owner)
    ]
    before = {(owner, name): getattr(owner, name) for owner, name in functions}
    with install():
        for (owner, name), original in before.items():
            now = getattr(owner, name)
            assert inspect.signature(now) == inspect.signature(original)
            assert now.__doc__ == original.__doc__
            assert (now.__name__, now.__qualname__) == (original.__name__, original.__qualname__)
            assert now.__module__ == original.__module__


def everything_public(kind, folder):
    """All that LIME shows of an explanation."""
    make, instance, predict_fn, needed = KINDS[kind]
    np.random.seed(0)  # noqa: NPY002  (where LIME draws the names of its HTML elements)
    call = {"num_samples": 150, **needed}
    explainer = make()
    one = explainer.explain_instance(instance, predict_fn, labels=(0, 1), **call)
    two = explainer.explain_instance(instance, predict_fn, top_labels=2, **call)
    shown = []
    for explanation in (one, two, pickle.loads(pickle.dumps(two))):
        shown += [explanation.local_exp, explanation.intercept, explanation.score, explanation.local_pred]
        if kind == "image":
            image, mask = explanation.get_image_and_mask(1, positive_only=False, min_weight=0.001)
            shown += [image.tolist(), mask.tolist(), explanation.segments.tolist()]
            continue
        shown += [explanation.as_map(), explanation.as_list(label=0), explanation.as_list()]
        shown.append(explanation.available_labels())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # LIME leaves its script open
            shown.append(explanation.as_html(labels=[1]))
            explanation.save_to_file(folder / "page.html")
        shown.append((folder / "page.html").read_text(encoding="utf-8"))
        figure = explanation.as_pyplot_figure()
        axes = figure.gca()
        shown += [axes.get_title(), [tick.get_text() for tick in axes.get_yticklabels()]]
        shown.append([bar.get_width() for bar in axes.patches])
        matplotlib.pyplot.close(figure)
    return shown


@pytest.mark.parametrize("kind", KINDS)
def test_lime_shows_the_same_while_installed(kind, tmp_path):
    before = everything_public(kind, tmp_path)
    with install():
        assert everything_public(kind, tmp_path) == before


def test_lime_refuses_the_same_while_installed():
    def errors():
        seen = []
        for call in (
            lambda: tabular().explain_instance(X[3]),
            lambda: tabular().explain_instance(X[3], FOREST.predict_proba, nonsense=1),
            lambda: tabular().explain_instance(X[3], FOREST.predict),
            lambda: LimeTabularExplainer(),
            lambda: LimeTabularExplainer(X, discretizer="nonsense"),
            lambda: LimeTextExplainer().explain_instance("", lambda texts: texts),
        ):
            with pytest.raises(Exception) as caught:  # noqa: PT011
                call()
            seen.append((caught.type, str(caught.value)))
        return seen

    before = errors()
    with install():
        assert errors() == before


THREE = LogisticRegression().fit(X, np.digitize(X[:, 0] - X[:, 1], [-0.5, 0.5]))
SHAP = {
    "tree": lambda: shap.TreeExplainer(FOREST, X[:20]),
    "tree without background": lambda: shap.TreeExplainer(FOREST),
    "linear": lambda: shap.LinearExplainer(THREE, X[:20]),
    "kernel": lambda: shap.KernelExplainer(THREE.predict_proba, X[:20]),
    "sampling": lambda: shap.SamplingExplainer(THREE.predict_proba, X[:20]),
    "permutation": lambda: shap.PermutationExplainer(THREE.predict_proba, X[:20], seed=0),
    "exact": lambda: shap.ExactExplainer(THREE.predict_proba, X[:20]),
    "partition": lambda: shap.PartitionExplainer(THREE.predict_proba, shap.maskers.Partition(X[:20])),
    "additive": lambda: shap.AdditiveExplainer(lambda rows: rows.sum(axis=1), X[:20]),
    "any": lambda: shap.Explainer(THREE.predict_proba, X[:20], seed=0),
}
SHOWN = (
    "values", "base_values", "data", "display_data", "instance_names", "feature_names", "output_names",
    "output_indexes", "lower_bounds", "upper_bounds", "error_std", "main_effects", "hierarchical_values",
    "clustering", "output_dims", "shape",
)  # fmt: skip
SLICES = {
    "whole": lambda explanation: explanation,
    "a row": lambda explanation: explanation[0],
    "a row far down": lambda explanation: explanation[4],
    "some rows": lambda explanation: explanation[1:3],
    "features": lambda explanation: explanation[:, [0, 2]],
    "an output": lambda explanation: explanation[..., 1],
    "a copy": copy.copy,
    "a deep copy": copy.deepcopy,
    "a pickle": lambda explanation: pickle.loads(pickle.dumps(explanation)),
    "absolute": lambda explanation: explanation.abs,
    "mean": lambda explanation: explanation.mean(0),
    "sum": lambda explanation: explanation + explanation,
}


def shap_shows(kind):
    """All that shap shows of an explanation, and of what is made from it."""
    np.random.seed(0)  # noqa: NPY002  (which shap uses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation = SHAP[kind]()(X[:6])
    shown = {}
    for name, made_from in SLICES.items():
        try:
            made = made_from(explanation)
        except Exception as error:  # noqa: BLE001 - shap cannot slice all that it explains
            shown[name] = repr(error)
        else:
            shown[name] = {field: np.asarray(getattr(made, field)).tolist() for field in SHOWN}
    return shown


@pytest.mark.parametrize("kind", SHAP)
def test_shap_shows_the_same_while_installed(kind):
    before = shap_shows(kind)
    with install():
        assert shap_shows(kind) == before


def test_the_base_values_that_shap_forgets_are_those_of_wrapped_explainers_alone():
    """SamplingExplainer gives one base value an output, and slices of rows take the wrong one."""
    wrapped = wrap(SHAP["sampling"](), training_data=X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation = wrapped(X[:6])
        with install():
            installed = SHAP["sampling"]()(X[:6])
    assert explanation.base_values.shape == (6, 3)
    assert explanation[4, :, 1].guarantee_region(surrogate="presence", **FEW).explained.label == 1
    with pytest.raises(InvalidInputError, match=r"lose their base values.* wrap\(explainer\)"):
        guarantee_region(installed[1], training_data=X, **FEW)


def test_what_has_no_region_is_still_explained_while_installed_and_says_why_when_asked():
    stats = {
        "means": {0: [0.0, 1.0]},
        "mins": {0: [-1.0, 0.5]},
        "maxs": {0: [0.5, 2.0]},
        "stds": {0: [0.5, 0.5]},
        "feature_values": {0: [0, 1]},
        "feature_frequencies": {0: [0.5, 0.5]},
    }

    def scores(rows):
        p = 1 / (1 + np.exp(-rows[:, 0]))
        return np.column_stack([1 - p, p])

    def explained(explainer):
        return explainer.explain_instance(np.array([0.7]), scores, num_samples=100)

    def explainer():
        return LimeTabularExplainer(np.zeros((1, 1)), training_data_stats=stats, random_state=0)

    plain = explained(explainer())
    with install():
        explanation = explained(explainer())
        assert explanation.local_exp == plain.local_exp
        for it in (explanation, pickle.loads(pickle.dumps(explanation))):
            with pytest.raises(InvalidInputError, match="Give the stats a 'bins' entry"):
                it.guarantee_region()
    wrapped = explained(wrap(explainer()))
    assert wrapped.local_exp == plain.local_exp
    with pytest.raises(InvalidInputError, match="Give the stats a 'bins' entry"):
        wrapped.guarantee_region()


def test_many_threads_explain_while_others_install_and_uninstall():
    expected = explain("text", attached=True).guarantee_region(**FEW)
    stop, errors, regions = threading.Event(), [], []

    def toggle():
        try:
            while not stop.is_set():
                install()
                uninstall()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    def ask():
        try:
            for attached in (True, False, True):
                explanation = explain("text", attached=attached)
                given = {} if attached else {"predict_fn": KINDS["text"][2]}
                regions.append(guarantee_region(explanation, **given, **FEW))
                LimeTabularExplainer(X, feature_names=list("abcd"))
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    togglers = [threading.Thread(target=toggle) for _ in range(2)]
    askers = [threading.Thread(target=ask) for _ in range(8)]
    for thread in (*togglers, *askers):
        thread.start()
    for thread in askers:
        thread.join()
    stop.set()
    for thread in togglers:
        thread.join()
    assert errors == []
    assert len(regions) == 24
    assert all(region == expected for region in regions)


def test_threads_that_install_and_uninstall_at_once_leave_lime_as_it_was():
    before, errors, interval = contents(), [], sys.getswitchinterval()

    def toggle():
        try:
            for _ in range(500):  # without a lock, 50 leave traces
                install()
                uninstall()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    togglers = [threading.Thread(target=toggle) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in togglers:
            thread.start()
        for thread in togglers:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert contents() == before


def test_many_threads_ask_the_method_while_installed():
    expected = explain("text", attached=True).guarantee_region(**FEW)
    regions = []
    with install():
        askers = [
            threading.Thread(target=lambda: regions.append(explain("text").guarantee_region(**FEW)))
            for _ in range(8)
        ]
        for thread in askers:
            thread.start()
            with install():  # an inner block of another thread's changes nothing
                pass
        for thread in askers:
            thread.join()
    assert regions == [expected] * 8


# ------------------------------------------------------------------------------------ in other processes

PATCHED = """
import json, sys
from lime.explanation import Explanation
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer
originals = [LimeTextExplainer.explain_instance, LimeTabularExplainer.__init__]
{code}
now = [LimeTextExplainer.explain_instance, LimeTabularExplainer.__init__]
same = [one is other for one, other in zip(originals, now)]
print(json.dumps([lime_guarantee.is_installed(), hasattr(Explanation, "guarantee_region"), *same]))
"""


def test_importing_the_package_patches_nothing():
    assert run(PATCHED.format(code="import lime_guarantee")) == [False, False, True, True]


def test_importing_auto_installs():
    assert run(PATCHED.format(code="import lime_guarantee.auto")) == [True, True, False, False]


def test_importing_the_package_imports_no_explanation_library():
    code = """
import json, sys
import lime_guarantee
from lime_guarantee import guarantee_region, install, is_installed, uninstall, wrap
is_installed(), uninstall()
print(json.dumps([name for name in ("lime", "shap", "skimage", "matplotlib") if name in sys.modules]))
"""
    assert run(code) == []
