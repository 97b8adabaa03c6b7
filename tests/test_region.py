"""GuaranteeRegion: frozen, finite, readable, and the same after a round trip."""

import dataclasses
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from problems import PROBLEMS

from lime_guarantee import (
    AuditReport,
    Divide,
    Domain,
    GuaranteeRegion,
    InvalidInputError,
    Problem,
    Radial,
    SameValue,
    find_region,
)
from lime_guarantee.auditing.record import AuditRecord


def find(name, **options):
    problem = PROBLEMS[name]
    instance = problem.draw_instance(np.random.default_rng(0))
    options = {"search": Divide(20, 10), "purity": 0.9, "random_state": 0, **options}
    return find_region(problem.faithful, instance, problem.domain, **options)


@pytest.fixture(params=["disc", "cells", "boundary", "ball", "limited"])
def region(request):
    if request.param == "ball":
        return find("disc", search=Radial(steps=8))
    if request.param == "limited":
        return find("disc", max_evaluations=100)
    return find(request.param)


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [n for item in value for n in numbers_in(item)]
    return [value] if isinstance(value, (int, float)) else []


def test_it_round_trips_through_plain_types_and_json(region):
    assert GuaranteeRegion.from_dict(region.to_dict()) == region
    again = GuaranteeRegion.from_json(region.to_json())
    assert again == region
    assert hash(again) == hash(region)
    assert again.contains([region.instance]).all()
    assert str(again) == str(region)


def test_every_number_is_finite(region):
    assert all(math.isfinite(n) for n in numbers_in(json.loads(region.to_json())))
    for value in (*region.reach, region.share, region.log10_volume):
        assert math.isfinite(value)


def test_it_is_frozen(region):
    with pytest.raises(dataclasses.FrozenInstanceError):
        region.purity = 0.5
    for array in (region.lower, region.upper, region.instance, region.reach):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_from_dict_says_what_does_not_fit(region):
    data = region.to_dict()
    data["extra"] = data.pop("settings")
    with pytest.raises(InvalidInputError, match=r"not a GuaranteeRegion.*(settings.*extra|extra.*settings)"):
        GuaranteeRegion.from_dict(data)


def test_contains_goes_by_the_closed_bounds():
    region = find("disc")
    corners = np.array([region.lower, region.upper])
    assert region.contains(corners).all()
    assert not region.contains(np.nextafter(corners, [[-9, -9], [9, 9]])).any()


def test_contains_knows_cells_and_categories():
    region = find("cells")
    inside = [region.lower[0], region.allowed["colour"][0], region.lower[2]]
    rows = pd.DataFrame([inside, [99, *inside[1:]], [inside[0], "pinkish", inside[2]]], columns=region.names)
    assert region.contains(rows).tolist() == [True, False, False]
    assert region.coverage(rows) == pytest.approx(1 / 3)


def test_a_ball_holds_its_instance_but_not_the_corners_of_its_box():
    ball = find("disc", search=Radial(steps=8))
    assert ball.radius > 0
    assert ball.contains([ball.instance]).all()
    assert not ball.contains([ball.lower, ball.upper]).any()
    assert ball.log10_volume == pytest.approx(np.log10(np.pi * ball.radius**2))
    assert ball.share == pytest.approx(np.pi * ball.radius**2 / 64)


def test_rows_drawn_in_a_region_lie_in_it(region):
    rows = region.sample(200, random_state=0)
    assert rows.shape == (200, len(region.names))
    assert region.contains(rows).all()
    assert (rows == region.sample(200, random_state=0)).all()


def test_volume_and_reach_agree():
    region = find("disc")
    assert region.share == pytest.approx(np.prod(region.reach))
    assert region.log10_volume == pytest.approx(np.log10(np.prod(region.upper - region.lower)))
    cells = find("cells")
    held = (cells.upper[0] - cells.lower[0] + 1) * len(cells.allowed["colour"])
    held *= cells.upper[2] - cells.lower[2] + 1
    assert cells.log10_volume == pytest.approx(np.log10(held))


def test_the_frame_has_a_row_for_every_feature():
    frame = find("cells").to_frame()
    assert frame["feature"].tolist() == ["number", "colour", "flag"]
    assert frame["kind"].tolist() == ["integer", "categorical", "binary"]
    assert "blue" in frame["allowed"][1]
    assert frame["lower"][[0, 2]].notna().all()


