"""Shared subscriptions: the members of a group on this broker, whose turn it is, and who gets what.

Each message goes to one member of the group.
"""

from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription


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
            is_idle = session.queue is None and not session.lane.messages
            if outbox is not None and not outbox.blocked and is_idle:
                self.turn = (self.turn + step + 1) % count
                return member
            if outbox is None and not session.persistent:
                continue  # what it is given ends with it, which is about now
            # Nobody is idle so far: better a queue with room than one that would drop it.
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


def give_to_group(group: Group, message: Message, now: float) -> bool:
    """One member gets it, if there is one that can: a copy of its own, beside any that the
    member's other subscriptions bring [MQTT-3.3.4-5]."""
    member = group.choose(message, now)
    if member is None:
        return False
    give_to_member(group.name, member, message, now)
    return True


def give_to_member(name: str, member: Subscription, message: Message, now: float) -> None:
    receiver = Receiver(member)
    qos = min(message.qos, receiver.qos)  # [MQTT-4.8.2-3]
    if qos == 0:
        member.session.deliver(message, receiver, now)
    else:
        retain = message.retain and receiver.retain_as_published
        member.session.enqueue(message, qos, retain, receiver.identifiers, name, now)


class Sharing:
    """Which member of which broker gets a message. The base knows no other brokers."""

    def distant(self, topic: str) -> list[str]:
        """The groups that match the topic and have members on other brokers."""
        return []

    def share(
        self,
        message: Message,
        groups: list[Group],
        distant: list[str],
        origin: Session | None,
        now: float,
    ) -> None:
        """A publication, for one member of each group."""
        for group in groups:
            give_to_group(group, message, now)

    def hand_on(self, name: str, group: Group | None, message: Message, now: float) -> None:
        """What a member left behind, for another one; `group` is what is left of it here."""
        if group is not None:
            give_to_group(group, message, now)

    def leads(self, name: str) -> bool:
        """Whether this broker serves a group that gets what every broker computes by itself."""
        return True
