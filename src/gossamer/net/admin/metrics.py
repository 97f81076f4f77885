"""The broker's counters, and what the rooms around it say of themselves, as Prometheus metrics."""

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from gossamer import __version__
from gossamer.broker.core import Core
from gossamer.broker.memory_report import holdings
from gossamer.mesh.sys_topics import (
    bridge_counts,
    choice_view,
    directed_counts,
    link_cost,
    link_counts,
    link_state,
    mesh_of,
    tree_counts,
)

Reading = Callable[[Core], float]

# The metric's name, what it says, and where it is read; asked for when Prometheus asks.
ROOM_TOTALS: Final[tuple[tuple[str, str, Reading], ...]] = (
    (
        "store_commits",
        "Transactions committed by the store.",
        lambda core: core.journal.written.commits,
    ),
    (
        "store_rows",
        "Rows written or deleted by them.",
        lambda core: core.journal.written.rows,
    ),
    (
        "store_commit_seconds",
        "Seconds spent in them.",
        lambda core: core.journal.written.microseconds / 1e6,
    ),
    (
        "images_processed",
        "Publications handled by a processor.",
        lambda core: core.operators.processors.answered,
    ),
    (
        "images_failed",
        "Publications that no processor handled: busy, too slow, or crashed.",
        lambda core: core.operators.processors.failed,
    ),
    (
        "collector_runs",
        "Runs of Python's garbage collector.",
        lambda core: core.turns.collector_runs,
    ),
    (
        "collector_seconds",
        "Seconds that everything waited for them.",
        lambda core: core.turns.collector_seconds,
    ),
    (
        "collector_found",
        "Objects that only they could free.",
        lambda core: core.turns.collector_found,
    ),
)
ROOM_GAUGES: Final[tuple[tuple[str, str, Reading], ...]] = (
    ("operators", "Different operator subscriptions.", lambda core: core.counters.operators),
    (
        "images_waiting",
        "Publications queued for a processor.",
        lambda core: core.operators.processors.waiting,
    ),
    (
        "images_weaknesses",
        "Confinement measures that image workers lack.",
        lambda core: core.operators.processors.weaknesses,
    ),
    ("positions", "Clients whose position is known.", lambda core: core.locations.counts()[0]),
    ("areas", "Areas that located subscriptions watch.", lambda core: core.locations.counts()[1]),
    (
        "queues_full",
        "Clients whose queue is full, or was until a moment ago.",
        lambda core: len(core.hub.full),
    ),
    (
        "queues_spilled_bytes",
        "Bytes of queues that are in the store only.",
        lambda core: core.journal.spilled_bytes,
    ),
    (
        "store_accepts",
        "Whether the store can be written.",
        lambda core: int(core.journal.accepts),
    ),
)


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# Fields, and what each says.
Texts = tuple[tuple[str, str], ...]

