"""Who announces which links: what every broker floods of its own, and what it has heard of others'.

An announcement is a version (this broker's life and a counter, so no two are the same) and its
connected neighbours, each with a cost.
"""

from __future__ import annotations

from typing import Final

from gossamer.mesh.gossip.item import is_name
from gossamer.mesh.tree.spanning_tree import Announcement, TreeView, view_of
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

TOPOLOGY: Final = 1  # the kind of word that an announcement is
# Links of one broker; a peer that announces more is no broker of ours.
MOST_LINKS: Final = 1_024
_VERSION_BYTES: Final = 16


class Announcements:
    """Announcements by broker, and the view that follows from them.

    A subclass may know them from elsewhere (`sim/known_links.py`).
    """

    __slots__ = ("_announcements", "_counter", "_name", "view")

    def __init__(self, name: str) -> None:
        self._name = name
        self._counter = 0
        self._announcements = {name: Announcement(b"", {})}
        self.view: TreeView = view_of(name, self._announcements)

    def announce(self, life: int, costs: dict[str, int]) -> bytes:
        """This broker's links are these: what to say to everybody, if anything."""
        self._counter += 1
        version = life.to_bytes(10, "big") + self._counter.to_bytes(6, "big")
        announcement = Announcement(version, costs)
        self._announcements[self._name] = announcement
        return encode_announcement(announcement)

    def heard(self, origin: str, body: bytes) -> None:
        """ProtocolError if that is no announcement."""
        self._announcements[origin] = decode_announcement(body)

    def refresh(self) -> bool:
        """Computes the view anew; whether it is another one."""
        before = self.view.digest
        self.view = view_of(self._name, self._announcements)
        return self.view.digest != before

    def known(self) -> int:
        """How many brokers were heard of, this one included."""
        return len(self._announcements)


def encode_announcement(announcement: Announcement) -> bytes:
    parts = [announcement.version]
    for name, cost in announcement.costs.items():
        spelled = name.encode()
        parts.append(bytes((cost, len(spelled))))
        parts.append(spelled)
    return b"".join(parts)


def decode_announcement(body: bytes) -> Announcement:
    costs: dict[str, int] = {}
    position = _VERSION_BYTES
    end = len(body)
    while position < end:
        after = position + 2 + (body[position + 1] if position + 1 < end else end)
        if after > end or len(costs) >= MOST_LINKS:
            raise _malformed("is truncated" if after > end else "names too many links")
        try:
            name = str(body[position + 2 : after], "utf-8")
        except UnicodeDecodeError:
            name = ""
        if not is_name(name):
            raise _malformed("names nobody")
        costs[name] = body[position]
        position = after
    if end < _VERSION_BYTES:
        raise _malformed("is truncated")
    return Announcement(body[:_VERSION_BYTES], costs)


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent an announcement that {what}")
