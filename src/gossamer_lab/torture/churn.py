"""State that changes all the time: sessions and retained messages. None may vanish or come back.

A client that got no answer before the broker was killed does not know which side of the change it
is on. So for each session and each retained topic the set of states that it may be in is kept; an
answer narrows it.
"""

import asyncio
import random
import time
from typing import Final, NamedTuple

from gossamer.net.client import Client
from gossamer.wire.packets import Publish
from gossamer_lab.torture.clients import NEVER, lasting
from gossamer_lab.torture.ledger import DeliveryLedger

_QOS: Final = 1
_PROBE_SECONDS: Final = 30.0
_RETAINED: Final = "retained/"
_REMOVED: Final = 0  # the version of a retained message that is not there


class State(NamedTuple):
    exists: bool
    subscribed: bool


GONE: Final = State(False, False)
EMPTY: Final = State(True, False)
SUBSCRIBED: Final = State(True, True)


class ChurningSession:
    """One client id and what its session may be."""

    def __init__(self, url: str, client_id: str, ledger: DeliveryLedger, seed: int) -> None:
        self._url = url
        self._client_id = client_id
        self._topic = f"churn/{client_id}"
        self._ledger = ledger
        self._random = random.Random(seed)
        self._possible: set[State] = {GONE}

    async def churn(self) -> None:
        while True:
            try:
                await self._visit()
            except (OSError, TimeoutError):
                await asyncio.sleep(0.02)
            await asyncio.sleep(self._random.random() * 0.05)

    async def _visit(self) -> None:
        """One connection with some change of mind."""
        if self._random.random() < 0.2:
            client = await self._connect(clean=True, expiry=0)
            await client.disconnect()
            return
        client = await self._connect(clean=self._random.random() < 0.2, expiry=NEVER)
        for _ in range(self._random.randrange(3)):
            await self._change_mind(client)
        if self._random.random() < 0.2:
            self._possible.add(GONE)
            await client.disconnect(properties=lasting(0))
        else:
            await client.disconnect()

    async def _connect(self, clean: bool, expiry: int) -> Client:
        client = Client(
            self._url, self._client_id, clean_start=clean, properties=lasting(expiry), keep_alive=0
        )
        before = self._possible
        after = {_after_connect(state, clean, expiry) for state in before}
        self._possible = before | after  # until the answer comes
        present = (await client.connect()).session_present
        if not clean:
            before = {state for state in before if state.exists == present}
            if not before:
                what = "came back" if present else "vanished"
                self._ledger.fault(f"the session of {self._client_id} {what}")
                before = {EMPTY, SUBSCRIBED} if present else {GONE}
        self._possible = {_after_connect(state, clean, expiry) for state in before}
        return client

    async def _change_mind(self, client: Client) -> None:
        wanted = self._random.choice((EMPTY, SUBSCRIBED))
        self._possible = self._possible | {wanted}
        if wanted.subscribed:
            await client.subscribe(self._topic, qos=_QOS)
        else:
            await client.unsubscribe(self._topic)
        self._possible = {wanted}

    async def verify(self) -> None:
        """After the last restart: does the session get what its state says?"""
        client = await self._connect(clean=False, expiry=NEVER)
        async with Client(self._url) as probe, asyncio.timeout(_PROBE_SECONDS):
            await probe.publish(self._topic, b"probe", qos=_QOS)
        got_it = bool(await _received(client))
        await client.disconnect()
        if State(True, got_it) not in self._possible:
            what = "came back" if got_it else "vanished"
            self._ledger.fault(f"the subscription of {self._client_id} {what}")


def _after_connect(state: State, clean: bool, expiry: int) -> State:
    if expiry == 0:
        return GONE
    return EMPTY if clean or not state.exists else state


class RetainedTopic:
    """One topic with one writer; `possible` are the versions that may be retained now."""

    def __init__(self, url: str, name: str, ledger: DeliveryLedger, seed: int) -> None:
        self.topic = _RETAINED + name
        self.possible: set[int] = {_REMOVED}
        self._url = url
        self._ledger = ledger
        self._random = random.Random(seed)
        self._version = 0

    async def keep_writing(self) -> None:
        while True:
            try:
                async with Client(self._url, keep_alive=0) as client:
                    while True:
                        await self._write(client)
                        await asyncio.sleep(self._random.random() * 0.02)
            except (OSError, TimeoutError):
                await asyncio.sleep(0.02)

    async def _write(self, client: Client) -> None:
        self._version += 1
        removes = self._random.random() < 0.2
        version = _REMOVED if removes else self._version
        payload = b"" if removes else b"%d" % version
        self.possible = self.possible | {version}
        await client.publish(self.topic, payload, qos=self._random.choice((1, 2)), retain=True)
        self.possible = {version}

    def check(self, found: int) -> None:
        if found not in self.possible:
            self._ledger.fault(
                f"{self.topic} retains version {found} instead of {sorted(self.possible)}"
            )


async def verify_retained(url: str, topics: list[RetainedTopic], seconds: float = 0.0) -> None:
    """Read every retained message and hold it against what may be there; in a mesh news of the
    last ones may need some `seconds`."""
    deadline = time.monotonic() + seconds
    found = await _found(url)
    while time.monotonic() < deadline and not all(
        found.get(topic.topic, _REMOVED) in topic.possible for topic in topics
    ):
        await asyncio.sleep(0.1)
        found = await _found(url)
    for topic in topics:
        topic.check(found.get(topic.topic, _REMOVED))


async def _found(url: str) -> dict[str, int]:
    """The versions that are retained there, by topic."""
    async with Client(url) as client:
        await client.subscribe(_RETAINED + "#", qos=0)
        return {message.topic: int(message.payload) for message in await _received(client)}


async def _received(client: Client) -> list[Publish]:
    """What the broker has for this client now: it is there before the answer to a later request."""
    await client.unsubscribe("nothing")
    found: list[Publish] = []
    try:
        async with asyncio.timeout(0.0):
            async for message in client.messages():
                found.append(message)
    except TimeoutError:
        pass
    return found
