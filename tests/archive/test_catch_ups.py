"""Operators of a real broker catch up from its archive."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.net.config import parse
from gossamer.net.config.value_types import ConfigError
from gossamer.net.resolved_config import read_resolved
from gossamer.plus.temporal import TemporalState
from gossamer.wire.packets import Publish
from tests.support.archive_brokers import forget, publish
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import eventually


@contextmanager
def catching_up(folder: Path, more: str = "") -> Iterator[LiveBroker]:
    with live(
        '[[listener]]\nport = 0\n[store]\nkind = "memory"\n[plus]\ncatch_up = true\n'
        f'{more}\n[archive]\nname = "b1"\nfolder = "{folder}"\nreplay = false\n'
    ) as broker:
        yield broker


def first_result(broker: LiveBroker, filter: str) -> tuple[str, bytes]:
    client = RawClient.to(broker.port())
    assert client.login(client_id="reader").reason == 0
    client.subscribe(filter)
    message = client.expect(Publish)
    client.close()
    return message.topic, message.payload


def skipped(broker: LiveBroker) -> dict[str, int]:
    return broker.ask(lambda: dict(broker.broker.core.operators.engine.services.skipped))


def test_values_of_an_earlier_life_take_part(tmp_path: Path) -> None:
    with catching_up(tmp_path) as broker:
        publish(broker, [("t/a", b"10"), ("t/b", b"20"), ("u/b", b"1000")])
    with catching_up(tmp_path) as broker:
        publish(broker, [("t/b", b"40"), ("t/c", b"no number")])
        assert first_result(broker, "$SUM/t/+") == ("$SUM/t/$AGGREGATE", b"50.0")


def test_windows_have_what_came_before_and_after(tmp_path: Path) -> None:
    with catching_up(tmp_path, 'windows = {YEAR = "365 d"}') as broker:
        publish(broker, [("t/a", b"1")] * 300)
        client = RawClient.to(broker.port())
        assert client.login(client_id="reader").reason == 0
        client.subscribe("$YEARSUM/t/+")
        publish(broker, [("t/a", b"10")] * 3)

        def counted() -> float:
            [state] = broker.broker.core.operators.engine.states.values()
            assert isinstance(state, TemporalState)
            return 0.0 if state.is_awaiting() else state.close()["t/a"].result()

        assert eventually(lambda: broker.ask(counted)) == 330.0
        client.close()


@pytest.mark.parametrize("more", ["catch_up_rows = 1", ""])
def test_what_cannot_be_had_is_counted(tmp_path: Path, more: str) -> None:
    with catching_up(tmp_path, more) as broker:
        publish(broker, [("t/a", b"1"), ("t/b", b"2")])
        if not more:
            forget(broker)
        client = RawClient.to(broker.port())
        assert client.login(client_id="reader").reason == 0
        client.subscribe("$SUM/t/+")
        eventually(lambda: skipped(broker) == {"catch_up_failed": 1})
        publish(broker, [("t/a", b"5")])
        assert client.expect(Publish).payload == b"5.0"
        client.close()


def test_without_an_archive_there_is_nothing_to_catch_up_from() -> None:
    with pytest.raises(ConfigError, match="add \\[archive\\]"):
        read_resolved(parse("[plus]\ncatch_up = true"))
