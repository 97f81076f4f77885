"""Shared subscriptions: each message goes to one member of the group."""

from gossamer.broker.groups import Group
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription


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
