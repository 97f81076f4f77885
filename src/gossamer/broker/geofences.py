"""Located subscriptions: who of those who want a topic wants it here, and who came and went.

Each filter that somebody has a located subscription to has one tap, with a spatial index of what
they are interested in. Plain subscriptions and topics without located ones never come here.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.broker.mesh_port import Need
from gossamer.broker.retained_stamps import copied
from gossamer.broker.subscription_tree import Tap
from gossamer.broker.timers import Timer
from gossamer.geo.earth import Point
from gossamer.geo.fences import FenceEvent, FenceEvents, Watch
from gossamer.geo.geolocation import Located, Place
from gossamer.geo.glp import PREFIX, position_entry
from gossamer.geo.interest import Interest
from gossamer.geo.motion import Motion, Motions
from gossamer.geo.overlap import delivers
from gossamer.geo.spatial_index import SpatialIndex
from gossamer.session.message import Message
from gossamer.session.publisher import client_of
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.locations import Locations

EVENT_TOPICS: Final = "$GEO/"
EVENT_QOS: Final = 2  # made by the broker, so each subscriber gets them at the QoS it asked for
MAX_TOPIC_BYTES: Final = 65_535


@mypyc_attr(acyclic=True)
class LocatedSubscription(Subscription):
    """A session's subscription to what happens in a region."""

    __slots__ = ("interest", "located", "locations", "need", "receiver", "watch")

    def __init__(
        self,
        session: Session,
        record: SubscriptionRecord,
        share: str,
        filter: str,
        located: Located,
        interest: Interest,
        locations: Locations,
    ) -> None:
        super().__init__(session, record, share, filter)
        self.located = located
        self.interest = interest
        interest.holder = self
        self.locations = locations
        self.receiver = Receiver(self)
        self.need: Need | None = None  # what other brokers were told that it needs
        self.watch: Watch | None = None
        if located.events and not share:
            settings = locations.core.settings
            self.watch = Watch(
                interest,
                located.events,
                settings.fence_hysteresis if located.hysteresis is None else located.hysteresis,
                settings.fence_dwell if located.dwell is None else located.dwell,
            )

    def takes(self, message: Message, now: float) -> bool:
        locations = self.locations
        place = locations.place(message, now)
        return delivers(place, self.interest, locations.oldest(now), locations.effort)


