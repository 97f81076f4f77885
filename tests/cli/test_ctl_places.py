"""`gossamer ctl place` and `--place`, with a broker whose configuration has places of its own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.net.config import ConfigError
from gossamer.net.local.broker import LocalBroker
from gossamer.net.local.ports import free_ports
from gossamer.net.place_file import load_places
from tests.support.polling import eventually
from tests.support.processes import PATIENCE_SECONDS, command, scrubbed

TOKEN = "a-token-of-some-length"
SQUARE = {"type": "Polygon", "coordinates": [[[10, 43], [11, 43], [11, 44], [10, 44], [10, 43]]]}


def features(*names: object) -> str:
    listed = [
        {"type": "Feature", "properties": {"name": name}, "geometry": SQUARE} for name in names
    ]
    return json.dumps({"type": "FeatureCollection", "features": listed})


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[LocalBroker]:
    port, admin_port = free_ports(2)
    folder = tmp_path / "broker"
    folder.mkdir()
    (folder / "token").write_text(TOKEN)
    (folder / "places.geojson").write_text(features("yard", "hall"))
    broker = LocalBroker("b", folder, port, admin_port, TOKEN)
    broker.config.write_text(
        f"[[listener]]\nport = {port}\n[store]\nkind = 'memory'\n"
        f"[admin]\nenabled = true\nport = {admin_port}\ntoken_file = 'token'\n"
        "[geo]\nplaces = 'places.geojson'\nplaces_topic = 'site/places'\n"
    )
    broker.start()
    yield broker
    broker.stop()


def run(*arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=scrubbed(),
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def ctl(broker: LocalBroker, *arguments: str, code: int = 0) -> str:
    url = f"http://127.0.0.1:{broker.admin_port}"
    return run(
        "ctl", *arguments, "--url", url, "--token-file", str(broker.folder / "token"), code=code
    )


def listed(broker: LocalBroker) -> dict[str, tuple[int, str]]:
    lines = ctl(broker, "places", "--json").splitlines()
    found = [json.loads(line) for line in lines]
    return {one["name"]: (one["version"], one["source"]) for one in found}


def test_places_from_all_sides(broker: LocalBroker, tmp_path: Path) -> None:
    eventually(lambda: "up" in _health(broker))
    assert listed(broker) == {"yard": (1, "configuration"), "hall": (1, "configuration")}
    area = tmp_path / "gate.geojson"
    area.write_text(json.dumps(SQUARE))
    assert ctl(broker, "place", "add", "gate", str(area)) == "gate is version 1\n"
    port = str(broker.port)
    run("pub", "-p", port, "-t", "site/places/dock", "-m", json.dumps(SQUARE), "-r", "-q", "1")
    assert listed(broker)["dock"] == (1, "topic")
    for name, at in (("in", "43.5,10.5"), ("out", "59.9,10.7")):
        run("pub", "-p", port, "-t", f"t/{name}", "-m", name, "-r", "-q", "1", "--at", at)
    for name in ("yard", "gate", "dock"):
        assert run("sub", "-p", port, "-t", "t/+", "--place", name, "-C", "1") == "in\n"
    assert "no such place" in run("sub", "-p", port, "-t", "t", "--place", "moon", "-C1", code=1)
    (broker.folder / "places.geojson").write_text(features("yard"))
    ctl(broker, "reload")
    assert set(listed(broker)) == {"yard", "gate", "dock"}
    assert ctl(broker, "place", "remove", "gate") == "gate removed\n"
    assert "there is no place gate" in ctl(broker, "place", "remove", "gate", code=1)
    assert "add takes a GeoJSON FILE" in ctl(broker, "place", "add", "gate", code=2)
    area.write_text("{}")
    assert "no Polygon" in ctl(broker, "place", "add", "gate", str(area), code=1)


def _health(broker: LocalBroker) -> str:
    try:
        return ctl(broker, "loop") and "up"
    except AssertionError:
        return ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is not JSON"),
        ("[]", "not a FeatureCollection"),
        (json.dumps(SQUARE), "not a FeatureCollection"),
        (features("a", "a"), "'a' is there twice"),
        (features("a/b"), "without / + # ;"),
        (features(None), "feature 1 has no name"),
        ('{"features":[5]}', "feature 1 has no name"),
        ('{"features":[{"properties":{"name":"a"}}]}', "no Polygon"),
    ],
)
def test_what_a_file_of_places_cannot_be(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "places.geojson"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words.replace("+", "\\+")):
        load_places(path)
    with pytest.raises(ConfigError, match="No such file"):
        load_places(tmp_path / "none")
