"""What is for one broker only: it goes from neighbour to neighbour until it is there.

A directed message is a message on a closed topic (`message.py` has its forms), in the queues of
links like any other: it waits for links that are down, survives restarts, and keeps its place among
what was sent before and after it. Where the tree may change between two of them, each has an
identity, by which it is run once, and may name another that has to be run before.

One that a neighbour cannot take is set aside, counted and logged. In its place goes one that does
nothing, so that those that name it do not wait.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.broker.core import Core
from gossamer.broker.mesh_port import DIRECTED_TOPICS, ENVELOPE_TOPIC
from gossamer.budget.ledger import NOBODY
from gossamer.mesh.directed.message import (
    NO_MESSAGE,
    DirectedMessage,
    Fields,
    fitted,
    identity_of,
    packed,
    unpacked,
)
from gossamer.mesh.json_fields import malformed
from gossamer.mesh.link import LimitedLog, Link
from gossamer.session.handover import withdraw
from gossamer.session.message import Message
from gossamer.session.message_bytes import message_bytes, packed_message, unpacked_message
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.records import RELEASED
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

logger = logging.getLogger(__name__)

# Of their own, not those of messages: what is remembered of a busy broker's messages is forgotten
# while a directed message may still be named.
_SOURCE_BYTES: Final = NAME_BYTES // 2
# What every version runs without doing anything: a late message of nobody's that is none.
_NOTHING_KIND: Final = "late"
_NOTHING: Final[Fields] = {
    "client": "",
    "source": "",
    "number": 0,
    "granted": 0,
    "kept": False,
    "identifiers": [],
    "packet": 0,
    "state": 0,
    "share": "",
    "name": "",
    "publisher": "",
    "by": "",
    "empty": True,
}
# A broker that cannot be reached at all has its directed messages wait, in order.
PARKED: Final = "mesh/parked"
# With the one that has to be run before them: on two ways of a tree that changes, they came first.
EARLY: Final = "mesh/early"
# Beside the message: its place in the table, with its key, and a table of one.
_ENTRY_BYTES: Final = 400


@mypyc_attr(allow_interpreted_subclasses=True)
class DirectedHandler:
    """What one kind of directed message does where it arrives."""

    def check(self, directed: DirectedMessage) -> None:
        """ProtocolError if it does not say what this kind must; nothing changes."""

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None: ...


class DirectedRouter:
    """Sends, passes on, and runs what has arrived."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self.handlers: dict[str, DirectedHandler] = {}
        self._source = secrets.token_bytes(_SOURCE_BYTES)
        self._sent = 0
        self._parked = WaitingMessages(mesh.core, PARKED)
        self._early = WaitingMessages(mesh.core, EARLY)
        self._seen_changes = -1
        self.set_aside = 0  # those that no neighbour on their way could take
        self.refusals = 0  # messages of neighbours that could not be taken in here
        self._complaints = LimitedLog(logger)
        self._checked: tuple[Message, DirectedMessage] | None = None

    def send(self, directed: DirectedMessage, qos: int, now: float) -> bool:
        """False if no way leads there, or none that can carry it; then nothing has changed."""
        link = self._mesh.reachability.next_hop(directed.to)
        if link is None:
            return False
        if qos:
            number = (self._sent + 1).to_bytes(NAME_BYTES - _SOURCE_BYTES, "big")
            directed.fields["id"] = (self._source + number).hex()
        try:
            message = packed(directed, qos)
        except ValueError:
            return False
        if message.topic == ENVELOPE_TOPIC and not link.takes_envelopes():
            return False
        self._sent += 1
        link.session.deliver(message, link.receiver, now)
        return True

    def can_carry(self, directed: DirectedMessage) -> bool:
        """Whether `send` would, as far as the next neighbour goes."""
        link = self._mesh.reachability.next_hop(directed.to)
        try:
            message = packed(directed, 1)
        except ValueError:
            return False
        return link is not None and (message.topic != ENVELOPE_TOPIC or link.takes_envelopes())

    def put_aside(self, directed: DirectedMessage, by: str, now: float) -> None:
        """It cannot be sent any further by this neighbour: it is counted, and logged once."""
        self.set_aside += 1
        size = len(directed.message.topic_bytes)
        what = (
            f"a directed message ({directed.kind!r}, a topic of {size} bytes) for {directed.to} is "
            "set aside: it needs a format that the neighbour does not support; upgrade it"
        )
        self._complaints.say(by, what, now)

    def refused(self, by: Link, message: Message | None, reason: int, now: float) -> None:
        """A neighbour will not have a message, directed or not: it took it for malformed, failed
        at it, or does not know its form. Copies of a directed message that goes round may be
        refused by those
        who are not on its way."""
        self.set_aside += 1
        what = f"a message was refused (0x{reason:02x}) and is set aside"
        self._complaints.say(by.name, what, now)
        if message is not None and message.topic in DIRECTED_TOPICS:
            try:
                directed = unpacked(message)
            except ProtocolError:
                return  # nobody could name it
            if self._mesh.reachability.next_hop(directed.to) is by and not _is_nothing(directed):
                self._send_nothing(directed, message.qos, by, now)

    def refuse(self, by: str, what: str, now: float) -> None:
        """A neighbour's message, directed message or not, could not be taken in and was refused."""
        self.refusals += 1
        self._complaints.say(by, "a message cannot be taken in, and is refused", now, what)

    def check(self, message: Message) -> None:
        """ProtocolError if it is none, before anything has changed."""
        directed = unpacked(message)
        if directed.to == self._mesh.settings.name:
            self._handler(directed).check(directed)
        for name in ("id", "after"):
            if name in directed.fields:
                identity_of(directed.text(name))
        self._checked = (message, directed)

    def arrived(self, message: Message, origin: Link, is_rebroadcast: bool, now: float) -> None:
        """A wave goes by itself to all who are reached. For the others it waits where it began,
        and there only: every broker's copy would become a wave again."""
        checked = self._checked
        self._checked = None
        if checked is not None and checked[0] is message:
            directed = checked[1]
        else:
            directed = unpacked(message)
        if directed.to != self._mesh.settings.name:
            if not is_rebroadcast:
                self._pass_on(directed, message, origin, now)
            elif self._began_here(message) and not self._mesh.reachability.is_reached(directed.to):
                self._park(directed, message, now)
        elif not (self._is_early(directed) and self._waits(directed, message, origin, now)):
            self._run(directed, origin, now)

    def set_queued_aside(self, link: Link, now: float) -> None:
        """The neighbour came back and does not know the form of some that wait for it."""
        session = link.session
        unknown = [
            delivery
            for delivery in session.left_over()
            if delivery.message is not None
            and delivery.state != RELEASED
            and delivery.message.topic == ENVELOPE_TOPIC
        ]
        if not unknown:
            return
        withdraw(session, unknown)
        for delivery in unknown:
            assert delivery.message is not None
            self._replace(unpacked(delivery.message), delivery.message, link, now)

    def refit(self, link: Link) -> None:
        """After a restart: what an earlier version queued in a form that cannot hold it."""
        for delivery in link.session.left_over():
            if delivery.message is not None:
                delivery.message = fitted(delivery.message)

    def _run(self, first: DirectedMessage, origin: Link, now: float) -> None:
        """And those that waited for it."""
        due = deque([first])
        while due:
            directed = due.popleft()
            handler = self._handler(directed)
            if not self._is_new(directed):
                continue
            try:
                handler.run(directed, origin, now)
            except Exception as error:  # those that waited for it go on
                self._mesh.core.faults.note(
                    "a directed message", error, f"{directed.kind} here", now
                )
                self.refuse(origin.name, f"a directed message of kind {directed.kind!r}", now)
            if self._early.most and directed.identity():
                done = identity_of(directed.identity()).hex()
                for place, message in self._early.waiting(done, now):
                    self._early.taken(done, place)
                    due.append(unpacked(message))

    def end_turn(self, now: float) -> None:
        """Sends on what had to wait for its broker to be reached."""
        reaching = self._mesh.reachability
        if not self._parked.most or self._seen_changes == reaching.changes:
            return
        self._seen_changes = reaching.changes
        for place, message in self._parked.waiting("", now):
            to = unpacked(message).to
            link = reaching.next_hop(to)
            if link is not None and reaching.is_reached(to):
                self._parked.taken("", place)
                self._deliver(unpacked(message), fitted(message), link, now)

    def waiting(self) -> tuple[int, int]:
        """How many wait for their broker, and how many for another directed message."""
        return self._parked.most, self._early.most

    def _pass_on(
        self, directed: DirectedMessage, message: Message, origin: Link, now: float
    ) -> None:
        reaching = self._mesh.reachability
        link = reaching.next_hop(directed.to)
        if link is None or link is origin:
            if link is None or not reaching.is_reached(directed.to):
                self._park(directed, message, now)
                return
            # Trees disagree for a moment. Back there its old name would be taken for a repetition.
            message = message.changed(name=b"")
        self._deliver(directed, message, link, now)

    def _deliver(self, directed: DirectedMessage, message: Message, link: Link, now: float) -> None:
        if message.topic == ENVELOPE_TOPIC and not link.takes_envelopes():
            self._replace(directed, message, link, now)
        else:
            link.session.deliver(message, link.receiver, now)

    def _replace(self, directed: DirectedMessage, message: Message, link: Link, now: float) -> None:
        """Sets it aside; who names it as the one before finds that it was run."""
        self.put_aside(directed, link.name, now)
        self._send_nothing(directed, message.qos, link, now)

    def _send_nothing(self, directed: DirectedMessage, qos: int, link: Link, now: float) -> None:
        """In place of a directed message, if it can be named."""
        if directed.identity():
            fields = dict(_NOTHING)
            for name in ("id", "after"):
                if name in directed.fields:
                    fields[name] = directed.fields[name]
            nothing = DirectedMessage(_NOTHING_KIND, directed.to, fields, NO_MESSAGE)
            link.session.deliver(packed(nothing, qos), link.receiver, now)

    def _handler(self, directed: DirectedMessage) -> DirectedHandler:
        handler = self.handlers.get(directed.kind)
        if handler is None:
            raise malformed(f"a directed message of the unknown kind {directed.kind[:40]!r}")
        return handler

    def _park(self, directed: DirectedMessage, message: Message, now: float) -> None:
        """Until its broker is reached; if there is no room for it, it is set aside."""
        if message.qos and not self._parked.keep(
            message, "", f"{self._mesh.next_micros(now):020d}"
        ):
            self.set_aside += 1
            what = (
                "more waits for it than there is room for (limits.directed_bytes): it is set aside"
            )
            self._complaints.say(directed.to, what, now)

    def _waits(self, directed: DirectedMessage, message: Message, origin: Link, now: float) -> bool:
        """Whether it waits here for the one before it; not if there is no room for it to wait."""
        after = identity_of(directed.text("after")).hex()
        if self._early.keep(message, after, identity_of(directed.identity()).hex()):
            return True
        what = "no room to wait for what was sent before (limits.directed_bytes): it is run at once"
        self._complaints.say(origin.name, what, now)
        return False

    def _began_here(self, wave: Message) -> bool:
        return self._mesh.tree_links.memory.is_own(wave.name)

    def _is_new(self, directed: DirectedMessage) -> bool:
        """Whatever ways it took, and whatever names it had on them."""
        identity = directed.identity()
        return not identity or self._mesh.tree_links.memory.is_new(identity_of(identity), 2)

    def _is_early(self, directed: DirectedMessage) -> bool:
        """Whether the one that it follows has not been run here."""
        if "after" not in directed.fields:
            return False
        return not self._mesh.tree_links.memory.knows(identity_of(directed.text("after")))


