"""Topics that a client knows by number on this connection [MQTT-3.3.2-7].

What they take is charged to an account: without room there, topics go without a number.
"""

from sys import getsizeof
from typing import Final

from gossamer.budget.ledger import Account, Owner

ALIAS_BYTES: Final = 128  # its place in the table


class TopicAliases:
    """First come, first served: a number once given keeps its topic."""

    __slots__ = ("_account", "_charged", "_is_full", "_most", "_numbers", "_owner")

    def __init__(self, most: int, account: Account, owner: Owner) -> None:
        self._most = most  # the client's Topic Alias Maximum
        self._account = account
        self._owner = owner
        self._charged = 0
        self._is_full = False
        self._numbers: dict[str, int] = {}

    def number_of(self, topic: str) -> int:
        """0 if the client knows no number for the topic."""
        return self._numbers.get(topic, 0)

    def free_number(self, topic: str) -> int:
        """0 if all are given [MQTT-3.3.2-11], or there is no room for the topic."""
        used = len(self._numbers)
        if self._is_full or used >= self._most:
            return 0
        if self._account.refusal(ALIAS_BYTES + getsizeof(topic), self._owner):
            # Asked once: the next topic would hardly find room, and pays for the question.
            self._is_full = True
            return 0
        return used + 1

    def introduce(self, topic: str, number: int) -> None:
        """The client is being told."""
        size = ALIAS_BYTES + getsizeof(topic)
        self._account.hold(size, self._owner)
        self._charged += size
        self._numbers[topic] = number

    def close(self) -> None:
        """The connection that they belong to has ended."""
        self._numbers.clear()
        self._account.give(self._charged, self._owner)
        self._charged = 0
