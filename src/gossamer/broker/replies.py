"""Answers to a client within the largest packet it takes.

They carry no user properties, so those make none too large: [MQTT-3.2.2-20], [MQTT-3.4.2-3],
[MQTT-3.5.2-3], [MQTT-3.6.2-3], [MQTT-3.7.2-3], [MQTT-3.9.2-2], [MQTT-3.11.2-2], [MQTT-3.14.2-4],
[MQTT-3.15.2-3].
"""

from typing import Final

from gossamer.session.outbox import Outbox
from gossamer.wire.codec import encode
from gossamer.wire.packets import Acknowledgement, Auth, Connack, Disconnect, Suback, Unsuback

# Letters of a reason string: enough for a sentence about any sensible topic.
LONGEST_REASON: Final = 512

Answer = Acknowledgement | Auth | Connack | Disconnect | Suback | Unsuback


def spelled(outbox: Outbox, answer: Answer) -> bytes:
    """The packet; without its reason string if it is too large with it; b"" if it is too large.

    A reason string quotes what the client sent, which may be as long as a field can be.
    """
    properties = answer.properties
    if properties is not None and properties.reason_string is not None:
        properties.reason_string = _shortened(properties.reason_string)
    data = encode(answer, outbox.version)
    if (
        len(data) > outbox.maximum_packet
        and properties is not None
        and properties.reason_string is not None
    ):
        # [MQTT-3.2.2-19], [MQTT-3.4.2-2], [MQTT-3.5.2-2], [MQTT-3.6.2-2], [MQTT-3.7.2-2],
        # [MQTT-3.9.2-1], [MQTT-3.11.2-1], [MQTT-3.14.2-3], [MQTT-3.15.2-2]
        properties.reason_string = None
        data = encode(answer, outbox.version)
    return data if len(data) <= outbox.maximum_packet else b""  # [MQTT-3.1.2-24]


def _shortened(text: str) -> str:
    """With its middle left out if it is long: the end says what is wrong."""
    if len(text) <= LONGEST_REASON:
        return text
    half = LONGEST_REASON // 2
    return f"{text[:half]} … {text[-half:]}"


def promise(outbox: Outbox, answer: Answer) -> None:
    """Sends an answer that is true once the journal has everything on disk."""
    data = spelled(outbox, answer)
    if data:
        outbox.put_promise(data)


def refuse(outbox: Outbox, answer: Answer) -> None:
    """Sends an answer that says no: it is true whatever the disk does."""
    data = spelled(outbox, answer)
    if data:
        outbox.put_in_order(data)