def test_coverage_of_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="at least one row"):
        find("disc").coverage(np.empty((0, 2)))


def test_the_report_gives_the_answer_first():
    region = find("cells")
    lines = str(region).splitlines()
    assert lines[0] == (
        "Certified: draw each feature uniformly within these limits, every value as likely as the other: "
        "the explanation is faithful on at least 0.9 of such rows, with confidence 0.99."
    )
    assert any("colour" in line and "blue" in line for line in lines)
    assert f"{region.certificate.draws:,} fresh draws" in str(region)
    assert "Uncertified: the limit on evaluations" in str(find("disc", max_evaluations=100))


def test_a_report_never_says_more_than_is_certified():
    region = find("disc", search=Divide(20, 10), random_state=3)
    for line in str(region).splitlines():
        if line.startswith("x"):
            low, high = (float(part) for part in line[line.index("[") + 1 : line.index("]")].split(","))
            axis = int(line[1])
            assert region.lower[axis] <= low <= region.lower[axis] + 2e-3
            assert region.upper[axis] >= high >= region.upper[axis] - 2e-3
    wide = Domain.from_bounds([999_990, 0], [1_006_999, 1], integer=[0])
    text = str(find_region(lambda X: X[:, 0] > 0, [1_000_001, 0.5], wide, purity=0.99999, random_state=0))
    assert "[999990, 1006999] free" in text
    assert "at least 0.99999 of such rows" in text


def test_a_bound_on_the_purity_is_never_below_what_was_asked_for():
    for purity in (0.5, 0.9, 0.99, 0.999, 0.9999):
        region = find_region(
            lambda X: np.ones(len(X), dtype=bool), [0.5], Domain.from_bounds([0], [1]), purity=purity
        )
        assert region.certificate.purity_lower_bound >= purity


def test_a_row_of_a_mixed_frame_can_be_written():
    frame = pd.DataFrame({"n": [1, 2], "c": ["a", "b"]})
    region = find_region(
        lambda X: np.ones(len(X), dtype=bool), frame.iloc[1], Domain.from_data(frame), random_state=0
    )
    assert GuaranteeRegion.from_json(region.to_json()) == region


def test_a_long_report_is_cut_and_says_so():
    domain = Domain.from_bounds([0] * 70, [1] * 70)
    region = find_region(lambda X: np.ones(len(X), dtype=bool), [0.5] * 70, domain, random_state=0)
    assert "and 10 features more" in str(region)


def test_categories_that_json_cannot_hold_are_refused_with_a_way_out():
    domain = Domain.from_bounds([0], [0], categories={0: [pd.Timestamp("2024-01-01"), "b"]})
    instance = np.array([pd.Timestamp("2024-01-01")], dtype=object)
    region = find_region(lambda X: np.ones(len(X), dtype=bool), instance, domain, random_state=0)
    with pytest.raises(InvalidInputError, match="encode the others"):
        region.to_json()


def test_a_region_remembers_its_problem_while_it_lives_and_writes_none_of_it():
    problem = Problem(
        lambda X: X[:, 0], lambda X: X[:, 0], SameValue(0.1), np.array([0.5]), Domain.from_bounds([0], [1])
    )
    region = find_region(problem, random_state=0)
    # A function that says what is faithful does not tell what the explanation is worth.
    same = find_region(problem.faithful, problem.instance, problem.domain, random_state=0)
    assert dataclasses.replace(region, worth=None) == same
    assert region.problem is problem
    unpickled = pickle.loads(pickle.dumps(region))  # the lambdas cannot be pickled
    assert unpickled == region
    assert unpickled.problem is None
    assert GuaranteeRegion.from_json(region.to_json()) == region
    assert find_region(lambda X: X[:, 0] < 2, [0.5], problem.domain, random_state=0).problem is None

    with pytest.raises(InvalidInputError, match="leave them out"):
        find_region(problem, [0.5])


def test_a_region_and_a_report_are_named_in_one_line(region):
    named = repr(region)
    assert region.status in named
    assert len(named) < 140
    assert "\n" not in named
    records = (AuditRecord(0, "trusted", "It holds.", region), AuditRecord(1, "error", "It raised."))
    assert repr(AuditReport(records, {})) == "<AuditReport: 2 explanations: 1 trusted, 1 error>"
