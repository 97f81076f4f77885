"""A small mesh as a plan describes it, and the trouble that the plan makes."""

from __future__ import annotations

from random import Random
from typing import Final

from gossamer.sim.cable import Cable
from gossamer.sim.disks import SlowDisk
from gossamer.sim.host import Clock, Cost, Host
from gossamer.sim.network import End, Road
from gossamer.sim.timeline import Event, Timeline
from gossamer.sim.trials.oracle import Oracle
from gossamer.sim.trials.plan import Plan, Step
from gossamer.sim.trials.trial_client import Losing, TrialClient

# Virtual seconds after which a mesh that was healed must be at rest.
REST_SECONDS: Final = 60.0
REST_STEP: Final = 0.5
# Time to notice that a connection is gone: at once, soon, or by the silence.
NOTICE_SECONDS: Final = (0.0, 0.0, 0.1, 1.0)


class RoughRoad(Road):
    """Delivers in pieces, each in its own time."""

    def deliver(self, end: End, data: bytes, at: float, publications: int, interests: int) -> None:
        while len(data) > 1 and self.random.random() < 0.2:
            size = self.random.randrange(1, len(data))
            super().deliver(end, data[:size], at, 0, 0)
            data = data[size:]
            at += self.random.uniform(0.0, 0.01)
        super().deliver(end, data, at, publications, interests)


class World:
    """Everything of one trial."""

    def __init__(self, plan: Plan, keeps_trace: bool = False) -> None:
        self.plan = plan
        self.random = Random(plan.seed)
        self.timeline = Timeline()
        self.lines: list[str] = []
        self._keeps_trace = keeps_trace
        self.oracle = Oracle([client.name for client in plan.clients], self.trace)
        self.hosts = [self._host(f"b{number}") for number in range(len(plan.links) + 1)]
        self.cables = [self._cable(number) for number in range(len(plan.links))]
        self.clients: dict[str, TrialClient] = {}
        for client_plan in plan.clients:
            host = self.hosts[client_plan.broker]
            client = TrialClient(
                host, client_plan, self.road(), self.road(), self.oracle, self.random
            )
            self.clients[client.name] = client
            client.connect()

    def trace(self, text: str) -> None:
        if self._keeps_trace:
            self.lines.append(f"{self.timeline.now:9.4f}  {text}")

    def road(self) -> Road:
        road = RoughRoad(self.random.choice((0.001, 0.01, 0.05)) * self.random.uniform(0.5, 1.5))
        road.random = Random(self.random.random())
        road.loss = self.plan.loss
        if self.random.random() < 0.2:
            road.bandwidth = 20_000.0
        return road

    def do(self, step: Step) -> None:
        """One step of the plan, now."""
        if step.verb in ("subscribe", "unsubscribe", "publish", "clear", "drop"):
            self._client_does(self.clients[str(step.what)], step)
            return
        number = int(step.what)
        if step.verb == "crash":
            self.crash(self.hosts[number], step.seconds)
        elif step.verb == "cut":
            self.cut(self.cables[number], step.seconds)
        elif step.verb == "stall":
            self.trace(f"the link {number} stalls for {step.seconds} s")
            for road in (self.cables[number].there, self.cables[number].back):
                road.stalled_until = self.timeline.now + step.seconds

    def _client_does(self, client: TrialClient, step: Step) -> None:
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

    # Trouble --------------------------------------------------------------------------------------

    def crash(self, host: Host, seconds: float) -> None:
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

    def restart(self, host: Host) -> None:
        if not host.is_up:
            self.trace(f"{host.name} starts")
            host.clock.offset = self._offset()
            host.start(self.timeline.now)

    def cut(self, cable: Cable, seconds: float) -> None:
        self.trace(f"{cable.dialler.name} - {cable.acceptor.name} is cut for {seconds} s")
        cable.is_cut = True
        self._break(cable)
        self._later(seconds, _Mend(cable))

    def _break(self, cable: Cable) -> None:
        for end in cable.break_off():
            host = end.owner
            assert isinstance(host, Host)
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
                return True
        return False

    def restlessness(self) -> list[str]:
        """What keeps the mesh from rest."""
        found = [f"{c.dialler.name} - {c.acceptor.name}" for c in self.cables if not c.is_open()]
        found += [client.name for client in self.clients.values() if not client.is_settled]
        for host in self.hosts:
            for session in host.broker.core.sessions.values():
                if session.outlet is not None and (session.inflight or session.queue):
                    found.append(f"{host.name} to {session.client_id}")
            if host.disk.journal.dirty or host.disk.is_writing():
                found.append(f"the disk of {host.name}")
        return found

    def _is_at_rest(self) -> bool:
        return not self.restlessness() and all(cable.is_quiet() for cable in self.cables)

    # Parts ----------------------------------------------------------------------------------------

    def _host(self, name: str) -> Host:
        clock = Clock(self._offset(), self.random.uniform(-1e-4, 1e-4))
        disk = SlowDisk(Random(self.random.random()), self.plan.disk)
        return Host(self.timeline, name, self.plan.mode, disk, clock, Cost(), is_joint=True)

    def _offset(self) -> float:
        return self.random.uniform(-self.plan.skew, self.plan.skew)

    def _cable(self, number: int) -> Cable:
        ends = self.hosts[number + 1], self.hosts[self.plan.links[number]]
        dialler, acceptor = ends if self.plan.dials[number] else ends[::-1]
        cable = Cable(dialler, acceptor, self.road(), self.road())
        cable.begin(self.random.uniform(0.0, 0.1))
        return cable


class _Restart(Event):
    def __init__(self, world: World, host: Host) -> None:
        self.world = world
        self.host = host
        self.life = host.life

    def fire(self, now: float) -> None:
        if self.host.life == self.life:
            self.world.restart(self.host)


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
