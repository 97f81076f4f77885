"""A few simulated brokers on plain links, and clients that say what they are told to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gossamer.mesh.link import Link
from gossamer.sim.cable import Cable
from gossamer.sim.crowd import CrowdEnd, Tally
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.network import Road
from gossamer.sim.timeline import Timeline
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Packet


class SmallMesh:
    """`links` are pairs of brokers, of which the first dials, with the seconds there and back."""

    def __init__(
        self,
        names: Iterable[str],
        mode: str,
        links: Sequence[tuple[int, int, float, float]],
        tick: float = 1.0,
    ) -> None:
        self.timeline = Timeline()
        self.tally = Tally()
        self.hosts = [
            SimulatedHost(self.timeline, name, mode, Disk(), HostClock(), WorkCost(), tick=tick)
            for name in names
        ]
        self.cables = [
            Cable(self.hosts[dialler], self.hosts[acceptor], Road(there), Road(back))
            for dialler, acceptor, there, back in links
        ]

    def join(self) -> None:
        for cable in self.cables:
            cable.begin(self.timeline.now)

    def client(self, broker: int, name: str) -> CrowdEnd:
        end = CrowdEnd(self.hosts[broker], Road(0.0), self.tally)
        self.say(end, Connect(name))
        return end

    def say(self, end: CrowdEnd, packet: Packet | bytes, at: float | None = None) -> None:
        """At that time, or now."""
        data = packet if isinstance(packet, bytes) else encode(packet, V5)
        end.host.arrive(self.timeline.now if at is None else at, end, data, 0, 0)

    def rest(self, seconds: float) -> None:
        self.timeline.run(self.timeline.now + seconds)

    def links(self) -> list[Link]:
        """Both ends of each."""
        return [link for host in self.hosts for link in host.mesh.by_name.values()]
