"""Once a second: what every broker sent, and how long its queue is."""

from __future__ import annotations

from gossamer.sim.cable import Cable
from gossamer.sim.host import SimulatedHost
from gossamer.sim.timeline import Event, Timeline


class Sample:
    """One broker in one second."""

    __slots__ = (
        "broker",
        "bytes",
        "interests",
        "longest_queue",
        "publications",
        "queue",
        "queued_interests",
        "second",
    )

    def __init__(self, second: int, broker: int) -> None:
        self.second = second
        self.broker = broker
        self.publications = 0  # sent to neighbours
        self.interests = 0
        self.bytes = 0
        self.queue = 0  # at the end of the second
        self.queued_interests = 0
        self.longest_queue = 0


class Meter(Event):
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
            sample = Sample(self._second, number)
            before = self._before[number]
            after = totals[number]
            sample.publications = after[0] - before[0]
            sample.interests = after[1] - before[1]
            sample.bytes = after[2] - before[2]
            sample.queue = host.queued
            sample.queued_interests = host.queued_interests
            sample.longest_queue = host.longest_queue
            host.longest_queue = host.queued
            self.latest.append(sample)
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
