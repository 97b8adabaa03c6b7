"""Measures: what is drawn in a region is what the data have there, and shares are theirs."""

import json

import numpy as np
import pandas as pd
import pytest
from cubes import cube_of
from problems import data_rows
from scipy import stats

from lime_guarantee import (
    Domain,
    GuaranteeRegion,
    InvalidInputError,
    Joint,
    Marginal,
    Measure,
    Uniform,
    find_region,
)
from lime_guarantee.space.coordinate import Cells, Curve, Length, Shares, coordinate_from_dict
from lime_guarantee.space.cube import Cube
from lime_guarantee.space.observed import Column, Observed


def everywhere(X):
    return np.ones(len(X), dtype=bool)


def numbers(rows=3_000, seed=0):
    """Columns of numbers: normal, zero-inflated, long-tailed whole numbers, few values, constant."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.normal(size=rows),
            np.where(rng.random(rows) < 0.7, 0.0, rng.exponential(5.0, rows)),
            np.round(rng.lognormal(6.0, 1.0, rows)),
            rng.choice([0.5, 1.0, 2.5], rows, p=[0.6, 0.3, 0.1]),
            np.full(rows, 3.0),
        ]
    )


def random_box(cube, rng):
    """A box around the instance, snapped as a search's is."""
    lower = cube.home.lower * rng.random(len(cube))
    upper = cube.home.upper + (1 - cube.home.upper) * rng.random(len(cube))
    return cube.snapped(lower, upper)


def assert_draws_are_the_data(X, measure=None, boxes=12, draws=4_000, seed=0):
    """In boxes around rows, every feature is drawn as often as the data have it between the raw bounds.

    That is what a reader of the bounds takes the region for, whatever the cube says.
    """
    rng = np.random.default_rng(seed)
    domain = Domain.from_data(X)
    for _ in range(boxes):
        cube = cube_of(domain, X[rng.integers(len(X))], measure or Marginal())
        box = random_box(cube, rng)
        drawn = cube.values(box.sample(rng, draws))
        coordinates = domain.encode(X)
        for i, (axis, held) in enumerate(zip(domain.axes, cube.held(box), strict=True)):
            column = coordinates[:, i]
            inside = np.isin(column, held) if not axis.ordered else (column >= held[0]) & (column <= held[-1])
            share = inside.mean()
            assert box.width[i] == pytest.approx(share, abs=0.012), f"{axis.name}: {box.width[i]} is {share}"
            data = column[inside]
            if len(data) < 50:
                continue
            values, counts = np.unique(data, return_counts=True)
            heavy = values[counts >= 0.1 * len(data)]
            for value in heavy:
                expected = np.mean(data == value)
                found = int(np.sum(drawn[:, i] == value))
                spread = 5 * np.sqrt(draws * expected * (1 - expected)) + 0.03 * draws
                assert abs(found - draws * expected) <= spread, f"{axis.name}: {value}"
            assert stats.ks_2samp(drawn[:, i], data).statistic < 0.06 + 1.6 / np.sqrt(len(data))


def test_draws_of_numbers_are_those_of_the_data():
    assert_draws_are_the_data(numbers())


def test_draws_of_cells_and_categories_are_those_of_the_data():
    assert_draws_are_the_data(data_rows(2_000))


def test_a_box_that_is_not_snapped_is_caught(monkeypatch):
    from lime_guarantee.space.box import Box

    monkeypatch.setattr(Cube, "snapped", lambda self, lower, upper: Box(lower, upper, self))
    with pytest.raises(AssertionError):
        assert_draws_are_the_data(data_rows(2_000))


def test_atoms_cut_in_half_are_caught(monkeypatch):
    honest = Cube.snapped

    def halved(self, lower, upper):
        box = honest(self, lower, upper)
        low, high = self.atoms(np.array([box.upper - 1e-9]))
        return type(box)(box.lower, np.maximum((low + high)[0] / 2, self.home.upper), self)

    monkeypatch.setattr(Cube, "snapped", halved)
    with pytest.raises(AssertionError):
        assert_draws_are_the_data(data_rows(2_000))


def test_wrong_masses_are_caught(monkeypatch):
    monkeypatch.setattr(Shares, "edges", property(lambda self: np.linspace(0, 1, self.values.size + 1)))
    with pytest.raises(AssertionError):
        assert_draws_are_the_data(data_rows(2_000))


def test_draws_from_the_wrong_distribution_are_caught(monkeypatch):
    honest = Cube.sample

    def squared(self, rng, count, lower, upper):
        points = honest(self, rng, count, lower, upper)
        return self.within(lower + (points - lower) ** 2 / (upper - lower), lower, upper)

    monkeypatch.setattr(Cube, "sample", squared)
    with pytest.raises(AssertionError):
        assert_draws_are_the_data(numbers())


