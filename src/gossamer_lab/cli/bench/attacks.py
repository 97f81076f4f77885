"""``gossamer bench attacks``: what attackers do to a bystander's latency, and to memory."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gossamer_lab.bench.attacks.measurement import AttackOutcome

FULL_SECONDS = 3.0
QUICK_SECONDS = 0.5
MOST_TIMES_QUIET = 3.0
MIB = 1 << 20
COLUMNS = (
    "attack",
    "p50 quiet",
    "p99 quiet",
    "p50 attacked",
    "p99 attacked",
    "worst",
    "p99 to quiet",
    "usual quiet",
    "usual attacked",
    "usual to quiet",
    "MiB before",
    "MiB after",
    "refused",
)


def attacks(
    quick: Annotated[bool, typer.Option("--quick", help="Half a second each.")] = False,
    seconds: Annotated[
        float, typer.Option(min=0.05, help="Measured quiet, and again under each attack.")
    ] = FULL_SECONDS,
    only: Annotated[str, typer.Option(help="Attacks with this text in their name.")] = "",
) -> None:
    """Measure a bystander's p99 latency and the broker's memory, quiet and under attacks."""
    from gossamer_lab.bench.attacks.measurement import BUDGET, measure
    from gossamer_lab.bench.attacks.shapes import ATTACKS
    from gossamer_lab.bench.brokers import report
    from gossamer_lab.bench.brokers.link import GeneratorError

    if quick:
        seconds = QUICK_SECONDS
    typer.echo(
        "Milliseconds of a client that publishes to itself at QoS 1, 500 messages a second. Two "
        f"cores: the broker has one, and {BUDGET} for each table; the client and the attackers, as "
        "fast as one process is, share the other. Usual: the median of the worst of each tenth of "
        "a second, which the machine's other work changes less."
    )
    typer.echo()
    typer.echo("| " + " | ".join(COLUMNS) + " |")
    typer.echo("|" + " --- |" * len(COLUMNS))
    misses: list[str] = []
    for name in ATTACKS:
        if only not in name:
            continue
        try:
            outcome = measure(name, seconds)
        except (GeneratorError, OSError) as problem:
            typer.echo(f"| {name} |" + " |" * (len(COLUMNS) - 2) + f" not measured: {problem} |")
            misses.append(f"{name} (not measured)")
            continue
        typer.echo("| " + " | ".join(_row(name, outcome)) + " |")
        if outcome.attacked.arrived < outcome.attacked.sent:
            lost = outcome.attacked.sent - outcome.attacked.arrived
            misses.append(f"{name} ({lost:,} messages did not come)")
        elif outcome.ratio > MOST_TIMES_QUIET:
            misses.append(f"{name} ({outcome.ratio:.1f}×, usual {outcome.usual_ratio:.1f}×)")
    typer.echo()
    typer.echo(f"Over {MOST_TIMES_QUIET:g} times quiet: {', '.join(misses) or 'none'}.")
    typer.echo(f"{report.machine()}. {report.busy()}".strip())


def _row(name: str, outcome: "AttackOutcome") -> list[str]:
    quiet, attacked = outcome.quiet, outcome.attacked
    refused = ", ".join(f"{what} {count:,}" for what, count in outcome.refused.items())
    return [
        name,
        f"{quiet.p50:.2f}",
        f"{quiet.p99:.2f}",
        f"{attacked.p50:.2f}",
        f"{attacked.p99:.2f}",
        f"{attacked.worst:.1f}",
        f"{outcome.ratio:.1f}×",
        f"{quiet.usual:.2f}",
        f"{attacked.usual:.2f}",
        f"{outcome.usual_ratio:.1f}×",
        f"{outcome.resident_before / MIB:.0f}",
        f"{outcome.resident_after / MIB:.0f}",
        refused or "nothing",
    ]
