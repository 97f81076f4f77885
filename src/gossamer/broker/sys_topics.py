"""`$SYS`: the broker's statistics as retained messages."""

from typing import Final

from gossamer import __version__
from gossamer.broker.core import Core
from gossamer.broker.delivery import publish
from gossamer.broker.memory_report import holdings
from gossamer.broker.timers import Timer
from gossamer.session.message import Message

_PREFIX: Final = "$SYS/broker/"


def statistics(core: Core, now: float) -> dict[str, str]:
    """Topic (under `$SYS/broker/`) to value."""
    counters = core.counters
    return {
        "version": f"gossamer {__version__}",
        "uptime": str(int(now - core.started_at)),
        "clients/connected": str(counters.connections_open),
        "clients/total": str(counters.sessions),
        "connections/accepted": str(counters.connections_accepted),
        "connections/refused": str(counters.connections_refused),
        "subscriptions/count": str(counters.subscriptions),
        "retained messages/count": str(counters.retained),
        "messages/received": str(counters.messages_received),
        "messages/sent": str(counters.messages_sent),
        "bytes/received": str(counters.bytes_received),
        "bytes/sent": str(counters.bytes_sent),
        "dropped/damaged": str(counters.damaged),
        "dropped/queue_full": str(counters.dropped_full),
        "dropped/slow_subscriber": str(counters.dropped_slow),
        "dropped/too_large": str(counters.dropped_too_large),
        "dropped/expired": str(counters.expired),
        "refused/publications": str(counters.publications_refused),
        "errors/protocol": str(counters.protocol_errors),
        "errors/internal": str(core.faults.total),
        "archive/messages": str(core.archive.archived),
        "archive/missing": str(core.archive.missing()),
        "loop/long_turns": str(core.turns.long_turns()),
        "loop/worst_milliseconds": str(round(core.turns.worst().seconds * 1e3)),
        "operators/count": str(counters.operators),
        "operators/offloaded": str(core.operators.offloaded()),
        "operators/taken_over": str(core.operators.takeovers.count()),
        **{f"memory/{holding.name}": str(holding.held) for holding in holdings(core)},
        "refused/memory": str(sum([one.refused for one in core.ledger.accounts.values()])),
        **{
            f"operators/skipped/{reason}": str(count)
            for reason, count in core.operators.engine.services.skipped.items()
        },
    }


class SysTopics(Timer):
    """Publishes what has changed since the last time."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.last: dict[str, str] = {}

    def fire(self, now: float) -> float:
        core = self.core
        for name, value in statistics(core, now).items():
            if self.last.get(name) == value:
                continue
            self.last[name] = value
            publish(
                core, Message(_PREFIX + name, value.encode(), 0, True, None, 0.0, "", ""), None, now
            )
        interval = core.settings.sys_interval
        return now + interval if interval else 0.0
