"""A small mesh as a plan describes it, and the trouble that the plan makes.

Links deliver in pieces, and watch that no message crosses them twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil
from random import Random
from typing import Final

from gossamer.broker.retained_stamps import STAMP_PROPERTY
from gossamer.mesh.aggregates.values import COUNTING_MODES
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.session.link_properties import without_name
from gossamer.session.message_names import NAME_BYTES, single_names
from gossamer.sim.cable import Cable
from gossamer.sim.host import Disk, HostClock, SimulatedHost, SlowDisk, WorkCost
from gossamer.sim.network import End, Road
from gossamer.sim.timeline import Timeline
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import PUBLISH
from gossamer_lab.trials.oracle import Oracle
from gossamer_lab.trials.plan import CALM, MOVE, WALK, TrialPlan, TrialStep, is_firm
from gossamer_lab.trials.trial_client import Deferred, Sending, TrialClient, losing
from gossamer_lab.trials.windows import TICK

# Virtual seconds after which a mesh that was healed must be at rest.
REST_SECONDS: Final = 60.0
REST_STEP: Final = 0.37  # in no step with anybody's heartbeats
FLAPS: Final = 4
# Time to notice that a connection is gone: at once, soon, or by the silence.
NOTICE_SECONDS: Final = (0.0, 0.0, 0.1, 1.0)
# That clocks drift apart in a trial, and a moment.
CLOCKS_SECONDS: Final = 0.1
# Longer than any trouble: a client that moves and waits gets its session, never another one.
ROAMING_SECONDS: Final = 300.0


class World:
    """Everything of one trial."""

    def __init__(self, plan: TrialPlan, keeps_trace: bool = False) -> None:
        self.plan = plan
        self.random = Random(plan.seed)
        self.timeline = Timeline()
        self.lines: list[str] = []
        self._keeps_trace = keeps_trace
        group, members = (plan.group, plan.members) if plan.is_roaming else ("", [])
        names = [client.name for client in plan.clients]
        self.oracle = Oracle(names, self.trace, self._is_ordered, group, members)
        self.hosts = [self._host(f"b{number}") for number in range(plan.brokers)]
        self._expect_windows()
        self.cables = [self._cable(*link) for link in plan.links]
        self.left: set[SimulatedHost] = set()  # brokers that are down until they join again
        self._firm: dict[tuple[int, int], bool] = {}
        self._changes = -1  # of the tree, when the mesh was last at rest
        self.clients: dict[str, TrialClient] = {}
        for each in plan.clients:
            host = self.hosts[each.broker]
            client = TrialClient(
                *(host, each, self.road(), self.road(), self.oracle, self.random),
                walks=each.name in plan.walkers,
            )
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

    def _line(self, is_compressed: bool = False) -> Road:
        """One direction of a link between brokers; what is compressed cannot be watched."""
        road = self.road()
        if not is_compressed:
            road.watch = RoadWatch(self.oracle.fault)
        return road

    def do(self, step: TrialStep) -> None:
        """One step of the plan, now."""
        if step.what in self.clients:
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
                self._later(turn * 0.3, partial(self.cut, self.cables[number], 0.05))
        elif step.verb == "crash":
            self.crash(self.hosts[number], step.seconds)
        elif step.verb == "cut":
            self.cut(self.cables[number], step.seconds)
        elif step.verb == "stall":
            self.trace(f"the link {number} stalls for {step.seconds} s")
            for road in (self.cables[number].there, self.cables[number].back):
                road.stalled_until = self.timeline.now + step.seconds

    def _client_does(self, client: TrialClient, step: TrialStep) -> None:
        where = [(name, text) for name, text in step.where]
        if step.verb == "subscribe":
            client.subscribe(step.topic, step.qos, where)
        elif step.verb == "unsubscribe":
            client.unsubscribe(step.topic)
        elif step.verb in ("publish", "burst"):
            burst = step.burst or str(step.qos)
            templates = tuple(step.payloads) or ("",)
            client.publish(Sending(step.topic, burst, step.retain, templates, tuple(where)))
        elif step.verb == WALK:
            client.walk(step.topic)
        elif step.verb == "clear":
            client.clear(step.topic)
        elif step.verb == MOVE:
            self._move(client, self.hosts[int(step.topic)])
        else:
            client.drop()

    def _move(self, client: TrialClient, host: SimulatedHost) -> None:
        """Its old broker may hear of it or not."""
        if host is client.host:
            return
        self.oracle.moved(client.name, host.name)
        if client.end is not None:
            if self.random.random() < 0.5:
                client.drop()
            else:
                client.end.is_open = False
                client.lost()
        client.host = host

    def switch(self, host: SimulatedHost, mode: str) -> None:
        """An operator's decision, on one broker."""
        if host.is_up:
            self.trace(f"{host.name} decides for mode {mode}")
            host.mesh.mode_switch.decide(mode, host.clock.at(self.timeline.now))
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
            if client.host is host:
                self.oracle.forgets(client.name)
            end = client.end
            if client.host is host and end is not None and end.is_open:
                end.is_open = False
                self._later(self.random.choice(NOTICE_SECONDS), partial(self._missed, client, end))
        self._lose_power(host)
        self._later(seconds, partial(self._come_back, host, host.life))

    def _lose_power(self, host: SimulatedHost) -> None:
        disk = host.disk
        assert isinstance(disk, SlowDisk)
        disk.lose_power()

    def _missed(self, client: TrialClient, end: End) -> None:
        """The client notices that its connection is gone, if it has no other by now."""
        if client.end is end:
            client.lost()

    def _come_back(self, host: SimulatedHost, life: int) -> None:
        if host.life == life:
            self.restart(host)

    def restart(self, host: SimulatedHost) -> None:
        if not host.is_up and host not in self.left:
            self.trace(f"{host.name} starts")
            host.clock.offset = self._offset()
            host.start(self.timeline.now)

    def cut(self, cable: Cable, seconds: float) -> None:
        self.trace(f"{cable.dialler.name} - {cable.acceptor.name} is cut for {seconds} s")
        cable.is_cut = True
        self._break(cable)
        self._later(seconds, partial(self._mend, cable))

    def _mend(self, cable: Cable) -> None:
        cable.is_cut = False

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
                delay = self.random.choice(NOTICE_SECONDS)
                self.timeline.add(self.timeline.now + delay, losing(end, host))

    def _later(self, seconds: float, function: Callable[[], None]) -> None:
        self.timeline.add(self.timeline.now + seconds, Deferred(function))

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
            if not host.mesh.tree_links.agreement.is_settled:
                found.append(f"{host.name} is not settled")
            for session in host.broker.core.sessions.values():
                if session.outbox is not None and (session.in_flight() or session.queue):
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
        ends = self._place(publisher), self._place(reader)
        if ends not in self._firm:
            self._firm[ends] = is_firm(self.plan.links, *ends)
        return self._firm[ends]

    def _place(self, client: str) -> int:
        """The number of its broker."""
        return self.hosts.index(self.clients[client].host)

    def _tree_changes(self) -> int:
        """A number that stays while nobody's part of the tree changes and nobody restarts."""
        changes = sum(host.mesh.tree_links.changes for host in self.hosts)
        return changes + 1_000_000 * sum(host.life for host in self.hosts)

    def _expect_windows(self) -> None:
        plan = self.plan
        windows = self.oracle.windows
        windows.whereabouts = self._whereabouts
        values = self.oracle.values
        values.now = lambda: self.timeline.now
        values.slack = 2 * plan.skew + CLOCKS_SECONDS
        values.is_partial = plan.mode in COUNTING_MODES
        windows.brokers = plan.brokers
        windows.slack = ceil(2 * plan.skew / TICK.seconds) + 1 if plan.skew else 0
        windows.is_partial = plan.mode in COUNTING_MODES
        verbs = {step.verb for steps in plan.rounds for step in steps}
        windows.is_calm = not plan.skew and not plan.loss and verbs <= CALM

    def _whereabouts(self, client: str) -> tuple[str, float]:
        """The broker of a client, and what its clock shows."""
        host = self.clients[client].host
        return host.name, host.clock.at(self.timeline.now)

    # Parts ----------------------------------------------------------------------------------------

    def _host(self, name: str) -> SimulatedHost:
        clock = HostClock(self._offset(), self.random.uniform(-1e-4, 1e-4))
        host = SimulatedHost(
            *(self.timeline, name, self.plan.mode, self._disk(name), clock, WorkCost()),
            is_joint=True,
            windows=(*DEFAULT_WINDOWS, TICK),
        )
        if self.plan.has_windows:
            # Few publications: brokers would choose to send each by itself.
            host.aggregates = "partial"
            host.mesh.settings.aggregates = "partial"
        if self.plan.is_roaming:
            host.roaming_seconds = ROAMING_SECONDS
            host.mesh.settings.roaming_seconds = ROAMING_SECONDS
        return host

    def _disk(self, host: str) -> Disk:
        """A new one, of this host."""
        return SlowDisk(Random(self.random.random()), self.plan.disk)

    def _offset(self) -> float:
        return self.random.uniform(-self.plan.skew, self.plan.skew)

    def _cable(self, dialler: int, acceptor: int) -> Cable:
        hosts = (self.hosts[dialler], self.hosts[acceptor])
        compresses = self.plan.is_compressed and (dialler + acceptor) % 3 != 0
        cable = Cable(*hosts, self._line(compresses), self._line(compresses), compresses)
        cable.begin(self.random.uniform(0.0, 0.1))
        return cable


