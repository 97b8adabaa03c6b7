"""The boundary search: rays, draws, slopes, few cells, and few evaluations."""

import sys

import numpy as np
import pytest
from cubes import task_of

from benchmarks.shapes import problem
from lime_guarantee import Boundary, Domain, InvalidInputError, Joint, Marginal, Uniform, find_region
from lime_guarantee.engine.kernels.peel import peeled
from lime_guarantee.engine.search.draws import Draws
from lime_guarantee.engine.search.rays import drawn_in, reach_alone
from lime_guarantee.engine.search.sides import OutOfBudget, Sides
from lime_guarantee.engine.search.slopes import KNOTS, Slopes, _expected
from lime_guarantee.engine.search.steering import Steering


def find(faithful, instance, domain, **options):
    return find_region(faithful, instance, domain, **{"random_state": 0, "search": "boundary", **options})


def cube_domain(dims):
    return Domain.from_bounds([-1] * dims, [1] * dims)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("family", "decades"),
    [("L", 0.3), ("checker", 0.1), ("half-space", 0.6), ("stripe", 1.2), ("ellipsoid", 1.2), ("ball", 0.9)],
)
def test_it_comes_near_the_best_box(family, decades):
    short = []
    for seed in (200, 201):
        shape = problem(family, 8, seed)
        region = find(shape.faithful, shape.instance, shape.domain, measure="uniform", random_state=seed)
        assert region
        assert shape.faithful(region.sample(20_000, random_state=1)).mean() > 0.99
        short.append(region.log10_share - shape.best)
    assert np.mean(short) > -decades
    assert max(short) < 0.1  # the best box is the best


@pytest.mark.compiled
def test_a_ball_of_few_features_is_nearly_filled():
    short = []
    for seed in range(200, 204):
        ball = problem("ball", 5, seed)
        region = find(ball.faithful, ball.instance, ball.domain, measure="uniform", random_state=seed)
        short.append(ball.best - region.log10_share)
    assert np.mean(short) < 0.2


@pytest.mark.compiled
def test_a_union_of_two_boxes_does_not_collapse_with_many_features():
    shape = problem("L", 20, 200)
    region = find(shape.faithful, shape.instance, shape.domain, measure="uniform")
    assert region.log10_share > shape.best - 0.5


@pytest.mark.compiled
@pytest.mark.parametrize(("dims", "seed"), [(40, 501), (20, 505), (20, 508)])
def test_a_union_is_not_lost_at_the_first_step_nor_given_up(dims, seed):
    """In the first, nearly all fails when the box first grows; in the others, it stands still at first."""
    shape = problem("L", dims, seed)
    region = find(shape.faithful, shape.instance, shape.domain, measure="uniform", random_state=seed)
    assert region.log10_share > shape.best - 2.0


@pytest.mark.compiled
def test_next_to_an_oblique_boundary_it_gives_up_only_what_it_must():
    """No ray goes far up, but a box may: the best one holds half of the domain."""
    region = find(lambda X: X.sum(axis=1) < 1e-3, np.zeros(5), cube_domain(5), measure="uniform")
    assert region.share > 0.04


def sides_of(faithful, dims):
    return Sides(task_of(faithful, cube_domain(dims), np.zeros(dims)), 0)


def test_rays_go_as_far_as_one_feature_alone_does():
    """In units of the domain: half of it lies on either side of the instance."""
    alone = reach_alone(sides_of(lambda X: (X[:, 0] < 0.3) & (X[:, 1] > -1e-5), 3))
    assert 2 * alone == pytest.approx([1.0, 1e-5, 1.0, 0.3, 1.0, 1.0], rel=0.3)
    assert 0.29 < 2 * alone[3] < 0.3
    assert 0.7e-5 < 2 * alone[1] <= 1e-5


def test_a_side_is_drawn_in_only_where_its_ray_fails_on_most_of_the_way():
    sides = sides_of(lambda X: (X[:, 0] < 0.3) & (X[:, 1] < 0.7), 2)
    extent = drawn_in(sides, sides.edge)
    assert 0.28 < 2 * extent[2] < 0.3
    assert extent[[0, 1, 3]].tolist() == [0.5] * 3


@pytest.mark.compiled
def test_the_box_of_the_rays_is_kept_where_growing_finds_none_larger():
    """Beyond any wall of the instance's cell half of all points fail: no model sees a way there."""
    checker = problem("checker", 12, 200)
    region = find(checker.faithful, checker.instance, checker.domain, measure="uniform", random_state=200)
    assert region.log10_share > checker.best - 0.1


