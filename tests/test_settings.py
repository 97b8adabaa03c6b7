"""Settings: one place for every default and check, kept whole in every result."""

import inspect
import json
from dataclasses import dataclass, fields

import numpy as np
import pytest

from lime_guarantee import (
    Boundary,
    Divide,
    Domain,
    GuaranteeRegion,
    InvalidInputError,
    Settings,
    audit,
    find_region,
    guarantee_region,
)
from lime_guarantee.settings import SettingsOptions, UnknownSearch

DOMAIN = Domain.from_bounds([-2, -2], [2, 2])
QUICK = {"purity": 0.9, "confidence": 0.9}


def faithful(X):
    return np.abs(X).max(axis=1) < 1


def find(**options):
    return find_region(faithful, [0.1, 0.2], DOMAIN, **options)


def test_a_typed_keyword_stands_for_every_setting():
    assert set(SettingsOptions.__annotations__) == {entry.name for entry in fields(Settings)}


@pytest.mark.parametrize("function", [find_region, guarantee_region, audit])
def test_every_function_shows_every_setting_with_its_default(function):
    shown = inspect.signature(function).parameters
    for entry in fields(Settings):
        if (function, entry.name) != (audit, "random_state"):  # an audit always has a seed
            assert shown[entry.name].default == entry.default
            assert shown[entry.name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    "settings",
    [
        Settings(**QUICK, search=Divide(positives=30, nodes=7), random_state=3),
        Settings(**QUICK, effort="high", random_state=4),
        Settings(**QUICK, search="greedy", certifier="zero-failure", max_evaluations=50_000, random_state=5),
        Settings(**QUICK, batch_rows=100, random_state=6),
    ],
)
def test_a_region_keeps_its_settings_whole_and_they_run_it_again(settings):
    region = find(settings=settings)
    again = GuaranteeRegion.from_json(region.to_json())
    assert region.settings == again.settings == settings
    assert find(settings=again.settings) == region


def test_single_options_win_over_settings():
    settings = Settings(**QUICK, search=Divide(30, 10), random_state=0)
    region = find(settings=settings, purity=0.8, search="balanced")  # what it was called before
    assert (region.purity, region.confidence, region.search) == (0.8, 0.9, "boundary")
    assert region.settings.effort == "normal"


def test_a_generator_is_used_and_not_kept():
    region = find(**QUICK, random_state=np.random.default_rng(0))
    assert region.settings.random_state is None
    assert GuaranteeRegion.from_json(region.to_json()) == region


def test_effort_is_that_of_the_boundary_search():
    assert Settings(effort="low").search == Boundary("low")
    assert Settings(search=Boundary("high")).effort == "high"
    assert Settings(search="divide").effort is None
    with pytest.raises(InvalidInputError, match="effort: it belongs to the search"):
        Settings(search="divide", effort="high")


@dataclass(frozen=True)
class Timid:
    """A search of somebody's own."""

    share: float = 0.1
    name = "timid"

    def propose(self, task):
        yield task.cube.snapped(task.instance - self.share / 2, task.instance + self.share / 2)


def test_a_search_of_ones_own_is_remembered_by_name_and_parameters():
    region = find(**QUICK, search=Timid(0.2), random_state=0)
    assert region.search == "timid"
    again = GuaranteeRegion.from_json(region.to_json())
    assert again == region
    assert again.settings.search == UnknownSearch("timid", {"share": 0.2})
    with pytest.raises(InvalidInputError, match=r"only its name was written down\. Pass the search"):
        find(settings=again.settings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"puritiy": 0.9}, r"puritiy: no such option\. The options are \['purity'"),
        ({"purity": True}, "purity: a number between 0 and 1"),
        ({"batch_rows": True}, "batch_rows: a positive integer"),
        ({"certifier": None}, "certifier: one of"),
        ({"search": Divide}, "search: a name or a Search object"),
        ({"settings": {"purity": 0.9}}, "settings: Settings are required; got dict"),
    ],
)
def test_what_does_not_fit_is_named(options, said):
    with pytest.raises(InvalidInputError, match=said):
        find(**options)


def test_the_json_of_settings_is_plain():
    data = json.loads(json.dumps(Settings(search=Divide(300, 7)).to_dict()))
    assert data["search"] == {"name": "divide", "positives": 300, "nodes": 7, "expansion": "largest"}
    assert Settings.from_dict(data) == Settings(search=Divide(300, 7))
