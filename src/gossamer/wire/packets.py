"""The control packets of MQTT, one class each, the same for 3.1.1 and 5.0.

`properties` is None where the packet carries none (always so in 3.1.1).
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.wire.properties import Properties

V311: Final = 4
V5: Final = 5

CONNECT: Final = 1
CONNACK: Final = 2
PUBLISH: Final = 3
PUBACK: Final = 4
PUBREC: Final = 5
PUBREL: Final = 6
PUBCOMP: Final = 7
SUBSCRIBE: Final = 8
SUBACK: Final = 9
UNSUBSCRIBE: Final = 10
UNSUBACK: Final = 11
PINGREQ: Final = 12
PINGRESP: Final = 13
DISCONNECT: Final = 14
AUTH: Final = 15


@mypyc_attr(acyclic=True)
class Packet:
    """Any control packet; `kind` is its type number."""

    kind: int = 0


class Will:
    """The message a client leaves to be published when it is gone."""

    def __init__(
        self,
        topic: str,
        payload: bytes,
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = properties


class Connect(Packet):
    def __init__(
        self,
        client_id: str,
        version: int = V5,
        clean_start: bool = True,
        keep_alive: int = 0,
        username: str | None = None,
        password: bytes | None = None,
        will: Will | None = None,
        properties: Properties | None = None,
        is_of_3_1: bool = False,
    ) -> None:
        self.kind = CONNECT
        self.client_id = client_id
        self.version = version
        self.clean_start = clean_start
        self.keep_alive = keep_alive
        self.username = username
        self.password = password
        self.will = will
        self.properties = properties
        self.is_of_3_1 = is_of_3_1  # MQTT 3.1, otherwise served as 3.1.1


class Connack(Packet):
    def __init__(
        self, session_present: bool, reason: int, properties: Properties | None = None
    ) -> None:
        self.kind = CONNACK
        self.session_present = session_present
        self.reason = reason
        self.properties = properties


@mypyc_attr(acyclic=True)
class Publish(Packet):
    def __init__(
        self,
        topic: str,
        payload: bytes,
        qos: int = 0,
        retain: bool = False,
        dup: bool = False,
        packet_id: int = 0,
        properties: Properties | None = None,
    ) -> None:
        self.kind = PUBLISH
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.dup = dup
        self.packet_id = packet_id
        self.properties = properties


@mypyc_attr(acyclic=True)
class Acknowledgement(Packet):
    """PUBACK, PUBREC, PUBREL and PUBCOMP share one shape; `kind` tells them apart."""

    def __init__(
        self, kind: int, packet_id: int, reason: int = 0, properties: Properties | None = None
    ) -> None:
        self.kind = kind
        self.packet_id = packet_id
        self.reason = reason
        self.properties = properties


class Request:
    """One entry of a SUBSCRIBE: a filter and its options."""

    def __init__(
        self,
        filter: str,
        qos: int = 0,
        no_local: bool = False,
        retain_as_published: bool = False,
        retain_handling: int = 0,
    ) -> None:
        self.filter = filter
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.retain_handling = retain_handling


class Subscribe(Packet):
    def __init__(
        self, packet_id: int, requests: list[Request], properties: Properties | None = None
    ) -> None:
        self.kind = SUBSCRIBE
        self.packet_id = packet_id
        self.requests = requests
        self.properties = properties


class Suback(Packet):
    def __init__(
        self, packet_id: int, reasons: list[int], properties: Properties | None = None
    ) -> None:
        self.kind = SUBACK
        self.packet_id = packet_id
        self.reasons = reasons
        self.properties = properties


class Unsubscribe(Packet):
    def __init__(
        self, packet_id: int, filters: list[str], properties: Properties | None = None
    ) -> None:
        self.kind = UNSUBSCRIBE
        self.packet_id = packet_id
        self.filters = filters
        self.properties = properties


class Unsuback(Packet):
    """In 3.1.1 `reasons` is not on the wire and reads as an empty list."""

    def __init__(
        self, packet_id: int, reasons: list[int], properties: Properties | None = None
    ) -> None:
        self.kind = UNSUBACK
        self.packet_id = packet_id
        self.reasons = reasons
        self.properties = properties


class Pingreq(Packet):
    def __init__(self) -> None:
        self.kind = PINGREQ


class Pingresp(Packet):
    def __init__(self) -> None:
        self.kind = PINGRESP


class Disconnect(Packet):
    def __init__(self, reason: int = 0, properties: Properties | None = None) -> None:
        self.kind = DISCONNECT
        self.reason = reason
        self.properties = properties


class Auth(Packet):
    def __init__(self, reason: int = 0, properties: Properties | None = None) -> None:
        self.kind = AUTH
        self.reason = reason
        self.properties = properties
