"""The recommendation: Markdown that a person can read in a terminal and act on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from gossamer.spark.insight.placement import Advice

MOST_LINES: Final = 10
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


@dataclass
class Findings:
    """What the tables say, the first of each."""

    start: datetime
    end: datetime
    messages: int
    size: int
    topics: Sequence[Any]  # topic, messages, bytes, readers
    filters: Sequence[Any]  # filter, subscribers, messages, deliveries, bytes
    unread: Sequence[Any]  # topic, messages, bytes
    unread_messages: int
    unread_size: int
    unread_topics: int
    idle: Sequence[str]  # filters that nothing was published for
    links: Sequence[Any]  # broker, neighbour, messages, bytes, control bytes
    advice: Advice
    floods: bool = False  # whether the mesh sends everything everywhere
    silent: Sequence[str] = field(default_factory=list)


def write(found: Findings) -> str:
    parts = [
        "# What the brokers carry, and what to change",
        f"From {found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} UTC: "
        f"{found.messages:,} messages, {size(found.size)} of payload.",
        *_silent(found),
        "## Do this",
        *_advice(found),
        "## Hot topics",
        table(
            ("topic", "messages", "bytes", "readers"),
            [(_code(row[0]), f"{row[1]:,}", size(row[2]), row[3]) for row in found.topics],
        ),
        "## Hot filters",
        table(
            ("filter", "subscribers", "messages", "deliveries", "bytes"),
            [
                (_code(row[0]), row[1], f"{row[2]:,}", f"{row[3]:,}", size(row[4]))
                for row in found.filters
            ],
        ),
        "## Published and never read",
        table(
            ("topic", "messages", "bytes"),
            [(_code(row[0]), f"{row[1]:,}", size(row[2])) for row in found.unread],
        ),
        "## What links carried",
        table(
            ("from", "to", "messages", "bytes", "of them control"),
            [(row[0], row[1], f"{row[2]:,}", size(row[3]), size(row[4])) for row in found.links],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _advice(found: Findings) -> list[str]:
    advice = found.advice
    lines: list[str] = []
    for move in advice.moves[:MOST_LINES]:
        lines.append(
            f"- Connect `{move.client}` to **{move.better}** instead of {move.broker}: "
            f"{size(move.saves)} less between brokers."
        )
    if len(advice.moves) > MOST_LINES:
        lines.append(f"- And {len(advice.moves) - MOST_LINES} more; see the table `placement`.")
    if advice.moves:
        share = 100 * (advice.before - advice.after) / max(advice.before, 1)
        lines.append(
            f"- Together: from {size(advice.before)} on links to {size(advice.after)} "
            f"({share:.0f} % less)."
        )
    if found.unread_topics:
        share = 100 * found.unread_size / max(found.size, 1)
        lines.append(
            f"- Stop or thin out {found.unread_topics:,} topics that nobody subscribes to: "
            f"{found.unread_messages:,} messages, {size(found.unread_size)} "
            f"({share:.0f} % of all)."
        )
    if found.idle:
        shown = ", ".join(_code(filter) for filter in found.idle[:MOST_LINES])
        more = len(found.idle) - MOST_LINES
        lines.append(
            f"- Look at subscriptions that nothing was published for: {shown}"
            + (f" and {more} more." if more > 0 else ".")
        )
    if found.floods:
        lines.append(
            f"- The mode `pf` sends every message over every link; `ssf` or `bloom` would carry "
            f"{size(advice.before)} of payload instead."
        )
    return [
        "\n".join(lines or ["- Nothing: no move of a client saves a hundredth of the traffic."])
    ]


def _silent(found: Findings) -> list[str]:
    if not found.silent:
        return []
    return [f"No answer from {', '.join(found.silent)}: what is said of them is older."]


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [_row(str(cell) for cell in row) for row in rows]
    if not lines:
        return "None."
    return "\n".join([_row(head), _row("---" for _ in head), *lines])


def size(count: int) -> str:
    """In decimal units, three digits of it."""
    number = float(count)
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:,.3g} {_UNITS[-1]}"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _code(text: str) -> str:
    """A topic may hold anything: it must not end the cell it stands in."""
    return "`" + text.replace("|", "\\|").replace("`", "'").replace("\n", " ") + "`"