# Coordinates.


def test_a_zero_inflated_column_has_an_atom_and_a_curve():
    cube = cube_of(Domain.from_data(numbers()[:, [1]]), [4.0], Marginal())
    low, high = cube.atoms(np.array([[0.1]]))
    assert (low[0, 0], high[0, 0]) == (0.0, pytest.approx(0.7, abs=0.03))
    assert not cube.cells[0] < np.inf
    assert cube.home.width[0] == 0.0


def test_raw_bounds_leave_an_atom_out_that_a_box_does_not_hold():
    """A box that begins where the zeros end holds no zero."""
    X = numbers()[:, [1]]
    cube = cube_of(Domain.from_data(X), [4.0], Marginal())
    edge = cube.atoms(np.array([[0.1]]))[1][0]
    first, last = cube.held(cube.snapped(edge, np.ones(1)))[0]
    assert first == X[X > 0].min()
    assert last == X.max()
    touching = Curve(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0]))
    assert touching.held(0.5, 1.0)[0] == np.nextafter(0.0, 1.0)
    before = Curve(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0]))
    assert before.held(0.0, 0.5)[1] == np.nextafter(1.0, 0.0)


@pytest.mark.parametrize("beside", [5.58, 5.64], ids=["before", "after"])
def test_an_instance_beside_an_atom_is_not_in_it(beside):
    """Between it and the atom there are no data, so both have one place."""
    low, high = np.linspace(3.0, 5.58, 300), np.linspace(5.64, 7.0, 300)
    X = np.concatenate([low, np.full(100, 5.6), high])[:, np.newaxis]
    cube = cube_of(Domain.from_data(X), [beside], Marginal())
    assert cube.values(cube.instance[np.newaxis])[0, 0] == beside
    first, last = cube.held(cube.home)[0]
    assert first <= beside <= last
    assert not first <= 5.6 <= last
    rows = cube.values(cube.whole.sample(np.random.default_rng(0), 20_000))[:, 0]
    assert np.mean(rows == 5.6) == pytest.approx(1 / 7, abs=0.01)
    assert np.mean(rows == beside) < 0.005


def test_whole_numbers_stay_whole_and_are_atoms():
    X = numbers()[:, [2]]
    home = float(np.median(X))
    cube = cube_of(Domain.from_data(X), [home], Marginal())
    rows = cube.decode(cube.whole.sample(np.random.default_rng(0), 500))
    assert (rows == np.round(rows)).all()
    low, high = cube.atoms(cube.instance[np.newaxis])
    assert low[0, 0] < cube.instance[0] < high[0, 0]
    box = cube.snapped(cube.instance, cube.instance)
    assert cube.held(box)[0].tolist() == [home, home]
    assert set(cube.decode(box.sample(np.random.default_rng(0), 200))[:, 0]) == {home}


@pytest.mark.parametrize("value", [-50.0, 60.0, 0.35])
def test_an_instance_that_the_data_do_not_have_gets_a_share_and_a_note(value):
    """Below the data, above them, and in a gap between them."""
    X = np.concatenate([np.zeros(300), np.linspace(1, 2, 300)])[:, np.newaxis]
    region = find_region(everywhere, [value], Domain.from_data(X), random_state=0)
    assert region.measure == "marginal"
    assert region.contains([[value]]).all()
    if not 0 <= value <= 2:
        assert "no value like the instance's in: x0" in region.notes[0]
    drawn = region.sample(20_000, random_state=0)
    assert 0 < np.mean(drawn == value) < 0.01


def test_an_unseen_category_gets_half_a_row_and_a_note():
    X = np.array([["a"], ["b"]] * 200, dtype=object)
    region = find_region(everywhere, np.array(["c"], dtype=object), Domain.from_data(X), random_state=0)
    assert set(region.allowed["x0"]) == {"a", "b", "c"}
    assert "in: x0" in region.notes[0]


def test_a_category_that_no_row_has_is_not_promised():
    domain = Domain.from_data(
        pd.DataFrame({"c": pd.Categorical(["a", "b"] * 200, categories=["a", "b", "never"])})
    )
    region = find_region(everywhere, np.array(["a"], dtype=object), domain, random_state=0)
    assert set(region.allowed["c"]) == {"a", "b"}
    assert not region.contains(np.array([["never"]], dtype=object)).any()


def test_bounds_narrower_than_the_data_cut_the_distribution():
    column = Column.of(np.concatenate([np.zeros(500), np.linspace(1, 11, 500)]))
    axis = Domain.from_bounds([0.5], [6.0]).axes[0]
    curve = column.coordinate(axis, 2.0)
    assert curve.value(np.array([0.0, 1.0])) == pytest.approx([1.0, 6.0], abs=0.05)
    assert curve.value(np.array([0.5]))[0] == pytest.approx(3.5, abs=0.1)


