"""The log under attack: bounded, counted, and each line with its context."""

import json
import logging

import pytest

from gossamer.net.config.root import Log
from gossamer.net.logs import PERIOD_SECONDS, Bound, JsonFormatter, set_up_logging


def record(
    message: str, *arguments: object, at: float = 0.0, level: int = logging.INFO
) -> logging.LogRecord:
    made = logging.LogRecord("gossamer.x", level, __file__, 1, message, arguments, None)
    made.created = at
    return made


def test_lines_of_one_kind_are_bounded_and_counted() -> None:
    bound = Bound(3)
    passed = [bound.filter(record("login of %s refused", who)) for who in range(1000)]
    assert sum(passed) == 3
    assert bound.filter(record("something else"))
    late = record("login of %s refused", "ann", at=PERIOD_SECONDS)
    assert bound.filter(late)
    assert late.getMessage() == "login of ann refused (and 997 more of the kind before it)"


def test_errors_always_pass() -> None:
    bound = Bound(1)
    assert all(bound.filter(record("disk", level=logging.ERROR)) for _ in range(10))


def test_a_clock_that_was_set_back_stops_nothing() -> None:
    bound = Bound(1)
    assert bound.filter(record("a", at=1000.0))
    assert bound.filter(record("a", at=10.0))


def test_zero_is_no_bound() -> None:
    assert all(Bound(0).filter(record("a")) for _ in range(1000))


def test_json_lines_have_their_context() -> None:
    line = record("broke\nthe %s", "protocol")
    line.client = "van\n7"
    shown = json.loads(JsonFormatter().format(line))
    assert shown["client"] == "van\n7"
    assert shown["message"] == "broke\nthe protocol"
    assert "link" not in shown


def test_a_flood_of_lines_stays_short(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("gossamer")
    before = logger.handlers, logger.level, logger.propagate
    try:
        set_up_logging(Log(lines=5))
        for number in range(10_000):
            logger.info("client %d knocks", number)
        assert len(capsys.readouterr().err.splitlines()) == 5
    finally:
        logger.handlers, logger.level, logger.propagate = before
