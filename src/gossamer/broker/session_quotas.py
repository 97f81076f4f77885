"""How many sessions are kept for one user, and how many of them outlive their connections.

A client without a name is counted by its address (of IPv6 by its network). A session that is there
may always be taken up again: a quota refuses what is new, and never ends what was promised.
"""

from gossamer.broker.settings import Settings
from gossamer.budget.ledger import Owner
from gossamer.session.session import Session

# Before an address, so that no user name is one.
_NAMELESS = "\0"


class SessionQuotas:
    """Counted here: every session of a client, under who made it."""

    __slots__ = ("_kept", "_lasting")

    def __init__(self) -> None:
        self._kept: dict[str, int] = {}
        self._lasting: dict[str, int] = {}

    def refusal(
        self, owner: Owner, there: Session | None, is_clean: bool, lasts: bool, settings: Settings
    ) -> str:
        """Why a client cannot have the session that it asks for; "" if it can.

        `there` is what the id has now. It is taken up, under who made it, unless it ends with its
        connection or a clean start is asked for: then the client makes one in its place.
        """
        was_lasting = there is not None and there.persistent
        if there is not None and was_lasting and not is_clean:
            owner = there.owner
        holder = holder_of(owner)
        is_in_place = there is not None and there.holder == holder
        is_new = not is_in_place
        is_lasting = lasts and not (is_in_place and was_lasting)
        whom = f"user {owner.user!r}" if owner.user else "your address"
        share = settings.user_share if owner.user else settings.address_share
        most = settings.max_sessions_per_user or max(1, int(settings.max_sessions * share))
        if is_new and self._kept.get(holder, 0) >= most:
            return f"{whom} has {most} sessions, which is the limit (limits.sessions_per_user)"
        most = min(settings.max_lasting_per_user or most, most)
        if is_lasting and self._lasting.get(holder, 0) >= most:
            return (
                f"{whom} has {most} sessions that outlive their connections, which is the limit "
                "(limits.offline_sessions_per_user)"
            )
        return ""

    def update(self, session: Session) -> None:
        """The session is there, or has changed how long it is to last."""
        if session.is_peer or not holder_of(session.owner):
            return
        holder = session.holder
        if not holder:
            holder = holder_of(session.owner)
            session.holder = holder
            _change(self._kept, holder, 1)
        if session.persistent != session.counts_as_lasting:
            session.counts_as_lasting = session.persistent
            _change(self._lasting, holder, 1 if session.persistent else -1)

    def remove(self, session: Session) -> None:
        """It has ended."""
        holder = session.holder
        if holder:
            session.holder = ""
            _change(self._kept, holder, -1)
            if session.counts_as_lasting:
                session.counts_as_lasting = False
                _change(self._lasting, holder, -1)

    def kept(self, owner: Owner) -> int:
        return self._kept.get(holder_of(owner), 0)

    def lasting(self, owner: Owner) -> int:
        return self._lasting.get(holder_of(owner), 0)


def holder_of(owner: Owner) -> str:
    """Under what its sessions are counted; "" for the broker's own."""
    if owner.user:
        return owner.user
    return _NAMELESS + owner.address if owner.client else ""


def _change(counts: dict[str, int], holder: str, by: int) -> None:
    count = counts.get(holder, 0) + by
    if count > 0:
        counts[holder] = count
    else:
        counts.pop(holder, None)
