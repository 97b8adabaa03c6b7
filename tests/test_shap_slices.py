"""Explanations keep what they know through slices, copies, arithmetic, pickling and shap's plots."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from lime_guarantee.adapters.base import CAPTURED
from lime_guarantee.adapters.shap_row import ShapRowAdapter
from shap_cases import BACKGROUND, CASES, FRAME, QUICK, X, answers, fitted, shap, theirs

import lime_guarantee
from lime_guarantee import (
    GuaranteeWarning,
    InvalidInputError,
    from_shap_values,
    guarantee_region,
    install,
    is_installed,
    uninstall,
    wrap,
)

EXPLAINERS = [getattr(shap, name.removeprefix("shap.")) for name in ShapRowAdapter.explainer_class]


def wrapped(explainer, rows, **options):
    return theirs(wrap(explainer, training_data=X, **options), rows)


@pytest.fixture(scope="module")
def batch():
    """Two named outputs of four named features."""
    explainer = shap.PartitionExplainer(
        fitted("forest class").predict_proba,
        shap.maskers.Partition(BACKGROUND),
        output_names=["no", "yes"],
        feature_names=list(FRAME.columns),
    )
    return wrapped(explainer, X[:30])


@pytest.fixture(params=["wrapped", "installed"])
def single(request):
    """One output, from a wrapped explainer, or from any after install()."""
    if request.param == "wrapped":
        yield wrapped(shap.TreeExplainer(fitted("forest"), BACKGROUND), FRAME[:30])
    else:
        with install():
            yield theirs(shap.TreeExplainer(fitted("forest"), BACKGROUND), FRAME[:30])


def same_region(one, other):
    assert one
    # What comes back from a pickle was given its model anew, by another name.
    assert replace(one, origin=None).to_dict() == replace(other, origin=None).to_dict()


SLICES = {
    "a row, then an output": lambda exp: exp[4][:, 1],
    "row and output": lambda exp: exp[4, :, 1],
    "by the output's name": lambda exp: exp[4, :, "yes"],
    "an output, then a row": lambda exp: exp[:, :, 1][4],
    "an output, then a row, by name": lambda exp: exp[:, :, "yes"][4],
    "some rows, then one": lambda exp: exp[2:6][2, :, 1],
    "by a list": lambda exp: exp[[9, 4]][1, :, 1],
    "from the end": lambda exp: exp[-26, :, 1],
    "a copy": lambda exp: copy.copy(exp)[4, :, 1],
    "a copy of a slice": lambda exp: copy.copy(exp[4])[:, 1],
    "a deep copy": lambda exp: copy.deepcopy(exp[4, :, 1]),
    "a batch of one": lambda exp: exp[4:5, :, 1],
    "plus nothing": lambda exp: (exp[4] + 0.0)[:, 1],
    "sliced and pickled": lambda exp: pickle.loads(pickle.dumps(exp[4, :, 1])),
    "pickled and sliced": lambda exp: pickle.loads(pickle.dumps(exp))[4, :, 1],
}


@pytest.mark.parametrize("how", SLICES)
def test_a_slice_has_the_same_region(batch, how):
    sliced = SLICES[how](batch)
    assert isinstance(sliced, shap.Explanation)
    assert type(sliced) is type(batch)
    model = {"predict_fn": fitted("forest class").predict_proba} if "pickled" in how else {}
    region = sliced.guarantee_region(**QUICK, **model)
    same_region(region, batch[4, :, 1].guarantee_region(**QUICK))
    assert region.instance == pytest.approx(X[4])
    assert (region.explained.label, region.explained.label_name) == (1, "yes")
    assert region.names == tuple(FRAME.columns)


def test_the_context_survives_what_shap_makes_of_an_explanation(batch):
    one = batch[:, :, 1]
    made = [
        one.abs,
        one + 1,
        one * 2,
        one.mean(0),
        one.max(1),
        one[:, "age"],
        one.sum(0),
        one.abs.mean(0),
    ]
    for explanation in made:
        assert getattr(explanation, CAPTURED) is getattr(batch, CAPTURED)
        assert isinstance(explanation, shap.Explanation)
        assert hasattr(explanation, "guarantee_region")


def test_choosing_the_output_is_slicing(batch):
    plain = batch[4, :, 0].guarantee_region(**QUICK)
    same_region(batch[4].guarantee_region(label=0, **QUICK), plain)
    same_region(batch[4].guarantee_region(label="no", **QUICK), plain)


def test_all_readings_of_a_slice(batch):
    for reading in ("profile", "dependence", "presence"):
        region = batch[4, :, 1].guarantee_region(surrogate=reading, agreement="value", **QUICK)
        assert region
        assert region.explained.weights == pytest.approx(tuple(batch.values[4, :, 1]))


def test_dependence_reads_the_whole_batch_from_a_slice(batch):
    """However it was sliced: the context holds all rows explained together."""
    direct = batch[4, :, 1].guarantee_region(surrogate="dependence", agreement="value", **QUICK)
    same_region(
        batch[2:6][2, :, 1].guarantee_region(surrogate="dependence", agreement="value", **QUICK), direct
    )


def test_pickling_forgets_the_model_and_says_so(single):
    row = pickle.loads(pickle.dumps(single[0]))
    with pytest.raises(InvalidInputError, match="Pass predict_fn="):
        row.guarantee_region(training_data=X, **QUICK)
    same_region(
        row.guarantee_region(training_data=X, predict_fn=fitted("forest").predict, **QUICK),
        pickle.loads(pickle.dumps(row)).guarantee_region(
            training_data=X, predict_fn=fitted("forest").predict, **QUICK
        ),
    )


def test_explanations_of_functions_that_cannot_be_pickled_can():
    explainer = shap.ExactExplainer(lambda rows: rows[:, 0] * 2.0, BACKGROUND)
    explanation = wrapped(explainer, X[:2], predict_fn=lambda rows: rows[:, 0] * 2.0)
    row = pickle.loads(pickle.dumps(explanation[0]))
    assert row.guarantee_region(predict_fn=lambda rows: rows[:, 0] * 2.0, **QUICK)


@pytest.fixture
def figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")  # shap draws on the figure that is there
    yield plt
    plt.close("all")


PLOTS = {
    "waterfall": lambda exp: shap.plots.waterfall(exp[0], show=False),
    "bar": lambda exp: shap.plots.bar(exp, show=False),
    "bar of a row": lambda exp: shap.plots.bar(exp[0], show=False),
    "beeswarm": lambda exp: shap.plots.beeswarm(exp, show=False),
    "scatter": lambda exp: shap.plots.scatter(exp[:, 0], show=False),
    "coloured scatter": lambda exp: shap.plots.scatter(exp[:, 0], color=exp[:, 1], show=False),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_run_unchanged(single, plot, figures):
    plain = theirs(shap.TreeExplainer(fitted("forest"), BACKGROUND), FRAME[:30])
    theirs(PLOTS[plot], single)
    ours = [text.get_text() for ax in figures.gcf().axes for text in ax.texts]
    figures.close("all")
    theirs(PLOTS[plot], plain)
    assert ours == [text.get_text() for ax in figures.gcf().axes for text in ax.texts]
    assert len(figures.gcf().axes) >= 1


def patched_members():
    """Everything that install() may touch in shap, as it is now."""
    return {
        (owner, name): owner.__dict__.get(name)
        for owner in (*EXPLAINERS, shap.Explanation)
        for name in ("__call__", "__init__", "__copy__", "guarantee_region", "region")
    }


def test_uninstall_brings_the_very_same_functions_back():
    before = patched_members()
    install()
    during = patched_members()
    install()
    assert patched_members() == during
    assert is_installed()
    uninstall()
    after = patched_members()
    assert not is_installed()
    for key, function in before.items():
        assert after[key] is function
    for explainer in EXPLAINERS:
        assert during[explainer, "__call__"] is not before[explainer, "__call__"]
    assert not hasattr(shap.Explanation, "guarantee_region")


def test_every_class_that_explains_is_patched():
    """shap's explainers that have a __call__ of their own; an instance's does not count."""
    classes = {thing for thing in vars(shap.explainers).values() if isinstance(thing, type)}
    own = {explainer.__name__ for explainer in classes if "__call__" in vars(explainer)}
    assert own - {"CoalitionExplainer"} <= {explainer.__name__ for explainer in EXPLAINERS}


def test_importing_changes_nothing():
    assert lime_guarantee.__version__
    assert not is_installed()
    assert not hasattr(theirs(shap.TreeExplainer(fitted("forest")), X[:1]), "guarantee_region")


def test_after_install_nothing_needs_to_be_passed():
    with install():
        explanation = theirs(shap.ExactExplainer(fitted("forest").predict, BACKGROUND), X[:3])
        with pytest.warns(
            GuaranteeWarning, match=r"range of the features is that of 43 rows.*training_data="
        ):
            region = explanation[0].guarantee_region(**QUICK)
    assert type(explanation) is shap.Explanation
    assert region
    assert "43 rows" in str(region)
    both = np.concatenate([BACKGROUND, X[:3]])
    assert region.domain.lower == pytest.approx(both.min(axis=0))
    assert region.domain.upper == pytest.approx(both.max(axis=0))


def test_known_training_data_does_not_warn():
    with install():
        explanation = theirs(shap.ExactExplainer(fitted("forest").predict, BACKGROUND), X[:3])
        region = explanation[0].guarantee_region(training_data=X, **QUICK)
    assert region.domain.lower == pytest.approx(X.min(axis=0))
    wrapping = wrapped(shap.ExactExplainer(fitted("forest").predict, BACKGROUND), X[:3])
    same_region(wrapping[0].guarantee_region(**QUICK), region)


def test_bounds_do_not_warn_and_win():
    with install():
        explanation = theirs(shap.ExactExplainer(fitted("forest").predict, BACKGROUND), X[:3])
        region = explanation[0].guarantee_region(bounds=[(-5, 5)] * 4, **QUICK)
    assert region.domain.upper == pytest.approx([5.0] * 4)


def test_the_general_explainer_is_seen_too():
    """shap.Explainer becomes another class while it is made."""
    with install():
        explainer = theirs(shap.Explainer, fitted("frame forest").predict_proba, FRAME[:40])
        explanation = theirs(explainer, FRAME[:2])
        assert explanation[0, :, 1].guarantee_region(training_data=FRAME, **QUICK)


def test_explainers_made_before_install_are_seen():
    explainer = shap.TreeExplainer(fitted("forest"), BACKGROUND)
    with install():
        assert theirs(explainer, X[:1])[0].guarantee_region(training_data=X, **QUICK)


def test_explanations_outlive_the_installation():
    with install():
        explanation = theirs(shap.TreeExplainer(fitted("forest"), BACKGROUND), X[:1])[0]
    assert guarantee_region(explanation, training_data=X, **QUICK)


def test_wrapped_explainers_are_used_like_the_explainer():
    explainer = shap.TreeExplainer(fitted("forest"), BACKGROUND)
    ours = wrap(explainer)
    assert ours.expected_value == explainer.expected_value
    assert theirs(ours.shap_values, X[:2]) == pytest.approx(theirs(explainer.shap_values, X[:2]))


def test_the_pure_function_gives_the_same_region():
    explainer = shap.TreeExplainer(fitted("forest"), BACKGROUND)
    plain = theirs(explainer, X[:3])
    region = guarantee_region(plain[0], explainer=explainer, training_data=X, **QUICK)
    same_region(wrapped(explainer, X[:3])[0].guarantee_region(**QUICK), region)


def test_without_an_explainer_the_model_and_data_are_enough():
    plain = theirs(shap.TreeExplainer(fitted("forest"), X), X[:3])
    region = guarantee_region(plain[0], predict_fn=fitted("forest").predict, training_data=X, **QUICK)
    assert region


@pytest.mark.parametrize("name", ["forest", "forest class"])
def test_bare_values(name):
    explainer = shap.TreeExplainer(fitted(name), BACKGROUND)
    values = theirs(explainer.shap_values, X[:3])
    explanation = from_shap_values(values, explainer, X[:3], training_data=X)
    assert isinstance(explanation, shap.Explanation)
    output = () if values.ndim == 2 else (slice(None), 1)
    region = explanation[(0, *output)].guarantee_region(**QUICK)
    assert region.explained.weights == pytest.approx(tuple(values[(0, *output)]))
    assert region.explained.gap < 1e-6


def test_bare_values_of_a_frame_and_as_a_list():
    explainer = shap.TreeExplainer(fitted("frame forest"), FRAME[:40])
    values = theirs(explainer.shap_values, FRAME[:3])
    listed = [values[:, :, k] for k in range(values.shape[2])]  # as shap gave them before 0.45
    explanation = from_shap_values(listed, explainer, FRAME[:3], training_data=FRAME)
    region = explanation[1, :, 1].guarantee_region(**QUICK)
    assert region.names == tuple(FRAME.columns)
    assert region.explained.model_at_instance == pytest.approx(
        tuple(answers("frame forest", "predict_proba", 1, FRAME)(X[[1]])), abs=1e-6
    )


def test_bare_values_of_kernel_and_linear_explainers():
    for explainer in (
        shap.KernelExplainer(fitted("line").predict, BACKGROUND),
        shap.LinearExplainer(fitted("line"), BACKGROUND),
    ):
        values = theirs(explainer.shap_values, X[:2])
        region = from_shap_values(values, explainer, X[:2], training_data=X)[1].guarantee_region(**QUICK)
        assert region.share == 1.0


def test_the_model_itself_can_be_given_to_wrap():
    """Then it is asked, and not shap's copy of it."""
    asked = []

    def counting(rows):
        asked.append(len(rows))
        return fitted("forest").predict(rows)

    explanation = wrapped(shap.TreeExplainer(fitted("forest"), BACKGROUND), X[:1], predict_fn=counting)
    assert explanation[0].guarantee_region(**QUICK)
    assert sum(asked) > 1_000


def test_unknown_options_are_refused():
    with pytest.raises(InvalidInputError, match="surogate: this kind of explanation has no such option"):
        CASES["forest, background"].explanation.guarantee_region(surogate="profile", **QUICK)
