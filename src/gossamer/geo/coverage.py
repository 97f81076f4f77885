"""The region that a neighbour is told for a located subscription: never less than it wants.

A coverage is written as the entries of GLP, one a line, in one spelling: areas that follow a client
are put where the client is, grown by a margin within which it may move unsaid. `contains` is sure:
"no" may also mean that it would take too long to know.
"""

import json
import math
from collections.abc import Sequence
from typing import Final

from gossamer.geo.areas import (
    MAX_AREAS,
    MAX_POINTS_IN_ALL,
    Area,
    Areas,
    malformed,
    refused,
)
from gossamer.geo.circle import Circle
from gossamer.geo.earth import MAX_REACH, SHARPEST, Point, destination
from gossamer.geo.enclosing import circle_around, groups_of
from gossamer.geo.geojson import GeoJson
from gossamer.geo.geolocation import Place
from gossamer.geo.glp_entries import FORMS, HEAD, LINE_KEYS, LineReader, read_area, shown
from gossamer.geo.interest import SAME_PLACE
from gossamer.geo.line import Line
from gossamer.geo.overlap import Effort, meet
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.rings import SENT_LOOKS
from gossamer.geo.shape import Region, Shape

# As many points as a client may have, each with its key, its id and two doubles, and room for more.
MAX_CHARACTERS: Final = 1 << 18
# Of one question, whether one coverage contains another: a millisecond.
CONTAINMENT_POINTS: Final = 30_000
MAX_SQUARES: Final = 300
GROWN: Final = 1 + 1e-9
SURE: Final = 0.001  # metres: more than what two distances and their sum lose to rounding
SMALLEST: Final = 0.01  # metres: smaller squares along an edge are not looked at
OUTSIDE: Final = 0.99  # of a clearance: distances to the other side of the earth are less exact

# Up to here a grown rectangle holds the rectangles around every place within the margin.
MAX_LOCAL: Final = 1_000_000.0  # metres from its centre to a corner, margin included
MAX_LATITUDE: Final = 80.0  # nearer the poles, north turns too quickly
BENT: Final = 1.05  # more than the ellipsoid changes what is true on a sphere

HEAD_FIELDS: Final = len(HEAD)

# Two circles that hold every place: no point is further from both centres than a quarter turn.
EVERYWHERE: Final = [Point(0.0, 0.0), Point(0.0, 180.0)]


class Piece:
    """One area of a coverage; `body` are its entries, a line each, without `id;unit;or;`."""

    __slots__ = ("add", "body", "shape")

    def __init__(self, shape: Shape, add: bool, body: str) -> None:
        self.shape = shape
        self.add = add
        self.body = body

    def lines(self, number: int) -> str:
        head = f"{number};m;{int(self.add)};"
        return "\n".join([line.replace("=", f"={head}", 1) for line in self.body.split("\n")])


class Coverage:
    """`text` is the same for the same areas; it is empty, and so is the region, for nowhere."""

    __slots__ = ("pieces", "region", "text")

    def __init__(self, pieces: list[Piece]) -> None:
        """What is only added comes in one order, each once; else the order means something."""
        if all(piece.add for piece in pieces):
            by_body = {piece.body: piece for piece in pieces}
            pieces = [by_body[body] for body in sorted(by_body)]
        self.pieces = pieces
        self.region = Region([piece.shape for piece in pieces], [piece.add for piece in pieces])
        self.text = "\n".join([piece.lines(number) for number, piece in enumerate(pieces)])

    def __repr__(self) -> str:
        return f"Coverage({self.text!r})"

    def contains(self, other: "Coverage", effort: Effort | None = None) -> bool:
        """Sure: every place of the other is in this one. False where that is not known."""
        if self.text == other.text:
            return True
        if effort is None:
            effort = Effort(CONTAINMENT_POINTS)
        effort.begin_pair()
        same = {piece.body for piece in self.pieces} if self.region.plain else set()
        for piece in other.pieces:
            if not piece.add or piece.body in same:
                continue
            if not _covered(piece.shape, other.region, self.region, effort):
                return False
        return True

    def meets(self, place: Place, effort: Effort) -> bool:
        """The match rule, as `overlap.delivers` has it; past the effort, yes."""
        if place.point is not None:
            return self.region.contains(place.point)
        return meet(place.region, self.region, effort)

    def points(self) -> int:
        """That whoever looks at it has to look at."""
        return sum([piece.shape.points() for piece in self.pieces])


