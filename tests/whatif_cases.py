"""Regions with models that count what they are asked: one feature of each kind, and very many features."""

import json
import re
import warnings
from functools import cache

import numpy as np
from lime.lime_image import LimeImageExplainer
from pictures import MIXED, explained, mixed_data, mixed_region, region_of

from lime_guarantee import Domain, Problem, SameValue, wrap
from lime_guarantee.problem.surrogates import AdditiveSurrogate
from lime_guarantee.space.observed import Observed

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
SIZE, SIDE = 24, 3


class Counted:
    """A model that keeps how many rows it was asked, call by call."""

    def __init__(self, model):
        self.model, self.calls = model, []

    def __call__(self, X):
        self.calls.append(len(X))
        return self.model(X)


def mixed_model(X):
    columns = [np.array([float(value) for value in X[:, i]]) for i in (0, 1, 2, 4)]
    income, balance, rooms, owner = columns
    return income / 10 + np.sin(3 * balance) + 0.1 * rooms + 0.2 * (X[:, 3] == "blue") + 0.3 * owner


def mixed(**changes):
    """A region of six features, one of each kind, with its problem and what is remembered of data."""
    grids = [np.array([0.0, 10.0]), np.array([-1.0, 1.0]), np.array([1.0, 9.0]), np.arange(4.0)]
    effects = [np.array([0.0, 1.0]), np.array([-2.0, 2.0]), np.array([0.0, 0.8]), np.array([0, 0, 0.3, 0])]
    surrogate = AdditiveSurrogate(
        MIXED,
        0.4,
        (*grids, np.array([0.0, 1.0]), np.array([5.0])),
        (*effects, np.array([0.0, 0.3]), np.array([0.0])),
    )
    domain = Domain(MIXED.axes, Observed.of(mixed_data()))
    instance = np.array([4.0, 0.25, 5.0, "blue", 1.0, 5.0], dtype=object)
    problem = Problem(Counted(mixed_model), surrogate, SameValue(0.5), instance, domain, **changes)
    return mixed_region(problem=problem)


def wide(count=300):
    """Very many features, of which every fourth limits the region; the names cannot be broken."""
    names = [f"a_very_long_name_of_a_feature_that_nobody_can_break_{i:03d}" for i in range(count)]
    domain = Domain.from_bounds(np.zeros(count), np.ones(count), names=names)
    weights = np.linspace(1, -0.5, count)
    problem = Problem(
        Counted(lambda X: X @ weights + np.sin(9 * X[:, 0])),
        lambda X: X @ weights,
        SameValue(0.5),
        np.full(count, 0.5),
        domain,
    )
    limited = np.arange(count) % 4 == 0
    return region_of(
        domain,
        np.full(count, 0.5),
        np.where(limited, 0.25, 0.0),
        np.where(limited, 0.75, 1.0),
        explained=explained(weights),
        problem=problem,
    )


def scores(images):
    """How bright the middle is; hiding the left edge changes nothing."""
    bright = np.asarray(images, dtype=float)[:, 8:16, 8:].mean(axis=(1, 2, 3)) / 255
    return np.column_stack([1 - bright, bright])


@cache
def image():
    """A small picture of nine squares, explained by LIME: its region."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (SIZE, SIZE, 3)).astype(np.uint8)
    places = np.mgrid[:SIZE, :SIZE] // (SIZE // SIDE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-image's own
        explanation = wrap(LimeImageExplainer(random_state=0)).explain_instance(
            pixels,
            scores,
            hide_color=0,
            num_samples=80,
            segmentation_fn=lambda _: places[0] * SIDE + places[1],
        )
    return explanation.guarantee_region(agreement="change", tolerance=0.02, **QUICK)


def data_of(page):
    """What the script of a page reads."""
    return json.loads(re.search(r'id="what-if">(.*?)</script>', page, re.DOTALL)[1])