def test_bounds_without_data_in_them_leave_the_instance():
    column = Column.of(np.linspace(0, 1, 500))
    axis = Domain.from_bounds([5.0], [6.0]).axes[0]
    assert column.coordinate(axis, 5.5).held(0.0, 1.0).tolist() == [5.5, 5.5]


def test_columns_are_summed_up_in_few_numbers():
    """Nothing of the size of the data is kept of a column."""
    column = Column.of(np.random.default_rng(0).normal(size=50_000))
    assert column.values is None
    assert len(column.knots) <= 70


def test_of_wide_data_few_rows_are_kept():
    assert Domain.from_data(np.random.default_rng(0).normal(size=(150, 9_000))).observed.rows.shape == (
        111,
        9_000,
    )
    assert Domain.from_data(np.random.default_rng(0).normal(size=(1_500, 3))).observed.rows.shape == (
        1_000,
        3,
    )


def test_data_of_a_measure_are_read_once(monkeypatch):
    read = []
    honest = Observed.of.__func__
    monkeypatch.setattr(
        Observed, "of", classmethod(lambda cls, values: read.append(1) or honest(cls, values))
    )
    measure = Marginal(numbers()[:, :2])
    for seed in range(3):
        on_a_plane = Domain.from_bounds([-9, 0], [9, 99])
        find_region(everywhere, [0.0, 1.0], on_a_plane, measure=measure, random_state=seed)
    assert len(read) == 1


def test_coordinates_round_trip_through_plain_types():
    places = np.linspace(0, 1, 41)
    for coordinate in (
        Length(0.0, 2.0, 0.3),
        Cells(3.0, 7),
        Shares(np.array([2.0, 0.0, 1.0]), np.array([1.0, 2.0, 5.0]), reorderable=True),
        Curve(np.array([0, 0.5, 0.5, 1]), np.array([0.0, 0.0, 2.0, 4.0])),
    ):
        again = coordinate_from_dict(json.loads(json.dumps(coordinate.to_dict())))
        assert again.value(places).tolist() == coordinate.value(places).tolist()


# The joint measure.


def correlated(rows=800, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    return np.column_stack([x, x + 0.1 * rng.normal(size=rows), np.round(2 * x)])


def test_joint_draws_in_a_box_are_those_of_the_whole_that_lie_in_it():
    """Exact draws, given the box, against rejection."""
    X = correlated()
    cube = cube_of(Domain.from_data(X), X[0], Joint())
    rng = np.random.default_rng(1)
    many = cube.whole.sample(rng, 200_000)
    for _ in range(4):
        box = random_box(cube, rng)
        kept = many[box.contains(many)]
        assert np.exp(box.log_share) == pytest.approx(len(kept) / len(many), abs=0.004)
        drawn = box.sample(rng, 20_000)
        assert box.contains(drawn).all()
        for i in range(3):
            assert stats.ks_2samp(drawn[:, i], kept[:, i]).pvalue > 1e-4


def test_joint_draws_that_forget_the_row_are_caught(monkeypatch):
    from lime_guarantee.space.joint_cube import JointCube

    monkeypatch.setattr(JointCube, "sample", Cube.sample)
    with pytest.raises(AssertionError):
        test_joint_draws_in_a_box_are_those_of_the_whole_that_lie_in_it()


def test_joint_rows_are_like_the_data():
    X = correlated()
    cube = cube_of(Domain.from_data(X), X[0], Joint())
    rows = cube.decode(cube.whole.sample(np.random.default_rng(0), 5_000))
    independent = cube_of(Domain.from_data(X), X[0], Marginal())
    others = independent.decode(independent.whole.sample(np.random.default_rng(0), 5_000))
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] > 0.5
    assert abs(np.corrcoef(others[:, 0], others[:, 1])[0, 1]) < 0.1


# Which measure, and what is said of it.


def test_data_choose_the_measure():
    X = numbers()[:, :2]
    assert find_region(everywhere, X[0], Domain.from_data(X), random_state=0).measure == "marginal"
    assert find_region(everywhere, [0.5], Domain.from_bounds([0], [1]), random_state=0).measure == "uniform"
    uniform = find_region(everywhere, X[0], Domain.from_data(X), measure="uniform", random_state=0)
    assert uniform.measure == "uniform"
    assert uniform.log10_volume == pytest.approx(np.log10(np.prod(np.ptp(X, axis=0))))
    other = find_region(
        everywhere, [0.5, 0.5], Domain.from_bounds([0, 0], [1, 1]), measure=Marginal(X), random_state=0
    )
    assert other.measure == "marginal"