def coverage_of(areas: Areas, position: Point | None, margin: float) -> Coverage:
    """Contains `Interest(…).region` for every position within `margin` metres of this one.

    What follows the client and is taken away is left out, unless the margin is 0.
    """
    pieces: list[Piece] = []
    for area in areas.listed:
        if area.fixed is not None:
            pieces.append(_piece_of(area, area.fixed))
        elif position is not None and area.follows():
            if margin == 0.0:
                pieces.append(_piece(area.around(position), area.add))
            elif area.add:
                pieces += _grown(area.around(position), position, margin)
    if areas.is_position and position is not None:
        slack = SURE if margin > 0.0 else 0.0
        pieces += _circle(position, SAME_PLACE + margin * GROWN + slack)
    return Coverage(pieces)


def _grown(shape: Shape, position: Point, margin: float) -> list[Piece]:
    """What holds the shape around every place within the margin."""
    margin = margin * GROWN + SURE
    reach = shape.balls()[0].reach
    local = reach + margin
    latitude = abs(position.lat) + math.degrees(margin / SHARPEST)
    if isinstance(shape, Rectangle) and local <= MAX_LOCAL and latitude <= MAX_LATITUDE:
        # A corner moves as far as the centre does; and north turns by the convergence of the
        # meridians on the way.
        turned = margin * math.tan(math.radians(latitude)) / SHARPEST
        more = 2 * BENT * (margin + local * turned)
        height = 2 * shape.half_height + more
        width = 2 * shape.half_width + more
        if height * width < math.pi * local * local:
            return [_piece(Rectangle(position, height, width))]
    return _circle(position, local)


def _circle(centre: Point, radius: float) -> list[Piece]:
    if radius > MAX_REACH:
        return [_piece(Circle(point, MAX_REACH)) for point in EVERYWHERE]
    return [_piece(Circle(centre, radius))]


def _piece(shape: Shape, add: bool = True) -> Piece:
    """Of a shape that dynamic areas have: all of it is in its numbers."""
    at = f"{shape.centre.lat!r};{shape.centre.lon!r}"
    if isinstance(shape, Circle):
        return Piece(shape, add, f"gpl_circleStatic={at};{shape.radius!r}")
    assert isinstance(shape, Rectangle)
    sizes = f"{2 * shape.half_height!r};{2 * shape.half_width!r}"
    return Piece(shape, add, f"gpl_rectangleStatic={at};{sizes}")


def _piece_of(area: Area, shape: Shape) -> Piece:
    """In metres, and with the shortest decimals that read back."""
    if isinstance(shape, Circle | Rectangle):
        return _piece(shape, area.add)
    if isinstance(shape, GeoJson):
        polygons = [[[*ring, ring[0]] for ring in rings] for rings in shape.polygons]
        value = {"type": "MultiPolygon", "coordinates": polygons}
        text = json.dumps(value, separators=(",", ":"))
        return Piece(shape, area.add, f"gpl_geojson={text}")
    lines: list[str] = []
    for key, text in area.entries:
        numbers = [repr(float(field)) for field in text.split(";")[HEAD_FIELDS:]]
        if isinstance(shape, Line) and not lines:
            numbers[-1] = repr(2 * shape.half)  # the thickness, which has a unit
        lines.append(f"{key}={';'.join(numbers)}")
    return Piece(shape, area.add, "\n".join(lines))


