"""How many sessions are kept for one user, and how many of them outlive their connections.

A client without a name is counted by its address (of IPv6 by its network). A session that is there
may always be taken up again: a quota refuses what is new, and never ends what was promised.
"""

from gossamer.broker.settings import Settings
from gossamer.budget.ledger import Owner
from gossamer.session.identity import Holder
from gossamer.session.session import Session


class SessionQuotas:
    """Counted here: every session of a client, under who made it."""

    __slots__ = ("_addresses", "_users")

    def __init__(self) -> None:
        self._users: dict[str, Holder] = {}
        self._addresses: dict[str, Holder] = {}  # of clients without a name

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
        holder = self._holder(owner)
        is_in_place = there is not None and there.holder is not None and there.holder is holder
        is_new = not is_in_place
        is_lasting = lasts and not (is_in_place and was_lasting)
        whom = f"user {owner.user!r}" if owner.user else "your address"
        share = settings.user_share if owner.user else settings.address_share
        most = settings.max_sessions_per_user or max(1, int(settings.max_sessions * share))
        if is_new and holder is not None and holder.kept >= most:
            return f"{whom} has {most} sessions, which is the limit (limits.sessions_per_user)"
        most = min(settings.max_lasting_per_user or most, most)
        if is_lasting and holder is not None and holder.lasting >= most:
            return (
                f"{whom} has {most} sessions that outlive their connections, which is the limit "
                "(limits.offline_sessions_per_user)"
            )
        return ""

    def update(self, session: Session) -> None:
        """The session is there, or has changed how long it is to last."""
        owner = session.owner
        if session.is_peer or not (owner.user or owner.client_id):
            return
        holder = session.holder
        if holder is None:
            holder = self._holder(owner)
            if holder is None:
                name = owner.user or owner.network
                holder = Holder(name, owner.user != "")
                self._table(holder)[name] = holder
            holder.kept += 1
            session.holder = holder
        if session.persistent != session.counts_as_lasting:
            session.counts_as_lasting = session.persistent
            holder.lasting += 1 if session.persistent else -1

    def remove(self, session: Session) -> None:
        """It has ended."""
        holder = session.holder
        if holder is None:
            return
        session.holder = None
        holder.kept -= 1
        if session.counts_as_lasting:
            session.counts_as_lasting = False
            holder.lasting -= 1
        if not holder.kept:
            del self._table(holder)[holder.name]

    def kept(self, owner: Owner) -> int:
        holder = self._holder(owner)
        return 0 if holder is None else holder.kept

    def lasting(self, owner: Owner) -> int:
        holder = self._holder(owner)
        return 0 if holder is None else holder.lasting

    def _holder(self, owner: Owner) -> Holder | None:
        """Under whom its sessions are counted; None if it is the broker, or has none."""
        if owner.user:
            return self._users.get(owner.user)
        return self._addresses.get(owner.network) if owner.client_id else None

    def _table(self, holder: Holder) -> dict[str, Holder]:
        return self._users if holder.is_user else self._addresses
