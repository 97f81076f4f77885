"""GLP entries, as tables: what is read, what is refused and with which words."""

import pytest

from gossamer.geo.areas import MAX_AREAS, NO_AREAS, GlpError
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.glp import MAX_ENTRIES, Glp, parse
from gossamer.geo.line import Line
from gossamer.geo.rectangle import Rectangle
from gossamer.wire.reasons import IMPLEMENTATION_SPECIFIC_ERROR, PAYLOAD_FORMAT_INVALID

SQUARE = '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}'
BOW_TIE = '{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}'

LISTING_9 = [
    ("gpl_current_pos", "43.7;10.4"),
    ("gpl_circleDynamic", "1;m;1;800"),
    ("gpl_rectangleDynamic", "2;m;1;300;3000"),
    ("gpl_circleStatic", "3;m;1;43.75;10.45;200"),
    ("gpl_rectangleStatic", "4;m;1;43.65;10.35;100;400"),
    ("gpl_lineStart", "5;m;1;43.70;10.50;20"),
    ("gpl_lineEnd", "6;m;1;43.71;10.50"),
    ("gpl_lineStart", "7;m;1;43.60;10.50;20"),
    ("gpl_linePoint", "8;m;1;43.61;10.50"),
    ("gpl_lineEnd", "9;m;1;43.61;10.51"),
    ("gpl_circleDynamic", "10;m;0;100"),
]


def read(*user: tuple[str, str]) -> Glp:
    glp = parse(list(user))
    assert glp is not None
    return glp


def test_others_are_none_of_our_business() -> None:
    assert parse([]) is None
    assert parse([("colour", "red"), ("current_pos", "91;x")]) is None


def test_listing_9() -> None:
    glp = parse(LISTING_9)
    assert glp is not None
    assert glp.position is not None
    assert (glp.position.lat, glp.position.lon) == (43.7, 10.4)
    assert [(area.number, area.kind, area.add) for area in glp.areas] == [
        (1, "circle", True),
        (2, "rectangle", True),
        (3, "circle", True),
        (4, "rectangle", True),
        (5, "line", True),
        (7, "line", True),
        (10, "circle", False),
    ]
    region = NO_AREAS.changed(glp.areas).region(glp.position)
    inside = {
        "in the big circle": Point(43.7, 10.405),
        "in the wide rectangle": Point(43.7, 10.417),
        "in the static circle": Point(43.751, 10.45),
        "in the static rectangle": Point(43.65, 10.352),
        "on the first line": Point(43.705, 10.50005),
        "on the second line's first leg": Point(43.605, 10.5),
        "on the second line's second leg": Point(43.61, 10.505),
    }
    outside = {
        "in the hole": Point(43.7005, 10.4),
        "north of the wide rectangle": Point(43.702, 10.417),
        "beside the first line": Point(43.705, 10.5003),
        "elsewhere": Point(0, 0),
    }
    assert [name for name, point in inside.items() if not region.contains(point)] == []
    assert [name for name, point in outside.items() if region.contains(point)] == []


@pytest.mark.parametrize(
    ("unit", "metres"), [("km", 7000.0), ("m", 7.0), ("dm", 0.7), ("cm", 0.07)]
)
def test_units(unit: str, metres: float) -> None:
    shape = read(("gpl_circleStatic", f"1;{unit};1;0;0;7")).areas[0].fixed
    assert isinstance(shape, Circle)
    assert shape.radius == pytest.approx(metres)


def test_rectangles_are_height_then_width() -> None:
    shape = read(("gpl_rectangleStatic", "1;m;1;0;0;10;40")).areas[0].fixed
    assert isinstance(shape, Rectangle)
    assert (shape.half_height, shape.half_width) == (5, 20)
    assert read(("gpl_rectangleDynamic", "1;m;1;10;40")).areas[0].sizes == (10, 40)


def test_lines_have_their_whole_thickness() -> None:
    shape = read(("gpl_lineStart", "1;m;1;0;0;10"), ("gpl_lineEnd", "2;m;1;0;1")).areas[0].fixed
    assert isinstance(shape, Line)
    assert shape.half == 5


def test_settings() -> None:
    glp = read(
        ("gpl_events", "enter, exit,dwell"),
        ("gpl_dwell", "90"),
        ("gpl_hysteresis", "2;dm"),
        ("gpl_ping", "1"),
    )
    assert glp.events == ["enter", "exit", "dwell"]
    assert glp.dwell == 90
    assert glp.hysteresis == pytest.approx(0.2)
    assert glp.ping


