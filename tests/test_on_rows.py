"""Real rows: bounds that hold as often as they say, and counts where nothing more follows."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from lime_guarantee import Domain, GuaranteeRegion, InvalidInputError, OnRows, Problem, SameValue, find_region
from lime_guarantee.engine.certify import bounds
from lime_guarantee.region import on_rows as module

CONFIDENCE = 0.9


class Population:
    """Rows of two features that go together, and a model that an explanation misses on some of them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.slope, self.spread = self.rng.uniform(0.3, 1.0), self.rng.uniform(0.2, 1.0)
        self.limit, self.edge = self.rng.uniform(0.02, 0.12), self.rng.uniform(0.8, 2.0)

    def rows(self, count):
        x = self.rng.normal(size=count)
        return np.column_stack([x, self.slope * x + self.spread * self.rng.normal(size=count)])

    def faithful(self, X):
        wave = np.sin(37 * X[:, 0]) * np.sin(29 * X[:, 1])
        return (np.abs(X).sum(axis=1) < 2 * self.edge) & (wave < 1 - 8 * self.limit)

    def region(self):
        X = self.rows(300)
        instance = X[self.faithful(X)][0]
        return find_region(self.faithful, instance, Domain.from_data(X), purity=0.9, random_state=self.rng)


def violations(regions, sets, *, rows=200, judged=None):
    """How often the bounds on fidelity and coverage are too high, over fresh rows of many populations."""
    wrong = np.zeros(2)
    for seed in range(regions):
        population = Population(seed)
        region = population.region()
        many = population.rows(60_000)
        inside = region.contains(many)
        if not inside.any():
            continue
        true = population.faithful(many[inside]).mean(), inside.mean()
        for _ in range(sets):
            X = population.rows(rows) if judged is None else judged(population, region, rows)
            found = region.on_rows(X, faithful=population.faithful, confidence=CONFIDENCE)
            # Twice the standard error of what is called true, so that only the bound is judged.
            margin = 2 * np.sqrt(np.array(true) * (1 - np.array(true)) / [max(inside.sum(), 1), inside.size])
            lower = np.array([found.fidelity_lower or 0.0, found.coverage_lower])
            wrong += lower > np.array(true) + margin
    return wrong, stats.binom.ppf(0.999, regions * sets, 1 - CONFIDENCE)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("regions", "sets"), [(40, 25), pytest.param(2_000, 1, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_the_bounds_hold_as_often_as_they_say(regions, sets):
    wrong, allowed = violations(regions, sets)
    assert (wrong <= allowed).all(), f"{wrong} of {regions * sets} are wrong"
    assert wrong.max() >= 0.2 * (1 - CONFIDENCE) * regions * sets  # a bound that is never wrong is too low


@pytest.mark.compiled
def test_a_bound_at_the_wrong_level_is_caught(monkeypatch):
    honest = bounds.exact_lower_bound
    monkeypatch.setattr(module, "exact_lower_bound", lambda draws, bad, level: honest(draws, bad, 4 * level))
    wrong, allowed = violations(20, 25)
    assert (wrong > allowed).any()


@pytest.mark.compiled
def test_rows_that_were_chosen_are_caught():
    """Of several sets of rows the one on which the region looks best is not fresh any more."""

    def best_of_many(population, region, rows):
        sets = [population.rows(rows) for _ in range(10)]
        return max(sets, key=lambda X: np.mean(population.faithful(X) & region.contains(X)))

    wrong, allowed = violations(12, 15, judged=best_of_many)
    assert (wrong > allowed).any()


def below_one(X):
    return X[:, 0] < 1


REGION = find_region(below_one, [0.5], Domain.from_bounds([0], [2]), random_state=0)
LINE = np.linspace(0, 1.9, 400)[:, np.newaxis]


def test_rows_are_counted():
    found = REGION.on_rows(LINE, faithful=below_one)
    assert found.given == 400
    assert found.rows == REGION.contains(LINE).sum()
    assert found.faithful == np.sum(REGION.contains(LINE) & below_one(LINE))
    assert found.fidelity == found.faithful / found.rows
    assert found.coverage == found.rows / 400
    assert found.fidelity_lower < found.fidelity
    assert found.coverage_lower == pytest.approx(stats.beta.ppf(0.05, found.rows, 400 - found.rows + 1))


def test_only_rows_inside_are_asked():
    asked = []

    def watched(X):
        asked.extend(X[:, 0].tolist())
        return X[:, 0] < 1

    REGION.on_rows(LINE, faithful=watched)
    assert set(asked) <= set(LINE[REGION.contains(LINE), 0])


def test_training_rows_are_counted_and_nothing_more_is_said():
    found = REGION.on_rows(LINE, faithful=below_one, fresh=False)
    assert found.rows > 0
    assert found.fidelity_lower is None
    assert found.coverage_lower is None
    assert "no more follows" in str(found)
    assert "%" not in str(found)


def test_few_rows_are_counts_and_say_how_many_more_it_takes():
    found = REGION.on_rows(LINE[:40], faithful=below_one)
    assert found.rows == 40
    assert "%" not in str(found)
    assert f"{found.rows_needed:,} more inside" in str(found)
    enough = 40 + found.rows_needed
    assert bounds.exact_lower_bound(enough, 0, 0.05) >= 0.99 > bounds.exact_lower_bound(enough - 1, 0, 0.05)


def test_what_is_printed_is_never_more_than_was_shown():
    found = OnRows(given=2_000, rows=1_000, faithful=999, purity=0.99, confidence=0.95, fresh=True)
    text = str(found)
    said = [float(number) for number in re.findall(r"at least ([\d.]+) %", text)]
    for shown, bound in zip(said, (found.fidelity_lower, found.coverage_lower), strict=True):
        assert 100 * bound - 0.1 < shown <= 100 * bound
    assert found.rows_needed == 0


def test_nothing_inside_is_no_share():
    found = REGION.on_rows(np.full((5, 1), 1.9), faithful=below_one)
    assert (found.rows, found.fidelity, found.fidelity_lower) == (0, None, None)
    assert found.coverage_lower == 0.0
    assert "0 of 5 held-out rows lie inside" in str(found)


def test_validation_data_are_kept_and_shown():
    region = find_region(below_one, [0.5], Domain.from_bounds([0], [2]), validation_data=LINE, random_state=0)
    assert region.validation == REGION.on_rows(LINE, faithful=below_one)
    assert region.evaluations == REGION.evaluations + region.validation.rows
    assert str(region.validation) in str(region)
    again = GuaranteeRegion.from_json(region.to_json())
    assert again.validation == region.validation
    assert json.loads(region.to_json())["validation"]["rows"] == region.validation.rows


def test_a_region_with_its_problem_needs_no_model():
    problem = Problem(
        lambda X: X[:, 0], lambda X: X[:, 0], SameValue(0.1), np.array([0.5]), Domain.from_bounds([0], [2])
    )
    found = find_region(problem, random_state=0).on_rows(LINE)
    assert found.faithful == found.rows == 400


def test_training_rows_are_recognised():
    """Of 3,000 rows a thousand are remembered; they are recognised all the same, unless told otherwise."""
    rng = np.random.default_rng(0)
    train, held_out = rng.normal(size=(3_000, 2)), rng.normal(size=(500, 2))
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0], SameValue(0.1), train[0], Domain.from_data(train))
    region = find_region(problem, random_state=0)
    assert not region.on_rows(train).fresh
    assert not region.on_rows(np.concatenate([train[:600], held_out])).fresh
    assert region.on_rows(held_out).fresh
    assert region.on_rows(np.concatenate([train[:100], held_out])).fresh
    assert region.on_rows(train, fresh=True).fresh


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": LINE}, "no longer has its model"),
        ({"X": LINE[:0], "faithful": below_one}, "at least one row"),
        ({"X": np.ones((3, 2)), "faithful": below_one}, "must have 1 features"),
        ({"X": LINE, "faithful": below_one, "confidence": 1.0}, "confidence"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        REGION.on_rows(**arguments)
