"""Random histories of messages, and what the broker's engine makes of them."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from gossamer.plus.engine import Engine
from gossamer.plus.operators.kinds import Options
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorResult
from gossamer.plus.vocabulary import Vocabulary
from gossamer.topics.names import matches
from gossamer.wire.properties import Properties
from tests.cases.payloads import DOCUMENTS, LIFETIMES, ODD, PLAIN, TOPICS

BEGIN = datetime(2031, 5, 24, 22, 10, tzinfo=UTC)
END_OF_TIME = 1e11

Row = dict[str, Any]


def history(seed: int, length: int) -> list[Row]:
    """Rows as the archive has them, in order; several may have the same time."""
    draw = random.Random(seed)
    time = BEGIN
    rows: list[Row] = []
    for offset in range(length):
        if draw.random() < 0.6:
            seconds = draw.choice((0.001, 1.0, 7.5, 60.0, 300.0, 300.0, 900.0, 4000.0))
            time += timedelta(seconds=seconds, microseconds=draw.randrange(3))
        ttl = None
        if draw.random() < 0.15:
            ttl = draw.choice((_rfc3339(time, draw), "soon", "2031-02-30T00:00:00Z"))
        rows.append(
            {
                "broker": "b1",
                "offset": offset,
                "time": time,
                "topic": draw.choice(TOPICS),
                "payload": _payload(draw),
                "expiry": draw.choice(LIFETIMES),
                "user_properties": {"plus_ttl": ttl} if ttl is not None else {"other": "x"},
            }
        )
    return rows


def _payload(draw: random.Random) -> bytes:
    kind = draw.random()
    if kind < 0.15:
        return draw.choice(ODD).encode()
    if kind < 0.17:
        return b"\xff3"
    number = draw.choice(
        (draw.choice(PLAIN), repr(draw.uniform(-1e6, 1e6)), repr(draw.gauss(0, 9)))
    )
    if kind < 0.6:
        return number.encode()
    return draw.choice(DOCUMENTS).replace("%s", number.strip()).encode()


def _rfc3339(time: datetime, draw: random.Random) -> str:
    until = time + timedelta(seconds=draw.choice((-10, 30, 700.25, 20_000)))
    text = until.strftime("%Y-%m-%dT%H:%M:%S.%f")
    if draw.random() < 0.5:
        return text + "Z"
    moved = until + timedelta(hours=2, minutes=30)
    return moved.strftime("%Y-%m-%dt%H:%M:%S.%f") + "+02:30"


def engine_results(
    rows: list[Row],
    filter: str,
    vocabulary: Vocabulary,
    rpt: bool = False,
    until: float = END_OF_TIME,
    is_inside: Callable[[Row], bool] = lambda row: True,
) -> list[tuple[float, str, bytes]]:
    """Time, topic and payload of everything that one subscriber of the broker would get."""
    engine = Engine(vocabulary)
    state = engine.subscribe(engine.parse(filter), Options(names_participants=rpt))
    found: list[tuple[float, str, bytes]] = []

    def keep(results: list[OperatorResult], now: float) -> None:
        found.extend((now, result.topic, result.payload) for result in results)

    def tick(until: float) -> None:
        while engine.next_due() <= until:
            due = engine.next_due()
            keep([result for _, result in engine.tick(due)], due)

    for row in rows:
        now = row["time"].timestamp()
        tick(now)
        if not any(matches(read, row["topic"]) for read in state.plan.reads):
            continue
        properties = Properties()
        properties.user = list(row["user_properties"].items())
        expires_at = now + row["expiry"] if row["expiry"] is not None else 0.0
        publication = Publication(row["topic"], row["payload"], expires_at, properties)
        if is_inside(row):
            keep(state.accept(publication, now), now)
        else:
            keep(state.leave(row["topic"], now), now)
    tick(until)
    return found
