"""The main figures of every broker, readable on each: `$SYS/mesh/broker/NAME/…`.

Every broker floods its own now and then. One that is not heard of for a while is gone, and so are
its topics.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.sys_topics import statistics
from gossamer.broker.timers import Timer
from gossamer.mesh.json_fields import malformed, read_fields
from gossamer.session.message import Message

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

PREFIX: Final = "$SYS/mesh/broker/"
# The kind of gossip in which brokers tell their figures.
FIGURES: Final = 0x46
# Of the topics under `$SYS/broker/`, those that are told; with two of the mesh's own.
MAIN: Final = (
    "version",
    "uptime",
    "clients/connected",
    "clients/total",
    "subscriptions/count",
    "retained messages/count",
    "messages/received",
    "messages/sent",
    "bytes/received",
    "bytes/sent",
    "dropped/queue_full",
    "dropped/slow_subscriber",
    "links/known",
    "links/connected",
)
# In so many of its own reports a broker tells the others once.
_REPORTS: Final = 3
# A broker that has missed this many is gone.
_MISSED: Final = 3.0
_MOST_LETTERS: Final = 64  # of a figure
_LONGEST_INTERVAL: Final = 86_400.0


class _Known:
    """What was heard of one broker."""

    def __init__(self) -> None:
        self.figures: dict[str, str] = {}
        self.gone_at = 0.0


class Overview(Timer):
    """Hears and shows the others' figures; as a timer it tells this broker's own."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._known: dict[str, _Known] = {}
        mesh.gossip.handlers[FIGURES] = self.hear

    def start(self, now: float) -> None:
        """Once; nothing where `$SYS` is switched off."""
        if self._interval():
            self._mesh.core.timers.add(now, self)

    def fire(self, now: float) -> float:
        interval = self._interval()
        if not interval:
            return 0.0
        figures = self._own(now)
        body = json.dumps({"interval": interval, "figures": figures}).encode()
        self._mesh.gossip.say(FIGURES, body, now, lasting=False)
        self._show(self._mesh.settings.name, figures, interval, now)
        for name in [name for name, known in self._known.items() if known.gone_at <= now]:
            for topic in self._known.pop(name).figures:
                self._publish(name, topic, "", now)
        return now + interval

    def hear(self, origin: str, body: bytes, now: float) -> None:
        """A figure that is none is not shown: it may be of a later version."""
        heard = read_fields(body, "figures")
        figures = heard.fields.get("figures")
        if not isinstance(figures, dict):
            raise malformed("malformed figures")
        interval = heard.real("interval", 0.0, _LONGEST_INTERVAL)
        if not self._interval():
            return
        shown: dict[str, str] = {}
        for topic in MAIN:
            value = figures.get(topic)
            if isinstance(value, str) and value.isprintable() and len(value) <= _MOST_LETTERS:
                shown[topic] = value
        self._show(origin, shown, interval, now)

    def _show(self, name: str, figures: dict[str, str], interval: float, now: float) -> None:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = _Known()
        known.gone_at = now + _MISSED * interval
        for topic, value in figures.items():
            if known.figures.get(topic) != value:
                known.figures[topic] = value
                self._publish(name, topic, value, now)

    def _publish(self, name: str, topic: str, value: str, now: float) -> None:
        topic = f"{PREFIX}{name}/{topic}"
        publish(
            self._mesh.core,
            Message(topic, value.encode(), 0, True, None, 0.0, "", ""),
            None,
            now,
        )

    def _own(self, now: float) -> dict[str, str]:
        figures = statistics(self._mesh.core, now)
        links = self._mesh.by_name.values()
        figures["links/known"] = str(len(links))
        figures["links/connected"] = str(sum(link.connection is not None for link in links))
        return {topic: figures[topic] for topic in MAIN}

    def _interval(self) -> float:
        return _REPORTS * self._mesh.core.settings.sys_interval
