"""What neighbours are told of what is wanted here, in the form of the mode, as it changes.

Changes are collected while a turn lasts and advertised at its end. A neighbour that cannot take
them now, because it reads slowly or was sent much a moment ago, gets the outcome later. One whose
picture has not been compared with ours yet gets nothing: whatever differs is sent when it asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.conditions import SEPARATOR, filter_of
from gossamer.broker.core import Core
from gossamer.mesh.interest.auto import AutoAdvertiser
from gossamer.mesh.interest.bloom import Summaries, SummaryAdvertiser
from gossamer.mesh.interest.filter_advertiser import (
    Advertiser,
    FloodingAdvertiser,
    SelectiveAdvertiser,
    WantedConditions,
)
from gossamer.mesh.link import Link
from gossamer.mesh.settings import CONDITIONS, WITHOUT_FILTERS, MeshSettings
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh


class Advertisements:
    """Gives each link its advertiser, and every advertiser what it has to know."""

    __slots__ = (
        "_by_name",
        "_conditions",
        "_core",
        "_is_summing",
        "_mesh",
        "_settings",
        "_summaries",
        "has_changes",
    )

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core: Core = mesh.core
        self._settings: MeshSettings = mesh.settings
        self._summaries: Summaries = mesh.summaries
        self._by_name: dict[str, Link] = mesh.by_name
        self._conditions = WantedConditions()
        self._is_summing = False  # whether wishes are entered into summaries
        self.has_changes = False  # that may have to be told

    # What changed ---------------------------------------------------------------------------------

    def wanted(self, filter: str, by: Session) -> None:
        if SEPARATOR in filter:
            self._conditions.hold(filter)
        if self._is_summing:
            self._summaries.add(filter_of(filter))
        for link in self._by_name.values():
            if link.session is not by:
                link.advertiser.add(filter)
        self.has_changes = True

    def unwanted(self, filter: str, by: Session) -> None:
        if self._is_summing:
            self._summaries.remove(filter_of(filter))
        for link in self._by_name.values():
            if link.session is not by:
                link.advertiser.remove(filter)
        if SEPARATOR in filter:
            self._conditions.release(filter)
        self.has_changes = True

    def heard_again(self, filter: str, by: Link) -> None:
        """A neighbour named a filter that is known. That is repeated in a tree that all agree on
        only: in any other graph repetitions would go round for ever, and they tell nothing new."""
        tree_links = self._mesh.tree_links
        if not (by.in_tree and tree_links.agreement.is_settled):
            return
        for link in self._by_name.values():
            if link is not by and link.in_tree:
                link.advertiser.again(filter)
        self.has_changes = True

    def chosen(self, branch: str, is_flooded: bool) -> None:
        """Mode `auto` tells a branch in the other way from now on."""
        for link in self._by_name.values():
            if isinstance(link.advertiser, AutoAdvertiser):
                link.advertiser.choose(branch, is_flooded)
        self.has_changes = True

    # Telling it -----------------------------------------------------------------------------------

    def end_turn(self, now: float) -> None:
        if not self.has_changes:
            return
        self.has_changes = False
        for link in self._by_name.values():
            connection = link.connection
            link.is_deferred = False
            if connection is None or not link.is_compared:
                continue
            if connection.outbox.blocked or not link.may_tell(now):
                self.has_changes = True  # it is told it all later
                link.is_deferred = True
            else:
                link.advertiser.set_blind(self.is_blind_for(link))
                link.tell(link.advertiser.changes(), now)

    def answer(self, link: Link, held: bytes) -> None:
        """The neighbour wants to know what is wanted here, and says what it holds of it."""
        link.is_compared = True
        link.advertiser.set_blind(self.is_blind_for(link))
        # Deltas of a summary may have been lost with the connection: it always starts over.
        if self._settings.mode != "bloom" and held == link.advertiser.digest():
            link.advertiser.agreed()
        else:
            link.advertise(link.advertiser.everything())

    def is_conditional(self, link: Link) -> bool:
        """Whether the neighbour is told conditions; one that is away was told what it knows."""
        return self._settings.conditions and CONDITIONS in link.can

    def is_blind_for(self, link: Link) -> bool:
        """Whether another neighbour has not said in filters what it wants."""
        return any(each is not link.interest for each in self._core.routes.neighbour_interests)

    # The form in which it is told -----------------------------------------------------------------

    def load(self) -> None:
        """What is wanted by the sessions of an earlier life."""
        for session in self._core.sessions.values():
            for read in self._mesh.needed_by(session):
                if SEPARATOR in read:
                    self._conditions.hold(read)

    def begin_mode(self) -> None:
        """What the mode of the settings needs before anybody is told in it."""
        if self._settings.mode == "auto":
            self._mesh.auto.start()
        else:
            self._mesh.auto.stop()
        self._is_summing = self._settings.mode == "bloom"
        filters: list[str] = []
        if self._is_summing:
            for session in self._core.sessions.values():
                filters += [filter_of(read) for read in self._mesh.needed_by(session)]
        self._summaries.restart(filters)

    def switch(self, mode: str) -> None:
        """What is wanted here is told in another form from now on."""
        self._settings.mode = mode
        self.begin_mode()
        for link in self._by_name.values():
            advertiser = self.new_advertiser(link.name, link.session)
            advertiser.set_conditional(self.is_conditional(link))
            advertiser.interests = link.advertiser.interests
            link.advertiser = advertiser
            if link.connection is not None and link.is_compared:
                advertiser.set_blind(self.is_blind_for(link))
                link.advertise(advertiser.everything())

    def new_advertiser(self, name: str, session: Session) -> Advertiser:
        """That knows what everybody but the neighbour itself wants."""
        advertiser = advertiser_for(self._mesh, name, self._conditions)
        if self._settings.mode not in WITHOUT_FILTERS:
            for other in self._core.sessions.values():
                if other is not session:
                    for read in self._mesh.needed_by(other):
                        advertiser.add(read)
        return advertiser


def advertiser_for(mesh: Mesh, name: str, conditions: WantedConditions) -> Advertiser:
    """The advertiser of one link; `name` is the neighbour's."""
    mode = mesh.settings.mode
    if mode == "sf":
        return FloodingAdvertiser()
    if mode == "ssf":
        return SelectiveAdvertiser(conditions)
    if mode == "auto":
        return AutoAdvertiser(mesh.auto.flooded, conditions)
    if mode == "bloom":
        return SummaryAdvertiser(mesh.summaries, name)
    return Advertiser()
