"""``gossamer bench attacks``: a bystander's latency before and during attacks, and what they left.

The broker has a core of its own; the attackers, at a lower priority, share the other with the
bystander. Every attack meets a new broker, with budgets small enough to be filled in a few seconds.
"""

import os
import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.request import urlopen

import typer

from gossamer import __version__
from gossamer.net.local.ports import free_port
from gossamer_lab.bench.attacks.shapes import ATTACKS, attackers
from gossamer_lab.bench.harness import allow_many_connections, split_cores
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close
from gossamer_lab.bench.load.paced import NUMBER_SIZE, Pacer
from gossamer_lab.bench.peers import SERVE, PeerBroker, with_file
from gossamer_lab.bench.processes import beside, resident_bytes
from gossamer_lab.bench.report import busy, machine
from gossamer_lab.quantiles import quantile
from gossamer_lab.tables import markdown_row, markdown_table

FULL_SECONDS: Final = 3.0
QUICK_SECONDS: Final = 0.5
MOST_TIMES_QUIET: Final = 3.0
COLUMNS: Final = {
    "attack": "{.name}",
    "p50 quiet": "{.quiet.p50:.2f}",
    "p99 quiet": "{.quiet.p99:.2f}",
    "p50 attacked": "{.attacked.p50:.2f}",
    "p99 attacked": "{.attacked.p99:.2f}",
    "worst": "{.attacked.worst:.1f}",
    "p99 to quiet": "{.ratio:.1f}×",
    "usual quiet": "{.quiet.usual:.2f}",
    "usual attacked": "{.attacked.usual:.2f}",
    "usual to quiet": "{.usual_ratio:.1f}×",
    "MiB before": "{.mib_before:.0f}",
    "MiB after": "{.mib_after:.0f}",
    "refused": "{.refusals}",
}

RATE: Final = 500  # messages a second of the bystander
STRETCH: Final = 50  # messages, of which the worst counts
PATIENCE_SECONDS: Final = 5.0  # how long the last messages may take
MIB: Final = 1 << 20
BUDGET: Final = "16 MiB"
WARM_UP_SECONDS: Final = 0.3
SCRAPE_SECONDS: Final = 10.0

# Every budget is the same; passwords are checked where somebody names a user.
CONFIGURATION: Final = """\
[[listener]]
host = "127.0.0.1"
port = {port}
anonymous = "always"

[limits]
{budgets}
queue_memory = "{budget}"

[store]
kind = "memory"

[auth]
password_file = "passwords"

[admin]
enabled = true
port = {admin_port}
token_file = "token"

[log]
level = "error"
"""
BUDGETS: Final = (
    "route_bytes",
    "grant_bytes",
    "alias_bytes",
    "packet_bytes",
    "session_bytes",
    "subscription_bytes",
    "retained_bytes",
    "operator_bytes",
    "geo_bytes",
    "delivery_bytes",
    "unsent_bytes",
)
# What tells of something that was not given; with the word for it.
REFUSALS: Final = {
    "memory_refused": "",
    "memory_evicted": " let go",
    "connections_refused": "connections",
    "publications_refused": "publications",
    "dropped_queue_full": "queued",
    "dropped_slow_subscriber": "to slow readers",
    "protocol_errors": "protocol errors",
}
SAMPLE: Final = re.compile(r'^gossamer_(\w+)_total(?:\{table="(\w+)"\})? (\S+)$', re.MULTILINE)


@dataclass(frozen=True)
class Service:
    """Milliseconds, and how many of the messages came.

    `usual` is the median of the worst of each stretch: what else the machine does makes single
    stretches slow, an attack that holds the broker up makes all of them slow.
    """

    p50: float
    p99: float
    usual: float
    worst: float
    sent: int
    arrived: int


