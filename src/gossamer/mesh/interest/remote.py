"""What neighbours say that they want: filters, a summary, or that it may be anything.

Whoever speaks may do it in any of these forms, whatever the mode here. The last form counts: what
was said in another is void as soon as the new picture is complete, and not before, so that no
message falls between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.bloom.summary import RemoteSummary
from gossamer.bloom.summary_codec import SummaryError
from gossamer.broker.conditions import (
    SEPARATOR,
    ConditionTap,
    conditional_subscription,
    filter_of,
)
from gossamer.broker.core import Core
from gossamer.broker.subscriptions import enter, remove_subscription
from gossamer.mesh import control_messages as control
from gossamer.mesh.control_messages import decode_interests
from gossamer.mesh.interest.advertisement_schedule import Advertisements
from gossamer.mesh.interest.bloom import Summaries
from gossamer.mesh.interest.filter_advertiser import ANYTHING, digest_of
from gossamer.mesh.link import Link, peer_record, peer_subscription
from gossamer.mesh.settings import CONDITIONS, WITHOUT_FILTERS
from gossamer.session.subscription import Subscription
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# Conditions of one neighbour on one filter: more than any tells, new ones beside old ones.
MOST_ON_A_FILTER: Final = 512
_SUMMARY: Final = b"s"  # no digest of filters looks like this


class RemoteInterest:
    """Keeps for each neighbour what it wants, where routes look for it."""

    __slots__ = ("_advertisements", "_core", "_mesh", "_summaries")

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core: Core = mesh.core
        self._summaries: Summaries = mesh.summaries
        self._advertisements: Advertisements = mesh.advertisements

    def hear(self, link: Link, payload: bytes) -> None:
        """A control message that changes the neighbour's interests."""
        if not link.is_forwarding:
            return  # told before it was heard that they are not wanted any more
        kind = payload[0]
        if kind == control.ADD:
            self._add(link, payload)
        elif kind == control.REMOVE:
            for filter in decode_interests(payload, 1, CONDITIONS in link.can):
                remove_subscription(self._core, link.session, filter)
        elif kind == control.RESTART:
            # What was known stays in force until the new picture is complete.
            link.is_restarting = True
            link.refreshed = set()
        elif kind == control.COMPLETE:
            self._complete(link)
        elif kind == control.SUMMARY:
            self._hear_summary(link, payload[1:])
        else:
            self._expect_all(link)

    def begin(self, link: Link) -> None:
        """The neighbour counts from now on, by the filters that it named in an earlier life. One
        that names none may want anything until it has spoken."""
        told_in = self._mesh.neighbour_records.of(link.name).mode or self._mesh.settings.mode
        if told_in in WITHOUT_FILTERS:
            self._expect_all(link)
        self._note(link)

    def end(self, link: Link) -> None:
        """Nothing that the neighbour said counts any more."""
        self._summaries.forget(link.name)
        self._clear_interest(link)
        self._remove_filters(link)
        self._advertisements.has_changes = True
        self._note(link)

    def forget(self, link: Link) -> None:
        """The neighbour's session is no more, and its filters are gone with it."""
        self._summaries.forget(link.name)
        self._core.routes.drop_interest(link.interest)

    def held(self, link: Link) -> int:
        """How many interests of the neighbour's this broker holds; set bits in mode `bloom`."""
        summary = self._summaries.remote.get(link.name)
        bits = None if summary is None else summary.bits()
        return len(link.session.subscriptions) if bits is None else int(bits.ones())

    def _add(self, link: Link, payload: bytes) -> None:
        core = self._core
        session = link.session
        known: list[str] = []
        for filter in decode_interests(payload, 1, CONDITIONS in link.can):
            if link.is_restarting:
                link.refreshed.add(filter)
            if filter in session.subscriptions:
                if not link.is_restarting:
                    known.append(filter)
                continue
            if SEPARATOR in filter:
                subscription = self._conditional(link, filter)
            else:
                subscription = peer_subscription(session, filter)
            enter(core, subscription)
            core.journal.subscription_saved(session.client_id, subscription.record)
        for filter in known:
            self._advertisements.heard_again(filter, link)

    def _conditional(self, link: Link, interest: str) -> Subscription:
        known = 0
        for tap in self._core.routes.tree.taps(filter_of(interest)):
            if isinstance(tap, ConditionTap) and tap.subscription.session is link.session:
                known += 1
        try:
            if known >= MOST_ON_A_FILTER:
                raise ValueError(f"more than {MOST_ON_A_FILTER} on one filter")
            return conditional_subscription(self._core, link.session, peer_record(interest))
        except ValueError as error:
            raise ProtocolError(
                reasons.MALFORMED_PACKET,
                f"{link.name} sent an interest with an invalid condition: {error}",
            ) from None

    def _complete(self, link: Link) -> None:
        """All its filters are known."""
        for filter in list(link.session.subscriptions):
            if filter not in link.refreshed:
                remove_subscription(self._core, link.session, filter)
        link.is_restarting = False
        link.refreshed = set()
        self._summaries.forget(link.name)
        self._clear_interest(link)
        self._note(link)
        self._advertisements.has_changes = True

    def _expect_all(self, link: Link) -> None:
        """The neighbour gets everything, until it has said what it wants."""
        self._summaries.expect(link.name)
        self._set_interest(link, True, None)

    def _hear_summary(self, link: Link, data: bytes) -> None:
        summary = self._summaries.remote.get(link.name)
        if summary is None:
            summary = RemoteSummary(self._summaries.hasher)
        try:
            summary.apply(data)
        except SummaryError as error:
            if link.name not in self._summaries.remote:
                return  # the change of one that was forgotten; all of it is on its way
            raise ProtocolError(
                reasons.PROTOCOL_ERROR, f"{link.name} sent a malformed summary: {error}"
            ) from None
        self._summaries.heard(link.name, summary)
        self._set_interest(link, False, summary)

    def _set_interest(self, link: Link, takes_all: bool, summary: RemoteSummary | None) -> None:
        """The neighbour does not name filters, and those that it named are void."""
        link.interest.takes_all = takes_all
        link.interest.summary = summary
        link.is_restarting = False
        self._core.routes.set_interest(link.interest)
        self._remove_filters(link)
        self._note(link)
        self._advertisements.has_changes = True

    def _clear_interest(self, link: Link) -> None:
        """Only filters decide what the neighbour gets."""
        link.interest.takes_all = False
        link.interest.summary = None
        self._core.routes.drop_interest(link.interest)

    def _remove_filters(self, link: Link) -> None:
        for filter in list(link.session.subscriptions):
            remove_subscription(self._core, link.session, filter)

    def _note(self, link: Link) -> None:
        """Of the neighbour: the mode of its interests, and whether it is queued for."""
        note = self._mesh.neighbour_records.of(link.name)
        note.is_forwarding = link.is_forwarding
        note.mode = form_of(link) if link.is_forwarding else ""
        self._mesh.neighbour_records.save(link.name)


def held_digest(link: Link) -> bytes:
    """Of the picture that we hold of the neighbour's interests, in whatever form."""
    if link.interest.takes_all:
        return ANYTHING
    if link.interest.summary is not None:
        return _SUMMARY
    return digest_of(list(link.session.subscriptions))


def form_of(link: Link) -> str:
    """The mode in whose form the neighbour has said what it wants."""
    if link.interest.takes_all:
        return "pf"
    return "ssf" if link.interest.summary is None else "bloom"
