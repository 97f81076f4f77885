"""The paper's Table 1 and the examples of its sections 3.1 to 3.6, with clients of others."""

import asyncio
import json
import queue
import shutil
import subprocess
import time
from collections.abc import Iterator

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from gossamer.broker.broker import Broker
from gossamer.broker.ports import ProcessorPort
from gossamer.net.config import Config
from gossamer.net.config.listeners import Listener
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.operators.windows import Window
from gossamer.plus.vocabulary import Vocabulary
from tests.support.plus import PROCESSORS
from tests.support.polling import PATIENCE, eventually
from tests.support.running_broker import running_listeners

# A day of one second, so that the paper's own filters can be waited for.
DAY = 1.0
PEOPLE = b"3"

Delivery = tuple[str, str]


class InstantWorkshop(ProcessorPort):
    """Sees the same number of people in every image."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def start(self, job: Job) -> None:
        asyncio.get_running_loop().call_soon(self.answer, job)

    def answer(self, job: Job) -> None:
        self.broker.processed(job, PEOPLE, time.time())


def _with_workshop(broker: Broker) -> None:
    broker.core.operators.processors = InstantWorkshop(broker)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    windows = (Window("DAILY", DAY), Window("QUARTERHOURLY", 1.0))
    engine = Engine(Vocabulary(windows, PROCESSORS))
    config = Config(listener=(Listener(port=0),))
    with running_listeners(config, engine, _with_workshop) as ports:
        yield ports[0]


class Paho:
    """One connected client of the Eclipse project."""

    def __init__(self, port: int, version: int) -> None:
        self.inbox: queue.Queue[Delivery] = queue.Queue()
        self.granted: queue.Queue[int] = queue.Queue()
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=version)  # type: ignore[arg-type]
        self.client.on_message = lambda _client, _data, message: self.inbox.put(
            (message.topic, message.payload.decode())
        )
        self.client.on_subscribe = lambda _client, _data, _mid, codes, _props: self.granted.put(
            codes[0].value
        )
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def subscribe(self, filter: str, properties: Properties | None = None) -> int:
        self.client.subscribe(filter, 1, properties=properties)
        return self.granted.get(timeout=PATIENCE)

    def publish(self, topic: str, payload: str) -> None:
        self.client.publish(topic, payload, 1).wait_for_publish(PATIENCE)

    def next(self) -> Delivery:
        return self.inbox.get(timeout=PATIENCE)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


@pytest.fixture(params=[mqtt.MQTTv311, mqtt.MQTTv5], ids=["3.1.1", "5.0"])
def paho(request: pytest.FixtureRequest, port: int) -> Iterator[Paho]:
    client = Paho(port, request.param)
    yield client
    client.close()


AT_ONCE = [
    ("$EQ;30", "sens123/temp", ["31", "30.0"], ["30.0"]),
    ("$EQ;open", "sens123/door", ["closed", "open"], ["open"]),
    ("$NEQ;30", "sens123/temp", ["30", "31"], ["31"]),
    ("$NEQ;open", "sens123/door", ["open", "closed"], ["closed"]),
    ("$GT;30", "sens123/temp", ["30", "hot", "30.5"], ["30.5"]),
    ("$GTE;30", "sens123/temp", ["29", "30"], ["30"]),
    ("$LT;30", "sens123/temp", ["30", "29"], ["29"]),
    ("$LTE;30", "sens123/temp", ["31", "30"], ["30"]),
    ("$CONTAINS;alarm", "sens123/log", ["fine", '{"kind":"alarm"}'], ['{"kind":"alarm"}']),
    ("$GT;30;sensor.temp", "sens123/json", ['{"sensor":{"temp":30}}', '{"sensor":{"temp":31}}'],
     ['{"sensor":{"temp":31}}']),
    ("$AVG", "sens123/temp", ["20", "22"], ["20.0", "22.0"]),
    ("$CNTPPL", "room1/image", ["pixels"], ["3"]),
    ("$GT;2$CNTPPL", "room1/image", ["pixels"], ["3"]),
]  # fmt: skip


@pytest.mark.parametrize(("chain", "topic", "sent", "expected"), AT_ONCE)
def test_rules_and_processing(
    paho: Paho, chain: str, topic: str, sent: list[str], expected: list[str]
) -> None:
    own = f"{paho.client._client_id.decode() or id(paho)}/{topic}"
    assert paho.subscribe(f"{chain}/{own}") == 1
    for payload in sent:
        paho.publish(own, payload)
    for payload in expected:
        assert paho.next() == (f"{chain}/{own}", payload)


@pytest.mark.parametrize(
    ("filter", "topic"),
    [
        ("$AVG/{0}/+/temp", "$AVG/{0}/$AGGREGATE/temp"),
        ("$AVG;RPT/{0}/+/temp", "$AVG;RPT/{0}/sens1;sens2/temp"),
        ("$AVG/{0}/sens1;sens2/temp", "$AVG/{0}/sens1;sens2/temp"),
        ("$AVG/{0}/#", "$AVG/{0}/$AGGREGATE"),
    ],
)
def test_averages_over_topics(paho: Paho, filter: str, topic: str) -> None:
    room = f"room-{id(paho)}-{abs(hash(filter))}"
    assert paho.subscribe(filter.format(room)) == 1
    paho.publish(f"{room}/sens1/temp", "20")
    assert paho.next()[1] == "20.0"
    paho.publish(f"{room}/sens2/temp", "23")
    assert paho.next() == (topic.format(room), "21.5")


@pytest.mark.parametrize(
    ("filter", "values", "topic", "expected"),
    [
        ("$DAILYAVG/{0}/temp", {"temp": ["20", "22"]}, "$DAILYAVG/{0}/temp", "21.0"),
        ("$QUARTERHOURLYCOUNT/{0}/temp", {"temp": ["1", "1", "1"]},
         "$QUARTERHOURLYCOUNT/{0}/temp", "3"),
        ("$SUM$DAILYAVG/{0}/+", {"a": ["20", "22"], "b": ["10"]},
         "$SUM$DAILYAVG/{0}/$AGGREGATE", "31.0"),
        ("$GT;30$SUM$DAILYAVG/{0}/+", {"a": ["21"], "b": ["10"]},
         "$GT;30$SUM$DAILYAVG/{0}/$AGGREGATE", "31.0"),
        ("$SUM$GT;15$DAILYAVG/{0}/+", {"a": ["21"], "b": ["10"]},
         "$SUM$GT;15$DAILYAVG/{0}/$AGGREGATE", "21.0"),
        ("$SUM$DAILYAVG$CNTPPL/{0}/+", {"a": ["pixels"], "b": ["pixels"]},
         "$SUM$DAILYAVG$CNTPPL/{0}/$AGGREGATE", "6.0"),
    ],
)  # fmt: skip
def test_windows(
    paho: Paho, filter: str, values: dict[str, list[str]], topic: str, expected: str
) -> None:
    room = f"window-{id(paho)}-{abs(hash(filter))}"
    assert paho.subscribe(filter.format(room)) == 1

    def comes() -> bool:
        for name, payloads in values.items():
            for payload in payloads:
                paho.publish(f"{room}/{name}", payload)
        try:
            return paho.inbox.get(timeout=3 * DAY) == (topic.format(room), expected)
        except queue.Empty:
            return False

    # A window may end between two of the publications: then its result is another one.
    eventually(comes, "no window held all the publications", pause=0)


@pytest.mark.parametrize("filter", ["$DAILYAVG$SUM/+/temp", "$SUM$DAILYAVG$GT;5/+/temp"])
def test_refusals(paho: Paho, filter: str) -> None:
    assert paho.subscribe(filter) == (0x8F if paho.client.protocol == mqtt.MQTTv5 else 0x80)


def test_capabilities(paho: Paho) -> None:
    assert paho.subscribe("$SYS/capabilities") == 1
    topic, payload = paho.next()
    assert topic == "$SYS/capabilities"
    assert {"$CNTPPL", "$GT", "$DAILYAVG"} <= {one["keyword"] for one in json.loads(payload)}


def test_options_of_mqtt_5(port: int) -> None:
    client = Paho(port, mqtt.MQTTv5)
    options = Properties(PacketTypes.SUBSCRIBE)
    options.UserProperty = [("plus_reply", "rpt")]
    assert client.subscribe("$SUM/options/+", options) == 1
    client.publish("options/a", "1")
    assert client.next() == ("$SUM/options/a", "1.0")
    client.close()


@pytest.mark.parametrize(
    ("filter", "sent", "expected"),
    [
        ("$GT;30/m1/+", [("m1/a", "29"), ("m1/b", "31")], "$GT;30/m1/b 31"),
        ("$AVG/m2/+/temp", [("m2/a/temp", "21")], "$AVG/m2/$AGGREGATE/temp 21.0"),
        ("$DAILYMAX/m3/+", [("m3/a", "7")], "$DAILYMAX/m3/a 7.0"),
        ("$share/g/$CNTPPL/m4/+", [("m4/a", "pixels")], "$CNTPPL/m4/a 3"),
    ],
)
def test_mosquitto(port: int, filter: str, sent: list[Delivery], expected: str) -> None:
    program = shutil.which("mosquitto_sub")
    if program is None:
        pytest.skip("mosquitto_sub is not installed")
    command = [program, "-p", str(port), "-t", filter, "-v", "-C", "2", "-W", str(int(PATIENCE))]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    writer = Paho(port, mqtt.MQTTv311)

    def has_read() -> bool:
        for topic, payload in sent:
            writer.publish(topic, payload)
        return reader.poll() is not None

    eventually(has_read, pause=0.1)
    output, _ = reader.communicate(timeout=PATIENCE)
    writer.close()
    assert output.splitlines() == [expected, expected]
