"""find_region(): what it returns, what it refuses, and that it counts and stops as it says."""

from fractions import Fraction

import numpy as np
import pytest
from problems import PROBLEMS

from lime_guarantee import (
    Boundary,
    Divide,
    Domain,
    Greedy,
    InconsistentModelError,
    InvalidInputError,
    ModelError,
    Radial,
    find_region,
)
from lime_guarantee.engine.certify.limit import fewest_evaluations
from lime_guarantee.space.box import Box

SQUARE = Domain.from_bounds([-2, -2], [2, 2])
FEWEST = fewest_evaluations(0.9, 0.99)
SEARCHES = [Boundary(), Divide(20, 10), Greedy(steps=8), Radial(steps=8)]


def in_unit_square(X):
    return np.abs(X).max(axis=1) < 1


def find(faithful=in_unit_square, instance=(0.1, 0.2), domain=SQUARE, **options):
    options = {"search": Divide(20, 10), "random_state": 0, "purity": 0.9, **options}
    return find_region(faithful, instance, domain, **options)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: s.name)
def test_a_region_holds_its_instance_and_lies_in_the_domain(search):
    for problem in PROBLEMS.values():
        instance = problem.draw_instance(np.random.default_rng(1))
        region = find(problem.faithful, instance, problem.domain, search=search)
        assert region.status == "certified"
        assert region.contains([instance]).all()
        assert ((region.reach > 0) & (region.reach <= 1)).all()
        assert (region.lower >= region.domain.lower).all()
        assert (region.upper <= region.domain.upper).all()


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: s.name)
@pytest.mark.parametrize("certifier", ["anytime", "zero-failure"])
def test_the_same_seed_gives_the_same_region(search, certifier):
    one, two, other = (
        find(search=search, certifier=certifier, random_state=seed).to_json() for seed in (3, 3, 4)
    )
    assert one == two
    assert one != other


@pytest.mark.parametrize("search", ["boundary", "divide", "radial", "greedy"])
def test_searches_go_by_name(search):
    assert find(search=search).search == search


def test_largest_first_and_random_expansion_differ():
    largest, random = (
        find(search=Divide(20, 10, expansion=way), random_state=1) for way in ("largest", "random")
    )
    assert largest
    assert random
    assert largest.to_json() != random.to_json()


def test_a_feature_that_does_not_matter_is_free():
    region = find(lambda X: np.abs(X[:, 0]) < 1)
    assert region.reach[1] == 1.0
    assert 0.4 < region.reach[0] <= 0.6


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: s.name)
def test_everything_faithful_gives_the_whole_domain(search):
    domain = Domain.from_bounds([0, 0, 5], [1, 9, 5], integer=[1], categories=None)
    region = find(lambda X: np.ones(len(X), dtype=bool), [0.5, 3, 5], domain, search=search)
    assert region
    if search.name != "radial":  # a ball cannot fill a box, nor grow along cells
        assert region.reach.tolist() == [1.0, 1.0, 1.0]
        assert region.share == 1.0
        assert region.log10_volume == pytest.approx(1.0)


def test_an_instance_that_fails_is_unfaithful_and_costs_one_evaluation():
    region = find(instance=(1.5, 0.0))
    assert region.status == "unfaithful"
    assert not region
    assert region.certificate is None
    assert region.evaluations == 1
    assert region.lower.tolist() == region.upper.tolist() == [1.5, 0.0]
    assert np.isfinite(region.log10_volume)
    assert "instance itself" in str(region)


def test_a_limit_on_evaluations_is_never_passed():
    asked = 0

    def counting(X):
        nonlocal asked
        asked += len(X)
        return in_unit_square(X)

    for limit in (FEWEST, FEWEST + 1, 150, 300, 3_000):
        asked = 0
        region = find(counting, max_evaluations=limit)
        assert asked == region.evaluations <= limit
        assert region.status == ("certified" if limit == 3_000 else "uncertified")
    assert "evaluations came before" in find(max_evaluations=150).reason


