"""What a neighbour's control messages change here."""

from __future__ import annotations

from gossamer.broker.core import Core
from gossamer.broker.revoking import remove_subscription
from gossamer.broker.subscriptions import enter
from gossamer.mesh.link import Link, peer_subscription
from gossamer.mesh.modes.interest import decode_interests
from gossamer.mesh.modes.teller import digest_of
from gossamer.mesh.note import Note


def hear_added(core: Core, link: Link, payload: bytes) -> list[str]:
    """Answers those that were known before."""
    session = link.session
    heard_again: list[str] = []
    for filter in decode_interests(payload, 1):
        if link.is_restarting:
            link.refreshed.add(filter)
        if filter in session.subscriptions:
            if not link.is_restarting:
                heard_again.append(filter)
            continue
        subscription = peer_subscription(session, filter)
        enter(core, subscription)
        core.journal.subscription_saved(session.client_id, subscription.record)
    return heard_again


def hear_removed(core: Core, link: Link, payload: bytes) -> None:
    for filter in decode_interests(payload, 1):
        remove_subscription(core, link.session, filter)


def hear_restart(link: Link) -> None:
    """What was known stays in force until the new picture is complete."""
    link.is_restarting = True
    link.refreshed = set()


def hear_complete(core: Core, link: Link) -> None:
    for filter in list(link.session.subscriptions):
        if filter not in link.refreshed:
            remove_subscription(core, link.session, filter)
    link.is_restarting = False
    link.refreshed = set()


def hear_epoch(core: Core, link: Link, epoch: str) -> None:
    """A neighbour that lost its state numbers its QoS 2 messages anew: old numbers mean nothing."""
    session = link.session
    note = Note(session.record.note)
    if note.theirs == epoch:
        return
    for packet_id in list(session.incoming or ()):
        core.journal.incoming_removed(session.client_id, packet_id)
    session.incoming = None
    note.theirs = epoch
    session.record.note = note.text()
    core.journal.session_saved(session.record)


def held_digest(link: Link) -> bytes:
    """Identifies the interests that we hold of the neighbour's."""
    return digest_of(list(link.session.subscriptions))