# The counter's name in the core, the metric's, and what it says.
TOTALS: Final = (
    ("bytes_received", "bytes_received", "Bytes read from clients."),
    ("bytes_sent", "bytes_sent", "Bytes written to clients."),
    ("messages_received", "messages_received", "PUBLISH packets from clients."),
    ("messages_sent", "messages_sent", "PUBLISH packets to clients."),
    ("connections_accepted", "connections_accepted", "Logins that succeeded."),
    ("connections_refused", "connections_refused", "Refused, or cut before a login."),
    (
        "connections_refused_early",
        "connections_refused_early",
        "Closed when they were accepted on a TLS or proxied listener: no place for them.",
    ),
    (
        "handshakes_failed",
        "handshakes_failed",
        "Connections that ended in their TLS handshake or their proxy's header.",
    ),
    (
        "replay_strangers_cut",
        "replay_strangers_cut",
        "Readers cut before their login, to make room for others.",
    ),
    ("dropped_full", "dropped_queue_full", "Messages that a full queue dropped."),
    ("damaged", "dropped_damaged", "Messages that the store could not read back."),
    ("withheld", "acknowledgements_withheld", "Acknowledgements that waited for room in a queue."),
    ("dropped_slow", "dropped_slow_subscriber", "QoS 0 messages to clients that did not read."),
    ("dropped_too_large", "dropped_too_large", "Messages over a receiver's maximum size."),
    ("expired", "messages_expired", "Messages whose time ran out."),
    (
        "needless",
        "messages_needless",
        "Messages from neighbours that nobody here or behind wanted.",
    ),
    ("protocol_errors", "protocol_errors", "Connections closed for protocol errors."),
    ("publications_refused", "publications_refused", "Publications that were not allowed."),
    (
        "operators_bytes_read",
        "operators_bytes_read",
        "Bytes that operators read for all subscribers.",
    ),
    ("operators_bytes_sent", "operators_bytes_sent", "Bytes of results sent to their subscribers."),
    (
        "located_bytes_read",
        "located_bytes_read",
        "Bytes that matched the topics of located subscriptions.",
    ),
    (
        "located_bytes_sent",
        "located_bytes_sent",
        "Bytes of those that also matched by place and were sent.",
    ),
    (
        "located_undecided",
        "located_undecided",
        "Areas too intricate to tell whether they meet; the message was sent.",
    ),
)
GAUGES: Final = (
    ("connections_open", "connections_open", "Connections, logged in or not."),
    ("sessions", "sessions", "Sessions of connected and offline clients."),
    ("subscriptions", "subscriptions", "Subscriptions of all sessions."),
    ("retained", "retained_messages", "Retained messages."),
)
# Of each table that clients can fill.
MEMORY_TOTALS: Final = (
    ("refused", "Requests refused because a budget was full."),
    ("evicted", "Cache entries evicted to make room."),
)
MEMORY_GAUGES: Final = (
    ("bytes", "Bytes that the table holds."),
    ("budget_bytes", "Bytes that it may hold; 0 where the limits are those of each client."),
    ("client_budget_bytes", "Bytes of it that one client may hold; 0 where that is not limited."),
)
# The same of each link to another broker.
LINK_TOTALS: Final = (
    ("messages_received", "PUBLISH packets from the neighbour."),
    ("messages_sent", "PUBLISH packets to the neighbour."),
    ("bytes_received", "Bytes from the neighbour, before compression."),
    ("bytes_sent", "Bytes to the neighbour, before compression."),
    ("wire_bytes_received", "Bytes read from the neighbour, compressed if the link is."),
    ("wire_bytes_sent", "Bytes written to the neighbour, compressed if the link is."),
    ("control_messages_received", "Control messages from the neighbour."),
    ("control_messages_sent", "Control messages to the neighbour."),
    ("control_bytes_received", "Bytes of control messages from the neighbour."),
    ("control_bytes_sent", "Bytes of control messages to the neighbour."),
    ("interest_messages_sent", "Control messages to the neighbour that advertise interest."),
    ("interest_bytes_sent", "Bytes of these."),
    ("judged_messages", "Messages that the neighbour wants by rules or areas alone."),
    ("rejected_messages", "Of these, messages not sent because no rule or area let them through."),
    ("rejected_bytes", "Bytes of their topics and payloads."),
    ("unjudged_messages", "Of these, messages sent because judging them would have cost too much."),
)
LINK_GAUGES: Final = (
    ("connected", "Whether the link is up."),
    ("in_tree", "Whether the link is in the tree; otherwise it is on standby or down."),
    ("cost", "Cost of the link at this end: 0 is near, each step is twice as far."),
    ("interests_told", "Interests advertised to the neighbour (set bits in mode bloom)."),
    ("interests_held", "Interests received from the neighbour (set bits in mode bloom)."),
    ("queued", "QoS 1 and 2 messages queued for the neighbour."),
    ("spilled", "Those of them that are in the store only."),
    ("inflight", "QoS 1 and 2 messages that the neighbour has not acknowledged."),
)
# How this broker sees the mesh's tree.
TREE_GAUGES: Final = (
    ("brokers", "Brokers that can be reached, this one included."),
    ("settled", "Whether all of them are known to use the same tree."),
)
TREE_TOTALS: Final = (
    ("changes", "Links of this broker that joined or left the tree."),
    ("waves", "Messages rebroadcast because a link failed or the tree changed."),
    ("forged", "Messages that falsely claimed to come from this broker."),
    ("damped", "Gossip entries dropped by rate or size limits."),
)
DIRECTED_GAUGES: Final = (
    ("parked", "Directed messages that wait for their broker to be reachable."),
    ("early", "Directed messages that wait for an earlier one."),
)
DIRECTED_TOTALS: Final = (
    ("set_aside", "Directed messages that no neighbour on the way could take."),
    ("refused", "Messages of neighbours that this broker could not take in."),
)
BRIDGE_TOTALS: Final = (
    ("messages_received", "PUBLISH packets from the bridged broker."),
    ("messages_sent", "PUBLISH packets to the bridged broker."),
    ("echoes", "Messages that came back from where they were sent, and went no further."),
)
BRIDGE_GAUGES: Final = (
    ("connected", "Whether the bridged broker is connected."),
    ("owner", "Whether this broker owns the bridge."),
    ("subscribed", "Filters subscribed on the bridged broker."),
    ("queued", "QoS 1 and 2 messages queued for the bridged broker."),
    ("inflight", "QoS 1 and 2 messages that it has not acknowledged."),
)
# Of each branch, in mode auto.
CHOICE_GAUGES: Final = (
    ("flooded", "Whether the branch is flooded."),
    ("ratio", "The bytes of filters as a part of those of flooding, by equation 5."),
    ("ibr", "The part of the brokers that is interested in the branch."),
    ("spr", "The size of its subscriptions over that of its publications."),
)


