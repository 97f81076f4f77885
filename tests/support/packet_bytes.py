"""Packets in tests: bytes written for people, and packets compared by what they say."""

from gossamer.wire.packets import Packet, Request, Will
from gossamer.wire.properties import Properties
from gossamer.wire.property_table import PROPERTY_TABLE

# Compiled classes have no __dict__, so what counts in each is named here.
FIELDS = {
    "Connect": "client_id version clean_start keep_alive username password will properties",
    "Will": "topic payload qos retain properties",
    "Connack": "session_present reason properties",
    "Publish": "topic payload qos retain dup packet_id properties",
    "Acknowledgement": "kind packet_id reason properties",
    "Subscribe": "packet_id requests properties",
    "Request": "filter qos no_local retain_as_published retain_handling",
    "Suback": "packet_id reasons properties",
    "Unsubscribe": "packet_id filters properties",
    "Unsuback": "packet_id reasons properties",
    "Pingreq": "",
    "Pingresp": "",
    "Disconnect": "reason properties",
    "Auth": "reason properties",
}


def spelled(text: str) -> bytes:
    """Hexadecimal digits, and 'text' that stands for itself: `00 03 'a/b'`."""
    parts = text.split("'")
    return b"".join(
        part.encode() if number % 2 else bytes.fromhex(part) for number, part in enumerate(parts)
    )


def said(value: object) -> object:
    """A packet (or a part of one) as plain data that `==` compares; empty properties are None."""
    if isinstance(value, Properties):
        properties = {row.name: getattr(value, row.name) for row in PROPERTY_TABLE}
        return {name: held for name, held in properties.items() if held not in (None, [])} or None
    if isinstance(value, Packet | Will | Request):
        name = type(value).__name__
        return name, {field: said(getattr(value, field)) for field in FIELDS[name].split()}
    if isinstance(value, list):
        return [said(item) for item in value]
    return value


def properties(**values: object) -> Properties:
    """Properties with these set."""
    made = Properties()
    for name, value in values.items():
        setattr(made, name, value)
    return made