class RoadWatch:
    """No message crosses a link twice in one direction, but when a broken link is resumed. What
    is retained is told again where it is missing."""

    def __init__(self, fault: Callable[[str], None]) -> None:
        self._fault = fault
        self._end: End | None = None
        self._crossed: set[bytes] = set()

    def see(self, end: End, data: bytes) -> None:
        """Whole packets on their way to an end; an end belongs to one connection."""
        if end is not self._end:
            self._end = end
            self._crossed = set()
        position = 0
        while position < len(data):
            body = position + header_length(data, position)
            stop = position + packet_length(data, position)
            if data[position] >> 4 == PUBLISH:
                self._see_publish(data[position], data[body:stop])
            position = stop

    def _see_publish(self, head: int, body: bytes) -> None:
        after_topic = 2 + int.from_bytes(body[:2], "big")
        name, _ = without_name(body, after_topic + (2 if head & 0x06 else 0))
        stamp = body.find(STAMP_PROPERTY.encode())
        if stamp >= 0 and body[stamp + len(STAMP_PROPERTY) + 2 :].startswith(b"r;"):
            return
        for one in single_names(name) if name else ():
            if one[:NAME_BYTES] in self._crossed:
                self._fault(f"a message on {body[2:after_topic].decode()} crossed a link twice")
            self._crossed.add(one[:NAME_BYTES])


class RoughRoad(Road):
    """Delivers in pieces, each in its own time."""

    def __init__(self, latency: float) -> None:
        super().__init__(latency)
        self.watch: RoadWatch | None = None

    def carry(
        self, end: End, data: bytes, leaves: float, publications: int, interests: int
    ) -> None:
        if self.watch is not None:
            self.watch.see(end, data)
        super().carry(end, data, leaves, publications, interests)

    def deliver(self, end: End, data: bytes, at: float, publications: int, interests: int) -> None:
        while len(data) > 1 and self.random.random() < 0.2:
            size = self.random.randrange(1, len(data))
            super().deliver(end, data[:size], at, 0, 0)
            data = data[size:]
            at += self.random.uniform(0.0, 0.01)
        super().deliver(end, data, at, publications, interests)