class LocatedFilter(Tap):
    """The located subscriptions to one filter."""

    def __init__(self, locations: Locations) -> None:
        self.locations = locations
        self.index = SpatialIndex()
        self.subscriptions: dict[str, LocatedSubscription] = {}  # by client id
        self._watches = 0
        core = locations.core
        self._events = FenceEvents(core.settings.position_age or math.inf, core.ledger.geo)
        self._motions = Motions(core.settings.position_age or math.inf, core.ledger.geo)
        self._awaited = math.inf  # when the alarm goes
        self._alarm = _FenceTimer(self)

    def guards_places(self) -> bool:
        return True

    def add(self, subscription: LocatedSubscription) -> None:
        self.subscriptions[subscription.session.client_id] = subscription
        self.index.add(subscription.interest)
        self._watches += subscription.watch is not None

    def remove(self, subscription: LocatedSubscription) -> None:
        del self.subscriptions[subscription.session.client_id]
        self.index.remove(subscription.interest)
        if subscription.watch is not None:
            self._watches -= 1
            self._events.forget_watch(subscription.watch)
            if not self._watches:
                self._motions.clear()

    def hand_over(self, known: LocatedSubscription, heir: LocatedSubscription) -> None:
        """`heir` takes the place of `known`, and whoever is in its areas stays in them."""
        if known.watch is not None and heir.watch is not None:
            heir.watch.inherit(known.watch)
        self.remove(known)

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        locations = self.locations
        size = len(message.topic_bytes) + len(message.payload)
        locations.core.counters.located_bytes_read += len(self.subscriptions) * size
        place = locations.place(message, now)
        if place is None:
            for subscription in self.subscriptions.values():
                self._give(subscription, message, origin, now)
            return
        for subscription in self._matched(place, now):
            if locations.may_see(subscription.session, message):
                self._give(subscription, message, origin, now)
        if locations.core.permissions.guards_positions:
            hidden = without_place(message)
            for subscription in self.subscriptions.values():
                if not locations.may_see(subscription.session, message):
                    self._give(subscription, hidden, origin, now)
        if self._watches and place.position is not None:
            locations.core.counters.taken += 1
            self._watch(message, place.position, now)

    def tick(self, now: float) -> None:
        """Some may have stayed long enough."""
        self._awaited = math.inf
        self._tell(self._events.due(now), now)

    def end(self) -> None:
        """Nobody subscribes to it any more."""
        self.locations.core.timers.cancel(self._alarm)
        self._alarm.filter = None

    def _matched(self, place: Place, now: float) -> list[LocatedSubscription]:
        oldest = self.locations.oldest(now)
        if place.point is not None:
            return _holders(self.index.at(place.point, oldest))
        effort = self.locations.effort
        undecided = effort.undecided
        found = self.index.meeting(place.region, oldest, effort)
        self.locations.core.counters.located_undecided += effort.undecided - undecided
        return _holders(found)

    def _give(
        self,
        subscription: LocatedSubscription,
        message: Message,
        origin: Session | None,
        now: float,
    ) -> None:
        session = subscription.session
        if session is origin and subscription.record.no_local:
            return  # [MQTT-3.8.3-3]
        permissions = self.locations.core.permissions
        if permissions.restricts and not permissions.may_receive(session.identity, message.topic):
            return
        counters = self.locations.core.counters
        counters.taken += 1
        counters.located_bytes_sent += len(message.topic_bytes) + len(message.payload)
        session.deliver(message, subscription.receiver, now)

    def _watch(self, message: Message, position: Point, now: float) -> None:
        inside: list[Watch] = []
        for subscription in _holders(self.index.at(position, self.locations.oldest(now))):
            watch = subscription.watch
            if watch is not None and self.locations.may_see(subscription.session, message):
                inside.append(watch)
        visitor = (self._vehicle(message), message.topic)
        self._motions.moved(visitor, position, now)
        self._tell(self._events.moved(visitor, position, inside, now), now)

    def _vehicle(self, message: Message) -> str:
        """Whose position it is: what its publisher names by that property, if one is configured,
        else the client that published it, on whatever broker."""
        wanted = self.locations.core.settings.vehicle_property
        properties = message.properties
        if wanted and properties is not None:
            for name, value in properties.user:
                if name == wanted:
                    return value
        return client_of(message.publisher) or message.publisher

    def _tell(self, events: list[FenceEvent], now: float) -> None:
        for event in events:
            subscription = event.watch.interest.holder
            assert isinstance(subscription, LocatedSubscription)
            motion = self._motions.get(event.visitor)
            told = _message_of(event, motion, self.locations.core.wall_offset)
            if len(told.topic_bytes) <= MAX_TOPIC_BYTES:
                self._give_event(subscription, event, told, now)
        due = self._events.next_due()
        if due < self._awaited:
            self._awaited = due
            self.locations.core.timers.add(due, self._alarm)

    def _give_event(
        self, subscription: LocatedSubscription, event: FenceEvent, told: Message, now: float
    ) -> None:
        session = subscription.session
        permissions = self.locations.core.permissions
        # The rules speak of the topic on which the position was published.
        if not permissions.restricts or permissions.may_receive(session.identity, event.visitor[1]):
            session.deliver(told, subscription.receiver, now)


class _FenceTimer(Timer):
    def __init__(self, filter: LocatedFilter) -> None:
        self.filter: LocatedFilter | None = filter  # until it ends

    def fire(self, now: float) -> float:
        if self.filter is not None:
            self.filter.tick(now)
        return 0.0


def told_of(topic: str) -> str:
    """The topic that an event is about; any other topic itself."""
    return topic.split("/", 2)[2] if topic.startswith(EVENT_TOPICS) else topic


def without_place(message: Message) -> Message:
    """The message for those who may not see where its publisher is."""
    properties = copied(message.properties)
    properties.user = [pair for pair in properties.user if not pair[0].startswith(PREFIX)]
    return message.changed(properties=properties)


def _holders(interests: list[Interest]) -> list[LocatedSubscription]:
    holders: list[LocatedSubscription] = []
    for interest in interests:
        holder = interest.holder
        assert isinstance(holder, LocatedSubscription)
        holders.append(holder)
    return holders


def _message_of(event: FenceEvent, motion: Motion | None, wall_offset: float) -> Message:
    publisher, topic = event.visitor
    told = {
        "event": event.name,
        "client": publisher,
        "topic": topic,
        "lat": event.at.lat,
        "lon": event.at.lon,
        "since": event.since + wall_offset,
        "time": event.time + wall_offset,
    }
    if motion is not None and motion.speed >= 0.0:
        told["speed"] = round(motion.speed, 2)
    if motion is not None and motion.heading >= 0.0:
        told["heading"] = round(motion.heading, 1) % 360.0
    properties = Properties()
    properties.content_type = "application/json"
    properties.user = [position_entry(event.at)]
    payload = json.dumps(told, ensure_ascii=False).encode()
    name = f"{EVENT_TOPICS}{event.name}/{topic}"
    return Message(name, payload, EVENT_QOS, False, properties, 0.0, publisher, "")
