"""A small mesh as a plan describes it, and the trouble that the plan makes."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from gossamer.sim.cable import Cable
from gossamer.sim.disks import SlowDisk
from gossamer.sim.host import HostClock, SimulatedHost, WorkCost
from gossamer.sim.network import End, Road
from gossamer.sim.timeline import Event, Timeline
from gossamer_lab.trials.oracle import Oracle
from gossamer_lab.trials.plan import ClientPlan, TrialPlan, TrialStep
from gossamer_lab.trials.roads import RoadWatch, RoughRoad
from gossamer_lab.trials.shapes import is_firm
from gossamer_lab.trials.trial_client import Losing, TrialClient

# Virtual seconds after which a mesh that was healed must be at rest.
REST_SECONDS: Final = 60.0
REST_STEP: Final = 0.37  # in no step with anybody's heartbeats
FLAPS: Final = 4
# Time to notice that a connection is gone: at once, soon, or by the silence.
NOTICE_SECONDS: Final = (0.0, 0.0, 0.1, 1.0)


class World:
    """Everything of one trial."""

    def __init__(self, plan: TrialPlan, keeps_trace: bool = False) -> None:
        self.plan = plan
        self.random = Random(plan.seed)
        self.timeline = Timeline()
        self.lines: list[str] = []
        self._keeps_trace = keeps_trace
        self.oracle = Oracle([client.name for client in plan.clients], self.trace, self._is_ordered)
        self.hosts = [self._host(f"b{number}") for number in range(plan.brokers)]
        self.cables = [self._cable(*link) for link in plan.links]
        self.left: set[SimulatedHost] = set()  # brokers that are down until they join again
        self._firm: dict[tuple[int, int], bool] = {}
        self._changes = -1  # of the tree, when the mesh was last at rest
        self.clients: dict[str, TrialClient] = {}
        self.connect(plan.clients)

    def connect(self, plans: Iterable[ClientPlan]) -> None:
        for plan in plans:
            host = self.hosts[plan.broker]
            client = TrialClient(host, plan, self.road(), self.road(), self.oracle, self.random)
            self.clients[client.name] = client
            client.connect()

    def trace(self, text: str) -> None:
        if self._keeps_trace:
            self.lines.append(f"{self.timeline.now:9.4f}  {text}")

    def road(self) -> RoughRoad:
        road = RoughRoad(self.random.choice((0.001, 0.01, 0.05)) * self.random.uniform(0.5, 1.5))
        road.random = Random(self.random.random())
        road.loss = self.plan.loss
        if self.random.random() < 0.2:
            road.bandwidth = 20_000.0
        return road

    def _line(self) -> Road:
        """One direction of a link between brokers."""
        road = self.road()
        road.watch = RoadWatch(self.oracle.fault)
        return road

    def do(self, step: TrialStep) -> None:
        """One step of the plan, now."""
        if step.verb in ("subscribe", "unsubscribe", "publish", "clear", "drop"):
            self._client_does(self.clients[str(step.what)], step)
            return
        if step.verb == "split":
            self.split({int(each) for each in str(step.what).split(",") if each}, step.seconds)
            return
        number = int(step.what)
        if step.verb == "switch":
            self.switch(self.hosts[number], step.topic)
        elif step.verb == "leave":
            self.left.add(self.hosts[number])
            self.crash(self.hosts[number], 0.0)
        elif step.verb == "join":
            self.left.discard(self.hosts[number])
            self.restart(self.hosts[number])
        elif step.verb == "flap":
            for turn in range(FLAPS):
                self._later(turn * 0.3, _Flap(self, self.cables[number]))
        elif step.verb == "crash":
            self.crash(self.hosts[number], step.seconds)
        elif step.verb == "cut":
            self.cut(self.cables[number], step.seconds)
        elif step.verb == "stall":
            self.trace(f"the link {number} stalls for {step.seconds} s")
            for road in (self.cables[number].there, self.cables[number].back):
                road.stalled_until = self.timeline.now + step.seconds

    def _client_does(self, client: TrialClient, step: TrialStep) -> None:
        if step.verb == "subscribe":
            client.subscribe(step.topic, step.qos)
        elif step.verb == "unsubscribe":
            client.unsubscribe(step.topic)
        elif step.verb == "publish":
            client.publish(step.topic, step.qos, step.retain)
        elif step.verb == "clear":
            client.clear(step.topic)
        else:
            client.drop()

    def switch(self, host: SimulatedHost, mode: str) -> None:
        """An operator's decision, on one broker."""
        if host.is_up:
            self.trace(f"{host.name} decides for mode {mode}")
            host.mesh.switching.decide(mode, host.clock.at(self.timeline.now))
            host.end_turn(self.timeline.now)

    # Trouble --------------------------------------------------------------------------------------

    def crash(self, host: SimulatedHost, seconds: float) -> None:
        if not host.is_up:
            return
        self.trace(f"{host.name} crashes for {seconds} s")
        host.stop()
        for cable in self.cables:
            if host in (cable.dialler, cable.acceptor):
                self._break(cable)
        for client in self.clients.values():
            end = client.end
            if client.host is host and end is not None and end.is_open:
                end.is_open = False
                self._later(self.random.choice(NOTICE_SECONDS), _ClientNotices(client, end))
        disk = host.disk
        assert isinstance(disk, SlowDisk)
        disk.lose_power()
        self._later(seconds, _Restart(self, host))

    def restart(self, host: SimulatedHost) -> None:
        if not host.is_up and host not in self.left:
            self.trace(f"{host.name} starts")
            host.clock.offset = self._offset()
            host.start(self.timeline.now)

    def cut(self, cable: Cable, seconds: float) -> None:
        self.trace(f"{cable.dialler.name} - {cable.acceptor.name} is cut for {seconds} s")
        cable.is_cut = True
        self._break(cable)
        self._later(seconds, _Mend(cable))

    def split(self, side: set[int], seconds: float) -> None:
        """Nothing gets from these brokers to the others."""
        for (one, other), cable in zip(self.plan.links, self.cables, strict=True):
            if (one in side) != (other in side):
                self.cut(cable, seconds)

    def _break(self, cable: Cable) -> None:
        for end in cable.break_off():
            host = end.owner
            assert isinstance(host, SimulatedHost)
            if host.is_up:
                self._later(self.random.choice(NOTICE_SECONDS), Losing(end, host))

    def _later(self, seconds: float, event: Event) -> None:
        self.timeline.add(self.timeline.now + seconds, event)

    # Rest -----------------------------------------------------------------------------------------

    def come_to_rest(self) -> bool:
        """Heals everything and waits; False if the mesh does not settle."""
        for cable in self.cables:
            cable.is_cut = False
        for host in self.hosts:
            self.restart(host)
        end = self.timeline.now + REST_SECONDS
        while self.timeline.now < end:
            self.timeline.run(self.timeline.now + REST_STEP)
            if self._is_at_rest():
                self._changes = self._tree_changes()
                return True
        return False

    def restlessness(self) -> list[str]:
        """What keeps the mesh from rest."""
        found = self._missing_links()
        found += [client.name for client in self.clients.values() if not client.is_settled]
        for host in self.up():
            tree_links = host.mesh.tree_links
            if tree_links is not None and not tree_links.agreement.is_settled:
                found.append(f"{host.name} is not settled")
            for session in host.broker.core.sessions.values():
                if session.outbox is not None and (session.inflight or session.queue):
                    found.append(f"{host.name} to {session.client_id}")
            if host.disk.journal.dirty or host.disk.is_writing():
                found.append(f"the disk of {host.name}")
        return found

    def _is_at_rest(self) -> bool:
        is_quiet = all(cable.is_quiet() for cable in self.cables if cable.is_open())
        return is_quiet and not self.restlessness()

    def up(self) -> list[SimulatedHost]:
        return [host for host in self.hosts if host.is_up]

    def _missing_links(self) -> list[str]:
        """Pairs of brokers of which no cable stands."""
        standing: dict[str, bool] = {}
        for cable in self.cables:
            if cable.dialler.is_up and cable.acceptor.is_up:
                pair = " - ".join(sorted((cable.dialler.name, cable.acceptor.name)))
                standing[pair] = standing.get(pair, False) or cable.is_open()
        return [pair for pair, stands in standing.items() if not stands]

    def _is_ordered(self, publisher: str, reader: str, is_known: bool) -> bool:
        """Whether a publisher's order must hold: no other way leads there, or the tree stood.

        What a filter missed because a broker on the way did not know it yet may come to it later,
        with what goes round because the tree changes; see docs/mesh-reference.md."""
        if self._changes == self._tree_changes():
            return True
        if not is_known:
            return False
        ends = self.clients[publisher].plan.broker, self.clients[reader].plan.broker
        if ends not in self._firm:
            self._firm[ends] = is_firm(self.plan.links, *ends)
        return self._firm[ends]

    def _tree_changes(self) -> int:
        """A number that stays while nobody's part of the tree changes and nobody restarts."""
        fabrics = [host.mesh.tree_links for host in self.hosts]
        changes = sum(tree_links.changes for tree_links in fabrics if tree_links is not None)
        return changes + 1_000_000 * sum(host.life for host in self.hosts)

    # Parts ----------------------------------------------------------------------------------------

    def _host(self, name: str) -> SimulatedHost:
        clock = HostClock(self._offset(), self.random.uniform(-1e-4, 1e-4))
        disk = SlowDisk(Random(self.random.random()), self.plan.disk)
        return SimulatedHost(
            *(self.timeline, name, self.plan.mode, disk, clock, WorkCost()),
            is_joint=True,
            topology=self.plan.topology,
        )

    def _offset(self) -> float:
        return self.random.uniform(-self.plan.skew, self.plan.skew)

    def _cable(self, dialler: int, acceptor: int) -> Cable:
        cable = Cable(self.hosts[dialler], self.hosts[acceptor], self._line(), self._line())
        cable.begin(self.random.uniform(0.0, 0.1))
        return cable


class _Restart(Event):
    def __init__(self, world: World, host: SimulatedHost) -> None:
        self.world = world
        self.host = host
        self.life = host.life

    def fire(self, now: float) -> None:
        if self.host.life == self.life:
            self.world.restart(self.host)


class _Flap(Event):
    def __init__(self, world: World, cable: Cable) -> None:
        self.world = world
        self.cable = cable

    def fire(self, now: float) -> None:
        self.world.cut(self.cable, 0.05)


class _Mend(Event):
    def __init__(self, cable: Cable) -> None:
        self.cable = cable

    def fire(self, now: float) -> None:
        self.cable.is_cut = False


class _ClientNotices(Event):
    def __init__(self, client: TrialClient, end: End) -> None:
        self.client = client
        self.end = end

    def fire(self, now: float) -> None:
        if self.client.end is self.end:
            self.client.lost()