class Bystander:
    """A client that publishes to itself at QoS 1, and how long each message takes.

    A latency counts from when a message was due: while the broker does not answer, those that could
    not be sent are late as well.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self._client = LoadClient(address, "bystander")
        self._pacer = Pacer(self._client, self._client, "bystander", NUMBER_SIZE, RATE)

    def close(self) -> None:
        close([self._client])

    def measure(self, seconds: float) -> Service:
        total = int(seconds * RATE)
        run = self._pacer.run(total, PATIENCE_SECONDS)
        latencies = {
            number: 1000 * (came - run.began - number / RATE) for number, came in run.came.items()
        }
        stretches: dict[int, list[float]] = {}
        for number, latency in latencies.items():
            stretches.setdefault(number // STRETCH, []).append(latency)
        ordered = sorted(latencies.values())
        return Service(
            quantile(ordered, 0.50),
            quantile(ordered, 0.99),
            quantile(sorted(max(one) for one in stretches.values()), 0.5),
            quantile(ordered, 1.0),
            total,
            len(ordered),
        )


@dataclass(frozen=True)
class AttackOutcome:
    name: str
    quiet: Service
    attacked: Service
    mib_before: float
    mib_after: float
    refused: dict[str, int]

    @property
    def ratio(self) -> float:
        return self.attacked.p99 / self.quiet.p99 if self.quiet.p99 else 0.0

    @property
    def usual_ratio(self) -> float:
        return self.attacked.usual / self.quiet.usual if self.quiet.usual else 0.0

    @property
    def refusals(self) -> str:
        return ", ".join(f"{what} {count:,}" for what, count in self.refused.items()) or "nothing"


def attacks(
    quick: Annotated[bool, typer.Option("--quick", help="Half a second each.")] = False,
    seconds: Annotated[
        float, typer.Option(min=0.05, help="Measured quiet, and again under each attack.")
    ] = FULL_SECONDS,
    only: Annotated[str, typer.Option(help="Attacks with this text in their name.")] = "",
) -> None:
    """Measure a bystander's p99 latency and the broker's memory, quiet and under attacks."""
    if quick:
        seconds = QUICK_SECONDS
    typer.echo(
        "Milliseconds of a client that publishes to itself at QoS 1, 500 messages a second. Two "
        f"cores: the broker has one, and {BUDGET} for each table; the client and the attackers, as "
        "fast as one process is, share the other. Usual: the median of the worst of each tenth of "
        "a second, which the machine's other work changes less."
    )
    typer.echo()
    typer.echo("\n".join(markdown_table(list(COLUMNS), [])))
    misses: list[str] = []
    for name in ATTACKS:
        if only not in name:
            continue
        try:
            outcome = measure(name, seconds)
        except (GeneratorError, OSError) as problem:
            empty = [""] * (len(COLUMNS) - 2)
            typer.echo(markdown_row([name, *empty, f"not measured: {problem}"]))
            misses.append(f"{name} (not measured)")
            continue
        typer.echo(markdown_row([form.format(outcome) for form in COLUMNS.values()]))
        if outcome.attacked.arrived < outcome.attacked.sent:
            lost = outcome.attacked.sent - outcome.attacked.arrived
            misses.append(f"{name} ({lost:,} messages did not come)")
        elif outcome.ratio > MOST_TIMES_QUIET:
            misses.append(f"{name} ({outcome.ratio:.1f}×, usual {outcome.usual_ratio:.1f}×)")
    typer.echo()
    typer.echo(f"Over {MOST_TIMES_QUIET:g} times quiet: {', '.join(misses) or 'none'}.")
    typer.echo(f"{machine()}. {busy()}".strip())


def _broker(admin_port: int) -> PeerBroker:
    budgets = "\n".join(f'{name} = "{BUDGET}"' for name in BUDGETS)
    configuration = CONFIGURATION.format(
        port="{port}", admin_port=admin_port, budgets=budgets, budget=BUDGET
    )
    command = with_file("gossamer.toml", configuration, *SERVE, "--config")

    def with_passwords(port: int, folder: Path) -> list[str]:
        # With it come the models of the whole configuration, which no help text waits for.
        from gossamer.net.auth.passwords import HASHER, write_entries

        write_entries(folder / "passwords", {"ann": HASHER.hash("right")})
        return command(port, folder)

    return PeerBroker("gossamer", __version__, with_passwords)


def _refusals(admin_port: int) -> dict[str, int]:
    with urlopen(f"http://127.0.0.1:{admin_port}/metrics", timeout=SCRAPE_SECONDS) as answer:
        text = answer.read().decode()
    return {
        table + REFUSALS[name]: int(float(count))
        for name, table, count in SAMPLE.findall(text)
        if name in REFUSALS
    }


def measure(name: str, seconds: float) -> AttackOutcome:
    """GeneratorError or OSError if there is nothing to measure."""
    allow_many_connections()
    broker_cores, generator_cores = split_cores()
    own_cores = os.sched_getaffinity(0)
    admin_port = free_port()
    with _broker(admin_port).running(broker_cores) as broker:
        os.sched_setaffinity(0, generator_cores)
        try:
            with closing(Bystander(broker.address)) as bystander:
                bystander.measure(WARM_UP_SECONDS)
                quiet = bystander.measure(seconds)
                before = resident_bytes(broker.pid) / MIB
                refused_before = _refusals(admin_port)
                with beside(attackers, name, broker.address):
                    attacked = bystander.measure(seconds)
                    after = resident_bytes(broker.pid) / MIB
                refused = {
                    what: count - refused_before.get(what, 0)
                    for what, count in _refusals(admin_port).items()
                    if count > refused_before.get(what, 0)
                }
                return AttackOutcome(name, quiet, attacked, before, after, refused)
        finally:
            os.sched_setaffinity(0, own_cores)
