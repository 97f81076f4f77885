"""What is for one broker only: it goes from neighbour to neighbour until it is there.

An errand is a message on a closed topic (`errand.py` has its forms), in the queues of links like
any other: it waits for links that are down, survives restarts, and keeps its place among what was
sent before and after it. Where the tree may change between two of them, each has an identity, by
which it is run once, and may name another that has to be run before.

One that a neighbour cannot take is set aside, counted and logged. In its place goes one that does
nothing, so that those that name it do not wait.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.broker.neighbours import ENVELOPE_TOPIC
from gossamer.mesh.link import Link
from gossamer.mesh.relay.damping import Complaints
from gossamer.mesh.relay.errand import (
    NO_MESSAGE,
    Errand,
    Fields,
    fitted,
    identity_of,
    packed,
    unpacked,
)
from gossamer.mesh.relay.waiting_errands import EARLY, PARKED, WaitingErrands
from gossamer.mesh.said import malformed
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.session.records import RELEASED

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

logger = logging.getLogger(__name__)

# Of their own, not those of messages: what is remembered of a busy broker's messages is forgotten
# while an errand may still be named.
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


@mypyc_attr(allow_interpreted_subclasses=True)
class ErrandHandler:
    """What one kind of errand does where it arrives."""

    def check(self, errand: Errand) -> None:
        """ProtocolError if it does not say what this kind must; nothing changes."""

    def run(self, errand: Errand, origin: Link, now: float) -> None: ...


class Errands:
    """Sends, passes on, and runs what has arrived."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self.handlers: dict[str, ErrandHandler] = {}
        self._source = secrets.token_bytes(_SOURCE_BYTES)
        self._sent = 0
        self._parked = WaitingErrands(mesh.core, PARKED)
        self._early = WaitingErrands(mesh.core, EARLY)
        self._seen_changes = -1
        self.set_aside = 0  # those that no neighbour on their way could take
        self._complaints = Complaints(logger)
        self._checked: tuple[Message, Errand] | None = None

    def send(self, errand: Errand, qos: int, now: float) -> bool:
        """False if no way leads there, or none that can carry it; then nothing has changed."""
        link = self._mesh.reaching.next_hop(errand.to)
        if link is None:
            return False
        if self._mesh.fabric is not None and qos:
            number = (self._sent + 1).to_bytes(NAME_BYTES - _SOURCE_BYTES, "big")
            errand.fields["id"] = (self._source + number).hex()
        try:
            message = packed(errand, qos)
        except ValueError:
            return False
        if message.topic == ENVELOPE_TOPIC and not link.takes_envelopes():
            return False
        self._sent += 1
        link.session.deliver(message, link.receiver, now)
        return True

    def can_carry(self, errand: Errand) -> bool:
        """Whether `send` would, as far as the next neighbour goes."""
        link = self._mesh.reaching.next_hop(errand.to)
        try:
            message = packed(errand, 1)
        except ValueError:
            return False
        return link is not None and (message.topic != ENVELOPE_TOPIC or link.takes_envelopes())

    def put_aside(self, errand: Errand, by: str, now: float) -> None:
        """It cannot be sent any further by this neighbour: it is counted, and logged once."""
        self.set_aside += 1
        size = len(errand.message.topic_bytes)
        what = (
            f"an errand ({errand.kind!r}, with a topic of {size} bytes) for {errand.to} is set "
            f"aside: it needs a form that the neighbour does not know; upgrade it"
        )
        self._complaints.say(by, what, now)

    def refused(self, by: str, reason: int, now: float) -> None:
        """A neighbour will not have one: it took it for malformed, or does not know its form."""
        self.set_aside += 1
        self._complaints.say(by, f"a message was refused (0x{reason:02x}) and is set aside", now)

    def check(self, message: Message) -> None:
        """ProtocolError if it is none, before anything has changed."""
        errand = unpacked(message)
        if errand.to == self._mesh.settings.name:
            self._handler(errand).check(errand)
        for name in ("id", "after"):
            if name in errand.fields:
                identity_of(errand.text(name))
        self._checked = (message, errand)

    def arrived(self, message: Message, origin: Link, is_wave: bool, now: float) -> None:
        """A wave goes by itself to all who are reached. For the others it waits where it began,
        and there only: every broker's copy would become a wave again."""
        checked = self._checked
        self._checked = None
        if checked is not None and checked[0] is message:
            errand = checked[1]
        else:
            errand = unpacked(message)
        if errand.to != self._mesh.settings.name:
            if not is_wave:
                self._pass_on(errand, message, origin, now)
            elif self._began_here(message) and not self._mesh.reaching.is_reached(errand.to):
                self._park(message, now)
        elif self._is_early(errand):
            after = identity_of(errand.text("after")).hex()
            self._early.keep(message, after, identity_of(errand.identity()).hex())
        else:
            self._run(errand, origin, now)

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
        session.withdraw(unknown)
        for delivery in unknown:
            assert delivery.message is not None
            self._replace(unpacked(delivery.message), delivery.message, link, now)

    def refit(self, link: Link) -> None:
        """After a restart: what an earlier version queued in a form that cannot hold it."""
        for delivery in link.session.left_over():
            if delivery.message is not None:
                delivery.message = fitted(delivery.message)

    def _run(self, first: Errand, origin: Link, now: float) -> None:
        """And those that waited for it."""
        due = deque([first])
        while due:
            errand = due.popleft()
            handler = self._handler(errand)
            if not self._is_new(errand):
                continue
            handler.run(errand, origin, now)
            if self._early.most and errand.identity():
                done = identity_of(errand.identity()).hex()
                for place, message in self._early.waiting(done, now):
                    self._early.taken(done, place)
                    due.append(unpacked(message))

    def end_turn(self, now: float) -> None:
        """Sends on what had to wait for its broker to be reached."""
        reaching = self._mesh.reaching
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
        """How many wait for their broker, and how many for another errand."""
        return self._parked.most, self._early.most

    def _pass_on(self, errand: Errand, message: Message, origin: Link, now: float) -> None:
        reaching = self._mesh.reaching
        link = reaching.next_hop(errand.to)
        if link is None or link is origin:
            if link is None or not reaching.is_reached(errand.to):
                self._park(message, now)
                return
            # Trees disagree for a moment. Back there its old name would be taken for a repetition.
            message.rename(b"")
        self._deliver(errand, message, link, now)

    def _deliver(self, errand: Errand, message: Message, link: Link, now: float) -> None:
        if message.topic == ENVELOPE_TOPIC and not link.takes_envelopes():
            self._replace(errand, message, link, now)
        else:
            link.session.deliver(message, link.receiver, now)

    def _replace(self, errand: Errand, message: Message, link: Link, now: float) -> None:
        """Sets it aside; who names it as the one before finds that it was run."""
        self.put_aside(errand, link.name, now)
        if errand.identity():
            fields = dict(_NOTHING)
            for name in ("id", "after"):
                if name in errand.fields:
                    fields[name] = errand.fields[name]
            nothing = Errand(_NOTHING_KIND, errand.to, fields, NO_MESSAGE)
            link.session.deliver(packed(nothing, message.qos), link.receiver, now)

    def _handler(self, errand: Errand) -> ErrandHandler:
        handler = self.handlers.get(errand.kind)
        if handler is None:
            raise malformed(f"an errand of the unknown kind {errand.kind[:40]!r}")
        return handler

    def _park(self, message: Message, now: float) -> None:
        if message.qos:
            self._parked.keep(message, "", f"{self._mesh.next_micros(now):020d}")

    def _began_here(self, wave: Message) -> bool:
        fabric = self._mesh.fabric
        return fabric is not None and fabric.memory.is_own(wave.name)

    def _is_new(self, errand: Errand) -> bool:
        """Whatever ways it took, and whatever names it had on them."""
        fabric = self._mesh.fabric
        identity = errand.identity()
        return fabric is None or not identity or fabric.memory.is_new(identity_of(identity), 2)

    def _is_early(self, errand: Errand) -> bool:
        """Whether the one that it follows has not been run here."""
        fabric = self._mesh.fabric
        if fabric is None or "after" not in errand.fields:
            return False
        return not fabric.memory.knows(identity_of(errand.text("after")))