def drawn(faithful, dims, draws):
    """Draws of the whole domain, and a model that knows only how often it fails."""
    task = task_of(faithful, cube_domain(dims), np.zeros(dims))
    sides = Sides(task, 0)
    slopes, known = Slopes(sides), Draws(sides)
    points, good = sides.draw(task.domain, draws)
    known.note(points, good, task.domain)
    slopes.fit(sides.edge, int(np.sum(~good)), len(good))
    return sides, slopes, known


def test_draws_say_which_side_to_move_where_features_fail_together():
    """A corner of three features fails: to a sum of features, all six sides are to blame."""
    dims = 6
    sides, slopes, draws = drawn(lambda X: ~(X[:, :3] > 0.0).all(axis=1), dims, 2_000)
    extent = draws.largest(slopes, 0.02, sides.edge, sides.edge)
    assert np.sum(2 * extent[dims : dims + 3] < 0.3) == 1
    assert np.sum(2 * extent == 1.0) == 2 * dims - 1
    smaller = sides.edge.copy()
    smaller[4] = 0.1
    within = draws.largest(slopes, 0.02, smaller)
    assert (within <= smaller).all()
    assert draws.largest(slopes, 0.02, smaller, sides.edge)[4] > 0.2  # what was cut for nothing comes back


def test_what_nobody_has_looked_into_does_not_pass_for_as_good_as_the_rest():
    """Draws of the good half only; the model knows that the other one fails."""
    sides = sides_of(lambda X: X[:, 0] < 0.0, 3)
    slopes, draws = Slopes(sides), Draws(sides)
    good_half = sides.edge.copy()
    good_half[3] = 0.0
    whole = sides.task.domain
    slopes.note(*sides.draw(whole, 2_000))
    slopes.fit(sides.edge, 1_000, 2_000)
    box = sides.box(good_half)
    draws.note(*sides.draw(box, 5_000), box)
    assert draws._failing(slopes, good_half) < 0.01
    assert draws._failing(slopes, sides.edge) > 0.2  # half of it unseen, of which the model tells
    assert draws.largest(slopes, 0.02, good_half, sides.edge)[3] < 0.05


def rows_on_a_line(count=400):
    """Two features that go together in the data, and one that does not matter."""
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, count)
    return np.column_stack([first, first + 0.05 * rng.normal(size=count), rng.uniform(-1, 1, count)])


