"""Sessions that are made, discarded and subscribed at random: none may vanish or come back.

A client that got no answer before the broker was killed does not know which side of the change it
is on. So for each session the set of states that it may be in is kept; an answer narrows it.
"""

import asyncio
import random
from typing import Final, NamedTuple

from gossamer.net.client import Client
from gossamer_lab.torture.ledger import DeliveryLedger
from gossamer_lab.torture.link import NEVER, lasting

_QOS: Final = 1
_PROBE_SECONDS: Final = 30.0


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
        got_it = await self._gets_something(client)
        await client.disconnect()
        if State(True, got_it) not in self._possible:
            what = "came back" if got_it else "vanished"
            self._ledger.fault(f"the subscription of {self._client_id} {what}")

    async def _gets_something(self, client: Client) -> bool:
        """What the broker had for this client is there before the answer to a later request."""
        await client.unsubscribe("churn/nothing")
        incoming_sessions = client.messages()
        try:
            async with asyncio.timeout(0.0):
                await anext(incoming_sessions)
        except TimeoutError:
            return False
        return True


def _after_connect(state: State, clean: bool, expiry: int) -> State:
    if expiry == 0:
        return GONE
    return EMPTY if clean or not state.exists else state
