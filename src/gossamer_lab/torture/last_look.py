"""What brokers of a mesh leave behind when they have stopped: logs without errors, whole stores."""

from collections.abc import Iterable
from typing import Final

from gossamer.net.local.broker import LocalBroker
from gossamer.storage.files import FILE_NAME
from gossamer.storage.repair import check

_MOST_LINES: Final = 5


def complaints(brokers: Iterable[LocalBroker]) -> list[str]:
    found: list[str] = []
    for broker in brokers:
        lines = (broker.folder / "broker.log").read_text(errors="replace").splitlines()
        errors = [line for line in lines if " ERROR " in line or line.startswith("Traceback")]
        found += [f"the log of {broker.name} says: {line}" for line in errors[:_MOST_LINES]]
        store = broker.folder / "data" / FILE_NAME
        if store.exists():
            found += [f"the store of {broker.name}: {problem}" for problem in check(store).problems]
    return found
