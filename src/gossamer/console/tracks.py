"""Where publishers were lately: a short track for each topic that says a position.

A position is GLP's `gpl_current_pos`, or two numbers of a JSON object that are plainly meant so.
Tracks and their points are bounded; the one that was silent longest gives way.
"""

import json
from collections import deque
from typing import Any, Final

from gossamer.console.topic_model import SeenTopic
from gossamer.geo.glp import POSITION

MOST_TRACKS: Final = 2000
POINTS: Final = 60
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
