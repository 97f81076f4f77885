"""A run of the scenario as tables."""

from rich.console import Console
from rich.table import Table

from gossamer_lab.scenarios.measures import Measures, measure
from gossamer_lab.scenarios.scenario import ScenarioResult

_BUSIEST = 5


def show_result(result: ScenarioResult, console: Console) -> None:
    measures = measure(result)
    console.print(_totals(result, measures))
    console.print(_seconds(measures))
    console.print(_links(result))


def _totals(result: ScenarioResult, measures: Measures) -> Table:
    settings = result.settings
    table = Table(title=f"{settings.mode}, α={settings.alpha}, seed {settings.seed}")
    table.add_column("measure")
    table.add_column("value", justify="right")
    rows = (
        ("publications", f"{result.published:,}"),
        ("deliveries", f"{result.deliveries:,}"),
        ("publications over links", f"{result.forwards:,}"),
        ("subscription messages over links", f"{result.interests:,}"),
        ("… per broker", f"{measures.subscriptions_per_broker:,.1f}"),
        ("… share of all messages", f"{measures.subscription_share:.1%}"),
        ("control bytes over links", f"{result.control_bytes:,}"),
        ("bytes over links", f"{result.link_bytes:,}"),
        ("messages per broker", f"{measures.messages_per_broker:,.0f}"),
        ("longest average queue", f"{measures.longest_average_queue:,.1f}"),
        ("longest queue (broker)", f"{measures.longest_queue:,} (b{measures.hottest_broker})"),
        ("latency, median", f"{measures.latency_median * 1000:,.1f} ms"),
        ("latency, mean", f"{measures.latency_mean * 1000:,.1f} ms"),
        ("latency, 99 %", f"{measures.latency_99 * 1000:,.1f} ms"),
        ("simulated", f"{result.virtual_seconds:.0f} s in {result.wall_seconds:.1f} s"),
        ("delivered or forwarded", f"{result.messages_a_second:,.0f} a second of real time"),
    )
    for name, value in rows:
        table.add_row(name, value)
    return table


def _seconds(measures: Measures) -> Table:
    table = Table(title="a broker on average, by second")
    for name in ("second", "publications", "subscriptions", "bytes", "queue", "longest queue"):
        table.add_column(name, justify="right")
    for second in measures.output:
        table.add_row(
            str(second.second),
            f"{second.publications:,.1f}",
            f"{second.interests:,.1f}",
            f"{second.bytes:,.0f}",
            f"{second.queue:,.1f}",
            f"{second.longest_queue:,}",
        )
    return table


def _links(result: ScenarioResult) -> Table:
    table = Table(title="the busiest links")
    for name in ("from", "to", "publications", "subscriptions", "bytes"):
        table.add_column(name, justify="right")
    for link in sorted(result.links, key=lambda link: -link.bytes)[:_BUSIEST]:
        table.add_row(
            f"b{link.sender}",
            f"b{link.receiver}",
            f"{link.publications:,}",
            f"{link.interests:,}",
            f"{link.bytes:,}",
        )
    return table
