"""A client of a trial: it stays with its broker, comes back when thrown out, and tells the oracle.

An application as it should be: a request that was not answered is made again, and what was not
acknowledged is sent again by the protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final, NamedTuple

from gossamer.client.protocol import ClientProtocol
from gossamer.geo.glp import POSITION
from gossamer.sim.host import HostEnd, SimulatedHost
from gossamer.sim.network import End, Party, Road, join
from gossamer.sim.timeline import Event
from gossamer.wire.packets import (
    PINGREQ,
    Acknowledgement,
    Connack,
    Connect,
    Packet,
    Pingresp,
    Publish,
    Request,
    Suback,
    Unsuback,
    Will,
)
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR
from gossamer_lab.trials.conditions import HERE, NOWHERE
from gossamer_lab.trials.oracle import Oracle
from gossamer_lab.trials.plan import ClientPlan
from gossamer_lab.trials.publications import Entries, PublicationKey

NEVER: Final = 0xFFFFFFFF
RETRY_SECONDS: Final = 0.3
WILL_TOPIC: Final = "a/will"
# Where a client is that is asked for its place and has been nowhere.
ORIGIN: Final = "0;0"


class Sending(NamedTuple):
    """One publication for each QoS of the burst, with these payloads in turn."""

    topic: str
    burst: str
    retain: bool
    templates: tuple[str, ...] = ("",)
    where: tuple[tuple[str, str], ...] = ()


class ClientEnd(End):
    def __init__(self, client: TrialClient, road: Road) -> None:
        super().__init__(client, road)
        self.client = client

    def take(self, data: bytes, now: float) -> None:
        self.client.take(data)

    def lost(self, now: float) -> None:
        self.client.lost()


class Deferred(Event):
    """Calls a function at the time it was added for."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function

    def fire(self, now: float) -> None:
        self.function()


