"""Inputs from chance: packets with every field at its limits, and what mutation makes of them.

Every field that has a length takes the lengths at which something changes (empty, one, where a
length byte is added, the longest but one, the longest), with letters of one to four bytes. A part
of all inputs is then cut, spliced, overwritten or repeated.
"""

from random import Random
from typing import Final

from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    AUTH,
    CONNECT,
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBSCRIBE,
    UNSUBSCRIBE,
    V5,
    V311,
    Acknowledgement,
    Auth,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Publish,
    Request,
    Subscribe,
    Unsubscribe,
    Will,
)
from gossamer.wire.properties import Properties
from gossamer.wire.property_table import BINARY, ROWS_IN, TEXT, TEXT_PAIR, VARINT, WILL

METHOD: Final = "FUZZ"
KINDS: Final = (
    *(CONNECT, PUBLISH, PUBLISH, PUBLISH, SUBSCRIBE, SUBSCRIBE, UNSUBSCRIBE),
    *(AUTH, PUBACK, DISCONNECT),
)
SMALL: Final = (0, 1, 2, 10, 127, 128, 300)
LARGE: Final = (16_383, 16_384, 65_520, 65_530, 65_534, 65_535)
LETTERS: Final = ("x", "é", "€", "𝄞", "/", "$", "+", " ")
# How names and filters begin that mean something to some part of the broker.
BEGINNINGS: Final = (
    "",
    "a/b",
    "a/+",
    "#",
    "+/#",
    "/",
    "position",
    "$SYS/",
    "$SYS/#",
    "$GEO/enter/",
    "$gossamer/",
    "$gossamer/offload/answer",
    "$mesh/",
    "$stock/",
    "$share/g/",
    "$share//",
    "$share/g/$AVG/a/",
    "$AVG/a/+/",
    "$AVG;RPT/a/+/",
    "$SUM$DAILYAVG/a/#",
    "$HOURLYCOUNT/a/",
    "$GT;5/a/",
    "$GT;%2/",
    "$NOSUCH/a",
    "$AVG/a;b;c/",
)
TOPICS: Final = ("a/b", "a", "a/b/c", "/", "b/b", "position", "good", "$odd/a")
ENTRIES: Final = (
    ("plus_every", "1"),
    ("plus_reply", "rpt"),
    ("plus_ttl", "2030-01-01T00:00:00Z"),
    ("plus_ttl", "soon"),
    ("gpl_current_pos", "10;20"),
    ("gpl_ping", "1"),
    ("gpl_circleStatic", "1;km;1;10;20;5"),
    ("gpl_circleDynamic", "2;m;0;50"),
    ("gpl_rectangleDynamic", "3;m;1;50;60"),
    ("gpl_lineStart", "4;m;1;10;20;5"),
    ("gpl_lineEnd", "4;m;1;11;21"),
    ("gpl_polygonStatic", "5;m;1;10;20;11;20;11;21"),
    (
        "gpl_geojson",
        '6;m;1;{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}',
    ),
    ("gpl_events", "enter,exit,dwell"),
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("gossamer-stamp", "l;1;b"),
)
NUMBERS: Final = (0, 1, 2, 127, 128, 255, 256, 65_534, 65_535, 65_536, 0x7FFFFFFF, 0xFFFFFFFF)


