"""What the map shows: tracks of publishers as they are seen, clients and fences as brokers tell,
and outlines of areas to draw.

A position is GLP's `gpl_current_pos`, or two numbers of a JSON object that are plainly meant so.
Tracks and their points are bounded; the one that was silent longest gives way.
"""

import json
import math
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.topic_model import SeenTopic
from gossamer.geo.earth import Point, destination
from gossamer.geo.glp import POSITION
from gossamer.geo.glp_entries import read_unit
from gossamer.net.admin.client import AdminError

MOST_TRACKS: Final = 2000
POINTS: Final = 60
GAP_SECONDS: Final = 60.0
LONGEST_JSON: Final = 4096
NAMES: Final = (("lat", "lon"), ("lat", "lng"), ("latitude", "longitude"))

Position = tuple[float, float]


class Track:
    """The last positions under one topic, oldest first."""

    __slots__ = ("at", "points", "topic")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.at = 0.0
        self.points: deque[Position] = deque(maxlen=POINTS)

    @property
    def position(self) -> Position:
        return self.points[-1]


class Tracks:
    """All tracks, the one that moved last at the end."""

    def __init__(self) -> None:
        self.by_topic: dict[str, Track] = {}

    def add(self, seen: SeenTopic) -> None:
        position = position_of(seen)
        if position is None:
            return
        track = self.by_topic.pop(seen.topic, None) or Track(seen.topic)
        self.by_topic[seen.topic] = track
        if seen.at - track.at > GAP_SECONDS:
            track.points.clear()  # a line across it would be a way that nobody took
        track.at = seen.at
        if not track.points or track.position != position:
            track.points.append(position)
        if len(self.by_topic) > MOST_TRACKS:
            del self.by_topic[next(iter(self.by_topic))]


def position_of(seen: SeenTopic) -> Position | None:
    """The position that the message tells, if it does."""
    for key, text in seen.user:
        if key == POSITION:
            lat, _, lon = text.partition(";")
            return _checked(lat, lon)
    if seen.payload[:1] != b"{" or len(seen.payload) > LONGEST_JSON:
        return None
    try:
        value = json.loads(seen.payload)
    except (ValueError, RecursionError):
        return None
    for lat_name, lon_name in NAMES:
        if lat_name in value and lon_name in value:
            return _checked(value[lat_name], value[lon_name])
    return None


def _checked(lat: Any, lon: Any) -> Position | None:
    try:
        position = float(lat), float(lon)
    except (TypeError, ValueError):
        return None
    return position if abs(position[0]) <= 90.0 and abs(position[1]) <= 180.0 else None


CIRCLE_CORNERS: Final = 48
MOST_CORNERS: Final = 400  # of one ring; more cannot be told apart on a screen

Ring = list[tuple[float, float]]
Entry = tuple[str, str]


def rings_of(entries: list[Entry], position: tuple[float, float] | None) -> list[Ring]:
    """One ring or more an area; areas that are taken away are drawn like the others."""
    rings: list[Ring] = []
    line: Ring = []
    for key, text in entries:
        fields = text.split(";")
        if key in READERS:
            try:
                rings += READERS[key](fields, position)
            except (ValueError, IndexError, KeyError, TypeError):
                continue
        elif key in ("gpl_lineStart", "gpl_linePoint", "gpl_lineEnd"):
            line.append((float(fields[3]), float(fields[4])))
            if key == "gpl_lineEnd":
                rings.append(line + line[::-1])
                line = []
    return [_thinned(ring) for ring in rings if len(ring) > 1]


def circle(lat: float, lon: float, metres: float) -> Ring:
    centre = Point(lat, lon)
    turns = [2 * math.pi * corner / CIRCLE_CORNERS for corner in range(CIRCLE_CORNERS)]
    return [_pair(destination(centre, turn, metres)) for turn in turns]


def rectangle(lat: float, lon: float, height: float, width: float) -> Ring:
    reach = math.hypot(height, width) / 2
    turn = math.atan2(width, height)
    centre = Point(lat, lon)
    turns = (turn, math.pi - turn, math.pi + turn, -turn)
    return [_pair(destination(centre, one, reach)) for one in turns]


def _pair(point: Point) -> tuple[float, float]:
    return point.lat, point.lon


