"""Whether a retained message may still be shown: its publisher's rights may have changed since."""

from gossamer.broker.mesh_port import LOCAL_TOPICS, PEER_PREFIX
from gossamer.broker.policy import Permissions
from gossamer.session.message import Message


def is_shown(permissions: Permissions, message: Message) -> bool:
    return (
        message.topic.startswith(LOCAL_TOPICS)
        or message.publisher.startswith(PEER_PREFIX)  # judged where it was published
        or permissions.may_have_published(message.user, message.publisher, message.topic)
    )