@pytest.mark.compiled
def test_where_the_measure_is_one_of_single_features_boxes_are_those_that_hold_many_rows(monkeypatch):
    """What fails is avoided by one feature, or by two that go together: less mass is left then, more rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rows_on_a_line(), rng.uniform(-1, 1, (400, 4))])

    def coverage():
        regions = [
            find(
                lambda rows: (rows[:, :2] < 0.1).all(axis=1) | (rows[:, 2] > 0.3),
                np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]),
                Domain.from_data(X),
                measure="marginal",
                random_state=seed,
            )
            for seed in range(12)
        ]
        return np.mean([region.contains(X).mean() for region in regions])

    with_rows = coverage()
    monkeypatch.setattr(sys.modules[Draws.__module__], "BY_ROWS", 0.0)
    assert with_rows > coverage() + 0.03


@pytest.mark.parametrize(("measure", "counted"), [(Marginal(), 400), (Joint(), 0), (Uniform(), 0)])
def test_rows_count_where_the_measure_is_made_of_single_features(measure, counted):
    """The joint measure is made of whole rows: to count them once more would be to learn them by heart."""
    X = rows_on_a_line()
    sides = Sides(task_of(lambda rows: rows[:, 0] < 0.5, Domain.from_data(X), X[0], measure=measure), 0)
    assert len(Draws(sides)._rows) == counted


def test_few_rows_count_for_nothing():
    X = rows_on_a_line(49)
    sides = Sides(task_of(lambda rows: rows[:, 0] < 0.5, Domain.from_data(X), X[0], measure=Marginal()), 0)
    assert len(Draws(sides)._rows) == 0


def test_draws_of_several_boxes_count_for_the_volume_that_they_stand_for():
    """Half of the domain fails; draws of the other half, however many, do not make that less."""
    sides, slopes, draws = drawn(lambda X: X[:, 0] < 0.0, 3, 2_000)
    good_half = sides.edge.copy()
    good_half[3] = 0.0
    box = sides.box(good_half)
    draws.note(*sides.draw(box, 20_000), box)
    assert draws._failing(slopes, sides.edge) == pytest.approx(0.5, abs=0.05)
    assert draws._failing(slopes, good_half) < 0.01


def test_old_draws_are_forgotten_and_what_the_others_stand_for_is_counted_anew(monkeypatch):
    sides, slopes, draws = drawn(lambda X: X[:, 0] < 0.0, 3, 2_000)
    monkeypatch.setattr(sys.modules[Draws.__module__], "KEPT_NUMBERS", 6 * 2_500)
    whole = sides.task.domain
    draws.note(*sides.draw(whole, 1_000), whole)
    assert draws._far.shape == (1_000, 6)
    assert draws._density == pytest.approx(np.full(1_000, 1_000.0))
    assert draws._failing(slopes, sides.edge) == pytest.approx(0.5, abs=0.05)


def test_draws_of_boxes_without_a_volume_to_speak_of_are_still_told_apart():
    """With 600 features a small box is 1e-1000 of the domain."""
    task = task_of(lambda X: X[:, 0] < 0.0, cube_domain(600), np.zeros(600))
    sides = Sides(task, 0)
    slopes, draws = Slopes(sides), Draws(sides)
    for extent in (0.01 * sides.edge, 1e-4 * sides.edge):
        box = sides.box(extent)
        draws.note(*sides.draw(box, 300), box)
        slopes.fit(extent, 150, 300)
        assert draws._failing(slopes, extent) == pytest.approx(0.5, abs=0.1)


def test_the_model_is_trusted_as_far_as_it_told_what_fresh_draws_would_do():
    sides, slopes, draws = drawn(lambda X: X[:, 0] < 0.0, 3, 300)
    half = sides.edge.copy()
    half[3] = 0.0  # there the draws say 0, and the model what it says of all
    slopes.rises[:] = 0.0
    assert draws.trust == 1.0
    draws.learn(slopes, half, 200, 400)
    assert draws.trust == 30.0
    for _ in range(60):
        draws.learn(slopes, half, 0, 400)
    assert draws.trust == 1.0


@pytest.mark.compiled
def test_where_little_fails_but_features_fail_together_one_side_is_enough():
    """An oblique corner of six features, 7 % of the domain: the best box is without its thinnest part."""

    def faithful(X):
        first, second = X[:, 0] + 0.3 * X[:, 1] > 0.5, X[:, 2] - 0.3 * X[:, 3] > 0.2
        return ~(first & second & (X[:, 4] + 0.2 * X[:, 5] > -0.3))

    regions = [find(faithful, np.zeros(12), cube_domain(12), random_state=seed) for seed in range(6)]
    assert np.mean([region.log10_share for region in regions]) > -0.22  # without draws' own word: -0.27


@pytest.mark.compiled
def test_the_model_learns_a_boundary_across_all_features():
    dims = 15
    weight = np.random.default_rng(1).normal(size=dims)
    task = task_of(lambda X: X @ weight < 1.0, cube_domain(dims), np.zeros(dims))
    sides = Sides(task, 0)
    slopes = Slopes(sides)
    points, faithful = sides.draw(task.domain, 1_500)
    slopes.note(points, faithful)
    for _ in range(6):
        slopes.fit(sides.edge, int(np.sum(~faithful)), len(faithful))
    heights = slopes.heights[:, 6]  # at the edge
    learnt = heights[dims:] - heights[:dims]
    assert np.corrcoef(learnt, weight)[0, 1] > 0.95
    for aim in (0.2, 0.1):
        fresh = ~sides.evaluate(sides.box(slopes.largest(sides.edge, aim, 0.7)).sample(task.rng, 5_000))
        assert fresh.mean() == pytest.approx(aim, rel=0.4)


@pytest.mark.compiled
def test_binary_features_that_do_no_harm_are_free():
    domain = Domain.from_bounds([0] * 60, [1] * 60, integer=range(60))
    region = find(lambda X: X[:, :10].all(axis=1) & (X[:, 10:20].sum(axis=1) >= 7), np.ones(60), domain)
    free = region.lower < region.upper
    assert not free[:10].any()
    assert free[20:].all()
    assert free[10:20].sum() >= 3


@pytest.mark.compiled
def test_nothing_but_the_instance_is_no_region():
    domain = Domain.from_bounds([0] * 5, [1] * 5, integer=range(5))
    region = find(lambda X: X.all(axis=1), np.ones(5), domain)
    assert region.status == "uncertified"


@pytest.mark.compiled
@pytest.mark.parametrize("limit", [1_500, 2_500, 4_000, 8_000])
def test_with_few_evaluations_a_smaller_box_is_certified_in_time(limit):
    domain = Domain.from_bounds([-5] * 10, [5] * 10)
    for seed in range(4):
        region = find(
            lambda X: np.abs(X[:, :5]).sum(axis=1) < 2.5,
            np.full(10, 0.1),
            domain,
            max_evaluations=limit,
            random_state=seed,
        )
        assert region
        assert region.evaluations <= limit


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [200, 201])
def test_much_effort_goes_on_from_where_normal_effort_ends(seed):
    shape = problem("stripe", 6, seed)
    normal, high = (
        find(shape.faithful, shape.instance, shape.domain, effort=effort, measure="uniform")
        for effort in ("normal", "high")
    )
    assert high.evaluations > normal.evaluations
    assert high.log10_share >= normal.log10_share


def test_the_fewest_evaluations_are_enough_for_a_small_box():
    region = find(lambda X: (np.abs(X) < 0.5).all(axis=1), np.zeros(3), cube_domain(3), max_evaluations=750)
    assert region
    assert region.evaluations <= 750


def test_what_is_kept_for_a_certificate_is_not_asked():
    task = task_of(lambda X: np.ones(len(X), dtype=bool), cube_domain(2), np.zeros(2))
    task.oracle.max_evaluations = 100
    sides = Sides(task, 60)
    assert sides.draw(task.domain, 40)[1].all()
    with pytest.raises(OutOfBudget):
        sides.draw(task.domain, 1)
    assert task.oracle.evaluations <= 100


@pytest.mark.compiled
def test_the_same_seed_gives_the_same_region():
    shape = problem("stripe", 8, 200)
    one, two = (find(shape.faithful, shape.instance, shape.domain) for _ in range(2))
    assert one == two


def test_an_effort_it_does_not_know_is_refused():
    with pytest.raises(InvalidInputError, match="effort: one of"):
        Boundary("extreme")


@pytest.mark.compiled
def test_where_all_axes_are_categories_cells_are_dropped_until_a_box_is_certified():
    """With a single round these were 0.3 to 1.5 decades smaller; two were not certified where a model that
    had nothing more to drop proposed the same box again and again."""
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        effects = rng.normal(size=(8, 6))
        domain = Domain.from_bounds([0] * 8, [1] * 8, categories={i: list(range(6)) for i in range(8)})
        instance = rng.integers(0, 6, 8)

        def score(X, effects=effects):
            return effects[np.arange(8), np.asarray(X, dtype=int)].sum(axis=-1)

        own = score(instance)
        region = find(
            lambda X, score=score, own=own: np.abs(score(X) - own) < 2.0, instance, domain, random_state=seed
        )
        assert region
        shares.append(region.log10_share)
    assert np.mean(shares) > -4.9


def test_the_sum_of_all_profiles_is_expected_to_be_of_one_size_however_many_there_are():
    sizes = []
    for dims in (5, 80):
        task = task_of(lambda X: np.ones(len(X), dtype=bool), cube_domain(dims), np.zeros(dims))
        factor = _expected(Sides(task, 0))[0]
        rises = factor @ np.random.default_rng(0).normal(size=(KNOTS.size, 20_000))
        sizes.append(np.sqrt(dims) * rises[1:].sum(axis=0).std())
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)
    assert sizes[0] > 20  # log-odds of far more than a boundary's width: what is expected does not bind


def test_the_instance_alone_is_not_proposed_as_a_small_box():
    domain = Domain.from_bounds([0] * 3, [1] * 3, categories={i: list(range(4)) for i in range(3)})
    region = find(lambda X: (X.astype(int) == 2).sum(axis=1) >= 3, [2, 2, 2], domain)
    assert region.status == "uncertified"


def test_sides_that_cannot_move_stand_at_their_only_place(monkeypatch):
    """The instance lies at the domain's edge: of other places nothing is known, not even to the kernel."""
    module = sys.modules[Draws.__module__]
    told = []

    def recorded(*arguments):
        told.append((arguments[3], arguments[4].counts))
        return peeled(*arguments)

    monkeypatch.setattr(module, "peeled", recorded)
    task = task_of(lambda X: X[:, 0] < 0.5, cube_domain(4), np.array([-1.0, 0.0, 1.0, 0.0]))
    steering = Steering(Sides(task, 0))
    assert steering.look_inwards()
    assert told
    assert all((place < counts).all() for place, counts in told)
    assert any((counts == 1).sum() == 2 for _, counts in told)
