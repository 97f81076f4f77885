"""What was published in a trial: who published it, what is in it and where it is about.

A publication is known again by its payload, or where many may have the same by a User Property.
"""

from dataclasses import dataclass, field
from typing import Final

from gossamer.geo.geolocation import Place, place_of
from gossamer.geo.glp import parse
from gossamer.plus.publication import Publication
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties

# Its key, where the payload has none.
KEY_PROPERTY: Final = "trial"
# What a template has in the place of its key: as it is, or as digits of a decimal.
WHOLE_KEY: Final = "{key}"
KEY_DIGITS: Final = "{digits}"
Entries = list[tuple[str, str]]  # User Properties


@dataclass(frozen=True)
class PublicationKey:
    """One publication: the `number`-th of its publisher."""

    publisher: str
    number: int

    def payload(self) -> bytes:
        return str(self).encode()

    def fill(self, template: str) -> bytes:
        """The payload that a plan means; "" is the key alone."""
        if not template:
            return self.payload()
        # The 9 keeps publishers apart from numbers: client names end in digits.
        digits = f"{self.publisher[1:]}9{self.number:05d}"
        return template.replace(WHOLE_KEY, str(self)).replace(KEY_DIGITS, digits).encode()

    def __str__(self) -> str:
        return f"{self.publisher}:{self.number}"

    @staticmethod
    def of(text: str) -> "PublicationKey | None":
        publisher, colon, number = text.partition(":")
        if not colon or not number.isdecimal():
            return None
        return PublicationKey(publisher, int(number))


@dataclass
class TrialPublication:
    key: PublicationKey
    topic: str
    qos: int
    retain: bool
    index: int  # of all publications
    is_will: bool = False
    acknowledged: bool = False  # so it must arrive
    payload: bytes = b""
    where: Entries = field(default_factory=list)  # of GLP
    is_named: bool = False  # by a User Property: its payload is not its own
    # Read once, as the first broker reads it.
    content: Publication = field(init=False, repr=False)
    place: Place | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.content = Publication(self.topic, self.payload)
        self.place = place_of(parse(self.where), None)

    def properties(self) -> Properties | None:
        """Those that it is published with."""
        named = [(KEY_PROPERTY, str(self.key))] if self.is_named else []
        if not self.where and not named:
            return None
        properties = Properties()
        properties.user = [*self.where, *named]
        return properties


class Publications:
    """All of a trial, in their order."""

    def __init__(self) -> None:
        self.by_key: dict[PublicationKey, TrialPublication] = {}
        self._by_payload: dict[bytes, PublicationKey] = {}
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.by_key)

    def add(
        self,
        publisher: str,
        topic: str,
        qos: int,
        retain: bool = False,
        is_will: bool = False,
        template: str = "",
        where: Entries | None = None,
    ) -> TrialPublication:
        number = self._numbers.get(publisher, 0) + 1
        self._numbers[publisher] = number
        key = PublicationKey(publisher, number)
        payload = key.fill(template)
        made = TrialPublication(
            *(key, topic, qos, retain, len(self.by_key), is_will),
            payload=payload,
            where=list(where or []),
            is_named=bool(template) and WHOLE_KEY not in template and KEY_DIGITS not in template,
        )
        self.by_key[key] = made
        if not made.is_named:
            self._by_payload[payload] = key
        return made

    def of(self, packet: Publish) -> TrialPublication | None:
        """The one that was delivered so; None if there is no such."""
        key = self._by_payload.get(packet.payload)
        for name, text in packet.properties.user if packet.properties is not None else ():
            if name == KEY_PROPERTY:
                key = PublicationKey.of(text)
        known = None if key is None else self.by_key.get(key)
        return known if known is not None and known.payload == packet.payload else None

    def like(self, topic: str, payload: bytes) -> list[TrialPublication]:
        """All that were published so, where nobody can say which it is."""
        return [
            each for each in self.by_key.values() if (each.topic, each.payload) == (topic, payload)
        ]
