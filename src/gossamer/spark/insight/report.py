"""The recommendation: Markdown that a person can read in a terminal and act on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gossamer.spark.insight.placement import Advice

Row = Mapping[str, Any]

MOST_LINES: Final = 10
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")

# The columns of each table: its head, the column of the rows, and how a cell is written.
Columns = tuple[tuple[str, str, Callable[[Any], str]], ...]


@dataclass
class Findings:
    """What the tables say, the first rows of each."""

    start: datetime
    end: datetime
    messages: int
    size: int
    topics: Sequence[Row]
    filters: Sequence[Row]
    unread: Sequence[Row]
    unread_messages: int
    unread_size: int
    unread_topics: int
    idle: Sequence[str]  # filters that nothing was published for
    links: Sequence[Row]
    advice: Advice
    floods: bool  # whether the mesh sends everything everywhere
    silent: Sequence[str]


def size(count: int) -> str:
    """In decimal units, three digits of it."""
    number = float(count)
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:,.3g} {_UNITS[-1]}"


def _count(number: int) -> str:
    return f"{number:,}"


def _code(text: str) -> str:
    """A topic may hold anything: it must not end the cell it stands in."""
    return "`" + text.replace("|", "\\|").replace("`", "'").replace("\n", " ") + "`"


_TOPICS: Final[Columns] = (
    ("topic", "topic", _code),
    ("messages", "messages", _count),
    ("bytes", "bytes", size),
    ("readers", "readers", str),
)
_FILTERS: Final[Columns] = (
    ("filter", "filter", _code),
    ("subscribers", "subscribers", str),
    ("messages", "messages", _count),
    ("deliveries", "deliveries", _count),
    ("bytes", "bytes", size),
)
_LINKS: Final[Columns] = (
    ("from", "broker", str),
    ("to", "neighbour", str),
    ("messages", "messages", _count),
    ("bytes", "bytes", size),
    ("of them control", "control_bytes", size),
)


def write(found: Findings) -> str:
    parts = [
        "# What the brokers carry, and what to change",
        f"From {found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} UTC: "
        f"{found.messages:,} messages, {size(found.size)} of payload.",
    ]
    if found.silent:
        parts.append(f"No answer from {', '.join(found.silent)}: what is said of them is older.")
    parts += [
        "## Do this",
        "\n".join(_advice(found)),
        "## Hot topics",
        table(_TOPICS, found.topics),
        "## Hot filters",
        table(_FILTERS, found.filters),
        "## Published and never read",
        table(_TOPICS[:3], found.unread),
        "## What links carried",
        table(_LINKS, found.links),
    ]
    return "\n\n".join(parts) + "\n"


def table(columns: Columns, rows: Iterable[Row]) -> str:
    lines = [_line(write(row[name]) for _, name, write in columns) for row in rows]
    if not lines:
        return "None."
    head, rule = _line(head for head, *_ in columns), _line("---" for _ in columns)
    return "\n".join([head, rule, *lines])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


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
    return lines or ["- Nothing: no move of a client saves a hundredth of the traffic."]
