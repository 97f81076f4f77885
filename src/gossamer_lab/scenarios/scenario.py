"""Builds the large mesh, lets its clients speak, and waits until the last message has arrived.

Once a second a meter notes what every broker sent, and how long its queue is.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from gossamer.mesh.link import Link
from gossamer.sim.cable import Cable
from gossamer.sim.crowd import STAMP, Chorus, CrowdEnd, ObservedEnd, Speech, Tally
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.known_links import LinkMap
from gossamer.sim.network import Road
from gossamer.sim.timeline import Event, Timeline
from gossamer.wire.codec import encode
from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import V5, Connect, Request, Subscribe
from gossamer_lab.scenarios.workload import Drawing, ScenarioSettings, draw

JOINING: Final = 3.0  # seconds in which links are made and clients connect, before anything counts
# A mesh that is not at rest after so many more seconds is overloaded beyond use.
LONGEST_DRAIN: Final = 600.0
AGREEMENT: Final = 0.5  # seconds between looks whether the mesh knows all subscriptions
_TICK: Final = 1.0

Progress = Callable[[float, str], None]  # the part that is done, and of what


@dataclass(slots=True)
class Sample:
    """One broker in one second."""

    second: int
    broker: int
    publications: int  # sent to neighbours
    interests: int
    bytes: int
    queue: int  # at the end of the second
    queued_interests: int
    longest_queue: int


@dataclass
class LinkTotals:
    """One direction of one link, over the whole run."""

    sender: int
    receiver: int
    publications: int
    interests: int
    bytes: int
    chunks: int


@dataclass
class ScenarioResult:
    settings: ScenarioSettings
    published: int = 0
    deliveries: int = 0
    forwards: int = 0  # publications that crossed a link
    interests: int = 0
    control_bytes: int = 0  # of interests and summaries, on all links
    joining_bytes: int = 0  # of all control messages before anybody subscribed
    told: int = 0  # interests (set bits, in mode bloom) that neighbours hold at the end
    link_bytes: int = 0
    virtual_seconds: float = 0.0
    wall_seconds: float = 0.0  # of the part that counts
    samples: list[Sample] = field(default_factory=list)
    links: list[LinkTotals] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)  # at observed subscribers
    seen: list[tuple[int, int]] = field(default_factory=list)  # count and sum of each of those
    got: list[int] = field(default_factory=list)  # messages of each subscriber

    @property
    def messages_a_second(self) -> float:
        """Delivered or forwarded, in a second of real time."""
        return (self.deliveries + self.forwards) / max(1e-9, self.wall_seconds)


class Scenario:
    def __init__(self, settings: ScenarioSettings) -> None:
        self.settings = settings
        self.timeline = Timeline()
        self.tally = Tally()
        drawing = draw(settings)
        cost = WorkCost(settings.cost, settings.cost)
        links = LinkMap(
            (f"b{number}", f"b{parent}") for number, parent in enumerate(drawing.parents, 1)
        )
        self.hosts = [
            SimulatedHost(
                self.timeline,
                f"b{number}",
                settings.mode,
                Disk(),
                HostClock(),
                cost,
                settings.step,
                _TICK,
                links=links,
            )
            for number in range(settings.brokers)
        ]
        self.cables: list[Cable] = []
        self.numbers: list[tuple[int, int]] = []
        joined = zip(drawing.parents, drawing.latencies, strict=True)
        for number, (parent, latencies) in enumerate(joined, 1):
            there, back = (self._road(latency) for latency in latencies)
            cable = Cable(self.hosts[number], self.hosts[parent], there, back)
            cable.begin(0.0)
            self.cables.append(cable)
            self.numbers.append((number, parent))
        self.subscribers: list[CrowdEnd] = []
        self.metering = MeterReading(self.timeline, self.hosts, self.cables)
        self._welcome(drawing)

    def run(self, show: Progress) -> ScenarioResult:
        """Without garbage collection: a hundred thousand live objects, and hardly a cycle."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return self._run(show)
        finally:
            if was_enabled:
                gc.enable()

    def _run(self, show: Progress) -> ScenarioResult:
        settings = self.settings
        self._advance(JOINING, 0.0, JOINING, "joining", show)
        waiting = [cable for cable in self.cables if not cable.is_open()]
        if waiting:
            raise RuntimeError(f"{len(waiting)} links do not stand after {JOINING} seconds")
        if not all(host.mesh.tree_links.agreement.is_settled for host in self.hosts):
            raise RuntimeError(f"the brokers do not agree on a tree after {JOINING} seconds")
        joining = sum(link.control_bytes for link in self._links())
        before = self._interest_bytes()
        self.metering.begin(JOINING)
        started = time.perf_counter()
        self.singing.begin()
        if settings.settled:
            self._settle(show)
        self.speaking.begin()
        start = self.timeline.now
        self._advance(start + settings.seconds, start, settings.seconds, "publishing", show)
        self._drain(show)
        result = self._result()
        result.wall_seconds = time.perf_counter() - started
        result.control_bytes = self._interest_bytes() - before
        result.joining_bytes = joining
        return result

    # Phases ---------------------------------------------------------------------------------------

    def _advance(self, until: float, start: float, whole: float, what: str, show: Progress) -> None:
        while self.timeline.now < until:
            self.timeline.run(min(until, self.timeline.now + 0.25))
            show(min(1.0, (self.timeline.now - start) / whole), what)

    def _settle(self, show: Progress) -> None:
        quiet = 0
        end = self.timeline.now + LONGEST_DRAIN
        while quiet < 3 and self.timeline.now < end:
            self.timeline.run(self.timeline.now + AGREEMENT)
            show(0.0, "settling")
            quiet = quiet + 1 if self.singing.is_over() and self.metering.is_quiet() else 0

    def _drain(self, show: Progress) -> None:
        end = self.timeline.now + LONGEST_DRAIN
        while self.timeline.now < end:
            self.timeline.run(self.timeline.now + 1.0)
            show(1.0, "draining")
            if self.metering.is_quiet():
                return

    # Parts ----------------------------------------------------------------------------------------

    def _road(self, latency: float) -> Road:
        return Road(latency, self.settings.bandwidth, self.settings.step)

    def _welcome(self, drawing: Drawing) -> None:
        """Every client connects, and what it will say is prepared."""
        settings = self.settings
        self.singing = Chorus(self.timeline, settings.step, 1, 0)
        self.speaking = Chorus(self.timeline, settings.step, int(settings.seconds), settings.seed)
        self.speaking.filling = bytes(settings.payload - STAMP.size)
        self.speaking.heads = [publish_head(topic, settings.payload) for topic in drawing.topics]
        nowhere = Road(0.0)
        random = Random(settings.seed)
        for number, subscriber in enumerate(drawing.subscribers):
            kind = ObservedEnd if subscriber.is_observed else CrowdEnd
            end = kind(self.hosts[subscriber.seat], nowhere, self.tally)
            self._connect(end, f"s{number}", random)
            self.subscribers.append(end)
            for at, filter in subscriber.subscriptions:
                packet = encode(Subscribe(1, [Request(filter, 0)]), V5)
                self.singing.speeches.append(Speech(at, end, packet))
        for number, publisher in enumerate(drawing.publishers):
            end = CrowdEnd(self.hosts[publisher.seat], nowhere, self.tally)
            self._connect(end, f"p{number}", random)
            self.speaking.speeches.append(Speech(publisher.at, end))

    def _connect(self, end: CrowdEnd, name: str, random: Random) -> None:
        at = JOINING * (0.5 + 0.4 * random.random())
        end.host.arrive(at, end, encode(Connect(name), V5), 0, 0)

    def _links(self) -> list[Link]:
        return [link for host in self.hosts for link in host.mesh.by_name.values()]

    def _interest_bytes(self) -> int:
        return sum(link.interest_bytes for link in self._links())

    def _result(self) -> ScenarioResult:
        result = ScenarioResult(self.settings)
        result.published = self.speaking.said
        result.deliveries = self.tally.deliveries
        result.virtual_seconds = self.timeline.now - JOINING
        result.samples = self.metering.samples
        for cable, (near, far) in zip(self.cables, self.numbers, strict=True):
            for sender, receiver, road in ((near, far, cable.there), (far, near, cable.back)):
                counts = (road.publications, road.interests, road.bytes, road.chunks)
                result.links.append(LinkTotals(sender, receiver, *counts))
        result.forwards = sum(link.publications for link in result.links)
        result.interests = sum(link.interests for link in result.links)
        result.link_bytes = sum(link.bytes for link in result.links)
        result.told = sum(link.advertiser.told() for link in self._links())
        for end in self.subscribers:
            result.got.append(end.got)
            if isinstance(end, ObservedEnd):
                result.latencies.extend(end.latencies)
                result.seen.append((len(end.latencies), end.seen))
        return result


