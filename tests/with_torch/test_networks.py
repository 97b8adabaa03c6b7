"""Networks of torch: explained by shap's Deep and Gradient explainers, and by the others.

torch is no part of the `test` extra, so these tests run by themselves: see `norecursedirs` in pyproject.toml.
"""

import pickle
import warnings

import numpy as np
import pytest
import torch
from lime.lime_tabular import LimeTabularExplainer

from lime_guarantee import InvalidInputError, guarantee_region, install, wrap

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import shap

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
X = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
ROWS = torch.tensor(X)


def network(outputs, last=None):
    torch.set_num_threads(1)
    torch.manual_seed(outputs)
    layers = [torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, outputs)]
    return torch.nn.Sequential(*layers, *([] if last is None else [last])).eval()


ONE, THREE, SHARES = network(1), network(3), network(2, torch.nn.Softmax(dim=1))
EXPLAINERS = [shap.DeepExplainer, shap.GradientExplainer]


def answers(net, rows=X):
    with torch.no_grad():
        return net(torch.tensor(np.asarray(rows, dtype=np.float32))).numpy().astype(float)


def theirs(call, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


@pytest.fixture(autouse=True)
def _seeded():
    np.random.seed(0)  # noqa: NPY002 - shap draws from it
    torch.manual_seed(0)


@pytest.mark.parametrize("explainer", EXPLAINERS)
@pytest.mark.parametrize("how", ["install", "wrap", "explainer=", "predict_fn=", "module="])
def test_a_network_with_one_output(explainer, how):
    made = explainer(ONE, ROWS[:50])
    given = {}
    with install():
        if how == "wrap":
            made = wrap(made, training_data=X)
        else:
            given["training_data"] = X
        row = theirs(made, ROWS[:3])[0]
        if how == "explainer=":
            row, given["explainer"] = shap.Explanation(row.values, data=X[0]), made
        functions = {"predict_fn=": lambda rows: answers(ONE, rows), "module=": ONE}
        if how in functions:
            given["predict_fn"] = functions[how]
        region = theirs(guarantee_region, row, **given, **QUICK)
    assert region.status == "certified"
    assert region.explained.model_at_instance == pytest.approx((answers(ONE)[0, 0],), abs=1e-5)
    base = answers(ONE)[:50].mean()
    assert region.explained.surrogate_at_instance == pytest.approx(
        (base + float(row.values.sum()),), abs=1e-5
    )


@pytest.mark.parametrize("explainer", EXPLAINERS)
def test_a_network_with_several_outputs(explainer):
    batch = theirs(wrap(explainer(THREE, ROWS[:50]), training_data=X), ROWS[:3])
    with pytest.raises(InvalidInputError, match="label: the explanation has 3 outputs"):
        batch[0].guarantee_region(**QUICK)
    for output in range(3):
        truth = pytest.approx((answers(THREE)[0, output],), abs=1e-5)
        assert batch[0].guarantee_region(label=output, **QUICK).explained.model_at_instance == truth
        sliced = batch[0, :, output].guarantee_region(label=output, **QUICK)  # it has lost which one it is
        assert sliced.explained.model_at_instance == truth
    assert batch[0, :, 2].guarantee_region(**QUICK).explained.label == 2


def test_probabilities_choose_their_class():
    batch = theirs(wrap(shap.DeepExplainer(SHARES, ROWS[:50]), training_data=X), ROWS[:3])
    explained = batch[0].guarantee_region(**QUICK).explained
    assert (explained.agreement, explained.label) == ("class", answers(SHARES)[0].argmax())


def test_the_error_of_an_approximate_explainer_is_told_and_not_refused():
    batch = theirs(wrap(shap.GradientExplainer(ONE, ROWS[:50]), training_data=X), ROWS[:20], nsamples=50)
    added = answers(ONE)[:50].mean() + batch.values[..., 0].sum(axis=1)
    error = np.abs(added - answers(ONE)[:20, 0]) / np.abs(batch.values[..., 0]).sum(axis=1)
    worst = int(np.argmax(error))
    assert 0.02 < error[worst] < 0.5
    region = batch[worst].guarantee_region(**QUICK)
    assert f"GradientExplainer is approximate: base and values add up to {added[worst]:.4g}" in str(region)
    assert f"says {answers(ONE)[worst, 0]:.4g} at the instance" in str(region)
    exact = theirs(wrap(shap.DeepExplainer(ONE, ROWS[:50]), training_data=X), ROWS[:1])[0]
    assert "approximate" not in str(exact.guarantee_region(**QUICK))


def test_another_row_is_still_refused():
    batch = theirs(wrap(shap.DeepExplainer(ONE, ROWS[:50]), training_data=X), ROWS)
    far = int(np.argmax(np.abs(answers(ONE)[:, 0] - answers(ONE)[0, 0])))
    with pytest.raises(InvalidInputError, match=r"base \+ sum\(values\)"):
        guarantee_region(batch[0], instance=X[far], **QUICK)


def test_inner_layers_and_images_are_refused():
    inner = theirs(wrap(shap.GradientExplainer((ONE, ONE[2]), ROWS[:50])), ROWS[:2])
    with pytest.raises(InvalidInputError, match="inner layer"):
        inner[0].guarantee_region(**QUICK)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2))
    images = torch.rand(6, 3, 4, 4)
    seen = theirs(wrap(shap.GradientExplainer(net, images)), images[:2])
    with pytest.raises(InvalidInputError, match=r"shap\.maskers\.Image"):
        seen[0].guarantee_region(**QUICK)


def test_an_explanation_of_a_network_pickles_without_it():
    row = theirs(wrap(shap.DeepExplainer(ONE, ROWS[:50]), training_data=X), ROWS[:2])[0]
    again = pickle.loads(pickle.dumps(row))
    assert again.guarantee_region(predict_fn=ONE, **QUICK).status == "certified"


def test_lime_and_the_other_explainers_of_shap_explain_networks():
    def predict(rows):
        return answers(SHARES, rows)

    explanation = wrap(LimeTabularExplainer(X, random_state=0), training_data=X).explain_instance(
        X[0], predict
    )
    assert explanation.guarantee_region(**QUICK).status in ("certified", "unfaithful")
    makers = (shap.KernelExplainer, shap.PermutationExplainer, shap.ExactExplainer)
    for make in makers:
        row = theirs(wrap(make(predict, X[:30]), training_data=X), X[:1])[0, :, 1]
        assert row.guarantee_region(**QUICK).status == "certified"


def test_a_network_with_several_inputs_is_explained_as_ever_and_has_no_region():
    class Two(torch.nn.Module):
        def forward(self, one, other):
            return one.sum(dim=1, keepdim=True) + other.sum(dim=1, keepdim=True)

    inputs = [ROWS[:30], ROWS[:30, :2]]
    with install():
        explanation = theirs(shap.GradientExplainer(Two(), inputs), [part[:2] for part in inputs])
    assert [part.shape[:2] for part in explanation.values] == [(2, 4), (2, 2)]
    with pytest.raises(InvalidInputError):
        guarantee_region(explanation, **QUICK)
