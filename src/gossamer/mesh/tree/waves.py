"""What waits for a neighbour that is away goes round to those who were behind it, as waves.

A wave goes to every broker. Its name is two names: its own, by which each broker takes it once, and
the message's, by which it is delivered only where it was not before.

A broker begins one wave of a message in each view of the tree, however often the message is in its
queues or comes late. What is in several queues, as itself and as waves, would become a wave for
each of them, all of which are queued again: with each cut there would be many times as many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.core import Core
from gossamer.broker.distributing import distribute_onwards
from gossamer.broker.neighbours import MARKER_TOPIC
from gossamer.broker.stamps import stamp_of
from gossamer.mesh.link import Link
from gossamer.mesh.tree.graph import View
from gossamer.mesh.tree.memory import Memory, as_replayed
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.session.records import RELEASED

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# Of the messages with a wave in this view; one that is forgotten may get another, and no harm done.
_MOST_KNOWN: Final = 65_536


class Waves:
    """Those that begin on this broker."""

    __slots__ = ("_core", "_digest", "_known", "_memory", "_mesh", "begun")

    def __init__(self, mesh: Mesh, memory: Memory) -> None:
        self._mesh = mesh
        self._core: Core = mesh.core
        self._memory = memory
        self._digest = b""  # of the view that `_known` is for
        self._known: dict[bytes, None] = {}
        self.begun = 0

    def begin(self, message: Message, first: bytes, view: View) -> bytes:
        """The name of a wave with the message that was named `first`; b"" if one that began here in
        this view goes to the same brokers."""
        if self._digest != view.digest:
            self._digest = view.digest
            self._known = {}
        # What tells a retained message where it is missing is not delivered where it is not.
        stamp = stamp_of(message) if message.retain else None
        known_as = as_replayed(first) if stamp is not None and stamp.is_replay else first
        if known_as in self._known:
            return b""
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[known_as] = None
        self.begun += 1
        return self._memory.name(message.qos) + first

    def send_round(self, view: View, now: float) -> bool:
        """To whom the view can reach in another way; whether that is all there was to send."""
        reachable = view.tree
        is_complete = True
        for link in self._mesh.by_name.values():
            is_back = link.name in reachable
            if link.in_tree or (is_back and link.connection is not None) or not waits(link):
                continue
            fresh = set(reachable) - link.reached
            fresh.discard(self._mesh.settings.name)
            if link.behind is not None:
                fresh &= link.behind
            if not fresh and not is_back:
                continue
            if link.session.reclaim():
                self._send_queue(link, view, now)
                link.reached |= fresh
                if is_back:
                    self._drop_queue(link)
            else:
                is_complete = False  # some of it is being written
        return is_complete

    def send_to_others(self, link: Link, view: View, now: float) -> None:
        """The link is in the tree again, with fewer behind it than when its queue began: the
        neighbour gets the queue, and may leave with it before it can send it on."""
        if link.behind is None or not waits(link):
            return
        others = (link.behind & set(view.tree)) - view.behind(link.name) - link.reached
        others.discard(self._mesh.settings.name)
        if others and link.session.reclaim():
            self._send_queue(link, view, now)
            link.reached |= others

    def _send_queue(self, link: Link, view: View, now: float) -> None:
        for delivery in link.session.left_over():
            message = delivery.message
            if message is None or delivery.state == RELEASED or message.topic == MARKER_TOPIC:
                continue
            first = message.name[-NAME_BYTES:] or self._memory.name(message.qos)
            sent = _copied(message, delivery.retain)
            sent.name = self.begin(sent, first, view)
            if sent.name:
                distribute_onwards(self._core, sent, link.session, now)

    def _drop_queue(self, link: Link) -> None:
        """The next connection begins another life of packet identifiers: those in flight now mean
        nothing any more."""
        session = link.session
        session.withdraw(session.left_over())
        self._mesh.notes.of(link.name).own = ""
        self._mesh.notes.save(link.name)


def waits(link: Link) -> bool:
    """Whether anything is queued for the neighbour."""
    session = link.session
    return bool(session.inflight or session.queue or session.spilled)


def _copied(message: Message, retain: bool) -> Message:
    return Message(
        message.topic,
        message.payload,
        message.qos,
        retain,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
        message.topic_bytes,
    )