class MeterReading(Event):
    """Fires every second from `start` on."""

    def __init__(self, timeline: Timeline, hosts: list[SimulatedHost], cables: list[Cable]) -> None:
        self.timeline = timeline
        self.hosts = hosts
        self.cables = cables
        self.samples: list[Sample] = []
        self.latest: list[Sample] = []
        self._numbers = {host.name: number for number, host in enumerate(hosts)}
        self._before = self._sent()
        self._second = 0

    def begin(self, start: float) -> None:
        """What was carried before does not count."""
        for cable in self.cables:
            cable.there.count_anew()
            cable.back.count_anew()
        self._before = self._sent()
        for host in self.hosts:
            host.longest_queue = 0
        self.timeline.add(start + 1.0, self)

    def fire(self, now: float) -> None:
        totals = self._sent()
        self.latest = []
        for number, host in enumerate(self.hosts):
            before, after = self._before[number], totals[number]
            self.latest.append(
                Sample(
                    self._second,
                    number,
                    after[0] - before[0],
                    after[1] - before[1],
                    after[2] - before[2],
                    host.queued,
                    host.queued_interests,
                    host.longest_queue,
                )
            )
            host.longest_queue = host.queued
        self.samples.extend(self.latest)
        self._before = totals
        self._second += 1
        self.timeline.add(now + 1.0, self)

    def is_quiet(self) -> bool:
        """Whether nothing was sent in the last second and nothing waits."""
        return bool(self.latest) and not any(
            sample.publications or sample.interests or sample.queue for sample in self.latest
        )

    def _sent(self) -> list[tuple[int, int, int]]:
        """Publications, interests and bytes of each broker to its neighbours, so far."""
        sums = [(0, 0, 0)] * len(self.hosts)
        for cable in self.cables:
            for host, road in ((cable.dialler, cable.there), (cable.acceptor, cable.back)):
                number = self._numbers[host.name]
                publications, interests, size = sums[number]
                sums[number] = (
                    publications + road.publications,
                    interests + road.interests,
                    size + road.bytes,
                )
        return sums


def publish_head(topic: str, payload: int) -> bytes:
    """A QoS 0 PUBLISH of MQTT 5 up to its payload."""
    name = topic.encode()
    size = 2 + len(name) + 1 + payload
    return b"\x30" + encode_varint(size) + len(name).to_bytes(2, "big") + name + b"\x00"