class TrialClient(Party):
    def __init__(
        self,
        host: SimulatedHost,
        plan: ClientPlan,
        up: Road,
        down: Road,
        oracle: Oracle,
        random: Random,
        walks: bool = False,
    ) -> None:
        super().__init__(host.timeline)
        self.host = host
        self.plan = plan
        self.name = plan.name
        self.oracle = oracle
        self.end: ClientEnd | None = None
        self._up = up
        self._down = down
        self._random = random
        self._properties = Properties()
        self._properties.session_expiry = NEVER if plan.lasting else 0
        self.protocol = ClientProtocol(
            Connect(plan.name, clean_start=not plan.lasting, properties=self._properties)
        )
        self._confirmed = False
        self._will: PublicationKey | None = None
        self._wishes: dict[str, int] = {}  # filter to QoS, -1 to unsubscribe; until answered
        self._asked: dict[int, tuple[str, int]] = {}  # by packet id
        self._held: dict[str, int] = {}  # what the broker granted
        self._in_flight: dict[int, PublicationKey] = {}  # by packet id
        self._later: list[Sending] = []  # what to publish when it is back
        self._areas: dict[str, Entries] = {}  # what was last asked for, by filter
        self._place = NOWHERE
        self._walks = walks  # whether it ever says where it is
        self._pings: list[str] = []  # the places that they tell; until answered

    # What the trial makes it do -----------------------------------------------------------------

    def subscribe(self, filter: str, qos: int, where: Entries) -> None:
        self._wishes[filter] = qos
        self._areas[filter] = where
        self._ask(filter, is_new=True)

    def unsubscribe(self, filter: str) -> None:
        """The filter, or any other that it has."""
        if filter not in self._held and self._held:
            filter = self._random.choice(list(self._held))
        self._wishes[filter] = -1
        self._ask(filter, is_new=True)

    def publish(self, sending: Sending) -> None:
        """All of it in one chunk."""
        if not self.protocol.connected:
            if kept := sending.burst.replace("0", ""):
                self._later.append(sending._replace(burst=kept))
            return
        topic, burst, retain, templates, where = sending
        for number, qos in enumerate(map(int, burst)):
            template = templates[number % len(templates)]
            key = self.oracle.publishing(self.name, topic, qos, retain, template, list(where))
            made = self.oracle.publication(key)
            packet_id = self.protocol.publish(topic, made.payload, qos, retain, made.properties())
            if packet_id:
                self._in_flight[packet_id] = key
        self.send()

    def walk(self, place: str) -> None:
        """It is there now, and says so when it can."""
        self._place = place
        if self.protocol.connected:
            self._tell_place()

    def clear(self, topic: str) -> None:
        """Removes a retained message."""
        if self.protocol.connected:
            self.oracle.clearing(self.name, topic)
            self.protocol.publish(topic, b"", 2, True)
            self.send()

    def drop(self) -> None:
        """Its network breaks."""
        end = self.end
        if end is not None and end.other is not None:
            end.is_open = False
            other = end.other
            self.oracle.trace(f"{self.name} drops its connection")
            delay = self._random.choice((0.0, 0.1, 1.0))
            self.timeline.add(self.timeline.now + delay, losing(other, self.host))
            self.lost()

    @property
    def is_settled(self) -> bool:
        """A connection that is gone counts as gone before the client has noticed."""
        if self.end is None or not self.end.is_open or not self.protocol.connected:
            return False
        return not (self._wishes or self._in_flight or self._later or self._pings)

    # Connections --------------------------------------------------------------------------------

    def connect(self) -> None:
        if not self.host.is_up or (self.end is not None and self.end.is_open):
            return
        near = ClientEnd(self, self._up)
        far = HostEnd(self.host, self._down)
        join(near, far)
        self.end = near
        if self.plan.will_qos >= 0:
            self._will = self.oracle.leaving_will(self.name, WILL_TOPIC, self.plan.will_qos)
            self.protocol.set_will(Will(WILL_TOPIC, self._will.payload(), self.plan.will_qos))
        if self._walks:
            self._properties.user = [("gpl_ping", "1")]
        if self._place != NOWHERE:
            self.oracle.walking(self.name, self._place)
            self._properties.user.append((POSITION, self._place))
        self.protocol.open()
        self.send()

    def lost(self) -> None:
        """The connection is gone: it will come back."""
        self.end = None
        if self.protocol.connected:
            self.protocol.lost()
            if self._will is not None and self.plan.lasting:
                self.oracle.will_is_due(self._will)
        if not self.plan.lasting:
            self.oracle.session_ended(self.name)
        self._asked.clear()
        self._pings.clear()
        self.timeline.add(self.timeline.now + RETRY_SECONDS * self._random.random(), self)

    def fire(self, now: float) -> None:
        """It is time to come back, if it is not there already."""
        if self.end is None:
            self.connect()
            if self.end is None:
                self.timeline.add(now + RETRY_SECONDS, self)

    def arrive(self, at: float, end: End, data: bytes, publications: int, interests: int) -> None:
        self.timeline.add(at, Deferred(partial(self._arrived, end, data)))

    def _arrived(self, end: End, data: bytes) -> None:
        if not end.is_open:
            return
        if data:
            end.take(data, self.timeline.now)
        else:
            end.is_open = False
            end.lost(self.timeline.now)

    def take(self, data: bytes) -> None:
        for packet in self.protocol.receive(data):
            self._see(packet)
        self.send()

    def send(self) -> None:
        data = self.protocol.take()
        if data and self.end is not None:
            self.end.write(data)

    def _see(self, packet: Packet) -> None:
        if isinstance(packet, Publish):
            self.oracle.received(self.name, packet)
        elif isinstance(packet, Acknowledgement):
            key = self._in_flight.pop(packet.packet_id, None)
            if key is not None:
                self.oracle.acknowledged(key)
        elif isinstance(packet, Connack):
            self._welcomed(packet)
        elif isinstance(packet, Suback | Unsuback):
            self._answered(packet)
        elif isinstance(packet, Pingresp):
            place = self._pings.pop(0)
            if not self._pings:
                self.oracle.walked(self.name, place)

    def _welcomed(self, packet: Connack) -> None:
        self.oracle.trace(f"{self.name} is welcome, session {packet.session_present}")
        if packet.reason:
            self.oracle.fault(f"{self.name} was refused with 0x{packet.reason:02x}")
            return
        if self.plan.lasting and self._confirmed and not packet.session_present:
            self.oracle.fault(f"the session of {self.name} vanished")
        self._confirmed = True
        if not packet.session_present:
            self._in_flight.clear()
            for filter, qos in self._held.items():
                self._wishes.setdefault(filter, qos)
            self._held.clear()
        for filter in list(self._wishes):
            self._ask(filter)
        later, self._later = self._later, []
        for sending in later:
            self.publish(sending)
        if self._place != NOWHERE:
            self._tell_place()

    def _ask(self, filter: str, is_new: bool = False) -> None:
        qos = self._wishes[filter]
        where = self._areas.get(filter, [])
        if is_new and qos < 0:
            self.oracle.touched(self.name, filter)
        elif is_new:
            self.oracle.asking(self.name, filter, qos, where)
        if not self.protocol.connected:
            return
        if qos < 0:
            packet_id = self.protocol.unsubscribe([filter])
        else:
            request = Request(filter, qos, self.plan.no_local)
            packet_id = self.protocol.subscribe([request], self._asking(filter, where))
        self._asked[packet_id] = (filter, qos)
        self.send()
        if HERE in where:
            self._tell_place()

    def _asking(self, filter: str, where: Entries) -> Properties | None:
        """What a SUBSCRIBE says beside the filter."""
        identifier = self.oracle.identifier(self.name, filter)
        if not identifier:
            return None
        properties = Properties()
        properties.subscription_ids = [identifier]
        properties.user = list(where)
        if HERE in where:
            self._place = self._place if self._place != NOWHERE else ORIGIN
            properties.user = [(POSITION, self._place)]
        return properties

    def _tell_place(self) -> None:
        """In a PINGREQ, whose answer shows that it was heard."""
        self.oracle.walking(self.name, self._place)
        self._pings.append(self._place)
        said = Properties()
        said.user = [(POSITION, self._place)]
        body = encode_properties(said, PINGREQ)
        self.send()
        if self.end is not None:
            self.end.write(bytes((PINGREQ << 4, len(body))) + body)

    def _answered(self, packet: Suback | Unsuback) -> None:
        filter, qos = self._asked.pop(packet.packet_id)
        if self._wishes.get(filter) == qos and (filter, qos) not in self._asked.values():
            del self._wishes[filter]
        is_final = filter not in self._wishes
        if any(reason >= UNSPECIFIED_ERROR for reason in packet.reasons):
            self.oracle.fault(f"{self.name} was refused {filter}: {packet.reasons}")
        elif qos < 0:
            self._held.pop(filter, None)
            self.oracle.unsubscribed(self.name, filter, is_final)
        else:
            self._held[filter] = qos
            where = self._areas.get(filter, [])
            self.oracle.subscribed(*(self.name, filter, qos, self.plan.no_local, where, is_final))


def losing(end: End, host: SimulatedHost) -> Event:
    """A host notices that a connection is gone, unless it has been restarted by then."""
    life = host.life

    def notice() -> None:
        if host.life == life:
            now = host.timeline.now
            end.is_open = False
            end.lost(host.clock.at(now))
            host.end_turn(now)

    return Deferred(notice)