@pytest.mark.parametrize("purity", [0.05, 0.5, 0.9, 0.99, 0.9995])
@pytest.mark.parametrize("certifier", ["anytime", "zero-failure"])
@pytest.mark.parametrize("search", [Boundary(), Greedy()], ids=lambda s: s.name)
def test_the_fewest_evaluations_are_just_enough_where_nothing_fails(search, certifier, purity):
    options = {"search": search, "certifier": certifier, "purity": purity}
    fewest = fewest_evaluations(purity, 0.99, certifier)
    region = find(lambda X: np.ones(len(X), dtype=bool), **options, max_evaluations=fewest)
    assert region
    assert region.evaluations == fewest
    with pytest.raises(
        InvalidInputError, match=rf"^max_evaluations: at least {fewest} .* got {fewest - 1}\."
    ):
        find(lambda X: np.ones(len(X), dtype=bool), **options, max_evaluations=fewest - 1)


@pytest.mark.parametrize("limit", [1, 50, 2_000_000])
def test_a_limit_that_allows_no_certificate_is_refused_before_anything_is_asked(limit):
    asked = []
    with pytest.raises(InvalidInputError, match=rf"purity=0\.999999 .*got {limit}\. .* or .* lower purity"):
        find(lambda X: asked.append(len(X)), purity=0.999999, max_evaluations=limit)
    assert asked == []


