"""The fold: laws of adding and taking away."""

import math
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Region, Shape
from tests.support.earth import azimuths, gone

HERE = Point(47.0, 179.99)

spots = st.builds(lambda a, d: gone(HERE, a, d), azimuths, st.floats(0, 3000))
nearby = st.one_of(
    st.builds(Circle, spots, st.floats(10, 2000)),
    st.builds(Rectangle, spots, st.floats(10, 3000), st.floats(10, 3000)),
)
folds = st.lists(st.tuples(nearby, st.booleans()), max_size=6)


def region(*steps: tuple[Shape, bool]) -> Region:
    return Region([shape for shape, _ in steps], [add for _, add in steps])


@given(folds, spots)
def test_the_fold_is_the_one_in_words(steps: list[tuple[Shape, bool]], point: Point) -> None:
    expected = False
    for shape, add in steps:
        if shape.contains(point):
            expected = add
    assert region(*steps).contains(point) == expected


@given(folds, nearby, spots)
def test_adding_contains_and_taking_away_does_not(
    steps: list[tuple[Shape, bool]], shape: Shape, point: Point
) -> None:
    before = region(*steps).contains(point)
    there = shape.contains(point)
    assert region(*steps, (shape, True)).contains(point) == (before or there)
    assert region(*steps, (shape, False)).contains(point) == (before and not there)


@given(folds, nearby, spots, st.booleans())
def test_twice_is_once(
    steps: list[tuple[Shape, bool]], shape: Shape, point: Point, add: bool
) -> None:
    once = region(*steps, (shape, add))
    assert region(*steps, (shape, add), (shape, add)).contains(point) == once.contains(point)


@given(st.lists(nearby, min_size=2, max_size=5), spots, st.randoms())
def test_additions_commute(shapes: list[Shape], point: Point, random: Random) -> None:
    shuffled = list(shapes)
    random.shuffle(shuffled)
    first = region(*[(shape, True) for shape in shapes])
    assert region(*[(shape, True) for shape in shuffled]).contains(point) == first.contains(point)


@given(folds, nearby, spots)
def test_nothing_comes_from_taking_away(
    steps: list[tuple[Shape, bool]], shape: Shape, point: Point
) -> None:
    assert not region((shape, False)).contains(point)
    first = region((shape, False), *steps)
    assert first.contains(point) == region(*steps).contains(point)


@given(folds, spots, azimuths, st.floats(0, 0.999))
def test_clearance_never_overstates(
    steps: list[tuple[Shape, bool]], point: Point, azimuth: float, part: float
) -> None:
    folded = region(*steps)
    clearance = folded.clearance(point)
    if math.isinf(clearance):
        assert not folded.contains(point)
    elif abs(clearance) > 0.01:
        assert folded.contains(point) == (clearance < 0)
        other = gone(point, azimuth, (abs(clearance) - 0.01) * part)
        assert folded.contains(other) == (clearance < 0)


def test_balls_are_those_of_what_is_added() -> None:
    one, two = Circle(HERE, 5), Circle(HERE, 7)
    assert [ball.reach for ball in region((one, True), (two, False)).balls()] == [5]
    assert region().balls() == []
