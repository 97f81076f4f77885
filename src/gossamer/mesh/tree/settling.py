"""When everybody agrees on the tree, and all that was sent before has arrived.

Each broker sends a marker with the digest of its view to each of its neighbours in the tree, behind
everything that it has sent there, once all its *other* neighbours in the tree have sent theirs with
the same digest. On a tree that ends: leaves begin, the waves meet, and two markers cross each link.
A broker that has one from each of them is *settled*.

A marker from `w` to `n` says that everybody behind `w` has adopted this view, that `n` knows all
their interests, and that what they handled under earlier views has arrived at `n` or precedes a
marker somewhere behind `w`.

Why QoS 0 cannot go in circles, without any name on its messages: it crosses a link only if a broker
has been settled in a view with that link in its tree, stops as soon as the broker's own tree does
not have it, and is dropped by a receiver whose tree does not have it. Views of one broker only
grow, since versions do. When anybody settles in `d`, all of its component have adopted `d` or a
later view, and so use no link that is not in `d`'s tree, and none settles in a later view before
this broker has adopted that. The links in use are part of one tree at any time. A message on its
way when the tree changes was sent before its sender's marker: it arrives before the receiver
settles, or over a link that the receiver's tree does not have, where it is dropped.
"""

from __future__ import annotations


class Settling:
    """One broker's markers, sent and received."""

    __slots__ = ("_heard", "_neighbours", "_sent", "digest", "is_settled")

    def __init__(self) -> None:
        self.digest = b""
        self.is_settled = False
        self._neighbours: list[str] = []
        self._heard: dict[str, bytes] = {}
        self._sent: dict[str, None] = {}

    def adopt(self, digest: bytes, neighbours: list[str]) -> None:
        """Another view; markers that came early for it count."""
        self.digest = digest
        self._neighbours = neighbours
        self._sent = {}
        self._judge()

    def heard(self, neighbour: str, digest: bytes) -> None:
        self._heard[neighbour] = digest
        self._judge()

    def unheard(self, neighbour: str) -> None:
        """What the neighbour said before counts no more."""
        self._heard.pop(neighbour, None)
        self._judge()

    def sent(self, neighbour: str) -> None:
        self._sent[neighbour] = None

    def unsent(self, neighbour: str) -> None:
        """The neighbour asks anew, so it needs the marker again."""
        self._sent.pop(neighbour, None)

    def has_sent(self) -> bool:
        """Whether anybody has this broker's word for this view."""
        return bool(self._sent)

    def due(self) -> list[str]:
        """The neighbours whose turn it is, as far as the others' markers tell."""
        missing = [name for name in self._neighbours if self._heard.get(name) != self.digest]
        if len(missing) > 1:
            return []
        waiting = missing if missing else self._neighbours
        return [name for name in waiting if name not in self._sent]

    def _judge(self) -> None:
        digest = self.digest
        heard = self._heard
        self.is_settled = all(heard.get(name) == digest for name in self._neighbours)