def test_a_limit_that_comes_after_a_certified_box_returns_that_box():
    slow = find(search=Greedy(steps=50))
    short = find(search=Greedy(steps=50), max_evaluations=slow.evaluations // 2)
    assert short
    assert short.log10_volume < slow.log10_volume


def test_evaluations_and_calls_are_counted():
    sizes = []

    def counting(X):
        sizes.append(len(X))
        return in_unit_square(X)

    region = find(counting)
    assert region.evaluations == sum(sizes)
    assert region.calls == len(sizes)
    assert max(sizes) <= 10_000


def test_large_batches_are_cut_into_pieces():
    sizes = []

    def counting(X):
        sizes.append(len(X))
        return np.ones(len(X), dtype=bool)

    assert find(counting, purity=0.9999)
    assert max(sizes) == 10_000


def test_a_model_that_changes_what_it_is_given_does_no_harm():
    def careless(X):
        answer = in_unit_square(X)
        X[:] = np.nan
        return answer

    assert find(careless).to_json() == find().to_json()


def test_an_instance_outside_the_domain_widens_it():
    domain = Domain.from_bounds([-1, -1], [0, 1], names=["a", "b"])
    region = find(instance=[0.5, 0], domain=domain)
    assert region
    assert region.widened == ("a",)
    assert region.domain.upper.tolist() == [0.5, 1.0]
    assert "widened" in str(region)


def test_a_domain_of_one_point():
    region = find(lambda X: X[:, 0] == 3, [3.0], Domain.from_bounds([3], [3]))
    assert region
    assert region.share == 1.0
    assert region.log10_volume == 0.0


def test_an_instance_on_the_edge_of_the_faithful_set():
    region = find(lambda X: X[:, 0] <= 0.0, [0.0], Domain.from_bounds([-1], [1]))
    assert region
    assert region.upper[0] <= 0.15


def test_a_needle_is_found():
    region = find(lambda X: np.abs(X[:, 0] - 0.3) < 1e-6, [0.3, 0.0])
    assert region
    assert 1e-7 < region.upper[0] - region.lower[0] <= 2.3e-6


def test_categories_that_fail_are_left_out_and_others_kept():
    domain = Domain.from_bounds([0, 0], [1, 0], names=["x", "c"], categories={"c": list("abcdef")})
    region = find(lambda X: np.isin(X[:, 1], ["b", "d", "f"]), np.array([0.5, "d"], dtype=object), domain)
    assert set(region.allowed["c"]) == {"b", "d", "f"}
    assert (region.lower[1], region.upper[1]) == (1.0, 5.0)
    assert region.reach.tolist() == [1.0, 0.5]


def test_an_uncertified_region_holds_the_instance_whatever_its_categories():
    domain = Domain.from_bounds([0, 0], [1, 0], names=["x", "c"], categories={"c": list("abc")})
    instance = np.array([0.5, "c"], dtype=object)
    region = find(lambda X: X[:, 0].astype(float) < 0.6, instance, domain, max_evaluations=120)
    assert region.status == "uncertified"
    assert region.allowed["c"] == ("c",)
    assert region.contains([instance]).all()


def test_many_categories_do_not_use_up_the_evaluations():
    domain = Domain.from_bounds([0, 0], [1, 0], names=["x", "c"], categories={"c": range(2_000)})
    region = find(lambda X: X[:, 0] < 0.6, [0.5, 7], domain, search="boundary", max_evaluations=20_000)
    assert region


@pytest.mark.parametrize("search", [Boundary(), Divide(20, 10)], ids=lambda s: s.name)
def test_a_set_without_width_is_not_certified(search):
    region = find(lambda X: X[:, 0] == 1.0, [1.0], Domain.from_bounds([0], [2]), search=search)
    assert region.status == "uncertified"
    assert "no width" in region.reason


def test_a_search_that_loses_the_instance_is_refused():
    class Lost:
        name = "lost"

        def propose(self, task):
            yield Box(np.array([1.0, 1.0]), np.array([2.0, 2.0]), np.zeros(2))

    with pytest.raises(InvalidInputError, match="without the instance"):
        find(search=Lost())


def test_nothing_is_drawn_that_may_not_be_asked():
    class Forbidden:
        name = "forbidden"

        def propose(self, task):
            task.oracle.evaluate(task.domain.sample(task.rng, 40))  # what is left is too little to certify
            yield Untouchable(task.instance, task.instance, task.cube)

    class Untouchable(Box):
        def sample(self, rng, count):
            raise AssertionError("points were drawn")

    assert find(search=Forbidden(), max_evaluations=FEWEST).status == "uncertified"


def test_progress_is_told_of_every_proposal():
    told = []
    region = find(progress=told.append)
    assert [p.attempts for p in told] == list(range(1, region.certificate.attempts + 1))
    assert [p.phase for p in told] == ["rejected"] * (len(told) - 1) + ["accepted"]
    assert told[-1].log10_share == pytest.approx(region.log10_share)


def test_a_progress_bar_counts_evaluations_and_changes_nothing(capsys):
    shown = find(search="boundary", progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "evaluations" in said.err
    assert shown == find(search="boundary")


def test_the_search_tells_its_phases():
    phases, domain, weight = [], Domain.from_bounds([-1] * 6, [1] * 6), np.arange(1, 7)
    find_region(
        lambda X: np.abs(X @ weight) < 3,
        np.zeros(6),
        domain,
        random_state=0,
        progress=lambda told: phases.append(told.phase),
    )
    assert [phase for phase in dict.fromkeys(phases) if phase != "rejected"] == [
        "growing",
        "settling",
        "accepted",
    ]
    assert phases[-1] == "accepted"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"purity": 0.0}, "purity: a number between 0 and 1"),
        ({"purity": 1.0}, "purity: .* got 1.0"),
        ({"purity": float("nan")}, "purity"),
        ({"purity": "high"}, "purity"),
        ({"confidence": 1.5}, "confidence: .* got 1.5"),
        ({"confidence": -0.1}, "confidence"),
        ({"max_evaluations": 0}, "max_evaluations"),
        ({"max_evaluations": 10.5}, "max_evaluations"),
        ({"search": "magic"}, "search: one of .*'divide'.* got 'magic'"),
        ({"search": Divide}, "search: a name or a Search object"),
        ({"certifier": "trust"}, "certifier"),
        ({"effort": "heroic", "search": "boundary"}, "effort: one of .*'normal'.* got 'heroic'"),
        ({"effort": "high", "search": "divide"}, "effort: it belongs to the search"),
        ({"progress": 3}, "progress: True, False, None or a callable"),
        ({"domain": [(0, 1)]}, "domain: a Domain is required; got list"),
        ({"faithful": 3}, "faithful: a callable"),
        ({"instance": [0.1]}, "instance: it must have 2 features.* got 1"),
        ({"instance": [[0.1, 0.2], [0.3, 0.4]]}, "instance: one row"),
        ({"instance": [0.1, np.nan]}, "instance: feature 'x1' must be a finite number"),
        ({"instance": [0.1, "b"]}, "feature 'x1' is continuous"),
        ({"instance": [0.1, None]}, "feature 'x1' must be a finite number; got None"),
        ({"purity": 1e-17}, "purity"),
        ({"random_state": -1}, "random_state: a non-negative integer"),
        ({"random_state": "lucky"}, "random_state"),
    ],
)
def test_bad_input_is_refused_before_the_model_is_asked(options, message):
    def never(X):
        raise AssertionError("the model was asked")

    with pytest.raises(InvalidInputError, match=message):
        find(**{"faithful": never, **options})