def read_coverage(text: str) -> Coverage:
    """What another broker wrote. Raises GlpError for what none writes."""
    if len(text) > MAX_CHARACTERS:
        raise refused("a coverage", f"longer than {MAX_CHARACTERS} characters")
    pieces: list[Piece] = []
    line = LineReader()
    points = 0
    for entry in text.split("\n") if text else []:
        key, _, rest = entry.partition("=")
        try:
            area = _read_entry(line, key, rest)
        except ValueError as error:
            raise malformed(f"{shown(key)} {shown(rest)}", str(error)) from None
        if area is None:
            continue
        if area.fixed is None:
            raise malformed(shown(key), "follows a client")
        points += area.points()
        pieces.append(_piece_of(area, area.fixed))
        if len(pieces) > MAX_AREAS or points > MAX_POINTS_IN_ALL:
            raise refused(shown(key), f"more than {MAX_AREAS} areas or {MAX_POINTS_IN_ALL} points")
    if line.is_open():
        raise malformed("a coverage", "the line has no gpl_lineEnd")
    return Coverage(pieces)


def _read_entry(line: LineReader, key: str, text: str) -> Area | None:
    if key in LINE_KEYS:
        return line.read(key, text)
    if key not in FORMS:
        raise ValueError("there is no such entry in a coverage")
    if line.is_open():
        raise ValueError("comes before the line has a gpl_lineEnd")
    return read_area(key, text, SENT_LOOKS)


def _covered(shape: Shape, of: Region, region: Region, effort: Effort) -> bool:
    """Whether every place of the shape that is in `of` is surely in the region, by halving.

    As in `overlap.meet`, squares are laid onto the earth. One that lies inside the region, or
    outside what is asked about, is done with; a place that is not in the region is the answer.
    """
    cost = region.weight()
    squares: list[tuple[float, float, float, Point]] = []
    for ball in shape.balls():
        # First the ball itself: of circles in circles that is all there is to know.
        if not effort.spend(cost):
            return False
        if region.clearance(ball.centre) > -ball.reach - SURE:
            squares.append((0.0, 0.0, ball.reach, ball.centre))
    cost += of.weight() + shape.weight()
    done = 0
    while done < len(squares):
        if done == MAX_SQUARES or not effort.spend(cost):
            return False
        east, north, half, origin = squares[done]  # the largest that is left
        done += 1
        point = destination(origin, math.atan2(east, north), math.hypot(east, north))
        around = half * math.sqrt(2) + SURE
        if region.clearance(point) <= -around:
            continue
        if OUTSIDE * max(of.clearance(point), shape.clearance(point)) > around:
            continue
        if half < SMALLEST or (not region.contains(point) and of.contains(point)):
            return False
        quarter = half / 2
        for to_east in (east - quarter, east + quarter):
            for to_north in (north - quarter, north + quarter):
                squares.append((to_east, to_north, quarter, origin))
    return True


def around(coverage: Coverage) -> Coverage:
    """A circle that contains all of it, for one that takes too many words."""
    balls = coverage.region.balls()
    if not balls:
        return Coverage([])
    ball = circle_around(balls)
    return Coverage(_circle(ball.centre, ball.reach))


def hull(coverages: Sequence[Coverage], most_shapes: int) -> Coverage:
    """Contains each of them, with at most so many shapes; two hold all places, where it must be.

    One is as it was if it is small enough; of several, what is taken away is left out. Shapes that
    lie near each other share a circle; those that lie alone stay as they are.
    """
    by_text = {coverage.text: coverage for coverage in coverages}
    if len(by_text) == 1:
        only = next(iter(by_text.values()))
        if len(only.pieces) <= most_shapes and only.points() <= MAX_POINTS_IN_ALL:
            return only
    by_body = {piece.body: piece for text in by_text for piece in by_text[text].pieces if piece.add}
    pieces = [by_body[body] for body in sorted(by_body)]
    shapes = [piece.shape for piece in pieces]
    groups = groups_of(shapes, max(1, min(most_shapes, MAX_AREAS)))
    # A circle is one point: there is room for it in place of any shape that has to give way.
    room = MAX_POINTS_IN_ALL - len(groups)
    found: list[Piece] = []
    for group in groups:
        extra = shapes[group[0]].points() - 1
        if len(group) == 1 and extra <= room:
            room -= extra
            found.append(pieces[group[0]])
            continue
        around = circle_around([ball for place in group for ball in shapes[place].balls()])
        circles = _circle(around.centre, around.reach)
        if len(circles) > 1:
            return Coverage(circles)
        found += circles
    return Coverage(found)
