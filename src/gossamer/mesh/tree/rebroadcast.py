"""What waits for a neighbour that is away is rebroadcast to those who were behind it.

A rebroadcast message has two names: that of the rebroadcast, by which each broker takes it once,
and the message's own, by which it is delivered only where it was not before. Brokers pass it on to
all their neighbours. The one that begins it sends it only to neighbours that lead to somebody it is
for: the others had what they wanted of the message when it was new, and who has subscribed since
then must not get it now, after newer ones.

A broker begins one rebroadcast of a message for each neighbour in each view of the tree, however
often the message is in its queues or comes late. What is in several queues, as itself and
rebroadcast, would go round once for each of them, and all of these are queued again: with each cut
there would be many times as many.

Who was behind a link since its queue was last empty outlives restarts. A broker that had forgotten
it would have to send what waits to everybody, also to those who never were behind the link: to them
a message comes late, after newer ones of its publisher that they had by their only way.

A queue may be far longer than memory holds: it is read in windows, one a turn, and what it holds
on disk stays there until the neighbour has it or nobody needs it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.core import Core
from gossamer.broker.mesh_port import MARKER_TOPIC
from gossamer.broker.retained_stamps import stamp_of
from gossamer.mesh.link import Link
from gossamer.mesh.tree.seen_messages import SeenMessages, as_replayed
from gossamer.mesh.tree.spanning_tree import TreeView
from gossamer.session.handover import withdraw
from gossamer.session.message import Message
from gossamer.session.message_names import NAME_BYTES, count_of, own_name
from gossamer.session.queue import look_ahead, refill
from gossamer.session.records import RELEASED, DeliveryRecord
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# Of the messages with a wave in this view; one that is forgotten may get another, and no harm done.
_MOST_KNOWN: Final = 65_536
# The room of the store that has it, by the neighbours' names.
_ROOM: Final = "mesh/queued_for"
_BETWEEN: Final = "/"  # names of brokers have none
# More names are not written with each change of the tree; after a restart they are not known.
_MOST_SAVED: Final = 4_096


class Rebroadcast:
    """Those that begin on this broker."""

    __slots__ = ("_core", "_digest", "_known", "_memory", "_mesh", "_walks", "begun")

    def __init__(self, mesh: Mesh, memory: SeenMessages) -> None:
        self._mesh = mesh
        self._core: Core = mesh.core
        self._memory = memory
        self._digest = b""  # of the view that `_known` is for
        # By message: the neighbours that were sent a wave of it; None if all were.
        self._known: dict[bytes, tuple[str, ...] | None] = {}
        self._walks: dict[str, Walk] = {}  # by link
        self.begun = 0

    def begin(self, message: Message, first: bytes, view: TreeView) -> bytes:
        """The name of a wave to everybody, with the message that was named `first`; b"" if one that
        began here in this view goes to the same brokers."""
        known_as = _known_as(message, first)
        if self._sent_to(known_as, view) is None:
            return b""
        self._known[known_as] = None
        return self._new_name(message, first)

    def _sent_to(self, known_as: bytes, view: TreeView) -> tuple[str, ...] | None:
        """The neighbours that a wave of the message was sent to in this view; None if all were."""
        if self._digest != view.digest:
            self._digest = view.digest
            self._known = {}
        if known_as not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[known_as] = ()
        return self._known[known_as]

    def _new_name(self, message: Message, first: bytes) -> bytes:
        self.begun += 1
        return self._memory.run_name(message.qos, count_of(first))[:NAME_BYTES] + first

    def send_round(self, view: TreeView, now: float) -> bool:
        """To whom the view can reach in another way; whether that is all there was to send."""
        reachable = view.tree
        is_complete = True
        for link in self._mesh.by_name.values():
            is_back = link.name in reachable
            # A link that stands empties its queue itself, in the tree or on its way out of it.
            if link.in_tree or (is_back and link.connection is not None) or not waits(link):
                continue
            owed = self._owed(link, view)
            is_new = link.session.last_number() > link.reached_number
            if not is_back and not (owed if is_new else owed - link.reached):
                continue
            # One that is reached in another way needs its queue here no more. One that is not keeps
            # it, since nobody else has it for that broker; those behind it need not wait.
            if is_back:
                is_sent = self._send_off(link, owed, view, now)
            else:
                is_sent = self._send_copies(link, owed, view, now)
            if is_sent:
                link.reached = owed if is_new else link.reached | owed
                link.reached_number = link.session.last_number()
            else:
                is_complete = False
        return is_complete

    def send_to_others(self, link: Link, view: TreeView, now: float) -> bool:
        """The link is in the tree again, with fewer behind it than when its queue began: the
        neighbour gets the queue, and may leave with it before it can send it on. Whether the others
        have all of it; until then the neighbour gets nothing."""
        if link.behind is None or not waits(link):
            return True
        others = self._owed(link, view) - view.behind(link.name)
        # Not all may have adopted this view: if the link leaves again, they are sent it again.
        return not others or self._send_copies(link, others, view, now)

    def note_reached(self, view: TreeView) -> None:
        """All agreed on this view until now: what was queued meanwhile for a neighbour that it does
        not have went to those whom it has by the tree."""
        for link in self._mesh.by_name.values():
            if not link.in_tree and link.name not in view.tree:
                link.reached &= set(view.tree)
                link.reached_number = link.session.last_number()

    def stop(self, link: Link) -> None:
        """Nobody looks through its queue any more."""
        walk = self._walks.pop(link.name, None)
        if walk is not None:
            walk.session.lane.stop_looking()

    def _owed(self, link: Link, view: TreeView) -> set[str]:
        """Those in the view who are to have what waits for the link."""
        owed = set(view.tree)
        owed.discard(self._mesh.settings.name)
        if link.behind is not None:
            owed &= link.behind
        return owed

    def _send_copies(self, link: Link, brokers: set[str], view: TreeView, now: float) -> bool:
        """A window of what waits for the link, to these brokers; whether it was the last."""
        walk = self._walks.get(link.name)
        if walk is None or not walk.is_for(link, brokers, view):
            self.stop(link)
            walk = Walk(link.session, brokers, view.digest)
            self._walks[link.name] = walk
        self._send(walk.next_window(), link, brokers, view, now)
        if not walk.is_over():
            return False
        self.stop(link)
        return True

    def _send_off(self, link: Link, brokers: set[str], view: TreeView, now: float) -> bool:
        """As `_send_copies`, for the last time: the neighbour itself is one of those who get it.

        The next connection begins another life of packet identifiers: those in flight now mean
        nothing any more.
        """
        self.stop(link)
        session = link.session
        window = session.left_over()
        self._send(window, link, brokers, view, now)
        if window:
            withdraw(session, window)
            self._mesh.neighbour_records.of(link.name).own = ""
            self._mesh.neighbour_records.save(link.name)
        if not session.lane.messages:
            return True
        refill(session)
        return False

    def _send(
        self,
        deliveries: list[DeliveryRecord],
        link: Link,
        brokers: set[str],
        view: TreeView,
        now: float,
    ) -> None:
        """Some of what waits for the link, to those of these brokers who do not have it."""
        passing = self._core.hub.passing
        to_all = self._leading(link, brokers, view)
        to_missing = self._leading(link, brokers - link.reached, view)
        for delivery in deliveries:
            message = delivery.message
            if message is None or not _is_owed(delivery):
                continue
            first = own_name(message.name) or self._memory.name(message.qos)
            known_as = _known_as(message, first)
            sent_to = self._sent_to(known_as, view)
            if sent_to is None:
                continue
            leading = to_missing if delivery.number <= link.reached_number else to_all
            missing = [other for other in leading if other.name not in sent_to]
            if not missing:
                continue
            name = self._new_name(message, first)
            sent = message.changed(retain=delivery.retain, name=name)
            self._known[known_as] = (*sent_to, *[other.name for other in missing])
            # Who waits for the link's acknowledgement now waits for these too.
            before = passing.carry(delivery.ticket)
            for other in missing:
                other.session.deliver(sent, other.receiver, now)
            passing.end(before)

    def _leading(self, link: Link, brokers: set[str], view: TreeView) -> list[Link]:
        """The other links of the tree that lead to any of these brokers."""
        return [
            other
            for other in self._mesh.by_name.values()
            if other is not link
            and other.in_tree
            and not brokers.isdisjoint(view.behind(other.name))
        ]


class Walk:
    """One look through all that waits for a neighbour: first what memory holds of it."""

    __slots__ = ("_brokers", "_digest", "_has_begun", "_looked_at", "session")

    def __init__(self, session: Session, brokers: set[str], digest: bytes) -> None:
        self.session = session
        self._brokers = brokers
        self._digest = digest
        self._has_begun = False
        self._looked_at = 0  # of what was spilled

    def is_for(self, link: Link, brokers: set[str], view: TreeView) -> bool:
        """Whether it can go on; not if the queue was read by somebody else meanwhile."""
        return (
            self.session is link.session
            and self._brokers == brokers
            and self._digest == view.digest
            and (not self._looked_at or self.session.lane.is_looked_through())
        )

    def next_window(self) -> list[DeliveryRecord]:
        """None if it is not at hand yet."""
        if not self._has_begun:
            self._has_begun = True
            return self.session.left_over()
        found = look_ahead(self.session)
        self._looked_at += len(found)
        return found

    def is_over(self) -> bool:
        return self._looked_at >= self.session.lane.messages


def waits(link: Link) -> bool:
    """Whether anything is queued for the neighbour."""
    session = link.session
    return bool(session.in_flight() or session.queue or session.lane.messages)


def owes(link: Link) -> bool:
    """Whether anything but markers waits for the neighbour and those behind it."""
    session = link.session
    if session.lane.messages:
        return True
    return any(_is_owed(delivery) for delivery in session.inflight.values()) or any(
        _is_owed(delivery) for delivery in session.queue or ()
    )


def _is_owed(delivery: DeliveryRecord) -> bool:
    message = delivery.message
    if message is None or delivery.state == RELEASED:
        return False
    return message.topic != MARKER_TOPIC


def _known_as(message: Message, first: bytes) -> bytes:
    """What tells a retained message where it is missing is not delivered where it is not."""
    stamp = stamp_of(message) if message.retain else None
    return as_replayed(first) if stamp is not None and stamp.is_replay else first


class Behind:
    """Of all links; whoever changes one saves it."""

    __slots__ = ("_core", "_saved")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._saved: dict[str, str] = {}
        for name, text in core.rooms.pop(_ROOM, {}).items():
            self._saved[name] = text.decode("utf-8", "replace")

    def recall(self, link: Link) -> None:
        """The link as an earlier life left it."""
        text = self._saved.get(link.name)
        if text is not None:
            link.behind = set(text.split(_BETWEEN)) if text else set()

    def save(self, link: Link) -> None:
        behind = link.behind
        if behind is None or len(behind) > _MOST_SAVED:
            self.forget(link.name)
            return
        text = _BETWEEN.join(sorted(behind))
        if self._saved.get(link.name) != text:
            self._saved[link.name] = text
            self._core.journal.keep(_ROOM, link.name, text.encode())

    def forget(self, name: str) -> None:
        if self._saved.pop(name, None) is not None:
            self._core.journal.drop(_ROOM, name)
