"""``gossamer bench mesh``: publishing through a line of brokers beside one, and beside bridges.

Ours are a mesh, Mosquitto's are bridged. A bridge of Mosquitto forwards every topic, since it
cannot know what is subscribed behind it.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli.errors import WrongUse
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.harness import Results
from gossamer_lab.bench.load.client import GeneratorError
from gossamer_lab.bench.load.scenarios import BY_NAME, MESH_SCENARIOS
from gossamer_lab.bench.measurement import BenchTarget, Measurement

# A line of three must keep so much of what one broker does for each core.
TARGET = 0.5
QUICK = harness.RunLength(1.0)

COLUMNS = (
    "brokers",
    "out/s",
    "CPU µs",
    "busiest µs",
    "per core/s",
    "of one",
    "of one, all",
    "lost",
)
LEGEND = (
    "All brokers of a line share one core here. CPU µs: of all of them, for each delivery. "
    "busiest µs: of the one that works most. per core/s: deliveries for each second of that one, "
    "which is what the line carries if each broker has a core. of one: that, as a part of what "
    "one broker of the same kind does. of one, all: the same for each second of all brokers of the "
    "line together; three that each do the work of one keep 33%."
)
BRIDGE = """
connection to-{port}
address 127.0.0.1:{port}
topic # both 2
cleansession true
notifications false
restart_timeout 1
"""


def mesh(
    quick: harness.Quick = False,
    repeat: harness.Repeat = 1,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only brokers of this kind: gossamer, mosquitto."),
    ] = None,
    qos: Annotated[
        list[int] | None,
        typer.Option(metavar="QOS", min=0, max=2, help="Only this scenario; may be repeated."),
    ] = None,
    out: harness.Out = Path("out/mesh"),
) -> None:
    """Measure chains of one and three brokers, compared with bridged Mosquitto brokers."""
    found = [gossamer_chain(1), gossamer_chain(3), *(mosquitto_chain(n) for n in (1, 2, 3))]
    chains = [chain for chain in found if chain and (not only or chain.kind in only)]
    if not chains:
        raise WrongUse("none of the brokers in --only is installed: leave it out to see which are")
    console = tables.console()
    scenarios = [one for one in MESH_SCENARIOS if not qos or int(one.name[-1]) in qos]
    results = harness.run_with_bar(
        console, scenarios, chains, QUICK if quick else harness.FULL, repeat
    )
    for shown in scenario_tables(results, chains):
        report.show(console, [shown])
        if verdict := _verdict(results[shown.scenario.name]):
            console.print(verdict, soft_wrap=True)
    console.print(LEGEND)
    report.say_where(console, save(results, chains, out))
    report.check_any(results)


def _verdict(runs: dict[str, Measurement]) -> str:
    alone, line = runs.get("gossamer × 1"), runs.get("gossamer × 3")
    share = None if line is None else kept(line, alone)
    if line is None or share is None:
        return ""
    return (
        f"{'ok' if share >= TARGET else 'MISSED'}: three in a chain keep {share:.0%} of one "
        f"broker's throughput for each core, if each has one (wanted: {TARGET:.0%}); for each "
        f"second of all three together {kept_of_all(line, alone) or 0:.0%}"
    )


# Chains -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BrokerChain:
    """So many brokers of one kind."""

    kind: str
    version: str
    length: int
    start: Callable[[ExitStack, set[int]], BenchTarget]

    @property
    def name(self) -> str:
        return f"{self.kind} × {self.length}"

    @contextmanager
    def running(self, cores: set[int]) -> Iterator[BenchTarget]:
        """GeneratorError if they do not come up."""
        with ExitStack() as stack:
            yield self.start(stack, cores)


def gossamer_chain(length: int, *, memory: bool = True) -> BrokerChain:
    def start(stack: ExitStack, cores: set[int]) -> BenchTarget:
        from gossamer.net.local.broker import LocalMeshError
        from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-bench-")))
        plan = LocalMeshPlan(length, "linear", memory=memory)
        local = stack.enter_context(LocalMesh(folder, plan))
        try:
            local.start()
        except LocalMeshError as error:
            raise GeneratorError(str(error)) from error
        pids = tuple(broker.pid for broker in local.brokers)
        for pid in pids:
            os.sched_setaffinity(pid, cores)
        return BenchTarget("127.0.0.1", local.brokers[0].port, pids, local.brokers[-1].port)

    return BrokerChain("gossamer", __version__, length, start)


def mosquitto_chain(length: int) -> BrokerChain | None:
    """None where it is not installed."""
    first = peers.mosquitto()
    if first is None:
        return None

    def start(stack: ExitStack, cores: set[int]) -> BenchTarget:
        brokers: list[BenchTarget] = []
        for _ in range(length):
            bridge = BRIDGE.format(port=brokers[-1].port) if brokers else ""
            peer = peers.mosquitto(bridge) or first
            brokers.append(stack.enter_context(peer.running(cores)))
        pids = tuple(broker.pid for broker in brokers)
        return BenchTarget("127.0.0.1", brokers[0].port, pids, brokers[-1].port)

    return BrokerChain("mosquitto", first.version, length, start)


# What of one broker's throughput a chain keeps ----------------------------------------------------


def per_core(run: Measurement) -> float | None:
    """Deliveries for each second of the busiest broker: what a chain carries if every broker of it
    has a core of its own."""
    if run.failure or not run.busiest_cpu_seconds:
        return None
    return run.delivered / run.busiest_cpu_seconds


def kept(run: Measurement, alone: Measurement | None) -> float | None:
    """The part of one broker's throughput per core that a chain keeps."""
    own = per_core(run)
    one = None if alone is None else per_core(alone)
    return None if own is None or not one else own / one


def kept_of_all(run: Measurement, alone: Measurement | None) -> float | None:
    """The same for each second of all its brokers together; n brokers that each do what one does
    keep 1 / n."""
    own = run.cpu_per_delivery()
    one = None if alone is None else alone.cpu_per_delivery()
    return None if not own or not one else one / own


def scenario_tables(results: Results, chains: Sequence[BrokerChain]) -> list[report.ScenarioTable]:
    found = []
    for name, runs in results.items():
        alone = {chain.kind: runs[chain.name] for chain in chains if chain.length == 1}
        rows = [_row(chain.name, runs[chain.name], alone.get(chain.kind)) for chain in chains]
        notes = report.failures(runs)
        found.append(report.ScenarioTable(BY_NAME[name], list(COLUMNS), rows, notes))
    return found


def _row(name: str, run: Measurement, alone: Measurement | None) -> list[str]:
    if run.failure:
        return [name, *[""] * (len(COLUMNS) - 1)]
    busiest = run.busiest_cpu_seconds / run.delivered * 1e6 if run.delivered else None
    shares = (kept(run, alone), kept_of_all(run, alone))
    return [
        name,
        report.number(run.out_per_second()),
        report.number(run.cpu_per_delivery(), 2),
        report.number(busiest, 2),
        report.number(per_core(run)),
        *("" if share is None else f"{share:.0%}" for share in shares),
        report.number(run.lost),
    ]


def save(results: Results, chains: Sequence[BrokerChain], folder: Path) -> list[Path]:
    text = report.markdown(scenario_tables(results, chains), LEGEND)
    versions = {chain.kind: chain.version for chain in chains}
    return report.save_results("mesh", folder, text, results, versions)
