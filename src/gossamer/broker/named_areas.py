"""Places by name: `gpl_area=yard` is whatever the brokers keep as `yard` at that time.

A place comes from the configuration, from an administrator, or as retained GeoJSON on a topic of
clients. However it came, it is kept like a retained message that all brokers of a mesh have, with a
version: so it reaches those who join later, outlives restarts, and of two changes the later holds.
Subscriptions that name it follow when it changes, many of them in turns.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import COORDINATE_BYTES
from gossamer.broker.chores import Chore
from gossamer.broker.delivery import publish
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.located_operators import LocatedOperation
from gossamer.broker.mesh_port import SHARED_TOPICS
from gossamer.broker.subscription_tree import Tap
from gossamer.geo.geojson import areas_in, read_geojson
from gossamer.geo.glp_entries import check_place_name, shown
from gossamer.geo.rings import SENT_LOOKS
from gossamer.geo.shape import Shape
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.core import Core

_PREFIX: Final = SHARED_TOPICS + "places/"
# Where a place came from.
CONFIGURATION: Final = "configuration"
ADMINISTRATOR: Final = "administrator"
TOPIC: Final = "topic"

MAX_PLACES: Final = 10_000
# Of its GeoJSON, as of an area in a packet.
MAX_PLACE_BYTES: Final = 65_535
_PLACE_BYTES: Final = 1_024  # beside its corners and its text
# Subscriptions that follow a change in one turn: each takes its areas out of an index and puts
# them in again, a millisecond in all.
FOLLOWED_AT_ONCE: Final = 50

logger = logging.getLogger(__name__)

Follower = LocatedSubscription | LocatedOperation


class PlaceError(ValueError):
    """A place is not taken; the text says why."""


class NamedArea:
    """A place as it is now. `changed_at` is a time of the wall clock; `by` the broker whose
    configuration has it."""

    __slots__ = ("by", "changed_at", "name", "shape", "source", "text", "version")

    def __init__(self, name: str, text: str, shape: Shape, version: int) -> None:
        self.name = name
        self.text = text  # GeoJSON, in one spelling
        self.shape = shape
        self.version = version
        self.source = ""
        self.by = ""
        self.changed_at = 0.0

    def size(self) -> int:
        return _PLACE_BYTES + 2 * len(self.text) + COORDINATE_BYTES * self.shape.points()


class NamedAreas(Tap):
    """All places of one broker; `shapes` are theirs, by name."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.areas: dict[str, NamedArea] = {}
        self.shapes: dict[str, Shape] = {}
        self.followers: dict[str, dict[Follower, None]] = {}
        self.ignored = 0  # places that a neighbour or the store told of and that cannot be
        self._topic = ""  # of clients' GeoJSON, without the name behind it

    def begin(self) -> None:
        self._core.routes.add_tap(_PREFIX + "#", self)

    def load(self, now: float) -> None:
        """What the store kept, before any subscription is made."""
        for message in self._core.shared.search(_PREFIX + "#", now):
            self._enter(message.topic, message.payload)

    def configure(self, places: dict[str, str], topic: str, by: str, now: float) -> None:
        """What the configuration says: GeoJSON by name, and the topic of clients' own. Places that
        it had earlier and has no more are removed."""
        for name, known in list(self.areas.items()):
            if known.source == CONFIGURATION and known.by == by and name not in places:
                self.remove(name, now)
        for name, text in places.items():
            try:
                self.put(name, text, CONFIGURATION, now, by)
            except PlaceError as error:
                logger.error("geo.places, %s: %s", name, error)
        if topic == self._topic:
            return
        if self._topic:
            self._core.routes.remove_tap(self._topic + "/+", self)
        self._topic = topic
        if topic:
            self._core.routes.add_tap(topic + "/+", self)
            self.read_topic(now)

    def read_topic(self, now: float) -> None:
        """What clients have retained there before."""
        if self._topic:
            for message in self._core.retained.search(self._topic + "/+", now):
                self._take_from_topic(message, now)

    # Changes ------------------------------------------------------------------------------------

    def put(self, name: str, text: str, source: str, now: float, by: str = "") -> NamedArea:
        """The place is there from now on, on all brokers. Raises PlaceError."""
        found = read_place(name, text)
        known = self.areas.get(name)
        if known is not None:
            if (known.text, known.source, known.by) == (found.text, source, by):
                return known
            found.version = known.version + 1
        refusal = self._refusal(found, known)
        if refusal:
            self._core.ledger.geo.refused += 1
            raise PlaceError(refusal)
        told = {
            "version": found.version,
            "changed_at": round(now + self._core.wall_offset, 3),
            "source": source,
            "by": by,
            "area": json.loads(found.text),
        }
        self._tell(name, json.dumps(told, separators=(",", ":")), now)
        return self.areas[name]

    def remove(self, name: str, now: float) -> bool:
        """Whether it was there. Those who name it are interested in no place until it comes
        back."""
        if name not in self.areas:
            return False
        self._tell(name, "", now)
        return True

    def why_not(self, message: Message) -> str:
        """Why a client's message cannot be a place, if it is to be one; "" otherwise."""
        name = self._named_by(message.topic)
        if not name or not message.retain or not message.payload:
            return ""
        try:
            text = message.payload.decode()
            return self._refusal(read_place(name, text), self.areas.get(name))
        except UnicodeDecodeError:
            return "a place is GeoJSON: text in UTF-8"
        except PlaceError as error:
            return str(error)

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """What is kept decides, since this may be old."""
        if message.topic.startswith(_PREFIX):
            kept = self._core.shared.search(message.topic, now)
            self._enter(message.topic, kept[0].payload if kept else b"")
        elif message.retain and (origin is None or not origin.is_peer):
            self._take_from_topic(message, now)  # the broker where it entered tells the others

    def _take_from_topic(self, message: Message, now: float) -> None:
        name = self._named_by(message.topic)
        try:
            if message.payload:
                self.put(name, message.payload.decode(), TOPIC, now)
            elif name in self.areas and self.areas[name].source == TOPIC:
                self.remove(name, now)
        except (PlaceError, UnicodeDecodeError) as error:
            self.ignored += 1
            logger.info("%s is no place: %s", message.topic, error)

    def _named_by(self, topic: str) -> str:
        """The place that a topic of clients is about, "" if it is no such topic."""
        head, _, name = topic.rpartition("/")
        return name if self._topic and head == self._topic else ""

    def _tell(self, name: str, text: str, now: float) -> None:
        message = Message(_PREFIX + name, text.encode(), 1, True, None, 0.0, "", "")
        publish(self._core, message, None, now)

    def _refusal(self, found: NamedArea, known: NamedArea | None) -> str:
        if known is None and len(self.areas) >= MAX_PLACES:
            return f"no more than {MAX_PLACES} places"
        account = self._core.ledger.geo
        more = found.size() - (0 if known is None else known.size())
        return "no room for another place" if account.held + more > account.budget else ""

    def _enter(self, topic: str, payload: bytes) -> None:
        """What does not say what it should may be of a later version: it says nothing here."""
        name = topic[len(_PREFIX) :]
        known = self.areas.get(name)
        if payload:
            try:
                found = _read_told(name, payload)
            except (ValueError, TypeError, KeyError, OverflowError):
                self.ignored += 1
                return
            if self._refusal(found, known):
                self._core.ledger.geo.refused += 1
                return
            self._core.ledger.geo.grow(found.size())
            self.areas[name] = found
            self.shapes[name] = found.shape
        elif known is not None:
            del self.areas[name]
            del self.shapes[name]
        if known is not None:
            self._core.ledger.geo.grow(-known.size())
        if known is None or not payload or known.text != self.areas[name].text:
            self._changed(name)

    # Those who follow ---------------------------------------------------------------------------

    def follow(self, follower: Follower, names: list[str]) -> None:
        for name in names:
            self.followers.setdefault(name, {})[follower] = None

    def unfollow(self, follower: Follower, names: list[str]) -> None:
        for name in names:
            followers = self.followers.get(name)
            if followers is not None:
                followers.pop(follower, None)
                if not followers:
                    del self.followers[name]

    def _changed(self, name: str) -> None:
        followers = self.followers.get(name)
        if followers:
            self._core.chores.add(_Following(name, list(followers)))