class Inputs:
    """One stream of inputs, in `version`; the same chance gives the same stream."""

    def __init__(self, chance: Random) -> None:
        self.version = V5
        self._chance = chance

    def login(self) -> bytes:
        """A CONNECT that is likely to succeed, so that what follows gets further."""
        chance = self._chance
        version = self.version
        properties = None
        if version == V5 and chance.random() < 0.5:
            properties = Properties()
            properties.session_expiry = chance.choice((0, 1, 10, 0xFFFFFFFF))
            properties.receive_maximum = chance.choice((1, 2, 65_535))
            properties.topic_alias_maximum = chance.choice((0, 1, 65_535))
            if chance.random() < 0.3:
                properties.maximum_packet_size = chance.choice((1, 20, 200, 70_000))
            if chance.random() < 0.2:
                properties.authentication_method = METHOD
            if chance.random() < 0.3:
                properties.user = [("gpl_ping", "1"), ("gpl_current_pos", "10;20")]
        will = Will(self.name(), b"will", chance.randrange(3)) if chance.random() < 0.2 else None
        name = f"c{chance.randrange(20)}"
        clean = chance.random() < 0.5
        return self._spelled(Connect(name, version, clean, 60, None, None, will, properties))

    def next(self, expected: int) -> bytes:
        """One input: a packet or what is left of some; often of the kind that is expected now."""
        chance = self._chance
        what = chance.random()
        if what < 0.05:
            return chance.randbytes(chance.choice((1, 2, 5, 30, 300)))
        data = self._spelled(self.packet(expected if chance.random() < 0.6 else 0))
        if what < 0.55:
            return data
        return self._mutated(data)

    def packet(self, kind: int = 0) -> Packet:
        """Of any kind, if none is given."""
        chance = self._chance
        version = self.version
        kind = kind or chance.choice(KINDS)
        if kind == CONNECT:
            will = None
            if chance.random() < 0.5:
                settings = self.properties(WILL)
                will = Will(self.topic(), self.blob(), self._qos(), chance.random() < 0.5, settings)
            return Connect(
                self.text(),
                chance.choice((V311, V5, 3, 6, 0)) if chance.random() < 0.1 else version,
                chance.random() < 0.5,
                chance.choice((0, 1, 65_535)),
                self.text() if chance.random() < 0.5 else None,
                self.blob() if chance.random() < 0.5 else None,
                will,
                self.properties(CONNECT),
            )
        if kind == PUBLISH:
            qos = self._qos()
            return Publish(
                self.topic(),
                self.blob(),
                qos,
                chance.random() < 0.3,
                qos > 0 and chance.random() < 0.2,
                self._packet_id() if qos else 0,
                self.properties(PUBLISH),
            )
        if kind == SUBSCRIBE:
            requests = [
                Request(
                    self.name(),
                    self._qos(),
                    version == V5 and chance.random() < 0.2,
                    version == V5 and chance.random() < 0.2,
                    chance.randrange(3) if version == V5 else 0,
                )
                for _ in range(chance.choice((1, 1, 2, 5)))
            ]
            return Subscribe(self._packet_id(), requests, self.properties(SUBSCRIBE))
        if kind == UNSUBSCRIBE:
            filters = [self.name() for _ in range(chance.choice((1, 2)))]
            return Unsubscribe(self._packet_id(), filters, self.properties(kind))
        if kind == AUTH:
            return Auth(chance.choice((0x18, 0x19, 0)), self.properties(AUTH))
        if kind == PUBACK:
            answer = chance.choice((PUBACK, PUBREC, PUBREL, PUBCOMP))
            return Acknowledgement(
                answer, self._packet_id(), chance.choice((0, 0x10, 0x92)), self.properties(answer)
            )
        if chance.random() < 0.5:
            return Pingreq()
        return Disconnect(chance.choice((0, 4)), self.properties(DISCONNECT))

    # Fields -------------------------------------------------------------------------------------

    def size(self) -> int:
        chance = self._chance
        return chance.choice(LARGE if chance.random() < 0.08 else SMALL)

    def text(self, beginning: str = "") -> str:
        """As long as the size says, in bytes."""
        size = self.size()
        letter = self._chance.choice(LETTERS)
        room = size - len(beginning.encode())
        if room <= 0:
            return beginning
        filled = beginning + letter * (room // len(letter.encode()))
        return filled + "x" * (size - len(filled.encode()))

    def topic(self) -> str:
        """A name to publish to, most often a valid one."""
        chance = self._chance
        if chance.random() < 0.3:
            return self.name()
        size = self.size()
        beginning = chance.choice(TOPICS)
        letter = chance.choice("xé€𝄞/$;%")
        if chance.random() < 0.6 or size <= len(beginning):
            return beginning
        filled = beginning + letter * ((size - len(beginning)) // len(letter.encode()))
        return filled + "x" * (size - len(filled.encode()))

    def name(self) -> str:
        """Of a topic, or a filter; often one that others use too."""
        chance = self._chance
        beginning = chance.choice(BEGINNINGS)
        return beginning if chance.random() < 0.5 else self.text(beginning)

    def blob(self) -> bytes:
        chance = self._chance
        if chance.random() < 0.5:
            return chance.choice((b"", b"1", b"21.5", b"1e999", b"nan", b'{"t": 5}', b"[" * 500))
        return bytes(self.size())

    def properties(self, kind: int) -> Properties | None:
        chance = self._chance
        if self.version != V5 or chance.random() < 0.4:
            return None
        made = Properties()
        for row in ROWS_IN[kind]:
            if chance.random() > (0.5 if row.type == TEXT_PAIR else 0.2):
                continue
            value: object
            if row.name == "authentication_method":
                value = METHOD if chance.random() < 0.7 else self.text()
            elif row.type == TEXT:
                value = self.name() if row.name == "response_topic" else self.text()
            elif row.type == BINARY:
                value = self.blob()
            elif row.type == TEXT_PAIR:
                value = [self._pair() for _ in range(chance.choice((1, 2, 3, 101)))]
            else:
                number = chance.choice(NUMBERS) if chance.random() < 0.5 else chance.randrange(5)
                value = min(max(number, row.minimum), row.maximum)
                if row.type == VARINT:
                    value = [value]
            setattr(made, row.name, value)
        return made

    def _pair(self) -> tuple[str, str]:
        chance = self._chance
        if chance.random() < 0.8:
            key, text = chance.choice(ENTRIES)
            return (key, text) if chance.random() < 0.8 else (key, self.text(text))
        return self.text(), self.text()

    def _qos(self) -> int:
        return self._chance.randrange(3)

    def _packet_id(self) -> int:
        return self._chance.choice((1, 2, 3, 65_535))

    # Bytes --------------------------------------------------------------------------------------

    def _spelled(self, packet: Packet) -> bytes:
        """What no codec spells is a packet without a body."""
        try:
            return encode(packet, self.version)
        except (ValueError, OverflowError):
            return bytes((packet.kind << 4, 0))

    def _mutated(self, data: bytes) -> bytes:
        chance = self._chance
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 4))):
            at = chance.randrange(len(changed) + 1)
            # Near the beginning, where lengths and flags are, more often than elsewhere.
            if chance.random() < 0.7:
                at = min(at, chance.randrange(40))
            what = chance.randrange(6)
            if what == 0 and at < len(changed):
                changed[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            elif what == 1 and at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            elif what == 2:
                del changed[at:]
            elif what == 3:
                changed[at:at] = chance.randbytes(chance.choice((1, 2, 4)))
            elif what == 4:
                changed += self._spelled(self.packet())
            else:
                end = at + chance.choice((1, 2, 10))
                changed[at:at] = changed[at:end]
        return bytes(changed)
