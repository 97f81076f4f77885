"""How ``sub`` prints a message: as text, as JSON, or in a format of one's own.

A format is text with ``%`` and a letter where something of the message goes, as in mosquitto_sub;
``FIELDS`` is the whole list. Backslash escapes (``\\n``, ``\\t``, ``\\0``) are understood.
"""

import base64
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gossamer.cli.errors import WrongUse
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties

Formatter = Callable[[Publish, float], bytes]

PROPERTIES = {
    "payload-format-indicator": "payload_format",
    "message-expiry-interval": "message_expiry",
    "content-type": "content_type",
    "response-topic": "response_topic",
    "correlation-data": "correlation_data",
    "subscription-identifiers": "subscription_ids",
    "user-properties": "user",
}


def timestamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).astimezone().isoformat(timespec="microseconds")


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def as_json(message: Publish, now: float, *, payload_is_json: bool = False) -> str:
    """One line. A payload that is not text is in ``payload_base64`` instead of ``payload``."""
    document: dict[str, Any] = {
        "tst": timestamp(now),
        "topic": message.topic,
        "qos": message.qos,
        "retain": int(message.retain),
        "payloadlen": len(message.payload),
    }
    if message.packet_id:
        document["mid"] = message.packet_id
    if message.properties is not None:
        found = {
            name: _plain(getattr(message.properties, attribute))
            for name, attribute in PROPERTIES.items()
            if getattr(message.properties, attribute) not in (None, [])
        }
        if found:
            document["properties"] = found
    try:
        text = message.payload.decode()
        document["payload"] = json.loads(text) if payload_is_json else text
    except UnicodeDecodeError:
        document["payload_base64"] = base64.b64encode(message.payload).decode()
    except ValueError:
        document["payload"] = text
    return json.dumps(document, ensure_ascii=False)


def _of_properties(read: Callable[[Properties], Any]) -> Formatter:
    def field(message: Publish, _: float) -> bytes:
        value = None if message.properties is None else read(message.properties)
        return value if isinstance(value, bytes) else b"" if value is None else str(value).encode()

    return field


FIELDS: dict[str, Formatter] = {
    "%": lambda *_: b"%",
    "t": lambda message, _: message.topic.encode(),
    "p": lambda message, _: message.payload,
    "x": lambda message, _: message.payload.hex().encode(),
    "X": lambda message, _: message.payload.hex().upper().encode(),
    "l": lambda message, _: str(len(message.payload)).encode(),
    "q": lambda message, _: str(message.qos).encode(),
    "r": lambda message, _: str(int(message.retain)).encode(),
    "m": lambda message, _: str(message.packet_id).encode(),
    "j": lambda message, now: as_json(message, now).encode(),
    "J": lambda message, now: as_json(message, now, payload_is_json=True).encode(),
    "I": lambda _, now: timestamp(now).encode(),
    "U": lambda _, now: f"{now:.6f}".encode(),
    "C": _of_properties(lambda properties: properties.content_type),
    "D": _of_properties(lambda properties: properties.correlation_data),
    "E": _of_properties(lambda properties: properties.message_expiry),
    "F": _of_properties(lambda properties: properties.payload_format),
    "R": _of_properties(lambda properties: properties.response_topic),
    "S": _of_properties(lambda properties: " ".join(map(str, properties.subscription_ids))),
    "P": _of_properties(
        lambda properties: " ".join(f"{name}:{value}" for name, value in properties.user)
    ),
}

ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "a": b"\a", "e": b"\x1b", "\\": b"\\"}
_TOKEN = re.compile(r"%(?P<field>.?)|\\(?P<escape>.)|(?P<text>[^%\\]+)|(?P<lone>\\)", re.DOTALL)


def compile_format(text: str) -> Formatter:
    """The formatter that ``text`` describes; ``WrongUse`` names a field that does not exist."""
    parts: list[bytes | Formatter] = []
    for token in _TOKEN.finditer(text):
        field, escape = token["field"], token["escape"]
        if field is not None:
            if field not in FIELDS:
                raise WrongUse(
                    f"-F has no field %{field}; fields are {' '.join('%' + f for f in FIELDS)}"
                )
            parts.append(FIELDS[field])
        elif escape is not None:
            parts.append(ESCAPES.get(escape, token[0].encode()))
        else:
            parts.append(token[0].encode())

    def formatter(message: Publish, now: float) -> bytes:
        return b"".join(part if isinstance(part, bytes) else part(message, now) for part in parts)

    return formatter