def _circle_static(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    unit = read_unit(fields[1])
    return [circle(float(fields[3]), float(fields[4]), float(fields[5]) * unit)]


def _circle_dynamic(fields: list[str], position: tuple[float, float] | None) -> list[Ring]:
    if position is None:
        return []
    return [circle(*position, float(fields[3]) * read_unit(fields[1]))]


def _rectangle_static(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    unit = read_unit(fields[1])
    lat, lon, height, width = (float(text) for text in fields[3:7])
    return [rectangle(lat, lon, height * unit, width * unit)]


def _rectangle_dynamic(fields: list[str], position: tuple[float, float] | None) -> list[Ring]:
    if position is None:
        return []
    unit = read_unit(fields[1])
    return [rectangle(*position, float(fields[3]) * unit, float(fields[4]) * unit)]


def _polygon(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    numbers = [float(text) for text in fields[3:]]
    return [list(zip(numbers[::2], numbers[1::2], strict=True))]


def _geojson(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    value = json.loads(";".join(fields[3:]))
    polygons = value["coordinates"] if value["type"] == "MultiPolygon" else [value["coordinates"]]
    return [[(place[1], place[0]) for place in ring] for polygon in polygons for ring in polygon]


READERS: Final[dict[str, Callable[[list[str], tuple[float, float] | None], list[Ring]]]] = {
    "gpl_circleStatic": _circle_static,
    "gpl_circleDynamic": _circle_dynamic,
    "gpl_rectangleStatic": _rectangle_static,
    "gpl_rectangleDynamic": _rectangle_dynamic,
    "gpl_polygonStatic": _polygon,
    "gpl_geojson": _geojson,
}


def _thinned(ring: Ring) -> Ring:
    step = 1 + len(ring) // MOST_CORNERS
    return ring[::step]


MOST_SHOWN: Final = 500  # tracks or clients at a time
MOST_FENCES: Final = 300
DIGITS: Final = 6


class Places:
    """Fences and positions are asked for seldom; tracks are always those of now."""

    def __init__(self) -> None:
        self.fences: list[dict[str, Any]] = []
        self.clients: list[dict[str, Any]] = []
        self.trouble = ""

    async def ask(self, brokers: list[BrokerWatch]) -> None:
        fences: list[dict[str, Any]] = []
        clients: list[dict[str, Any]] = []
        self.trouble = ""
        for broker in brokers:
            try:
                told = await broker.ask("GET", "/v1/fences", {"limit": MOST_FENCES})
                fences += [shown for one in told["entries"] if (shown := _fence(one)) is not None]
                told = await broker.ask("GET", "/v1/positions", {"limit": MOST_SHOWN})
                clients += [_client(one) for one in told["entries"]]
            except AdminError as error:
                self.trouble = f"{broker.name}: {error}"
        self.fences = fences[:MOST_FENCES]
        self.clients = clients[:MOST_SHOWN]

    def tracks(self, tracks: Tracks) -> list[dict[str, Any]]:
        """Those that moved last, and clients that were not seen to publish."""
        latest = list(tracks.by_topic.values())[-MOST_SHOWN:]
        names = names_of([track.topic for track in latest])
        shown = [
            {
                "label": track.topic,
                "name": name,
                "points": [[round(lat, DIGITS), round(lon, DIGITS)] for lat, lon in track.points],
            }
            for track, name in zip(latest, names, strict=True)
        ]
        seen = {tuple(one["points"][-1]) for one in shown}
        levels = {level for track in latest for level in track.topic.split("/")}
        return shown + [
            client
            for client in self.clients
            if client["name"] not in levels and tuple(client["points"][0]) not in seen
        ]


def names_of(topics: list[str]) -> list[str]:
    """The levels of each that tell it from the others; of one topic, the last."""
    split = [topic.split("/") for topic in topics]
    most = min([len(levels) for levels in split], default=1) - 1
    head = _shared(split, most)
    tail = _shared([levels[::-1] for levels in split], most - head)
    return ["/".join(levels[head : len(levels) - tail]) for levels in split]


def _shared(split: list[list[str]], most: int) -> int:
    """How many levels at the beginning are those of all."""
    for place in range(most):
        if len({levels[place] for levels in split}) > 1:
            return place
    return most


def _fence(entry: dict[str, Any]) -> dict[str, Any] | None:
    position = None if entry["lat"] is None else (entry["lat"], entry["lon"])
    rings = rings_of([(key, text) for key, text in entry["entries"]], position)
    if not rings:
        return None
    return {"label": f"{entry['client_id']}: {entry['filter']}", "rings": rings, "mine": False}


def _client(entry: dict[str, Any]) -> dict[str, Any]:
    point = [round(entry["lat"], DIGITS), round(entry["lon"], DIGITS)]
    return {"label": entry["client_id"], "name": entry["client_id"], "points": [point]}
