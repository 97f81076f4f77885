"""A message of a neighbour's that cannot be taken in: refused for good, in nobody's way.

A neighbour sends again what it has no answer for. If the link ended, the message would come first
at every new connection and end that too, and nothing behind it would ever arrive. So it is refused
in an answer of its own, counted and logged, and the link goes on behind it: the packet was whole,
so it is known where the next one begins.

The link does end where the neighbour has to wait (a full store, no memory), and for control
messages: the two ends would disagree about what was said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.mesh_port import CONTROL_TOPIC
from gossamer.broker.publish_checks import answer_publish
from gossamer.broker.publish_fast import end_of_run
from gossamer.broker.refusals import drop_refused
from gossamer.broker.stages import OPEN
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBLISH

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

_PLAIN: Final = 0x30  # QoS 0, not retained
_CONTROL: Final = CONTROL_TOPIC.encode()
_LONGEST_SHOWN: Final = 64  # of a topic in the log


def set_aside(
    connection: Connection,
    data: bytes,
    start: int,
    body: int,
    stop: int,
    error: Exception,
    now: float,
) -> int:
    """The packet at `start` caused this error: where the link goes on, or -1 if it has to end."""
    head = data[start]
    if head >> 4 != PUBLISH or connection.stage != OPEN or not _is_final(error):
        return -1
    topic = body + 2
    after_topic = topic + (data[body] << 8 | data[body + 1]) if topic <= stop else topic
    qos = head >> 1 & 3
    if after_topic == topic or after_topic + (2 if qos else 0) > stop or qos == 3:
        return -1
    if data[topic:after_topic] == _CONTROL:
        return -1
    shown = data[topic:after_topic][:_LONGEST_SHOWN].decode("utf-8", "replace")
    _note(connection, error, f"on {shown!r}", now)
    drop_refused(connection.core)
    if qos == 0:
        if head == _PLAIN and after_topic < stop and data[after_topic] == 0:
            # The packets that it was handled with may have reached some of their receivers.
            return end_of_run(data, start, after_topic + 1, stop - start)
        return stop
    packet_id = data[after_topic] << 8 | data[after_topic + 1]
    if packet_id == 0:
        return -1
    session = connection.session
    assert session is not None
    session.refuse_incoming(packet_id)
    reason = reasons.IMPLEMENTATION_SPECIFIC_ERROR
    text = "internal error in the broker"
    if isinstance(error, ProtocolError):
        reason = reasons.PAYLOAD_FORMAT_INVALID
        text = error.text
    answer_publish(connection, qos, packet_id, reason, text, True)
    return stop


def _is_final(error: Exception) -> bool:
    """Whether another try would end like this one."""
    if isinstance(error, ProtocolError):
        return error.reason != reasons.QUOTA_EXCEEDED
    return not isinstance(error, MemoryError)


def _note(connection: Connection, error: Exception, what: str, now: float) -> None:
    core = connection.core
    if isinstance(error, ProtocolError):
        core.counters.protocol_errors += 1
        core.neighbours.set_aside(connection, f"{what}: {error.text}", now)
    else:
        client_id = connection.identity.client_id
        core.faults.note("a neighbour's message", error, f"{client_id} {what}", now)
        core.neighbours.set_aside(connection, what, now)
