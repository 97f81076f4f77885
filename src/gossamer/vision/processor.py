"""What a processor is: a small class that answers a question about a publication's payload.

Others' processors are found through the entry point group `gossamer.processors`. The broker imports
the class to read its words; `start` and `process` are only ever called in worker processes. Heavy
imports belong into `start`, which is also the last moment to open a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from gossamer.vision.images import decode
from gossamer.vision.settings import WorkerSettings

if TYPE_CHECKING:
    from gossamer.vision.images import Image

T = TypeVar("T")


class Item:
    """One publication, seen by all processors that were asked about it.

    `properties` has those of MQTT 5 that the publication came with, by their names in
    `gossamer.wire.properties`, such as `content_type` and `user`.
    """

    def __init__(
        self, topic: str, payload: bytes, properties: dict[str, Any], settings: WorkerSettings
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.properties = properties
        self._settings = settings
        self._known: dict[str, Any] = {}

    def image(self) -> Image:
        """The payload as rows of pixels (blue, green, red); decoded once. Raises BadImage."""
        return self.once("image", lambda: decode(self.payload, self._settings.pixels))

    def once(self, name: str, work: Callable[[], T]) -> T:
        """What `work` answers, done once for all processors that ask for `name`."""
        if name not in self._known:
            self._known[name] = work()
        found: T = self._known[name]
        return found


class Processor:
    """`returns` is "value" for a number and "json" for anything else that JSON can say."""

    keyword: ClassVar[str]  # capital letters and digits, without the $
    description: ClassVar[str]
    returns: ClassVar[str] = "value"

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        """Why it cannot run here and what to do about it; "" if it can. Asked in the broker."""
        return ""

    def start(self, settings: WorkerSettings) -> None:
        """Called once in each worker, before limits fall: the time to import and to load."""

    def process(self, item: Item) -> object:
        """The answer; None for none. What it raises costs this answer only."""
        raise NotImplementedError
