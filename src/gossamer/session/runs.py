"""A session with whole runs: of messages to its client, and of acknowledgements from it.

What many packets of one chunk have in common is done once for all of them, and what is written for
them is one piece. A run of acknowledgements ends at one that is not as most are; whoever calls
looks at that by itself. So the rules for one are in `session.py`, and nothing else here but loops.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, write_i32_be
from mypy_extensions import i32

from gossamer.session.incoming import refuse_incoming
from gossamer.session.publish_run import MOST_RUN_BYTES, PublishRun
from gossamer.session.queue import has_room_for
from gossamer.session.session import FLIGHT_BYTES, Session
from gossamer.session.subscription import Receiver
from gossamer.wire.packets import PUBREC, PUBREL
from gossamer.wire.publish_codec import (
    ACKNOWLEDGEMENT_BYTES,
    PUBCOMP_START,
    PUBREL_START,
    acknowledgement_head,
)

_PUBREC_HEAD: Final = acknowledgement_head(PUBREC)
_PUBREL_HEAD: Final = acknowledgement_head(PUBREL)


# Messages ---------------------------------------------------------------------------------------


def room_for_run(session: Session) -> int:
    """How many messages at QoS 1 and 2 it would send at once if they came now, each remembered by
    number only; 0 if every one has to be looked at (`Session.enqueue`)."""
    outbox = session.outbox
    if (
        outbox is None
        or outbox.blocked
        or session.persistent
        or session.is_peer
        or session.queue
        or session.lane.messages
        or session.seen is not None
        or session.flight_bytes >= FLIGHT_BYTES
    ):
        return 0
    return session.window - session.in_flight()


def takes_run(session: Session) -> bool:
    """Whether a run may wait for this neighbour as one message, and there is room for it."""
    return session.takes_runs and has_room_for(session, MOST_RUN_BYTES)


def deliver_run(session: Session, run: PublishRun, receiver: Receiver) -> None:
    """As `Session.deliver` for each; it has room for all of them."""
    outbox = session.outbox
    if outbox is None:
        return
    qos = run.qos if run.qos < receiver.qos else receiver.qos
    if qos:
        sent = 0
        while sent < run.count:
            first, count = session.take_numbers(run.count - sent, qos)
            outbox.send_run(run, qos, sent, count, first)
            sent += count
    elif outbox.blocked:
        session.hub.counters.dropped_slow += run.count
    else:
        outbox.messages += run.count
        outbox.put(run.encoded(outbox.version, 0))


# Acknowledgements -------------------------------------------------------------------------------


def acknowledged_run(session: Session, data: bytes, start: int, state: int, now: float) -> int:
    """PUBACK or PUBCOMP from `start` on, for what is remembered by number only and is in that
    state. Answers where they end."""
    outbox = session.outbox
    assert outbox is not None
    numbers = outbox.numbers
    if numbers is None or session.unsent is not None:
        return start
    after = numbers.complete(data, start, state)
    if after != start and (session.queue is not None or session.lane.messages):
        session.pump(now)
    return after


def received_run(session: Session, data: bytes, start: int) -> int:
    """PUBREC from `start` on, for messages at QoS 2. Answers where they end."""
    outbox = session.outbox
    assert outbox is not None
    numbers = outbox.numbers
    answers = BytesWriter()
    at = start
    end = len(data)
    while at + ACKNOWLEDGEMENT_BYTES <= end and data[at] == _PUBREC_HEAD and data[at + 1] == 2:
        if numbers is not None:
            after = numbers.receive(data, at, answers)
            if after != at:
                at = after
                continue
        packet_id = data[at + 2] << 8 | data[at + 3]
        delivery = session.inflight.get(packet_id)
        if delivery is None or delivery.qos != 2:
            break
        session.received(packet_id, delivery)
        write_i32_be(answers, i32(PUBREL_START | packet_id))
        at += ACKNOWLEDGEMENT_BYTES
    # [MQTT-4.3.3-4]; they stay in flight until PUBCOMP [MQTT-4.3.3-5].
    return _answered(session, answers, at)


def released_run(session: Session, data: bytes, start: int) -> int:
    """PUBREL from `start` on: the identifiers are free for new messages [MQTT-4.3.3-12]. Answers
    where that ends: at a packet that is something else, or for one that was free."""
    answers = BytesWriter()
    at = start
    end = len(data)
    while at + ACKNOWLEDGEMENT_BYTES <= end and data[at] == _PUBREL_HEAD and data[at + 1] == 2:
        packet_id = data[at + 2] << 8 | data[at + 3]
        if not refuse_incoming(session, packet_id):
            break
        write_i32_be(answers, i32(PUBCOMP_START | packet_id))
        at += ACKNOWLEDGEMENT_BYTES
    return _answered(session, answers, at)


def _answered(session: Session, answers: BytesWriter, at: int) -> int:
    """Promises them all at once; answers `at`."""
    if len(answers):
        outbox = session.outbox
        assert outbox is not None
        outbox.put_promise(answers.getvalue())
    return at