@pytest.mark.parametrize(("measure", "words"), [
    ("marginal", "draw each feature independently from its own values in the data"),
    ("joint", "take a row like those of the data"),
    ("uniform", "draw each feature uniformly"),
])  # fmt: skip
def test_the_first_line_names_the_measure(measure, words):
    X = numbers()[:, :2]
    region = find_region(everywhere, X[0], Domain.from_data(X), measure=measure, random_state=0)
    assert words in str(region).splitlines()[0]
    assert ("10^" in str(region)) == (measure == "uniform")


def test_a_measure_of_ones_own():
    class Low(Measure):
        name = "low"
        drawn = "Draw small values more often than large ones"

        def cube(self, domain, instance):
            curve = Curve(np.array([0.0, 0.9, 1.0]), np.array([0.0, 0.1, 1.0]))
            return Cube(domain, (curve,), instance)

    region = find_region(
        lambda X: X[:, 0] < 0.1, [0.05], Domain.from_bounds([0], [1]), measure=Low(), random_state=0
    )
    assert region.reach[0] == pytest.approx(0.9, abs=0.03)
    assert "draw small values more often" in str(region).splitlines()[0]
    again = GuaranteeRegion.from_json(region.to_json())
    assert again == region
    with pytest.raises(InvalidInputError, match="Pass the measure object again"):
        find_region(everywhere, [0.5], Domain.from_bounds([0], [1]), settings=again.settings)


def test_json_does_not_tell_how_the_data_are_distributed_unless_asked():
    X = np.round(np.random.default_rng(0).normal(size=(60, 2)), 6)
    with pytest.warns(UserWarning, match="60 rows"):
        region = find_region(everywhere, X[0], Domain.from_data(X), random_state=0)
    text = region.to_json()
    told = sum(str(value) in text for value in X[1:].ravel() if value not in (*X.min(0), *X.max(0)))
    assert told == 0
    bare = GuaranteeRegion.from_json(text)
    assert bare == region
    assert (bare.contains(X) == region.contains(X)).all()
    with pytest.raises(InvalidInputError, match="knots=True"):
        bare.sample(5)
    whole = GuaranteeRegion.from_json(region.to_json(knots=True))
    assert whole == region
    assert whole.sample(50, random_state=1).tolist() == region.sample(50, random_state=1).tolist()


def test_rows_of_the_data_are_never_written_down():
    X = correlated()
    region = find_region(everywhere, X[0], Domain.from_data(X), measure="joint", random_state=0)
    with pytest.raises(InvalidInputError, match="rows of the data, which are not written down"):
        region.to_json(knots=True)


def on_a_line(**options):
    return find_region(everywhere, [0.5], Domain.from_bounds([0], [1]), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: on_a_line(measure="marginal"), "needs data"),
        (lambda: find_region(everywhere, [1.0], Domain.from_data([[1.0]])), "there is 1 row"),
        (
            lambda: on_a_line(measure=Marginal(np.ones((300, 2)))),
            "2 columns, the domain has 1",
        ),
        (
            lambda: find_region(
                everywhere,
                [0.5],
                Domain.from_bounds([0], [1], names=["a"]),
                measure=Marginal(pd.DataFrame({"b": np.arange(300.0)})),
            ),
            "Give data with the same columns",
        ),
        (lambda: on_a_line(measure="volume"), "measure: one of"),
        (lambda: on_a_line(measure=Marginal), "measure: one of"),
        (lambda: Joint(mix=1.5), "mix"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_few_rows_are_said():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.warns(UserWarning, match="The data have 50 rows"):
        region = find_region(everywhere, X[0], Domain.from_data(X), random_state=0)
    assert "The data have 50 rows" in str(region)


def test_missing_values_and_constant_columns_are_no_hindrance():
    X = numbers()
    X[::3, 0] = np.nan
    region = find_region(everywhere, X[1], Domain.from_data(X), random_state=0)
    assert region.reach.tolist() == pytest.approx([1.0] * 5)
    assert np.isfinite(region.sample(100, random_state=0).astype(float)).all()


@pytest.mark.compiled
def test_a_zero_inflated_column_does_not_pin_the_others():
    """A column of [0] * 500 + range(0, 50000, 100), on which all depends, beside seven that do not matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 8))
    X[:, 0] = [0] * 500 + list(range(0, 50_000, 100))
    for row in (0, 700, 900):
        X[row, 0] = 0 if row == 0 else X[row, 0]
        limit = 100 if row == 0 else 40_000

        def faithful(rows, limit=limit, home=X[row, 0]):
            return np.abs(rows[:, 0] - home) < limit

        region = find_region(faithful, X[row], Domain.from_data(X), random_state=0)
        assert region.reach[1:].tolist() == [1.0] * 7, row


def test_uniform_is_said_to_be_uniform():
    assert Uniform().cube(Domain.from_bounds([0], [4]), np.array([1.0])).instance.tolist() == [0.25]