def _is_nothing(directed: DirectedMessage) -> bool:
    """Whether it was sent in place of another."""
    return directed.kind == _NOTHING_KIND and not directed.fields.get("client")


class WaitingMessages:
    """Those of one room. They wait for something, and among those for the same by a place."""

    def __init__(self, core: Core, room: str) -> None:
        self._journal = core.journal
        self._account = core.ledger.directed
        self._room = room
        self._waiting: dict[str, dict[str, Message]] = {}
        self.most = 0  # some may have expired since
        for key, data in core.rooms.pop(room, {}).items():
            awaited, _, place = key.partition("/")
            message = unpacked_message(data)
            self._account.hold(_size(message), NOBODY)
            self._waiting.setdefault(awaited, {})[place] = message
            self.most += 1

    def keep(self, message: Message, awaited: str, place: str) -> bool:
        """Once, however often it comes; between brokers it has no name yet when it goes on. False
        if there is no room for it."""
        if place in self._waiting.get(awaited, {}):
            return True
        kept = _nameless(message)
        if self._account.take(_size(kept), NOBODY):
            return False
        self._journal.keep(self._room, f"{awaited}/{place}", packed_message(kept))
        self._waiting.setdefault(awaited, {})[place] = kept
        self.most += 1
        return True

    def waiting(self, awaited: str, now: float) -> list[tuple[str, Message]]:
        """What waits for that, by its place; each is to be brought to `taken` when it goes on."""
        found = self._waiting.get(awaited, {})
        for place in [place for place, message in found.items() if message.is_expired(now)]:
            self.taken(awaited, place)
        return sorted(found.items(), key=_place)

    def taken(self, awaited: str, place: str) -> None:
        """It waits no longer."""
        waiting = self._waiting[awaited]
        self._account.give(_size(waiting.pop(place)), NOBODY)
        if not waiting:
            del self._waiting[awaited]
        self.most -= 1
        self._journal.drop(self._room, f"{awaited}/{place}")


def _nameless(message: Message) -> Message:
    return Message(
        message.topic,
        message.payload,
        message.qos,
        False,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
    )


def _size(message: Message) -> int:
    return _ENTRY_BYTES + message_bytes(message)


def _place(item: tuple[str, Message]) -> str:
    return item[0]