def test_any_kind_of_number_will_do_for_a_share():
    region = find(purity=np.float32(0.9), confidence=Fraction(99, 100), certifier="zero-failure")
    assert region.to_json()
    assert type(region.purity) is type(region.certificate.confidence) is float


def test_a_fraction_on_an_integer_axis_is_refused():
    with pytest.raises(InvalidInputError, match="not a whole number"):
        find(instance=[0.5, 0], domain=Domain.from_bounds([0, 0], [1, 1], integer=[0]))


@pytest.mark.parametrize("value", ["positives", "nodes"])
def test_bad_options_of_a_search_are_refused(value):
    with pytest.raises(InvalidInputError, match=value):
        Divide(**{value: 0})
    with pytest.raises(InvalidInputError, match="expansion"):
        Divide(expansion="sideways")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda X: np.ones(len(X)), "must return booleans; got float64"),
        (lambda X: np.ones(len(X), dtype=int), "must return booleans; got int64"),
        (lambda X: [None] * len(X), "must return booleans; got object"),
        (lambda X: np.ones((len(X), 1), dtype=bool), r"shape \(1,\), is required; got shape \(1, 1\)"),
        (lambda X: True, "got shape"),
        (lambda X: np.ones(len(X) + 1, dtype=bool), r"got shape \(2,\)"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(answer, message):
    with pytest.raises(ModelError, match=f"call 1 of the model, with 1 rows: .*{message}"):
        find(answer)


def test_an_error_in_the_model_names_the_call_and_keeps_the_cause():
    def broken(X):
        if len(X) > 1:
            raise KeyError("column")
        return in_unit_square(X)

    with pytest.raises(ModelError, match=r"call 2 of the model, with \d+ rows, raised KeyError") as caught:
        find(broken)
    assert isinstance(caught.value.__cause__, KeyError)


def test_ctrl_c_passes_through_and_says_where_it_came():
    def interrupted(X):
        if len(X) > 1:
            raise KeyboardInterrupt
        return in_unit_square(X)

    with pytest.raises(KeyboardInterrupt) as caught:
        find(interrupted)
    assert "Interrupted in call 2" in caught.value.__notes__[0]


def test_a_model_that_is_no_function_is_refused():
    rng = np.random.default_rng(0)

    def moody(X):
        return in_unit_square(X) & (rng.random(len(X)) < 0.8 if len(X) > 1 else True)

    with pytest.raises(InconsistentModelError, match="not a function"):
        find(moody)


def test_a_model_that_is_no_function_is_refused_on_a_tight_budget():
    rng = np.random.default_rng(0)

    def moody(X):
        return rng.random(len(X)) < (0.995 if len(X) > 32 else 0.5) if len(X) > 1 else np.array([True])

    with pytest.raises(InconsistentModelError, match="not a function"):
        find(moody, max_evaluations=140)


def test_a_model_that_depends_on_its_batch_is_refused():
    def relative(X):
        return X[:, 0] <= np.median(X[:, 0])

    with pytest.raises(InconsistentModelError, match="changed its answer"):
        find(relative)


@pytest.mark.parametrize("seed", range(8))
def test_a_model_that_seldom_fails_at_random_is_no_function(seed):
    """Seven answers in a thousand: among rows asked again, only those that failed give it away."""
    rng = np.random.default_rng(seed)
    with pytest.raises(InconsistentModelError, match="not a function"):
        find_region(
            lambda X: (rng.random(len(X)) < 0.993) | (len(X) == 1),  # the instance itself is faithful
            [0.5] * 3,
            Domain.from_bounds([0] * 3, [1] * 3),
            random_state=seed,
        )


def test_a_model_that_answers_single_rows_otherwise_is_no_function():
    def faithful(X):
        return np.full(len(X), True) if len(X) > 1 else X[:, 0] == 0.5

    with pytest.raises(InconsistentModelError, match="depends on the other rows"):
        find(faithful, [0.5, 0.5], Domain.from_bounds([0, 0], [1, 1]))
