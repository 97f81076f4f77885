"""A run from a neighbour: many messages that came as one, and go on as one.

They are one message to the link, its acknowledgement and its store, and to other neighbours; to
each client here they are packets again, written in one pass where the client takes them so. Where
the answer is not the same for each of them (some came before by another way), they are taken in one
by one, as if they had come so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.audience import NO_CONDITIONAL, Audience
from gossamer.broker.conditions import ConditionalReceiver
from gossamer.broker.delivery import deliver_onwards
from gossamer.broker.mesh_port import MIXED, NEW, PASSED, REPEATED
from gossamer.broker.publish_bursts import takes_plain_run
from gossamer.session.message import Message
from gossamer.session.message_names import is_name
from gossamer.session.publish_run import PublishRun, run_of
from gossamer.session.runs import deliver_run, room_for_run
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.broker.core import Core

# Of a packet, beside its topic and payload: head and length, that of the topic, identifier, none
# of the properties.
_MOST_OVERHEAD: Final = 5 + 2 + 2 + 1


def check_run(message: Message) -> None:
    """ProtocolError if it says that it is many and cannot be."""
    if message.is_run() and (
        not is_name(message.name)
        or len(message.payload) % message.count()
        or message.qos == 0
        or message.retain
        or message.properties is not None
    ):
        raise ProtocolError(reasons.MALFORMED_PACKET, "a run of messages that is malformed")


def deliver_whole(
    core: Core, message: Message, audience: Audience, origin: Session, now: float
) -> bool:
    """To those here, and to other neighbours; False if its messages have to be taken in one by
    one, and nothing was done."""
    verdict = core.neighbours.admit_run(origin, message, now)
    if verdict == MIXED:
        return False
    if verdict == REPEATED:
        return True
    if verdict != PASSED:
        # What is sent again goes to every neighbour, whatever it wants.
        conditional = audience.conditional if verdict == NEW else NO_CONDITIONAL
        taken = _deliver_here(core, message, audience, conditional, origin, now)
        if verdict == NEW and not audience.is_wanted(origin):
            core.counters.needless += message.count() - taken
    if verdict == NEW:
        for receiver in audience.sure:
            if receiver.session.is_peer and receiver.session is not origin:
                receiver.session.deliver(message, receiver, now)
    else:
        deliver_onwards(core, message, origin, now)
    return True


def _deliver_here(
    core: Core,
    message: Message,
    audience: Audience,
    conditional: list[ConditionalReceiver],
    origin: Session,
    now: float,
) -> int:
    """To clients, since nothing in it has a place that could be guarded, and to neighbours that
    look at each. Answers how many of its messages somebody wanted who looks."""
    run = run_of(message)
    singles: list[Message] | None = None
    for receiver in audience.sure:
        session = receiver.session
        if session.is_peer:
            continue
        if _takes_run(receiver, run, origin):
            deliver_run(session, run, receiver)
            continue
        if singles is None:
            singles = message.singles()
        for single in singles:
            session.deliver(single, receiver, now)
    taken = 0
    if audience.groups or audience.distant or audience.taps or conditional:
        for single in message.singles() if singles is None else singles:
            audience.share(single, origin, now)
            before = core.counters.taken
            for tap in audience.taps:
                tap.take(single, origin, now)
            for neighbour in conditional:
                neighbour.take(single, origin, now)
            taken += core.counters.taken != before
    return taken


def _takes_run(receiver: Receiver, run: PublishRun, origin: Session) -> bool:
    """Whether the client gets all of it at once now."""
    session = receiver.session
    outbox = session.outbox
    size = len(run.topic) + run.payload_size + _MOST_OVERHEAD
    return (
        outbox is not None
        and takes_plain_run(receiver, outbox, size, origin)
        and (receiver.qos == 0 or room_for_run(session) >= run.count)
    )