class BrokerCollector(Collector):
    """Reads the counters when it is asked; nothing is counted twice."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def collect(self) -> Iterator[Metric]:
        counters = self._core.counters
        for attribute, name, text in TOTALS:
            yield CounterMetricFamily(f"gossamer_{name}", text, getattr(counters, attribute))
        for attribute, name, text in GAUGES:
            yield GaugeMetricFamily(f"gossamer_{name}", text, getattr(counters, attribute))
        for name, text, read in ROOM_TOTALS:
            yield CounterMetricFamily(f"gossamer_{name}", text, read(self._core))
        for name, text, read in ROOM_GAUGES:
            yield GaugeMetricFamily(f"gossamer_{name}", text, read(self._core))
        started = self._core.started_at + self._core.wall_offset
        yield GaugeMetricFamily("gossamer_start_time_seconds", "Start time, Unix seconds.", started)
        about = GaugeMetricFamily("gossamer_build_info", "Its version.", labels=["version"])
        about.add_metric([__version__], 1)
        yield about
        yield self._skipped()
        yield from self._memory_metrics()
        yield self._faults()
        yield from self._loop_metrics()
        yield from self._archive_metrics()
        yield from self._link_metrics()
        yield from self._tree_metrics()
        yield from self._bridge_metrics()
        yield from self._choice_metrics()

    def _skipped(self) -> Metric:
        text = "Values that operators left out."
        total = CounterMetricFamily("gossamer_operators_skipped", text, labels=["reason"])
        for reason, count in self._core.operators.engine.services.skipped.items():
            total.add_metric([reason], count)
        return total

    def _faults(self) -> Metric:
        text = "Exceptions inside the broker, by where; each is in the log."
        total = CounterMetricFamily("gossamer_internal_faults", text, labels=["place"])
        for place, count in self._core.faults.by_place.items():
            total.add_metric([place], count)
        return total

    def _loop_metrics(self) -> Iterator[Metric]:
        turns = self._core.turns
        buckets = [(_bound(bound), float(count)) for bound, count in turns.buckets()]
        text = "Turns of the event loop: nobody else is served before one ends."
        yield HistogramMetricFamily("gossamer_loop_turn_seconds", text, buckets, turns.seconds)
        worst = "Seconds of the longest turn of the last minute."
        yield GaugeMetricFamily("gossamer_loop_worst_turn_seconds", worst, turns.worst().seconds)
        text = "Turns of more than 50 ms, by what held the loop; the log names it."
        total = CounterMetricFamily("gossamer_loop_long_turns", text, labels=["held_by"])
        for kind, long in turns.long.items():
            total.add_metric([kind], long.count)
        yield total

    def _memory_metrics(self) -> Iterator[Metric]:
        counts = {
            holding.name: {
                "bytes": holding.held,
                "budget_bytes": holding.budget,
                "client_budget_bytes": holding.client_budget,
                "refused": holding.refused,
                "evicted": holding.evicted,
            }
            for holding in holdings(self._core)
        }
        yield from _labelled("memory", "table", counts, MEMORY_TOTALS, MEMORY_GAUGES)

    def _archive_metrics(self) -> Iterator[Metric]:
        archive = self._core.archive
        yield CounterMetricFamily(
            "gossamer_archived", "Messages given to the archive since the start.", archive.archived
        )
        yield CounterMetricFamily(
            "gossamer_archive_missing",
            "Messages that should be in the archive and are not.",
            archive.missing(),
        )
        accepts = "Whether the archive can be written."
        yield GaugeMetricFamily("gossamer_archive_accepts", accepts, int(archive.accepts))

    def _link_metrics(self) -> Iterator[Metric]:
        mesh = mesh_of(self._core)
        if mesh is None:
            return
        counts = {
            name: {
                **link_counts(mesh, link),
                "connected": int(link.connection is not None),
                "in_tree": int(link_state(link) == "tree"),
                "cost": link_cost(link),
            }
            for name, link in mesh.by_name.items()
        }
        yield from _labelled("link", "neighbour", counts, LINK_TOTALS, LINK_GAUGES)

    def _tree_metrics(self) -> Iterator[Metric]:
        mesh = mesh_of(self._core)
        if mesh is None:
            return
        yield from _counted("errands", directed_counts(mesh), DIRECTED_TOTALS, DIRECTED_GAUGES)
        tree = tree_counts(mesh)
        if tree:
            yield from _counted("tree", tree, TREE_TOTALS, TREE_GAUGES)

    def _bridge_metrics(self) -> Iterator[Metric]:
        mesh = mesh_of(self._core)
        if mesh is None or mesh.bridges is None:
            return
        counts = {name: bridge_counts(bridge) for name, bridge in mesh.bridges.by_name.items()}
        yield from _labelled("stock", "stock", counts, BRIDGE_TOTALS, BRIDGE_GAUGES)

    def _choice_metrics(self) -> Iterator[Metric]:
        mesh = mesh_of(self._core)
        if mesh is None or not mesh.auto.choices:
            return
        counts = {
            branch: {**choice_view(choice), "flooded": int(choice.is_flooded)}
            for branch, choice in mesh.auto.choices.items()
        }
        yield from _labelled("auto", "branch", counts, (), CHOICE_GAUGES)


def _bound(seconds: float) -> str:
    """Of a bucket, as Prometheus writes it."""
    return "+Inf" if seconds == inf else f"{seconds:.6f}"


def _counted(
    prefix: str,
    counts: dict[str, int],
    totals: tuple[tuple[str, str], ...],
    gauges: tuple[tuple[str, str], ...],
) -> Iterator[Metric]:
    for field, text in totals:
        yield CounterMetricFamily(f"gossamer_{prefix}_{field}", text, counts[field])
    for field, text in gauges:
        yield GaugeMetricFamily(f"gossamer_{prefix}_{field}", text, counts[field])


def _labelled(
    room: str, label: str, counts: Mapping[str, Mapping[str, Any]], totals: Texts, gauges: Texts
) -> Iterator[Metric]:
    """The fields of several things of one kind, each thing under its name."""
    for field, text in totals:
        total = CounterMetricFamily(f"gossamer_{room}_{field}", text, labels=[label])
        for name, values in counts.items():
            total.add_metric([name], values[field])
        yield total
    for field, text in gauges:
        gauge = GaugeMetricFamily(f"gossamer_{room}_{field}", text, labels=[label])
        for name, values in counts.items():
            gauge.add_metric([name], float(values[field]))
        yield gauge


def exposition(core: Core) -> bytes:
    """What `/metrics` answers."""
    registry = CollectorRegistry()
    registry.register(BrokerCollector(core))
    return generate_latest(registry)
