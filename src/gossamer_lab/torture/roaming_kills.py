"""Sessions that follow their clients among real brokers, of which some are killed at every move.

Rovers subscribe to all streams, publish one of their own at QoS 2, and go from broker to broker;
sometimes the connection to the old one is left open. At each move the old broker, the new one, both
or another one is killed: at first spread over the time that moves take, so that with enough of them
a kill falls between any two steps of `mesh/roaming/transfer.py`, and now and then later, while the
old broker still passes on what comes for the session.

Nothing acknowledged may be missing at a rover or at a reader that stays, nothing may come twice at
QoS 2, no session may vanish. Rovers also take up and give up a filter: what is published after the
answer to an UNSUBSCRIBE must never come.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from gossamer.client.protocol import ClientProtocol
from gossamer.net.local.broker import LocalBroker, LocalMeshError
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer.wire.packets import (
    Acknowledgement,
    Connack,
    Packet,
    Publish,
    Request,
    Suback,
    Unsuback,
)
from gossamer_lab.torture.clients import PREFIX, TortureLink, TortureSubscriber
from gossamer_lab.torture.last_look import complaints
from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey
from gossamer_lab.torture.load import TortureLoad, end_tasks, meet

# A move waits until a broker that was killed is back; one that takes longer has lost the session.
MOVE_SECONDS: Final = 120.0
AGREEMENT_SECONDS: Final = 180.0
# Longer than any broker is down: a client that waits gets its session, never another one.
ROAMING_SECONDS: Final = 60.0
# What moves take before any was measured.
_FIRST_GUESS: Final = 0.1
_DOWN_SECONDS: Final = (0.0, 0.0, 0.3, 1.0)
_LATE_SECONDS: Final = 3.0
_SPARED: Final = 6  # of so many moves, the first is without a kill
_SIDE: Final = "side/"
_SIDE_FILTER: Final = _SIDE + "#"
_RATE: Final = 10.0  # messages a second of each stream
_SIDE_RATE: Final = 5.0
_WINDOW: Final = 10  # publications of a rover that may wait for their acknowledgement


@dataclass(frozen=True)
class RoamingPlan:
    moves: int = 100
    seed: int = 1
    mode: str = "ssf"
    brokers: int = 3
    topology: str = "ring"
    rovers: int = 3


@dataclass(frozen=True)
class RoamingOutcome:
    moves: int
    kills: dict[str, int]  # by what the victim was in the move
    acknowledged: int
    received: int
    repeated: int
    ended: int  # filters that were given up
    seconds: float
    faults: list[str]


async def torture(plan: RoamingPlan, folder: Path, moved: Callable[[int], None]) -> RoamingOutcome:
    """Run the plan with brokers in `folder`; `moved` hears the number of each move."""
    return await _RoamingRun(plan, folder, moved).outcome()


class SideStream:
    """Publishes beside the streams of the ledger, at QoS 1 and 2 in turn, for ever."""

    def __init__(self, port: int, name: str, ledger: DeliveryLedger) -> None:
        self.name = name
        self.sent = 0
        self.link = TortureLink(port, f"side-{name}", ledger, lambda packet: None)

    async def send(self) -> None:
        protocol: ClientProtocol = self.link.protocol
        while True:
            if protocol.connected and protocol.unacknowledged < _WINDOW:
                self.sent += 1
                payload = MessageKey(self.name, self.sent).payload(20)
                protocol.publish(_SIDE + self.name, payload, 1 + self.sent % 2)
                self.link.flush()
            await asyncio.sleep(1.0 / _SIDE_RATE)


class Rover(TortureSubscriber):
    """A client whose session follows it."""

    def __init__(
        self,
        port: int,
        name: str,
        ledger: DeliveryLedger,
        seed: int,
        sides: Sequence[SideStream],
    ) -> None:
        super().__init__(port, name, ledger, seed)
        self.link.may_wait = True
        self.welcome = asyncio.Event()  # since it was told to move
        self.ended = 0
        self._sides = sides
        self._in_flight: dict[int, MessageKey] = {}
        self._is_stopping = False
        # What it wants of the side streams, what it asked for and is not answered yet, and, once it
        # has none of them any more, how far each had come then.
        self._wants_side = False
        self._asked = 0
        self._last: dict[str, int] | None = {side.name: 0 for side in sides}
        self._had: set[MessageKey] = set()  # of the side streams at QoS 2

    @property
    def finished(self) -> bool:
        return self._is_stopping and not self._in_flight and not self._asked

    def move(self, port: int, leaves_open: bool) -> None:
        self.welcome.clear()
        self.link.move(port, leaves_open)

    def stop_sending(self) -> None:
        self._is_stopping = True

    def change_mind(self) -> None:
        """Takes up the side streams, or gives them up."""
        if self._asked:
            return
        self._wants_side = not self._wants_side
        self._ask()

    async def send(self) -> None:
        protocol = self.link.protocol
        stream = f"of-{self.link.client_id}"
        while not self._is_stopping:
            if protocol.connected and len(self._in_flight) < _WINDOW:
                key = self._ledger.next_key(stream)
                packet_id = protocol.publish(PREFIX + stream, key.payload(100), 2)
                self._in_flight[packet_id] = key
                self.link.flush()
            await asyncio.sleep(1.0 / _RATE)

    def _ask(self) -> None:
        protocol = self.link.protocol
        if not protocol.connected:
            self._asked = -1  # when it is back
        elif self._wants_side:
            self._last = None
            self._asked = protocol.subscribe([Request(_SIDE_FILTER, 2)])
        else:
            self._asked = protocol.unsubscribe([_SIDE_FILTER])
        self.link.flush()

    def _seen(self, packet: Packet) -> None:
        if isinstance(packet, Publish) and packet.topic.startswith(_SIDE):
            self._note_side(MessageKey.of(packet.payload), packet.qos)
            return
        if isinstance(packet, Acknowledgement):
            key = self._in_flight.pop(packet.packet_id, None)
            if key is not None:
                self._ledger.note_acknowledged(key)
            return
        super()._seen(packet)
        if isinstance(packet, Connack) and not packet.reason:
            self.welcome.set()
            if self._asked:
                self._ask()
        elif isinstance(packet, Suback | Unsuback) and packet.packet_id == self._asked:
            self._asked = 0
            if not self._wants_side:
                self._last = {side.name: side.sent for side in self._sides}
                self.ended += 1

    def _note_side(self, key: MessageKey, qos: int) -> None:
        what = f"{self.link.client_id} got {key.stream}:{key.number} on the side"
        if self._last is not None and key.number > self._last[key.stream]:
            self._ledger.fault(f"{what}, published after it had unsubscribed")
        if qos == 2 and key in self._had:
            self._ledger.fault(f"{what} twice at QoS 2")
        self._had.add(key)


class _RoamingRun:
    def __init__(self, plan: RoamingPlan, folder: Path, moved: Callable[[int], None]) -> None:
        self.plan = plan
        self.moved = moved
        self.random = Random(plan.seed)
        self.mesh = LocalMesh(
            folder,
            LocalMeshPlan(
                plan.brokers,
                plan.topology,
                plan.mode,
                memory=False,
                roaming_seconds=ROAMING_SECONDS,
            ),
        )
        brokers = self.mesh.brokers
        names = [f"rover-{number}" for number in range(plan.rovers)]
        staying = [f"reader-{broker.name}" for broker in brokers]
        # More than one way leads through a ring: the order is for the simulator to judge.
        self.ledger = DeliveryLedger([*names, *staying], is_ordered=False)
        self.load = TortureLoad(
            self.ledger,
            self.random,
            readers=[(b.port, name) for b, name in zip(brokers, staying, strict=True)],
            streams=[(b.port, f"{b.name}-q{qos}", qos) for b in brokers for qos in (1, 2)],
            sessions=[],
            topics=[],
            rate=_RATE,
        )
        self.sides = [SideStream(b.port, b.name, self.ledger) for b in brokers]
        self.rovers = [
            Rover(brokers[0].port, name, self.ledger, self.random.getrandbits(32), self.sides)
            for name in names
        ]
        self.places = {rover: brokers[0] for rover in self.rovers}
        self.usual = _FIRST_GUESS
        self.kills: dict[str, int] = {}
        self.moves = 0

    async def outcome(self) -> RoamingOutcome:
        started = time.monotonic()
        try:
            with self.mesh:
                await asyncio.to_thread(self.mesh.start)
                await self._under_load()
        except (LocalMeshError, TimeoutError, OSError) as error:
            self.ledger.fault(str(error) or "the messages did not settle in time")
        self.ledger.close()
        self.ledger.faults += complaints(self.mesh.brokers)
        return RoamingOutcome(
            self.moves,
            self.kills,
            self.ledger.all_acknowledged,
            self.ledger.received,
            self.ledger.repeated,
            sum(rover.ended for rover in self.rovers),
            time.monotonic() - started,
            self.ledger.faults,
        )

    async def _under_load(self) -> None:
        everybody: list[TortureSubscriber] = [*self.rovers, *self.load.readers]
        tasks = [asyncio.ensure_future(one.link.run()) for one in everybody]
        try:
            async with asyncio.timeout(AGREEMENT_SECONDS):
                await meet(everybody, self.mesh.brokers)
            parts = [
                *self.load.publishing(),
                *(rover.send() for rover in self.rovers),
                *(part for side in self.sides for part in (side.link.run(), side.send())),
            ]
            tasks += map(asyncio.ensure_future, parts)
            while self.moves < self.plan.moves:
                await self._move_some()
                self.moved(self.moves)
            await asyncio.to_thread(self.mesh.wait)
            for rover in self.rovers:
                rover.stop_sending()
            async with asyncio.timeout(AGREEMENT_SECONDS):
                await self.load.settle([])
                while not all(rover.finished for rover in self.rovers):
                    await asyncio.sleep(0.05)
                await self.load.settle([])
        finally:
            await end_tasks(tasks)

    async def _move_some(self) -> None:
        """One rover or two at once, and brokers that are killed meanwhile."""
        chosen = self.random.sample(self.rovers, self.random.choice((1, 1, 2)))
        chosen = chosen[: self.plan.moves - self.moves]
        old = self.places[chosen[0]]
        for rover in chosen:
            others = [broker for broker in self.mesh.brokers if broker is not self.places[rover]]
            self.places[rover] = self.random.choice(others)
        new = self.places[chosen[0]]
        spared = self.moves % _SPARED < len(chosen)  # to know how long moves take
        what, victims = ("nobody", []) if spared else self._victims(old, new)
        delay = 0.0 if spared else self._delay()
        began = time.monotonic()
        if delay < 0.0:
            await self._kill(victims)
            await asyncio.sleep(-delay)
        for rover in chosen:
            rover.move(self.places[rover].port, self.random.random() < 0.5)
        if delay >= 0.0:
            await asyncio.sleep(delay)
            await self._kill(victims)
        if victims:
            await asyncio.sleep(self.random.choice(_DOWN_SECONDS))
        for broker in victims:
            broker.start()
        async with asyncio.timeout(MOVE_SECONDS):
            for rover in chosen:
                await rover.welcome.wait()
        for rover in chosen:
            if self.random.random() < 0.7:
                rover.change_mind()
        self.moves += len(chosen)
        self.kills[what] = self.kills.get(what, 0) + len(victims)
        if spared:
            self.usual += 0.3 * (time.monotonic() - began - self.usual)

    def _victims(self, old: LocalBroker, new: LocalBroker) -> tuple[str, list[LocalBroker]]:
        others = [broker for broker in self.mesh.brokers if broker not in (old, new)]
        what = self.random.choice(("old", "old", "new", "new", "both", "another"))
        return what, {
            "old": [old],
            "new": [new],
            "both": [old, new],
            "another": others[:1],
        }[what]

    def _delay(self) -> float:
        """From the move to the kill; below nothing if the kill comes first."""
        if self.random.random() < 0.1:
            return self.random.uniform(0.0, _LATE_SECONDS)
        return self.random.uniform(-0.1, 1.6) * self.usual

    async def _kill(self, victims: Sequence[LocalBroker]) -> None:
        for broker in victims:
            broker.check()
        await asyncio.gather(*(asyncio.to_thread(broker.kill) for broker in victims))
