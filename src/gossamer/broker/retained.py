"""The last retained message of each topic."""

from gossamer.session.counters import Counters
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.topics.name_tree import NameTree


class Retained:
    """Kept by topic, found by filter; expired ones are dropped when somebody looks."""

    __slots__ = ("_counters", "_journal", "_tree")

    def __init__(self, journal: Journal, counters: Counters) -> None:
        self._journal = journal
        self._counters = counters
        self._tree = NameTree()

    def keep(self, message: Message) -> None:
        """Replaces what the topic had; an empty payload removes it [MQTT-3.3.1-6]."""
        if not message.payload:
            self.discard(message.topic)
            return
        self._tree.put(message.topic, message)
        self._counters.retained = len(self._tree)
        if not message.topic.startswith("$SYS/"):
            self._journal.retained_saved(message)

    def restore(self, message: Message) -> None:
        """What a store kept."""
        self._tree.put(message.topic, message)
        self._counters.retained = len(self._tree)

    def discard(self, topic: str) -> bool:
        if self._tree.remove(topic) is None:
            return False
        self._counters.retained = len(self._tree)
        self._journal.retained_removed(topic)
        return True

    def get(self, topic: str) -> Message | None:
        found = self._tree.get(topic)
        assert found is None or isinstance(found, Message)
        return found

    def search(self, filter: str, now: float) -> list[Message]:
        """The messages that match, without those that have expired."""
        fresh: list[Message] = []
        for found in self._tree.search(filter):
            assert isinstance(found, Message)
            if found.is_expired(now):
                self._counters.expired += 1
                self.discard(found.topic)
            else:
                fresh.append(found)
        return fresh

    def sweep(self, now: float) -> None:
        """Drops everything that has expired."""
        for found in self._tree.values():
            assert isinstance(found, Message)
            if found.is_expired(now):
                self._counters.expired += 1
                self.discard(found.topic)

    def __len__(self) -> int:
        return len(self._tree)
