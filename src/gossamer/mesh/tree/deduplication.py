"""What is done with a message that comes over a link: is it new, does it go on, is it sent again?

The answers are those of `broker/mesh_port.py`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gossamer.broker.core import Core
from gossamer.broker.mesh_port import MIXED, NEW, PASSED, REBROADCAST, REPEATED
from gossamer.broker.retained_stamps import stamp_of
from gossamer.mesh.link import LimitedLog, Link
from gossamer.mesh.tree.agreement import TreeAgreement
from gossamer.mesh.tree.rebroadcast import Rebroadcast
from gossamer.mesh.tree.seen_messages import SeenMessages, as_replayed
from gossamer.session.message import Message
from gossamer.session.message_names import NAME_BYTES, is_wave, own_name, ranges

if TYPE_CHECKING:
    from gossamer.mesh.tree.tree_links import TreeLinks

logger = logging.getLogger(__name__)


class Deduplication:
    """Knows messages by their names, those of an earlier life too."""

    __slots__ = ("_agreement", "_complaints", "_core", "_memory", "_tree_links", "_waves", "forged")

    def __init__(self, tree_links: TreeLinks) -> None:
        self._tree_links = tree_links
        self._core: Core = tree_links.core
        self._memory: SeenMessages = tree_links.memory
        self._agreement: TreeAgreement = tree_links.agreement
        self._waves: Rebroadcast = tree_links.rebroadcast
        self._complaints = LimitedLog(logger)
        self.forged = 0  # messages that claimed to have begun here
        self._remember_queues()

    def _remember_queues(self) -> None:
        """What was on its way when an earlier life ended has been here."""
        for session in self._core.sessions.values():
            for delivery in session.left_over():
                message = delivery.message
                stamp = None if message is None else stamp_of(message)
                if message is None or (stamp is not None and stamp.is_replay):
                    continue
                self._memory.remember(message.name, message.qos)
            if not session.lane.messages:
                continue
            # Those of QoS 2 are remembered in any case.
            for name in self._core.journal.spilled_names(session.client_id):
                self._memory.remember(name, 1)

    def admit(self, link: Link, message: Message, now: float) -> tuple[int, Message]:
        """What to do with it, and the message, by another name if it becomes a wave here."""
        tree_links = self._tree_links
        self._adopt_news(link, now)
        name = message.name
        memory = self._memory
        if self._is_forged(link, name, now):
            return REPEATED, message
        first = own_name(name)
        is_rebroadcast = is_wave(name)
        stamp = stamp_of(message) if message.retain else None
        if stamp is not None and stamp.is_replay and not is_rebroadcast:
            return (NEW if self._is_missing(first, message) else REPEATED), message
        if not memory.is_new(name[:NAME_BYTES], message.qos):
            return REPEATED, message
        # Once a neighbour has our marker, all count on it that what was sent by the old tree has
        # been passed on. This was not, so it goes to everybody.
        is_late = not link.in_tree and self._agreement.has_sent()
        if is_rebroadcast and stamp is not None and stamp.is_replay:
            is_news = self._is_missing(first, message)
        else:
            is_news = not is_rebroadcast or memory.is_new(first, message.qos)
            if stamp is not None and memory.knows(as_replayed(first)):
                is_news = False
        if is_late:
            name = self._waves.begin(message, first, tree_links.view)
            if name:
                message = message.changed(name=name)
                is_rebroadcast = True
            elif not is_news:
                return REPEATED, message
        if is_news:
            return (REBROADCAST if is_rebroadcast else NEW), message
        return PASSED, message

    def admit_run(self, link: Link, message: Message, now: float) -> int:
        """What to do with all of a run, if that is the same for each of its messages."""
        self._adopt_news(link, now)
        name = message.name
        if self._is_forged(link, name, now):
            return REPEATED
        if not link.in_tree and self._agreement.has_sent():
            return MIXED  # each is late, and becomes a wave
        memory = self._memory
        parts = ranges(name)
        count = parts[0][2]
        known = [memory.known_of(*part) for part in parts]
        if any(0 < some < count for some in known):
            return MIXED
        if known[0]:
            return REPEATED
        memory.remember(name, message.qos)
        if len(parts) == 1:
            return NEW
        return PASSED if known[1] else REBROADCAST

    def _adopt_news(self, link: Link, now: float) -> None:
        """What puts this link into the tree may have come a moment ago. By the old view a message
        would seem to come by a link that is not in use, and would go round for nothing."""
        tree_links = self._tree_links
        if not link.in_tree and (tree_links.has_news or tree_links.is_dirty):
            tree_links.adopt(now)

    def _is_forged(self, link: Link, name: bytes, now: float) -> bool:
        if not self._memory.is_forged(name):
            return False
        self.forged += 1
        self._complaints.say(link.name, "a message that claims to come from this broker", now)
        return True

    def _is_missing(self, name: bytes, message: Message) -> bool:
        """Whether a retained message that a neighbour thinks we lack is news. If so it is delivered
        here; those who get it on the way of all messages still get it there."""
        if self._memory.knows(name) or not self._core.retained_for(message.topic).is_news(message):
            return False
        return self._memory.is_new(as_replayed(name), message.qos)
