"""``gossamer bench flood``: what one client's flood does to another's latency."""

from gossamer.cli.errors import CommandError
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.load.scenarios import FLOOD_SCENARIOS

FULL = harness.RunLength(5.0)
QUICK = harness.RunLength(1.0)
COLUMNS = ("broker", "", "p50 µs", "p99 µs", "p99 to quiet")


def flood(quick: harness.Quick = False, repeat: harness.Repeat = 3) -> None:
    """Measure p99 latency at 1,000 messages a second, alone and beside a flooding client."""
    field = [peers.gossamer(), *peers.present(peers.mosquitto())]
    console = tables.console()
    length = QUICK if quick else FULL
    results = harness.run_with_bar(console, FLOOD_SCENARIOS, field, length, repeat)
    rows = []
    for broker in field:
        alone = results[FLOOD_SCENARIOS[0].name][broker.name].p99_microseconds or 0.0
        for scenario in FLOOD_SCENARIOS:
            run = results[scenario.name][broker.name]
            p50, p99 = run.p50_microseconds or 0.0, run.p99_microseconds or 0.0
            ratio = f"{p99 / alone:.1f}×" if alone and p99 else run.failure
            rows.append((broker.name, scenario.title, f"{p50:,.0f}", f"{p99:,.0f}", ratio))
    console.print(tables.table("", COLUMNS, rows, left=2))
    console.print(f"{report.machine()}; {report.versions(field)}")
    if any(run.failure for by_broker in results.values() for run in by_broker.values()):
        raise CommandError("not everything could be measured; the table says why")