class _Following(Chore):
    """Brings subscriptions to where a place is now."""

    def __init__(self, name: str, followers: list[Follower]) -> None:
        self._name = name
        self._left = followers

    def step(self, core: Core, now: float) -> bool:
        for _ in range(min(FOLLOWED_AT_ONCE, len(self._left))):
            follower = self._left.pop()
            if follower in core.places.followers.get(self._name, {}):  # it may have gone meanwhile
                core.locations.place_changed(follower, now)
        return not self._left


def read_place(name: str, text: str) -> NamedArea:
    """From GeoJSON: all areas in it together. Raises PlaceError."""
    try:
        check_place_name(name)
    except ValueError as error:
        raise PlaceError(str(error)) from None
    if len(text) > MAX_PLACE_BYTES or len(text.encode()) > MAX_PLACE_BYTES:
        raise PlaceError(f"its GeoJSON has more than {MAX_PLACE_BYTES} bytes")
    try:
        found = areas_in(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise PlaceError("not GeoJSON") from None
    if not found:
        raise PlaceError("there is no Polygon or MultiPolygon in it")
    geometry = found[0]
    if len(found) > 1:
        polygons: list[object] = []
        for one in found:
            of_one = one["coordinates"]
            is_several = one["type"] != "Polygon" and isinstance(of_one, list)
            polygons += of_one if is_several else [of_one]
        geometry = {"type": "MultiPolygon", "coordinates": polygons}
    told = json.dumps(geometry, separators=(",", ":"))
    try:
        return NamedArea(name, told, read_geojson(told, SENT_LOOKS), 1)
    except ValueError as error:
        raise PlaceError(f"{shown(told)}: {error}") from None


def _read_told(name: str, payload: bytes) -> NamedArea:
    """What another broker, or an earlier process, wrote. Raises ValueError, TypeError, KeyError."""
    told = json.loads(payload)
    found = read_place(name, json.dumps(told["area"], separators=(",", ":")))
    found.version = int(told["version"])
    found.changed_at = float(told["changed_at"])
    found.source = str(told["source"])
    found.by = str(told["by"])
    return found
