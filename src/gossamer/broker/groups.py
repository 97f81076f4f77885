"""The members of one shared subscription on this broker, and whose turn it is."""

from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription


class Group:
    """The members of one shared subscription, who take turns."""

    __slots__ = ("members", "name", "turn")

    def __init__(self, name: str) -> None:
        self.name = name  # the whole `$share/group/filter`
        self.members: list[Subscription] = []
        self.turn = 0

    def choose(self, message: Message, now: float) -> Subscription | None:
        """The next member that wants the message and can take it now, else that will come back."""
        members = self.members
        count = len(members)
        fallback: Subscription | None = None
        for step in range(count):
            member = members[(self.turn + step) % count]
            if not member.takes(message, now):
                continue
            session = member.session
            outbox = session.outbox
            is_idle = session.queue is None and not session.spilled
            if outbox is not None and not outbox.blocked and is_idle:
                self.turn = (self.turn + step + 1) % count
                return member
            if outbox is None and not session.persistent:
                continue
            if fallback is None or (fallback.session.is_full and not session.is_full):
                fallback = member
        if fallback is not None:
            self.turn = (members.index(fallback) + 1) % count
        return fallback

    def put(self, subscription: Subscription) -> None:
        """Adds or replaces the member of that session."""
        for index, member in enumerate(self.members):
            if member.session is subscription.session:
                self.members[index] = subscription
                return
        self.members.append(subscription)

    def drop(self, session: Session) -> None:
        self.members = [member for member in self.members if member.session is not session]
        self.turn = 0