MALFORMED = [
    ("gpl_current_pos", "91;0", "latitude '91' is not from -90 to 90"),
    ("gpl_current_pos", "0;-180.1", "longitude '-180.1' is not from -180 to 180"),
    ("gpl_current_pos", "NaN;0", "latitude 'NaN' is not a number"),
    ("gpl_current_pos", "1e400;0", "latitude '1e400' is out of range"),
    ("gpl_current_pos", "1_0;0", "latitude '1_0' is not a number"),
    ("gpl_current_pos", "١;0", "latitude '١' is not a number"),
    ("gpl_current_pos", " 1;0", "latitude ' 1' is not a number"),
    ("gpl_current_pos", "0", "is not lat;lon"),
    ("gpl_circleStatic", "1;m;1;0;0;-5", "radius '-5' is not more than 0"),
    ("gpl_circleStatic", "1;m;1;0;0;0", "radius '0' is not more than 0"),
    ("gpl_circleStatic", "1;km;1;0;0;15001", "radius '15001' is over 15000 km"),
    ("gpl_circleStatic", "1;m;1;0;0;1e400", "radius '1e400' is out of range"),
    ("gpl_circleStatic", "1;mile;1;0;0;5", "unit 'mile' is none of km, m, dm, cm"),
    ("gpl_circleStatic", "1;m;2;0;0;5", "or '2' is neither 0 nor 1"),
    ("gpl_circleStatic", "-1;m;1;0;0;5", "id '-1' is not an integer"),
    ("gpl_circleStatic", "9999999999;m;1;0;0;5", "id '9999999999' is not an integer"),
    ("gpl_circleStatic", "1;m;1;0;0", "is not id;unit;or;center_lat;center_lon;radius"),
    ("gpl_circleStatic", "1;m;1;0;0;5;5", "is not id;unit;or;center_lat;center_lon;radius"),
    ("gpl_circleDynamic", "", "is not id;unit;or;radius"),
    ("gpl_lineStart", "1;m;1;0;0;5", "the line has no gpl_lineEnd"),
    ("gpl_lineEnd", "1;m;1;0;0", "comes before any gpl_lineStart"),
    ("gpl_linePoint", "1;m;1;0;0", "comes before any gpl_lineStart"),
    ("gpl_polygonStatic", "1;m;1;0;0;0;1", "needs three different points"),
    ("gpl_polygonStatic", "1;m;1;0;0;0;1;1", "a latitude has no longitude"),
    ("gpl_polygonStatic", "1;m;1;0;0;1;1;0;1;1;0", "crosses or touches itself"),
    ("gpl_polygonStatic", "1;m;1;0;0;0;1;0;2", "crosses or touches itself"),
    ("gpl_polygonStatic", "1;m;1;0;0;0;120;0;-120", "wider than a hemisphere"),
    ("gpl_polygonStatic", "1;m;1" + ";0;0" * 1001, "more than 1000 points"),
    ("gpl_geojson", f"1;m;1;{BOW_TIE}", "crosses or touches itself"),
    ("gpl_geojson", "1;m;1;{", "not JSON"),
    ("gpl_geojson", "1;m;1;" + "[" * 60_000, "not JSON"),
    ("gpl_geojson", "1;m;1;[]", "not a GeoJSON object"),
    ("gpl_geojson", '1;m;1;{"type":"Point","coordinates":[0,0]}', "neither a Polygon"),
    ("gpl_events", "enter,leave", "event 'leave' is none of enter, exit, dwell"),
    ("gpl_dwell", "0", "is not more than 0"),
    ("gpl_hysteresis", "5", "is not distance;unit"),
    ("gpl_ping", "yes", "it 'yes' is neither 0 nor 1"),
    ("gpl_triangle", "1", "there is no such entry in GLP"),
]


@pytest.mark.parametrize(("key", "text", "why"), MALFORMED)
def test_what_is_not_glp_is_refused_by_name(key: str, text: str, why: str) -> None:
    with pytest.raises(GlpError) as caught:
        parse([("gpl_current_pos", "0;0"), (key, text)] if "pos" not in key else [(key, text)])
    assert caught.value.reason == PAYLOAD_FORMAT_INVALID
    assert caught.value.text.startswith(key)
    assert why in caught.value.text
    assert len(caught.value.text) < 300


TOO_MUCH = [
    ([("gpl_circleDynamic", f"{i};m;1;5") for i in range(MAX_AREAS + 1)], "more than 256 areas"),
    ([("gpl_circleDynamic", "1;m;1;5")] * 10_000, "more than 1256 GLP entries"),
    ([("gpl_linePoint", "1;m;1;0;0")] * (MAX_ENTRIES + 1), "more than 1256 GLP entries"),
    ([("gpl_current_pos", "0;" + "0" * 300)], "longer than 256 characters"),
    ([("gpl_" + "x" * 60_000, "0" * 300)], "longer than 256 characters"),
]


@pytest.mark.parametrize(("user", "why"), TOO_MUCH)
def test_too_much_is_refused(user: list[tuple[str, str]], why: str) -> None:
    with pytest.raises(GlpError) as caught:
        parse(user)
    assert caught.value.reason == IMPLEMENTATION_SPECIFIC_ERROR
    assert caught.value.text.startswith(user[0][0][:50])
    assert why in caught.value.text


def test_lines_are_not_interrupted() -> None:
    with pytest.raises(GlpError, match=r"before the line has a gpl_lineEnd"):
        parse([("gpl_lineStart", "1;m;1;0;0;5"), ("gpl_circleDynamic", "2;m;1;5")])
    with pytest.raises(GlpError, match=r"before the line has a gpl_lineEnd"):
        parse([("gpl_lineStart", "1;m;1;0;0;5"), ("gpl_lineStart", "2;m;1;0;0;5")])


def test_two_positions_are_one_too_many() -> None:
    with pytest.raises(GlpError, match="is there twice"):
        parse([("gpl_current_pos", "0;0"), ("gpl_current_pos", "1;1")])


def test_polygons_and_geojson_may_be_long() -> None:
    ring = "".join(f";{i / 10};{(i % 2) / 10 + 1}" for i in range(100)) + ";5;9"
    assert (
        len(read(("gpl_polygonStatic", f"1;m;1{ring}"), ("gpl_geojson", f"2;m;0;{SQUARE}")).areas)
        == 2
    )
