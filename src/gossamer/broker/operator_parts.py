"""What the operators' states have to save, made into bytes once for each transaction."""

from gossamer.plus.state import Services
from gossamer.session.journal import Part, PartSource


class ChangedParts(PartSource):
    def __init__(self, services: Services) -> None:
        self._services = services
        self._dropped: list[str] = []

    def drop(self, key: str) -> None:
        self._services.changed.pop(key, None)
        self._dropped.append(key)

    def take_changed(self) -> list[Part]:
        changed = self._services.changed
        self._services.changed = {}
        return [
            (key, name, data)
            for key, state in changed.items()
            for name, data in state.take_changes()
        ]

    def take_dropped(self) -> list[str]:
        dropped = self._dropped
        self._dropped = []
        return dropped
