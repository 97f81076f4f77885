"""Clients that come and go and use everything once: sessions, subscriptions, wills, retained
messages, shared groups, operators, places.

Nothing is demanded of what they get; they are there so that every table of a broker is filled and
emptied again. Names come from pools, so that caches fill to a known size and stay there; a few are
new each time, as strangers' are.
"""

import asyncio
import random
from typing import Final

from gossamer.net.client import Client
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, V311, Request, Will
from gossamer.wire.properties import Properties
from gossamer_lab.torture.ledger import DeliveryLedger

NAMES: Final = 300  # of clients
ROOMS: Final = 40
RETAINED: Final = 200
NEW_SHARE: Final = 0.05  # of names and topics that were never there before

# Sessions outlive their clients by so many seconds at most: what is left behind comes to an end.
LONGEST_EXPIRY: Final = 5
LONGEST_VISIT: Final = 1.5

FILTERS: Final = (
    "site/+/temp",
    "site/#",
    "+/+/temp",
    "site/room1/+",
    "visit/retained/#",
    "$share/crew/site/#",
    "$share/crew/site/+/temp",
    "$SYS/broker/#",
)
OPERATORS: Final = (
    "$GT;20/site/+/temp",
    "$AVG/site/+/temp",
    "$COUNT/site/#",
    "$MAX;RPT/site/+/temp",
    "$GT;10$SUM$HOURLYAVG/site/+/temp",
    "$LT;15$DAILYMIN/site/+/temp",
)
PLACES: Final = ("43.72;10.40", "59.91;10.75", "-33.86;151.21", "0.0;179.99")
AREAS: Final = (
    ("gpl_circleStatic", "1;km;1;43.72;10.40;5"),
    ("gpl_circleStatic", "2;km;1;59.91;10.75;900"),
    ("gpl_circleDynamic", "3;km;1;50"),
)


class Visitors:
    """`urls` are the brokers'; each visit is at one of them."""

    def __init__(self, urls: list[str], ledger: DeliveryLedger, seed: int) -> None:
        self.visits = 0
        self.refused = 0  # or broken off; both may be while links are cut
        self._urls = urls
        self._ledger = ledger
        self._random = random.Random(seed)
        self._strangers = 0

    async def keep_coming(self) -> None:
        while True:
            try:
                async with asyncio.timeout(60.0):
                    await self._visit()
            except (OSError, TimeoutError):
                self.refused += 1
            except ProtocolError as error:
                self._ledger.fault(f"a visitor was sent something wrong: {error.text}")
            self.visits += 1
            await asyncio.sleep(self._random.random() * 0.2)

    async def _visit(self) -> None:
        chance = self._random
        version = chance.choice((V311, V5, V5))
        client = Client(
            chance.choice(self._urls),
            self._name(),
            version=version,
            # In 3.1.1 a session that is not clean would stay for weeks.
            clean_start=version == V311 or chance.random() < 0.5,
            will=self._will(),
            properties=self._greeting() if version == V5 else None,
        )
        await client.connect()
        reading = asyncio.ensure_future(_read(client))
        try:
            for _ in range(chance.randint(1, 4)):
                await chance.choice((self._subscribe, self._publish, self._publish))(
                    client, version
                )
            await asyncio.sleep(chance.random() * LONGEST_VISIT)
        finally:
            if chance.random() < 0.3:
                client.abort()
            else:
                await client.disconnect()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _subscribe(self, client: Client, version: int) -> None:
        chance = self._random
        filter = chance.choice(FILTERS + OPERATORS)
        properties = None
        if version == V5 and chance.random() < 0.3:
            filter, properties = "site/#", _with(chance.choice(AREAS))
        await client.subscribe(Request(filter, chance.randint(0, 2)), properties=properties)
        if chance.random() < 0.5:
            await client.unsubscribe(filter)

    async def _publish(self, client: Client, version: int) -> None:
        chance = self._random
        topic, payload, retain = self._topic(), b"%d" % chance.randint(0, 40), False
        if chance.random() < 0.2:
            topic, retain = f"visit/retained/{chance.randrange(RETAINED)}", True
            payload = chance.choice((b"", payload * chance.randint(1, 500)))
        properties = None
        if version == V5 and chance.random() < 0.3:
            properties = _with(("gpl_current_pos", chance.choice(PLACES)))
            properties.message_expiry = chance.randint(1, 60)
        await client.publish(topic, payload, chance.randint(0, 2), retain, properties)

    def _name(self) -> str:
        if self._random.random() < NEW_SHARE:
            self._strangers += 1
            return f"stranger-{self._strangers}"
        return f"visitor-{self._random.randrange(NAMES)}"

    def _topic(self) -> str:
        if self._random.random() < NEW_SHARE:
            # Not where operators look: they keep the last value of each topic for an hour.
            self._strangers += 1
            return f"stray/{self._strangers}/temp"
        return f"site/room{self._random.randrange(ROOMS)}/temp"

    def _will(self) -> Will | None:
        if self._random.random() < 0.3:
            return Will("site/gone/temp", b"0", self._random.randint(0, 2))
        return None

    def _greeting(self) -> Properties:
        properties = Properties()
        properties.session_expiry = self._random.randint(0, LONGEST_EXPIRY)
        if self._random.random() < 0.3:
            properties.user = [("gpl_current_pos", self._random.choice(PLACES))]
        return properties


def _with(pair: tuple[str, str]) -> Properties:
    properties = Properties()
    properties.user = [pair]
    return properties


async def _read(client: Client) -> None:
    async for _ in client.messages():
        pass
